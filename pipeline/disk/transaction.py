"""One commit of the ledger: the writes that may happen between BEGIN and COMMIT, all in bulk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pipeline.disk.rows import (
    GENERATION_COLUMNS,
    SESSION_COLUMNS,
    SUMS,
    GenerationRow,
    RecordTuple,
    RollupKey,
    RollupSums,
    SessionRow,
    SiteTuple,
    Sums,
    ValueRow,
    generation_values,
    session_values,
)
from pipeline.disk.sqlite import REPAIR, translated
from pipeline.disk.totals import Totals
from pipeline.errors import LedgerError

_KEY = "session = ? AND generation = ?"
_RECORD = "session, generation, ordinal, src_off, src_len, out_off, out_len, hash8, day, outcome, reason"
_SITE = (
    "session, generation, ordinal, n, stage, tool, rule, reason, applied, off_in_output_record, bytes_after, "
    "bytes_before, value"
)
_ROLLUP_KEY = "session, generation, day, stage, tool, rule, reason"


def _insert(table: str, columns: str, *, verb: str = "INSERT") -> str:
    marks = ", ".join("?" * len(columns.split(", ")))
    return f"{verb} INTO {table}({columns}) VALUES({marks})"


_INSERT_RECORD = _insert("record", _RECORD)
_INSERT_SITE = _insert("site", _SITE)
_INSERT_VALUE = _insert("value", "id, digest16, pack, frame, off, len")
_PUT_GENERATION = _insert("generation", GENERATION_COLUMNS, verb="INSERT OR REPLACE")
_PUT_PACK = _insert("pack", "id, length", verb="INSERT OR REPLACE")
_INSERT_SESSION = _insert("session", SESSION_COLUMNS)


def _add_sums(table: str, key: str) -> str:
    columns = _insert(table, f"{key}, {', '.join(SUMS)}")
    return f"{columns} ON CONFLICT({key}) DO UPDATE SET " + ", ".join(f"{sum} = {sum} + excluded.{sum}" for sum in SUMS)


_ADD_ROLLUP = _add_sums("rollup", _ROLLUP_KEY)
_ADD_TOTAL = _add_sums("total", "grouping, day, key")
_UPDATE_SESSION = (
    "UPDATE session SET " + ", ".join(f"{name} = ?" for name in SESSION_COLUMNS.split(", ")[1:]) + " WHERE id = ?"
)
_UPDATE_VALUE = "UPDATE value SET pack = ?, frame = ?, off = ? WHERE id = ?"


class Transaction:
    """The writes of one open transaction; every method raises as `translated`.

    Whatever is done, `total` stays the sum of the rollup rows of all current generations. The format of a generation
    may not change once it has rows.
    """

    def __init__(self, connection: sqlite3.Connection, path: str, name_id: Callable[[str], int]) -> None:
        self._connection = connection
        self._path = path
        self._name_id = name_id

    def insert_records(self, rows: Iterable[RecordTuple]) -> None:
        """Add record rows; LedgerError if one is there already."""
        self._many(_INSERT_RECORD, rows)

    def insert_sites(self, rows: Iterable[SiteTuple]) -> None:
        """Add site rows; LedgerError if one is there already."""
        self._many(_INSERT_SITE, rows)

    def insert_values(self, rows: Iterable[ValueRow]) -> None:
        """Add value rows, from `VaultWriter.flush`."""
        self._many(_INSERT_VALUE, rows)

    def add_rollup(self, sums: RollupSums) -> None:
        """Add to the sums that `stats` reads, for the rows of this very transaction."""
        items = sums.items()
        self._many(_ADD_ROLLUP, [key + entry for key, entry in items.items()])
        of_generation: dict[tuple[int, int], list[tuple[RollupKey, Sums]]] = {}
        for key, entry in items.items():
            of_generation.setdefault(key[:2], []).append((key, entry))
        totals = Totals()
        for (session, generation), rollup in of_generation.items():
            current, root, format = self._counted(session)
            if current == generation:
                totals.add(rollup, root, format)
        self._add_totals(totals)

    def put_generation(self, row: GenerationRow) -> None:
        """Insert or replace a generation: its state and checkpoint."""
        self._one(_PUT_GENERATION, generation_values(row))

    def insert_session(self, row: SessionRow) -> None:
        """Add a session under its id; LedgerError if there is one already."""
        self._one(_INSERT_SESSION, session_values(row))

    def update_session(self, row: SessionRow) -> None:
        """Store all columns of a session.

        Raises:
            LedgerError: there is no such session.
        """
        values = session_values(row)
        before = self._all("SELECT root, generation FROM session WHERE id = ?", (row.id,))
        counts_anew = before != [(row.root, row.generation)]
        if counts_anew:
            self._count(row.id, sign=-1)
        if self._one(_UPDATE_SESSION, (*values[1:], values[0])).rowcount != 1:
            raise LedgerError(f"{self._path}: need session #{row.id}, there is none; {REPAIR}")
        if counts_anew:
            self._count(row.id, sign=1)

    def put_former_path(self, session: int, out_path: bytes) -> None:
        """Note where a session's output lay before its source was moved."""
        self._one("INSERT OR IGNORE INTO former_path VALUES(?, ?)", (session, out_path))

    def put_packs(self, lengths: Mapping[int, int]) -> None:
        """Commit the lengths of packs, from `VaultWriter.lengths`."""
        self._many(_PUT_PACK, list(lengths.items()))

    def delete_record(self, session: int, generation: int, ordinal: int) -> RollupSums:
        """Take back one record with its sites, since a longer one takes its place.

        Returns:
            What was added to the rollup for it: its own sums, negative. Its originals stay in the vault.

        Raises:
            LedgerError: there is no such record.
        """
        key = (session, generation, ordinal)
        where = f"{_KEY} AND ordinal = ?"
        records = self._all(f"SELECT {_RECORD} FROM record WHERE {where}", key)
        sites = self._all(f"SELECT {_SITE} FROM site WHERE {where}", key)
        if not records:
            raise LedgerError(f"{self._path}: need record {ordinal} of session #{session}, there is none; {REPAIR}")
        sums = RollupSums()
        sums.add(records, sites, sign=-1)
        self._one(f"DELETE FROM site WHERE {where}", key)
        self._one(f"DELETE FROM record WHERE {where}", key)
        self.add_rollup(sums)
        self._one(f"DELETE FROM rollup WHERE {_KEY} AND records = 0 AND sites = 0", (session, generation))
        return sums

    def drop_generation(self, session: int, generation: int) -> None:
        """Remove a generation with all its rows; its originals stay in the vault."""
        if self._counted(session)[0] == generation:
            self._count(session, sign=-1)
        for table in ("record", "site", "rollup", "generation"):
            self._one(f"DELETE FROM {table} WHERE {_KEY}", (session, generation))

    def drop_session(self, session: int) -> None:
        """Remove a session with all its generations; its originals stay in the vault."""
        self._count(session, sign=-1)
        for table in ("record", "site", "rollup", "generation", "former_path"):
            self._one(f"DELETE FROM {table} WHERE session = ?", (session,))
        self._one("DELETE FROM session WHERE id = ?", (session,))

    def move_values(self, rows: Iterable[ValueRow]) -> None:
        """Store the new places of originals that were written again."""
        self._many(_UPDATE_VALUE, [(row.pack, row.frame, row.off, row.id) for row in rows])

    def delete_values(self, ids: Iterable[int]) -> None:
        """Remove value rows."""
        self._many("DELETE FROM value WHERE id = ?", [(id,) for id in ids])

    def delete_packs(self, packs: Iterable[int]) -> None:
        """Remove packs: without a committed length the vault removes their files."""
        self._many("DELETE FROM pack WHERE id = ?", [(pack,) for pack in packs])

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Insert one row of a table with an integer id; the id."""
        id = self._one(sql, values).lastrowid
        assert id is not None
        return id

    def _counted(self, session: int) -> tuple[int, int, int]:
        """The generation of a session that `total` counts, 0 for none; its root, and the id of its format."""
        rows = self._all(
            "SELECT s.generation, s.root, g.format FROM session s JOIN generation g ON g.session = s.id "
            "AND g.generation = s.generation WHERE s.id = ?",
            (session,),
        )
        if not rows:
            return 0, 0, 0
        generation, root, format = rows[0]
        return generation, root, self._name_id(format)

    def _count(self, session: int, *, sign: int) -> None:
        """Add the current generation of a session to `total` (sign 1), or take it out (-1)."""
        generation, root, format = self._counted(session)
        rows = self._all(f"SELECT {_ROLLUP_KEY}, {', '.join(SUMS)} FROM rollup WHERE {_KEY}", (session, generation))
        totals = Totals()
        totals.add([(row[:7], Sums(*row[7:])) for row in rows], root, format, sign=sign)
        self._add_totals(totals)

    def _add_totals(self, totals: Totals) -> None:
        rows = [key + sums for key, sums in totals.items()]
        self._many(_ADD_TOTAL, rows)
        less = [row[:3] for row in rows if min(row[3:5]) < 0]
        self._many("DELETE FROM total WHERE grouping = ? AND day = ? AND key = ? AND records = 0 AND sites = 0", less)

    def _all(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with translated(self._path):
            return self._connection.execute(sql, values).fetchall()

    def _one(self, sql: str, values: Sequence[Any]) -> sqlite3.Cursor:
        with translated(self._path):
            return self._connection.execute(sql, values)

    def _many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with translated(self._path):
            self._connection.executemany(sql, rows)
