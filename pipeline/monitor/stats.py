"""What was saved, and where: the ledger's sums as a document and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SumRow
from pipeline.disk.ledger_sums import By
from pipeline.disk.sizes import StateSizes
from pipeline.monitor.tables import Column, count, counted, percent, ratio, size

OF_VALUES: frozenset[By] = frozenset({"tool", "rule", "stage"})
"""Groupings whose bytes are those of tool inputs, results and copies; the others' are those of whole records."""
BAR_CHARS = 12


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums by group and in all. Sessions and sizes on disk know no days."""

    by: By
    rows: Sequence[SumRow]
    total: SumRow
    sessions: int
    source_disk_bytes: int
    output_disk_bytes: int
    vault_bytes: int
    kept: StateSizes

    @property
    def disk_bytes(self) -> int:
        """What compactd takes on disk: outputs, vault, ledger, superseded generations."""
        return self.output_disk_bytes + self.vault_bytes + self.kept.ledger_bytes + self.kept.archive_bytes


def gather(reader: LedgerReader, kept: StateSizes, by: By, since: int | None, until: int | None) -> Stats:
    """Read the sums.

    Args:
        reader: the open ledger.
        kept: sizes that the ledger does not know.
        by: the grouping.
        since, until: days since 1970-01-01, both included; None for no limit. They hold for the sums, not for sizes.
    """
    sizes = reader.session_sizes()
    return Stats(
        by,
        reader.rollup_sums(by, since, until),
        reader.totals(since, until),
        sizes.sessions,
        sizes.source_disk_bytes,
        sizes.output_bytes,
        reader.vault_bytes(),
        kept,
    )


def document(stats: Stats) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and total of the --json document. Source: README.md."""
    rows = []
    for row in stats.rows:
        values: dict[str, Any] = {stats.by: row.key}
        if row.id and stats.by == "session":
            values["id"] = row.id
        if stats.by not in OF_VALUES:
            values["records"] = row.records
        rows.append(values | {"sites": row.sites, "edits": row.edits} | _bytes(row))
    total = {"sessions": stats.sessions, "records": stats.total.records, "sites": stats.total.sites}
    total |= {"edits": stats.total.edits} | _bytes(stats.total)
    total |= {
        "vault_bytes": stats.vault_bytes,
        "disk_bytes": stats.disk_bytes,
        "source_disk_bytes": stats.source_disk_bytes,
        "output_disk_bytes": stats.output_disk_bytes,
        "ledger_disk_bytes": stats.kept.ledger_bytes,
        "archive_disk_bytes": stats.kept.archive_bytes,
    }
    return rows, total


def headline(stats: Stats) -> list[str]:
    """The sums in three lines: what became of the bytes, how, and what lies on disk."""
    total = stats.total
    return [
        f"{size(total.source_bytes)} -> {size(total.output_bytes)}, saved {size(total.saved_bytes)} "
        f"({percent(total.saved_bytes, total.source_bytes)}); originals in {size(stats.vault_bytes)} of vault",
        f"{counted(stats.sessions, 'session')}, {counted(total.records, 'record')}, "
        f"{count(total.edits)} of {counted(total.sites, 'value')} shortened",
        f"on disk: sources {size(stats.source_disk_bytes)} when last seen; kept by compactd {size(stats.disk_bytes)} = "
        f"outputs {size(stats.output_disk_bytes)} + vault {size(stats.vault_bytes)} + "
        f"ledger {size(stats.kept.ledger_bytes)} + earlier generations {size(stats.kept.archive_bytes)}",
    ]


def table(stats: Stats) -> tuple[list[Column], list[list[str]]]:
    """Columns and rows for people. `part` is the group's share of all that was saved."""
    of_values = stats.by in OF_VALUES
    saved = sum(max(0, row.saved_bytes) for row in stats.rows)
    most = max((row.saved_bytes for row in stats.rows), default=0)
    columns = [Column(stats.by, "left")]
    columns += [] if of_values else [Column("records")]
    columns += [Column(title) for title in ("sites", "edits", "before", "after", "saved", "saved %", "part")]
    columns.append(Column("", "left", spare=True))
    rows = []
    for row in stats.rows:
        cells = [row.key or "(none)"]
        cells += [] if of_values else [count(row.records)]
        cells += [count(row.sites), count(row.edits), size(row.source_bytes), size(row.output_bytes)]
        cells += [size(row.saved_bytes), percent(row.saved_bytes, row.source_bytes)]
        cells += [percent(row.saved_bytes, saved), bar(row.saved_bytes, most)]
        rows.append(cells)
    return columns, rows


def bar(part: int, most: int) -> str:
    """A bar of up to BAR_CHARS blocks; nothing for what saved nothing."""
    return "█" * round(BAR_CHARS * part / most) if part > 0 and most > 0 else ""


def _bytes(row: SumRow) -> dict[str, Any]:
    return {
        "source_bytes": row.source_bytes,
        "output_bytes": row.output_bytes,
        "saved_bytes": row.saved_bytes,
        "saved_ratio": ratio(row.saved_bytes, row.source_bytes),
    }
