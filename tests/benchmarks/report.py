"""Measures all rows of the targets table and prints them as one table.

    python tests/benchmarks/report.py [--mb 50] [--pairs 5] [--only ROW]... [--markdown] [--folder DIR]

Absolute times are those of this machine and hour; ratios compare commands that ran in turn. 500 MB show what large
sessions take, 20 MB are enough to see whether something is grossly wrong. A folder that is given is kept, with the
generated data, for the next run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from row import Row
from targets import ROWS
from workshop import REPOSITORY, Workshop

HEADINGS = ("what", "value", "target", "", "detail")


def main(argv: Sequence[str]) -> int:
    """Measure and print; 0 also when targets are missed, since machines differ."""
    parser = argparse.ArgumentParser(prog="report.py", description="Measure compactd against its targets.")
    parser.add_argument("--mb", type=float, default=50.0, help="size of the generated sessions (default: 50)")
    parser.add_argument("--pairs", type=int, default=5, help="how often each comparison is run (default: 5)")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--folder", type=Path, help="work here and keep the generated data")
    arguments = parser.parse_args(argv)
    # The values in the package are read by some rows; the commands get it by their environment.
    sys.path.insert(0, str(REPOSITORY))
    with tempfile.TemporaryDirectory(prefix="compactd-bench-") as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = list(measured(Workshop(folder, arguments.mb, arguments.pairs), arguments.only or list(ROWS)))
    print(f"{machine()}; {arguments.mb:g} MB, {arguments.pairs} pairs", end="\n\n")
    print(markdown(rows) if arguments.markdown else table(rows))
    return 0


def measured(workshop: Workshop, names: Sequence[str]) -> Iterator[Row]:
    """The rows of these names, one measurement after the other; tells on standard error how far it is."""
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        yield from ROWS[name](workshop)


def table(rows: Sequence[Row]) -> str:
    """The rows in columns."""
    cells = [HEADINGS, *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    lines = []
    for row in cells:
        aligned = [cell.rjust(width) if 0 < n < 3 else cell.ljust(width) for n, (cell, width) in _numbered(row, widths)]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|--:|--:|---|---|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """What the figures were measured on."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.platform()}, {os.cpu_count()} processors{load}, Python {platform.python_version()}"


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    target = "" if row.target is None else f"<= {row.target:g}"
    meets = {True: "ok", False: "MISSED", None: ""}[row.meets]
    digits = 0 if row.value >= 100 else 1 if row.value >= 10 else 2
    return (row.name, f"{row.value:.{digits}f} {row.unit}", target, meets, row.detail)


def _numbered(row: Sequence[str], widths: Sequence[int]) -> Iterator[tuple[int, tuple[str, int]]]:
    return enumerate(zip(row, widths, strict=True))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
