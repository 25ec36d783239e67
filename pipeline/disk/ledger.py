"""The ledger's one read-write connection: opening with its checks, transactions, and the rows the writer works by."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pipeline.disk.files import make_private_dir
from pipeline.disk.ledger_file import check_pages, configure, create
from pipeline.disk.purge_queries import PurgeQueries
from pipeline.disk.queries import Queries
from pipeline.disk.rows import SESSION_COLUMNS, RootRow, SessionRow
from pipeline.disk.sentinel import Sentinel
from pipeline.disk.sqlite import REPAIR, check_version, is_empty, pragma, translated
from pipeline.disk.transaction import Transaction
from pipeline.errors import LedgerError, OutputError

BUSY_SECONDS = 5.0
MAX_NAME_CHARS = 200
MAX_CACHED_NAMES = 50_000
Result = TypeVar("Result")
RESERVED_NAMES = frozenset({"", ".", "..", ".generations", "/"})


class Ledger(PurgeQueries):
    """The ledger, opened for writing by the one process that holds the state folder's lock; one thread at a time.

    The connection must not be carried over a fork.
    """

    def __init__(self, connection: sqlite3.Connection, path: str, sentinel: Sentinel, commits: int) -> None:
        super().__init__(connection, path)
        self._sentinel = sentinel
        self._commits = commits
        self._file = os.stat(path)
        self._transaction: Transaction | None = None
        self._names: dict[str, int] = {}
        self._new_names: list[str] = []
        self._next_value = 0
        self._next_session = 0
        self._reserved: dict[int, SessionRow] = {}
        self._reserved_at: dict[tuple[int, bytes], SessionRow] = {}

    @classmethod
    def open(cls, path: str, *, quick_check: bool = False) -> Ledger:
        """Open the ledger at `path`, or make it, where `<folder>/identity` does not say that there was one.

        Args:
            path: `<state>/ledger.db`; the folder is made when it is missing.
            quick_check: read the whole file and look for damage.

        Raises:
            LedgerError: damaged, lost, of a newer version or no ledger at all. Nothing was changed then.
            OutputError: it cannot be opened or made now.
        """
        folder = os.path.dirname(path)
        try:
            make_private_dir(folder)
        except OSError as error:
            raise OutputError(f"{folder}: cannot make the state folder: {error.strerror}") from error
        identity = os.path.join(folder, "identity")
        sentinel = Sentinel.read(identity)
        if sentinel is not None and not os.path.exists(path):
            raise LedgerError(f"{path}: is gone, but {identity} says that there was a ledger; {REPAIR}")
        try:
            with translated(path):
                connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                with translated(path):
                    if is_empty(connection):
                        if sentinel is not None:
                            raise LedgerError(
                                f"{path}: is empty, but {identity} says that there was a ledger of "
                                f"{sentinel.commits} commits; {REPAIR}"
                            )
                        create(connection, path)
                    check_version(connection, path)
                    configure(connection, path)
                    if quick_check:
                        check_pages(connection, path)
                return cls._checked(connection, path, identity, sentinel)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise OutputError(f"{path}: cannot open the ledger: {error.strerror}") from error

    @classmethod
    def _checked(cls, connection: sqlite3.Connection, path: str, identity: str, sentinel: Sentinel | None) -> Ledger:
        """The ledger, if it is the one that the identity file knows and has all of its commits."""
        queries = Queries(connection, path)
        state_id, commits = queries.meta("state_id"), queries.meta("commits")
        if not isinstance(state_id, str) or not isinstance(commits, int):
            raise LedgerError(f"{path}: its meta table lacks state_id or commits; {REPAIR}")
        if sentinel is None:
            sentinel = Sentinel.create(identity, state_id, commits)
        if sentinel.state_id != state_id:
            raise LedgerError(f"{path}: need the ledger {sentinel.state_id} of {identity}, got {state_id}; {REPAIR}")
        if sentinel.commits > commits:
            raise LedgerError(
                f"{path}: need {sentinel.commits} commits as {identity} says, got {commits}: its WAL file was lost or "
                f"an older copy was put back; {REPAIR}"
            )
        return cls(connection, path, sentinel, commits)

    def close(self) -> None:
        """Move the WAL into the database as far as readers allow, and close; an open transaction is rolled back.

        Raises:
            OutputError: the disk is full or fails; the WAL still has everything.
        """
        self._rollback()
        try:
            with translated(self.path):
                pragma(self._connection, "wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.close()
            self._sentinel.close()

    def assert_in_place(self) -> None:
        """Make sure that the open database is the file at its path: commits into a deleted one would succeed.

        Raises:
            LedgerError: it was deleted or replaced.
        """
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, self._file):
            what = "deleted" if there is None else "replaced by another file"
            raise LedgerError(f"{self.path}: was {what} while it was open; put it back or {REPAIR}")

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """BEGIN IMMEDIATE, and COMMIT at the end of the block; any error rolls back and goes on.

        When COMMIT itself fails the transaction counts as rolled back, but what is on disk has to be read again.

        Raises:
            LedgerError: the file was deleted or replaced, or a row contradicts another.
            OutputError: it cannot be written now.
        """
        if self._transaction is not None:
            raise RuntimeError("ledger: transactions do not nest")
        self.assert_in_place()
        with translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        done = False
        try:
            self._transaction = Transaction(self._connection, self.path, self.name_id)
            yield self._transaction
            with translated(self.path):
                self._connection.execute("UPDATE meta SET value = ? WHERE key = 'commits'", (self._commits + 1,))
                self._connection.execute("COMMIT")
            done = True
        finally:
            self._transaction = None
            if not done:
                self._rollback()
        self._new_names.clear()
        self._commits += 1
        self._sentinel.count(self._commits)

    def root(self, path: bytes, base: str) -> RootRow:
        """The root at `path`; a new one gets the name `base`, or `base-2` and so on when that is taken.

        Args:
            path: as the file system has it.
            base: last component of the path. Names that differ only in case count as equal: some file systems
                cannot hold both.
        """
        roots = self.roots()
        for known in roots:
            if known.path == path:
                return known
        base = base.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("/", "_").replace("\0", "_")
        base = "root" if base in RESERVED_NAMES else base
        taken = {known.name.casefold() for known in roots}
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}-{number}"
        id = self._write(lambda tx: tx.insert("INSERT INTO root(name, path) VALUES(?, ?)", (name, path)))
        return RootRow(id, name, path)

    def sessions(self) -> list[SessionRow]:
        """All sessions, oldest first."""
        return [SessionRow(*row) for row in self._all(f"SELECT {SESSION_COLUMNS} FROM session ORDER BY id")]

    def session(self, root: int, rel: bytes) -> SessionRow | None:
        """The session of a source file; also a reserved one."""
        reserved = self._reserved_at.get((root, rel))
        if reserved is not None:
            return reserved
        rows = self._all(f"SELECT {SESSION_COLUMNS} FROM session WHERE root = ? AND rel = ?", (root, rel))
        return SessionRow(*rows[0]) if rows else None

    def sessions_by_inode(self, dev: int, inode: int) -> list[SessionRow]:
        """Sessions whose source was last seen as this file."""
        rows = self._all(f"SELECT {SESSION_COLUMNS} FROM session WHERE inode = ? AND dev = ?", (inode, dev))
        return [SessionRow(*row) for row in rows]

    def reserve_session(self, session: SessionRow) -> int:
        """Give a new session its id. Its row is inserted later, by `Transaction.insert_session`; else it never was."""
        if not self._next_session:
            ((highest,),) = self._all("SELECT coalesce(max(id), 0) FROM session")
            self._next_session = highest + 1
        session.id = self._next_session
        self._next_session += 1
        self._reserved[session.id] = session
        self._reserved_at[session.root, session.rel] = session
        return session.id

    def is_reserved(self, session: int) -> bool:
        """True for a session that has an id and no row yet."""
        return session in self._reserved

    def inserted(self, session: SessionRow) -> None:
        """A reserved session has its row now."""
        if self._reserved.pop(session.id, None) is not None:
            del self._reserved_at[session.root, session.rel]

    def session_row(self, session: int) -> SessionRow | None:
        """One session by its number; also a reserved one."""
        return self._reserved.get(session) or super().session_row(session)

    def name_id(self, text: str) -> int:
        """The id of an interned word, 0 for ""; a new one is inserted in the open transaction or one of its own.

        A tool may have any name: it is cut to MAX_NAME_CHARS, and what is no Unicode is written with escapes.
        """
        id = self._names.get(text)
        if id is not None:
            return id
        if not text:
            return 0
        stored = text if len(text) <= MAX_NAME_CHARS else f"{text[: MAX_NAME_CHARS - 1]}…"
        stored = stored.encode("utf-8", "backslashreplace").decode()
        rows = self._all("SELECT id FROM name WHERE text = ?", (stored,))
        if rows:
            id = int(rows[0][0])
        else:
            id = self._write(lambda tx: tx.insert("INSERT INTO name(text) VALUES(?)", (stored,)))
        if len(self._names) >= MAX_CACHED_NAMES:
            self._names.clear()
        self._names[text] = id
        if self._transaction is not None:
            self._new_names.append(text)
        return id

    def next_value_id(self) -> int:
        """A value id that no row has and that was not given out before."""
        if not self._next_value:
            ((highest,),) = self._all("SELECT coalesce(max(id), 0) FROM value")
            self._next_value = highest + 1
        self._next_value += 1
        return self._next_value - 1

    def _write(self, action: Callable[[Transaction], Result]) -> Result:
        if self._transaction is not None:
            return action(self._transaction)
        with self.transaction() as tx:
            return action(tx)

    def _rollback(self) -> None:
        # SQLite has rolled back on its own after some errors.
        if self._connection.in_transaction:
            with translated(self.path):
                self._connection.execute("ROLLBACK")
        for text in self._new_names:
            self._names.pop(text, None)
        self._new_names.clear()
