"""What all who open the ledger share: its errors in our words, and the check that the file is a ledger of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.disk.schema import APPLICATION_ID, USER_VERSION
from pipeline.errors import CompactdError, LedgerError, OutputError

REPAIR = "use a copy or a new --state"

_NOT_NOW = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
    }
)
"""Codes of troubles that may pass; the ledger itself is sound."""


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise what SQLite reports about the ledger at `path` as one of our errors; a wrong call stays what it is.

    Raises:
        OutputError: full disk, input/output error, no permission, busy: the state is that of the last commit.
        LedgerError: damaged, no database, or a row that contradicts another.
    """
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise
    except sqlite3.Error as error:
        raise _ours(path, error) from error


def _ours(path: str, error: sqlite3.Error) -> CompactdError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _NOT_NOW:
        return OutputError(f"{path}: cannot use the ledger now: {error}")
    return LedgerError(f"{path}: the ledger cannot be used: {error}; {REPAIR}")


def pragma(connection: sqlite3.Connection, text: str) -> Any:
    """The first column of what a pragma answers; None if it answers nothing."""
    row = connection.execute(f"PRAGMA {text}").fetchone()
    return None if row is None else row[0]


def is_empty(connection: sqlite3.Connection) -> bool:
    """True for a database that nobody has put anything into."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not tables and not pragma(connection, "application_id") and not pragma(connection, "user_version")


def check_version(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database that is no ledger, or one of another schema; changes nothing.

    Raises:
        LedgerError: with what it is.
    """
    application = pragma(connection, "application_id")
    if application != APPLICATION_ID:
        raise LedgerError(
            f"{path}: need a ledger of compactd (application_id {APPLICATION_ID}), "
            f"got a database with application_id {application}"
        )
    version = pragma(connection, "user_version")
    if version > USER_VERSION:
        raise LedgerError(
            f"{path}: need schema {USER_VERSION} or older, got {version}: a newer compactd has written it; upgrade"
        )
    if version < USER_VERSION:
        raise LedgerError(f"{path}: need schema {USER_VERSION}, got {version}; {REPAIR}")
