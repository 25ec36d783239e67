"""A ledger with millions of rows: that of a real backfill, copied session by session within the database.

So its rollups, names and row sizes are those that real runs make; only sessions, values and days are others.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pipeline.disk.totals import RECOUNT

# The copies' days are spread over about as long as people keep sessions.
DAYS = 180

_SESSION = "generation, dev, inode, size, mtime_ns, moved_from"
_GENERATION = (
    "generation, state, format, config, src_off, out_len, records, head_len, head_hash, marker_len, marker_hash, "
    "out_marker_len, out_marker_hash, open_tail"
)
_RECORD = "generation, ordinal, src_off, src_len, out_off, out_len, hash8"
_SITE = "generation, ordinal, n, stage, tool, rule, reason, applied, off_in_output_record, bytes_after, bytes_before"
_SUMS = "records, sites, edits, source_bytes, output_bytes"

# :k is the number of the copy, :sessions, :values and :days what it adds to the ids and days of the first one.
_COPY = (
    f"INSERT INTO session(id, root, rel, out_rel, {_SESSION}) SELECT id + :sessions, root, "
    f"CAST('copy' || :k || '/' || rel AS BLOB), CAST('copy' || :k || '/' || out_rel AS BLOB), {_SESSION} "
    "FROM session WHERE id <= :last_session ORDER BY id",
    f"INSERT INTO generation(session, {_GENERATION}) SELECT session + :sessions, {_GENERATION} FROM generation "
    "WHERE session <= :last_session",
    f"INSERT INTO record(session, {_RECORD}, day, outcome, reason) SELECT session + :sessions, {_RECORD}, "
    "day + :days, outcome, reason FROM record WHERE session <= :last_session",
    f"INSERT INTO site(session, {_SITE}, value) SELECT session + :sessions, {_SITE}, "
    "CASE WHEN value THEN value + :values ELSE 0 END FROM site WHERE session <= :last_session",
    "INSERT INTO value(id, digest16, pack, frame, off, len) SELECT id + :values, randomblob(16), pack, frame, off, "
    "len FROM value WHERE id <= :last_value",
    "INSERT INTO rollup(session, generation, day, stage, tool, rule, reason, "
    f"{_SUMS}) SELECT session + :sessions, generation, day + :days, stage, tool, rule, reason, {_SUMS} "
    "FROM rollup WHERE session <= :last_session",
)


def rows_in(ledger: Path) -> int:
    """Record rows and site rows together."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        return _rows(connection)


def multiply(ledger: Path, rows: int) -> int:
    """Copy all sessions of a ledger that nobody uses until it has at least so many rows; how many it has then."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        # Nothing is lost if this dies half-way: the ledger is made for one measurement.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        there = _rows(connection)
        last_session, last_value = connection.execute(
            "SELECT (SELECT max(id) FROM session), (SELECT coalesce(max(id), 0) FROM value)"
        ).fetchone()
        connection.execute("BEGIN")
        for k in range(1, -(-rows // there)):
            numbers = {"k": k, "sessions": k * last_session, "values": k * last_value, "days": k % DAYS}
            for sql in _COPY:
                connection.execute(sql, {**numbers, "last_session": last_session, "last_value": last_value})
        connection.execute("DELETE FROM total")
        connection.execute(f"INSERT INTO total {RECOUNT}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        return _rows(connection)


def _rows(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT (SELECT count(*) FROM record) + (SELECT count(*) FROM site)").fetchone()
    assert isinstance(count, int)
    return count
