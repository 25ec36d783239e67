"""Questions to the ledger that its writer and its readers share; each one is a short transaction of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.disk.rows import (
    GENERATION_COLUMNS,
    SESSION_COLUMNS,
    GenerationRow,
    RollupKey,
    RootRow,
    SessionRow,
    Sums,
    ValueRow,
    generation_row,
)
from pipeline.disk.sqlite import translated
from pipeline.disk.totals import WRONG

CHUNK_ROWS = 5_000
_VALUE = "SELECT id, digest16, pack, frame, off, len FROM value"


class Queries:
    """Reads through one connection. Every method raises as `translated` when the ledger cannot be read."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self.path = path

    def roots(self) -> list[RootRow]:
        """All roots, oldest first."""
        return [RootRow(*row) for row in self._all("SELECT id, name, path FROM root ORDER BY id")]

    def session_row(self, session: int) -> SessionRow | None:
        """One session by its number."""
        rows = self._all(f"SELECT {SESSION_COLUMNS} FROM session WHERE id = ?", (session,))
        return SessionRow(*rows[0]) if rows else None

    def generation(self, session: int, generation: int) -> GenerationRow | None:
        """One generation of a session."""
        rows = self._all(
            f"SELECT {GENERATION_COLUMNS} FROM generation WHERE session = ? AND generation = ?", (session, generation)
        )
        return generation_row(rows[0]) if rows else None

    def generations(self, session: int) -> list[GenerationRow]:
        """All generations of a session, oldest first."""
        rows = self._all(
            f"SELECT {GENERATION_COLUMNS} FROM generation WHERE session = ? ORDER BY generation", (session,)
        )
        return [generation_row(row) for row in rows]

    def record_span(self, session: int, generation: int, ordinal: int) -> tuple[int, int] | None:
        """Where one record begins: its offset in the source and in the output."""
        rows = self._all(
            "SELECT src_off, out_off FROM record WHERE session = ? AND generation = ? AND ordinal = ?",
            (session, generation, ordinal),
        )
        return rows[0] if rows else None

    def record_hashes(self, session: int, generation: int) -> Iterator[tuple[int, int]]:
        """Length in the source and hash of each record of a generation, in order; read in chunks."""
        after = 0
        while rows := self._all(
            "SELECT ordinal, src_len, hash8 FROM record WHERE session = ? AND generation = ? AND ordinal > ? "
            "ORDER BY ordinal LIMIT ?",
            (session, generation, after, CHUNK_ROWS),
        ):
            after = rows[-1][0]
            yield from ((length, hash8) for _, length, hash8 in rows)

    def starts_with(self, session: int, generation: int, earlier: int) -> bool:
        """True if a generation begins with all records of an earlier one, compared by length and hash."""
        ((missing,),) = self._all(
            "SELECT count(*) FROM record a WHERE session = :s AND generation = :e AND NOT EXISTS ("
            "SELECT 1 FROM record b WHERE b.session = :s AND b.generation = :g AND b.ordinal = a.ordinal "
            "AND b.hash8 = a.hash8 AND b.src_len = a.src_len)",
            {"s": session, "g": generation, "e": earlier},
        )
        return bool(missing == 0)

    def committed_packs(self) -> dict[int, int]:
        """Committed length of each pack of the vault."""
        return dict(self._all("SELECT id, length FROM pack"))

    def value(self, id: int) -> ValueRow | None:
        """Where one original lies."""
        rows = self._all(f"{_VALUE} WHERE id = ?", (id,))
        return ValueRow(*rows[0]) if rows else None

    def values(self, ids: Iterable[int]) -> list[ValueRow]:
        """Where the originals lie, those the ledger has."""
        return [row for id in ids if (row := self.value(id)) is not None]

    def value_by_digest(self, digest16: bytes) -> list[ValueRow]:
        """Originals with this digest: more than one only if digests collide."""
        return [ValueRow(*row) for row in self._all(f"{_VALUE} WHERE digest16 = ?", (digest16,))]

    def values_in_pack(self, pack: int) -> list[ValueRow]:
        """Originals in a pack, in their order there; reads the whole value table."""
        return [ValueRow(*row) for row in self._all(f"{_VALUE} WHERE pack = ? ORDER BY frame, off", (pack,))]

    def rollup(self, session: int, generation: int) -> dict[RollupKey, Sums]:
        """The stored sums of a generation."""
        rows = self._all(
            "SELECT session, generation, day, stage, tool, rule, reason, records, sites, edits, source_bytes, "
            "output_bytes FROM rollup WHERE session = ? AND generation = ?",
            (session, generation),
        )
        return {
            (s, g, day, stage, tool, rule, reason): Sums(*sums) for s, g, day, stage, tool, rule, reason, *sums in rows
        }

    def recount(self, session: int, generation: int) -> dict[RollupKey, Sums]:
        """The same sums, from the record and site rows: equal to `rollup` when the ledger is right (README.md, P8)."""
        rows = self._all(
            "SELECT session, generation, day, 0, 0, outcome, reason, count(*), 0, 0, sum(src_len), sum(out_len) "
            "FROM record WHERE session = :s AND generation = :g GROUP BY day, outcome, reason "
            "UNION ALL "
            "SELECT session, generation, day, stage, tool, rule, s.reason, 0, count(*), sum(applied), "
            "sum(bytes_before), sum(bytes_after) FROM site s JOIN record USING (session, generation, ordinal) "
            "WHERE session = :s AND generation = :g GROUP BY day, stage, tool, rule, s.reason",
            {"s": session, "g": generation},
        )
        return {
            (s, g, day, stage, tool, rule, reason): Sums(*sums) for s, g, day, stage, tool, rule, reason, *sums in rows
        }

    def wrong_totals(self, limit: int = 20) -> list[tuple[str, int, int]]:
        """Rows of `total`, as grouping, day and key, that are not the sum of the rollup rows of current generations."""
        return self._all(WRONG, (limit,))

    def meta(self, key: str) -> Any:
        """One value of the meta table; None if it is not there."""
        rows = self._all("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def _all(self, sql: str, arguments: Any = ()) -> list[Any]:
        with translated(self.path):
            return self._connection.execute(sql, arguments).fetchall()
