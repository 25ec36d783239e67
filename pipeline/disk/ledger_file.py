"""The ledger's file: made whole or not at all, set up for the writer, and checked page by page."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time

from pipeline.disk.files import PRIVATE_FILE, fsync_dir
from pipeline.disk.schema import APPLICATION_ID, TABLES, USER_VERSION
from pipeline.disk.sqlite import REPAIR, pragma
from pipeline.errors import LedgerError

CACHE_KIB = 8 * 1024
WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""A WAL that a long reader made larger is cut to this after its checkpoint."""
PAGE_BYTES = 4096


def create(connection: sqlite3.Connection, path: str) -> None:
    """The empty ledger, whole or not at all."""
    os.chmod(path, PRIVATE_FILE)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    configure(connection, path)
    created = int(time.time())
    state_id = secrets.token_hex(16)
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{TABLES}\n"
            f"INSERT INTO meta VALUES('state_id', '{state_id}'), ('created', {created}), ('commits', 0);\n"
            f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {USER_VERSION};\nCOMMIT;"
        )
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    # The schema has to be in the database itself before the identity file says that there is a ledger.
    pragma(connection, "wal_checkpoint(TRUNCATE)")
    fsync_dir(os.path.dirname(path))


def configure(connection: sqlite3.Connection, path: str) -> None:
    """Set up the writer's connection.

    Raises:
        LedgerError: the file system cannot have a WAL.
    """
    mode = pragma(connection, "journal_mode = WAL")
    if mode != "wal":
        raise LedgerError(f"{path}: need SQLite's WAL mode, got {mode!r}; put the state folder on a local file system")
    for setting in (
        "synchronous = FULL",
        "mmap_size = 0",
        f"cache_size = -{CACHE_KIB}",
        f"journal_size_limit = {WAL_LIMIT_BYTES}",
        "temp_store = MEMORY",
    ):
        pragma(connection, setting)


def check_pages(connection: sqlite3.Connection, path: str) -> None:
    """Read the whole file.

    Raises:
        LedgerError: a page is damaged.
    """
    found = pragma(connection, "quick_check(1)")
    if found != "ok":
        raise LedgerError(f"{path}: damaged: {' '.join(str(found).split())}; {REPAIR}")
