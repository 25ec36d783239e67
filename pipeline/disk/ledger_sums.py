"""Questions of `stats`: sums over all current generations, by what people want them."""

from __future__ import annotations

from typing import Any, Literal

from pipeline.disk.ledger_rows import SessionSizes, SumRow, shown
from pipeline.disk.queries import Queries
from pipeline.disk.rows import SUMS, day_text

By = Literal["tool", "rule", "session", "root", "format", "stage", "day"]

_ADDED = ", ".join(f"sum({name})" for name in SUMS)
_SAVED_FIRST = "ORDER BY sum(source_bytes) - sum(output_bytes) DESC, key"
_WORD = "coalesce((SELECT text FROM name WHERE id = key), '')"
_OF_TOTAL: dict[By, tuple[str, str]] = {
    "tool": (_WORD, "key"),
    "rule": (_WORD, "key"),
    "stage": (_WORD, "key"),
    "root": ("(SELECT name FROM root WHERE id = key)", "key"),
    "format": (_WORD, "0"),
}
"""By grouping of the table `total`: the text of its key, and the number that people know it by."""

# Every record row is in one root, so the root's sums are those of all sessions.
_BY_DAY = (
    f"SELECT day, 0, {_ADDED} FROM total WHERE grouping = 'root' AND day >= ? AND day <= ? GROUP BY day ORDER BY day"
)
_IN_ALL = f"SELECT {_ADDED} FROM total WHERE grouping = 'root' AND day >= ? AND day <= ?"
_BY_SESSION = (
    "SELECT (SELECT CAST(root.name || '/' || out_rel AS BLOB) FROM session JOIN root ON root.id = root "
    "WHERE session.id = key), key, records, sites, edits, source_bytes, output_bytes FROM ("
    "SELECT r.session AS key, sum(r.records) AS records, sum(r.sites) AS sites, sum(r.edits) AS edits, "
    "sum(CASE r.stage WHEN 0 THEN r.source_bytes ELSE 0 END) AS source_bytes, "
    "sum(CASE r.stage WHEN 0 THEN r.output_bytes ELSE 0 END) AS output_bytes "
    "FROM rollup r JOIN session s ON s.id = r.session AND s.generation = r.generation "
    "WHERE r.day >= ? AND r.day <= ? GROUP BY r.session) ORDER BY source_bytes - output_bytes DESC, key"
)


class SumQueries(Queries):
    """Sums and sizes; each method is one short transaction."""

    def rollup_sums(self, by: By, since: int | None = None, until: int | None = None) -> list[SumRow]:
        """Sums over the current generations by group, most saved bytes first (days in order).

        Args:
            by: what to group by. Tool, rule and stage sum over sites, so `records` is 0 and the bytes are those of
                the values; a site that no rule changed counts under its reason. The others sum over records.
            since: first day, as `day_number`; None for no limit.
            until: last day, included.
        """
        days = _days(since, until)
        if by == "day":
            return [SumRow(day_text(day), *rest) for day, *rest in self._all(_BY_DAY, days)]
        if by == "session":
            rows = self._all(_BY_SESSION, days)
        else:
            label, id = _OF_TOTAL[by]
            rows = self._all(
                f"SELECT {label}, {id}, {_ADDED} FROM total WHERE grouping = ? AND day >= ? AND day <= ? "
                f"GROUP BY key {_SAVED_FIRST}",
                (by, *days),
            )
        return [SumRow(_text(label), *rest) for label, *rest in rows]

    def totals(self, since: int | None = None, until: int | None = None) -> SumRow:
        """Sums over all records and sites of the current generations; bytes are those of the records."""
        (sums,) = self._all(_IN_ALL, _days(since, until))
        return SumRow("", 0, *(value or 0 for value in sums))

    def vault_bytes(self) -> int:
        """Committed bytes of all packs."""
        ((length,),) = self._all("SELECT coalesce(sum(length), 0) FROM pack")
        return int(length)

    def session_sizes(self) -> SessionSizes:
        """Sums over all sessions."""
        ((sessions, source),) = self._all("SELECT count(*), coalesce(sum(size), 0) FROM session")
        # The committed length of an output is the sum of its records.
        return SessionSizes(sessions, source, self.totals().output_bytes)


def _text(label: Any) -> str:
    return shown(label) if isinstance(label, bytes) else str(label or "")


def _days(since: int | None, until: int | None) -> tuple[int, int]:
    return -(1 << 62) if since is None else since, (1 << 62) if until is None else until
