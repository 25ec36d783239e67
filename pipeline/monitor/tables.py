"""Numbers and tables for people: sizes, shares, safe names; rich on a terminal, aligned plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Literal

Align = Literal["left", "right"]
GAP = "  "
LEAST_NAME_CHARS = 14
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, on which side its cells stand, and whether a narrow terminal can spare it."""

    title: str
    align: Align = "right"
    spare: bool = False


def printable(text: str) -> str:
    """The text with everything that is no visible character as an escape: control codes, line ends, bad bytes."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() else _escape(char) for char in text])


def size(count: int) -> str:
    """Bytes in a unit with three digits, such as `51.2 MB` (1 kB is 1000 bytes); negative sizes keep their sign."""
    value = float(abs(count))
    at = 0
    # What rounds to 1000 belongs to the next unit.
    while at < len(_UNITS) - 1 and round(value) >= 1000:
        value /= 1000
        at += 1
    sign = "-" if count < 0 else ""
    return f"{sign}{value:.{1 if at and round(value, 1) < 100 else 0}f} {_UNITS[at]}"


def count(number: int) -> str:
    """A number with its thousands apart: `12,345`."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """So many of something: `1 session`, `12,345 sessions`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def percent(part: int, whole: int) -> str:
    """A share such as `75.4 %`; `-` of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def ratio(part: int, whole: int) -> float:
    """A share as a number for JSON; 0.0 of nothing."""
    return round(part / whole, 4) if whole else 0.0


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of an aligned table, headings first."""
    cells = [[column.title for column in columns], *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    return [
        GAP.join(
            cell.ljust(width) if column.align == "left" else cell.rjust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    ]


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]], stream: IO[str] | None = None) -> None:
    """Print a table: with rules and colours on a terminal, as plain text elsewhere."""
    stream = stream or sys.stdout
    lines = list(rows)
    if not stream.isatty():
        for line in plain_table(columns, lines):
            print(line, file=stream)
        return
    # Takes 100 ms to load; a pipe never needs it.
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    widths = [
        max(len(cell) for cell in (column.title, *(row[at] for row in lines))) for at, column in enumerate(columns)
    ]
    # Names may be folded; a number that lost digits would be another number.
    least = [
        min(width, LEAST_NAME_CHARS) if column.align == "left" else width
        for width, column in zip(widths, columns, strict=True)
    ]
    shown = list(range(len(columns)))
    while sum(least[at] + len(GAP) for at in shown) > console.width + len(GAP):
        # What is spare goes first, then numbers from the right; what a row is named by stays, and one number.
        numbers = [at for at in shown if columns[at].align == "right"]
        spare = [at for at in shown if columns[at].spare] or numbers[1:]
        if not spare:
            break
        shown.remove(spare[-1])
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for at in shown:
        if columns[at].align == "left":
            table.add_column(columns[at].title, overflow="fold", min_width=least[at])
        else:
            table.add_column(columns[at].title, justify="right", min_width=widths[at], no_wrap=True)
    for row in lines:
        table.add_row(*(Text(printable(row[at])) for at in shown))
    console.print(table)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a file name that is no UTF-8, as Python carries it.
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape", "backslashreplace").decode()
