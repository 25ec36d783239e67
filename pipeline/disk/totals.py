"""Sums over all current generations by day and group: from rollup rows in Python, and again in SQL as the check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from pipeline.disk.rows import SUMS, RollupKey, Sums

TotalKey: TypeAlias = tuple[str, int, int]
"""grouping, day, key: as in the table `total`."""

_ADDED = ", ".join(f"sum({name})" for name in SUMS)
# The rollup without sessions: a few thousand rows, from which all groupings are taken.
_CONDENSED = (
    f"condensed(day, stage, tool, rule, root, format, {', '.join(SUMS)}) AS ("
    "SELECT r.day, r.stage, r.tool, CASE WHEN r.rule THEN r.rule ELSE r.reason END AS word, s.root, g.format, "
    + ", ".join(f"sum(r.{name})" for name in SUMS)
    + " FROM session s JOIN generation g ON g.session = s.id AND g.generation = s.generation "
    "JOIN rollup r ON r.session = s.id AND r.generation = s.generation "
    "GROUP BY r.day, r.stage, r.tool, word, s.root, g.format)"
)


def _part(grouping: str, key: str, *, of_values: bool) -> str:
    if of_values:
        return f"SELECT '{grouping}', day, {key}, {', '.join(SUMS)} FROM condensed WHERE stage > 0"
    sizes = ", ".join(f"CASE stage WHEN 0 THEN {name} ELSE 0 END" for name in SUMS[3:])
    return f"SELECT '{grouping}', day, {key}, {', '.join(SUMS[:3])}, {sizes} FROM condensed"


RECOUNT = (
    f"WITH {_CONDENSED}, part(grouping, day, key, {', '.join(SUMS)}) AS ("
    + " UNION ALL ".join(
        (
            _part("tool", "tool", of_values=True),
            _part("rule", "rule", of_values=True),
            _part("stage", "stage", of_values=True),
            _part("root", "root", of_values=False),
            _part("format", "coalesce((SELECT id FROM name WHERE text = format), 0)", of_values=False),
        )
    )
    + f") SELECT grouping, day, key, {_ADDED} FROM part GROUP BY grouping, day, key"
)
"""What the table `total` has to hold, from the rollup rows of all current generations."""

WRONG = (
    f"WITH counted(grouping, day, key, {', '.join(SUMS)}) AS (SELECT * FROM ({RECOUNT}) UNION ALL "
    f"SELECT grouping, day, key, {', '.join(f'-{name}' for name in SUMS)} FROM total) "
    f"SELECT grouping, day, key FROM counted GROUP BY grouping, day, key "
    f"HAVING {' OR '.join(f'sum({name}) <> 0' for name in SUMS)} ORDER BY grouping, day, key LIMIT ?"
)
"""Rows of `total` that are not what RECOUNT gives; one statement, so that no commit comes in between."""


class Totals:
    """Adds up rollup rows of current generations to what the table `total` gets."""

    def __init__(self) -> None:
        self._sums: dict[TotalKey, list[int]] = {}

    def add(self, rollup: Iterable[tuple[RollupKey, Sums]], root: int, format: int, *, sign: int = 1) -> None:
        """Add rollup rows of one generation; `root` and `format` (the id of its name) are its session's."""
        for (_, _, day, stage, tool, rule, reason), (records, sites, edits, source, output) in rollup:
            counts, size = (sign * records, sign * sites, sign * edits), (sign * source, sign * output)
            if stage:
                self._add(("tool", day, tool), counts + size)
                self._add(("rule", day, rule or reason), counts + size)
                self._add(("stage", day, stage), counts + size)
                # The bytes of values are in those of their records.
                size = (0, 0)
            self._add(("root", day, root), counts + size)
            self._add(("format", day, format), counts + size)

    def items(self) -> Iterable[tuple[TotalKey, Sums]]:
        """The sums by key; all 0 where what was added was taken back."""
        return [(key, Sums(*entry)) for key, entry in self._sums.items()]

    def _add(self, key: TotalKey, sums: tuple[int, int, int, int, int]) -> None:
        entry = self._sums.get(key)
        if entry is None:
            self._sums[key] = list(sums)
            return
        for at, value in enumerate(sums):
            entry[at] += value
