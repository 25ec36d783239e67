"""How much of what a reader looks for is still visible in the compacted sessions, by rule and tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SessionInfo
from pipeline.disk.packs import VaultReader
from pipeline.disk.rows import GenerationRow
from pipeline.monitor.extracts import KINDS, Items, add_items, decoded, no_items, prose_of
from pipeline.monitor.rebuild import Rebuilder
from pipeline.monitor.tables import Column, count, percent, ratio

PROSE = "prose"


@dataclass(slots=True)
class Shares:
    """How many distinct items of each of `KINDS` were there, and how many still are."""

    total: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    def add(self, source: Items, output: Items) -> None:
        """Count the items of a source, and those of them that an output has."""
        for kind, there, here in zip(KINDS, source, output, strict=True):
            self.total[kind] += len(there)
            self.kept[kind] += len(there & here)

    def join(self, other: Shares) -> None:
        """Add the counts of another."""
        self.total.update(other.total)
        self.kept.update(other.kept)


@dataclass(slots=True)
class Fidelity:
    """The figures of some sessions. Items are counted once a session, by rule and tool once each.

    An item is kept when it stands anywhere in the session's output; prose lines have to stand in their own record.
    """

    sessions: int = 0
    records: int = 0
    all: Shares = field(default_factory=Shares)
    edits: dict[tuple[str, str], Shares] = field(default_factory=dict)
    """By rule and tool: the items of the original values, and what is left of them."""


def measure(
    fidelity: Fidelity,
    reader: LedgerReader,
    vault: VaultReader,
    out: str,
    session: SessionInfo,
    generation: GenerationRow,
) -> None:
    """Add one session's figures; memory grows with the distinct items of that session.

    Raises:
        LedgerError: output or vault cannot be read.
    """
    rebuilder = Rebuilder(reader, vault, out, session, generation)
    visible, source = no_items(), no_items()
    for row, data in rebuilder.outputs():
        if not row.reason:
            add_items(decoded(data), visible)
    by_edit: dict[tuple[str, str], Items] = {}
    outputs = rebuilder.outputs()
    for record in rebuilder.records():
        row, output = next(outputs)
        fidelity.records += 1
        if row.reason:
            # Byte for byte the same, and maybe longer than memory.
            continue
        data = b"".join(record.source)
        value = decoded(data)
        add_items(value, source)
        _add_prose(fidelity.all, value, value if data == output else decoded(output))
        for site in record.sites:
            if site.applied and (original := reader.value(site.value)) is not None:
                add_items(decoded(vault.value(original)), by_edit.setdefault((site.rule, site.tool), no_items()))
    fidelity.sessions += 1
    fidelity.all.add(source, visible)
    for key, items in by_edit.items():
        fidelity.edits.setdefault(key, Shares()).add(items, visible)


def _add_prose(shares: Shares, source: Any, output: Any) -> None:
    there = Counter(prose_of(source))
    here = there if output is source else Counter(prose_of(output))
    shares.total[PROSE] += there.total()
    shares.kept[PROSE] += (there & here).total()


def table(fidelity: Fidelity) -> tuple[list[Column], list[list[str]]]:
    """Rule and tool with the share of each kind that is kept, worst failures first; all together at the end."""
    columns = [
        Column("rule", "left"),
        Column("tool", "left"),
        *(Column(f"{kind} %") for kind in (*KINDS, PROSE)),
        Column("items", spare=True),
    ]
    rows = [[rule, tool or "(none)", *_cells(shares)] for (rule, tool), shares in _sorted(fidelity)]
    rows.append(["all", "", *_cells(fidelity.all)])
    return columns, rows


def document(fidelity: Fidelity) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and total of the --json document; each kind has `kept`, `total` and `ratio`."""
    rows = [{"rule": rule, "tool": tool, **_numbers(shares)} for (rule, tool), shares in _sorted(fidelity)]
    total = {"sessions": fidelity.sessions, "records": fidelity.records, **_numbers(fidelity.all)}
    return rows, total


def _sorted(fidelity: Fidelity) -> Iterator[tuple[tuple[str, str], Shares]]:
    yield from sorted(
        fidelity.edits.items(), key=lambda item: (-sum(item[1].total.values()) + sum(item[1].kept.values()), item[0])
    )


def _cells(shares: Shares) -> list[str]:
    cells = [percent(shares.kept[kind], shares.total[kind]).removesuffix(" %") for kind in (*KINDS, PROSE)]
    return [*cells, count(sum(shares.total.values()))]


def _numbers(shares: Shares) -> dict[str, Any]:
    return {
        kind: {
            "kept": shares.kept[kind],
            "total": shares.total[kind],
            "ratio": ratio(shares.kept[kind], shares.total[kind]) if shares.total[kind] else None,
        }
        for kind in (*KINDS, PROSE)
    }
