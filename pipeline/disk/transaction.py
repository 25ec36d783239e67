"""One commit of the ledger: the writes that may happen between BEGIN and COMMIT, all in bulk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.disk.rows import (
    GENERATION_COLUMNS,
    SESSION_COLUMNS,
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
from pipeline.errors import LedgerError

_KEY = "session = ? AND generation = ?"
_RECORD = "session, generation, ordinal, src_off, src_len, out_off, out_len, hash8, day, outcome, reason"
_SITE = (
    "session, generation, ordinal, n, stage, tool, rule, reason, applied, off_in_output_record, bytes_after, "
    "bytes_before, value"
)
_ROLLUP_KEY = "session, generation, day, stage, tool, rule, reason"
_SUMS = ("records", "sites", "edits", "source_bytes", "output_bytes")


def _insert(table: str, columns: str, *, verb: str = "INSERT") -> str:
    marks = ", ".join("?" * len(columns.split(", ")))
    return f"{verb} INTO {table}({columns}) VALUES({marks})"


_INSERT_RECORD = _insert("record", _RECORD)
_INSERT_SITE = _insert("site", _SITE)
_INSERT_VALUE = _insert("value", "id, digest16, pack, frame, off, len")
_PUT_GENERATION = _insert("generation", GENERATION_COLUMNS, verb="INSERT OR REPLACE")
_PUT_PACK = _insert("pack", "id, length", verb="INSERT OR REPLACE")
_ADD_ROLLUP = (
    _insert("rollup", f"{_ROLLUP_KEY}, {', '.join(_SUMS)}")
    + f" ON CONFLICT({_ROLLUP_KEY}) DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
)
_UPDATE_SESSION = (
    "UPDATE session SET " + ", ".join(f"{name} = ?" for name in SESSION_COLUMNS.split(", ")[1:]) + " WHERE id = ?"
)
_UPDATE_VALUE = "UPDATE value SET pack = ?, frame = ?, off = ? WHERE id = ?"


class Transaction:
    """The writes of one open transaction; every method raises as `translated`."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    def insert_records(self, rows: Iterable[RecordTuple]) -> None:
        """Add record rows; LedgerError if one is there already."""
        self._many(_INSERT_RECORD, rows)

    def insert_sites(self, rows: Iterable[SiteTuple]) -> None:
        """Add site rows; LedgerError if one is there already."""
        self._many(_INSERT_SITE, rows)

    def insert_values(self, rows: Iterable[ValueRow]) -> None:
        """Add value rows, from `VaultWriter.flush`."""
        self._many(_INSERT_VALUE, rows)

    def add_rollup(self, sums: Mapping[RollupKey, Sums] | RollupSums) -> None:
        """Add to the sums that `stats` reads, for the rows of this very transaction."""
        items = sums.items() if isinstance(sums, Mapping) else sums.items().items()
        self._many(_ADD_ROLLUP, [key + entry for key, entry in items])

    def put_generation(self, row: GenerationRow) -> None:
        """Insert or replace a generation: its state and checkpoint."""
        self._one(_PUT_GENERATION, generation_values(row))

    def update_session(self, row: SessionRow) -> None:
        """Store all columns of a session.

        Raises:
            LedgerError: there is no such session.
        """
        values = session_values(row)
        if self._one(_UPDATE_SESSION, (*values[1:], values[0])).rowcount != 1:
            raise LedgerError(f"{self._path}: need session #{row.id}, there is none; {REPAIR}")

    def put_packs(self, lengths: Mapping[int, int]) -> None:
        """Commit the lengths of packs, from `VaultWriter.lengths`."""
        self._many(_PUT_PACK, list(lengths.items()))

    def make_current(self, session: int, generation: int) -> None:
        """Let this generation be the one that counts; the one that was current becomes superseded."""
        self._one(
            "UPDATE generation SET state = 'superseded' WHERE session = ? AND generation <> ? AND state = 'current'",
            (session, generation),
        )
        self._one(f"UPDATE generation SET state = 'current' WHERE {_KEY}", (session, generation))
        self._one("UPDATE session SET generation = ? WHERE id = ?", (generation, session))

    def supersede(self, session: int, generation: int) -> None:
        """Mark a generation as superseded; its rows stay, for `restore --generation`."""
        self._one(f"UPDATE generation SET state = 'superseded' WHERE {_KEY}", (session, generation))

    def delete_record(self, session: int, generation: int, ordinal: int) -> RollupSums:
        """Take back one record with its sites, since a longer one takes its place.

        Returns:
            What was added to the rollup for it: its own sums, negative. Its originals stay in the vault.

        Raises:
            LedgerError: there is no such record.
        """
        key = (session, generation, ordinal)
        where = f"{_KEY} AND ordinal = ?"
        with translated(self._path):
            records = self._connection.execute(f"SELECT {_RECORD} FROM record WHERE {where}", key).fetchall()
            sites = self._connection.execute(f"SELECT {_SITE} FROM site WHERE {where}", key).fetchall()
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
        for table in ("record", "site", "rollup", "generation"):
            self._one(f"DELETE FROM {table} WHERE {_KEY}", (session, generation))

    def drop_session(self, session: int) -> None:
        """Remove a session with all its generations; its originals stay in the vault."""
        for table in ("record", "site", "rollup", "generation"):
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

    def put_meta(self, key: str, value: str | int) -> None:
        """Store one value of the meta table."""
        self._one("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Insert one row of a table with an integer id; the id."""
        id = self._one(sql, values).lastrowid
        assert id is not None
        return id

    def _one(self, sql: str, values: Sequence[Any]) -> sqlite3.Cursor:
        with translated(self._path):
            return self._connection.execute(sql, values)

    def _many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with translated(self._path):
            self._connection.executemany(sql, rows)
