"""The ledger for people: sessions, rows and sums, read-only, in short transactions that never hold up the writer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from types import TracebackType

from pipeline.disk.ledger_rows import RecordRow, SessionInfo, SiteRow
from pipeline.disk.ledger_sums import SumQueries
from pipeline.disk.rows import ValueRow
from pipeline.disk.sqlite import check_version, is_empty, translated
from pipeline.errors import CompactdError, UsageError

CHUNK_ROWS = 5_000
BUSY_SECONDS = 5.0
MAX_VALUES = 100
"""`values_by_prefix` gives at most so many: a short prefix fits everything."""
_PLAIN_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")


_SESSION = (
    "SELECT s.id, s.root, r.name, r.path, s.rel, s.out_rel, s.size, s.mtime_ns, s.generation, "
    "coalesce(g.state, ''), coalesce(g.format, ''), coalesce(g.config, ''), coalesce(g.records, 0), "
    "coalesce(g.src_off, 0), coalesce(g.out_len, 0) FROM session s JOIN root r ON r.id = s.root "
    "LEFT JOIN generation g ON g.session = s.id AND g.generation = s.generation"
)
_SOURCE_PATH = "CAST(r.path || '/' || s.rel AS BLOB)"
_OUT_PATH = "CAST(r.name || '/' || s.out_rel AS BLOB)"


class LedgerReader(SumQueries):
    """The ledger opened for reading; also a context manager. Methods raise as `translated`.

    What two calls give may be one commit apart.
    """

    @classmethod
    def open(cls, path: str) -> LedgerReader:
        """Open the ledger at `path`.

        Raises:
            UsageError: there is no ledger yet.
            LedgerError: it is damaged, no ledger, or of another version.
            OutputError: it cannot be opened now.
        """
        if not os.path.exists(path):
            raise UsageError(f"{path}: no ledger here yet; run `compactd backfill PATH` first or give its --state")
        with translated(path):
            connection = sqlite3.connect(
                f"file:{_uri_path(path)}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
            )
        try:
            with translated(path):
                if is_empty(connection):
                    raise UsageError(f"{path}: the ledger is empty; run `compactd backfill PATH` first")
                check_version(connection, path)
        except (CompactdError, sqlite3.Error):
            connection.close()
            raise
        return cls(connection, path)

    def close(self) -> None:
        """Close the ledger."""
        self._connection.close()

    def __enter__(self) -> LedgerReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sessions(self) -> list[SessionInfo]:
        """All sessions, oldest first."""
        return [SessionInfo(*row) for row in self._all(f"{_SESSION} ORDER BY s.id")]

    def session(self, id: int) -> SessionInfo | None:
        """One session by its number."""
        rows = self._all(f"{_SESSION} WHERE s.id = ?", (id,))
        return SessionInfo(*rows[0]) if rows else None

    def find_session(self, text: str, *, out: str = "") -> list[SessionInfo]:
        """The sessions that a SESSION argument may mean: `#id`, source path, output path, or end of a path.

        Args:
            text: as given; a path may be relative to the current folder.
            out: the output folder, for output paths.

        Returns:
            The matches of the strictest reading that has any: whole path, then last components of a source or output
            path, then any last characters. None: []; several: the argument is ambiguous.
        """
        if text.startswith("#") and text[1:].isascii() and text[1:].isdigit():
            found = self.session(min(int(text[1:]), (1 << 63) - 1))
            return [found] if found else []
        if not text:
            return []
        end = os.fsencode(text)
        for exact in (os.fsencode(os.path.abspath(text)), os.fsencode(os.path.realpath(text))):
            rows = self._all(f"{_SESSION} WHERE {_SOURCE_PATH} = ?", (exact,))
            folder = os.fsencode(os.path.abspath(out)).rstrip(b"/") + b"/" if out else b""
            if not rows and folder and exact.startswith(folder):
                rows = self._all(f"{_SESSION} WHERE {_OUT_PATH} = ?", (exact[len(folder) :],))
            if rows:
                return [SessionInfo(*row) for row in rows]
        end = end.removeprefix(b"./").rstrip(b"/")
        return self._ending(b"/" + end.lstrip(b"/")) or self._ending(end)

    def records(
        self, session: int, generation: int, first: int | None = None, last: int | None = None
    ) -> Iterator[RecordRow]:
        """The record rows of a generation in order, `first` and `last` ordinal included; read in chunks."""
        names = self.names()
        after, last = (first or 1) - 1, (1 << 62) if last is None else last
        while True:
            rows = self._all(
                "SELECT ordinal, src_off, src_len, out_off, out_len, hash8, day, outcome, reason FROM record "
                "WHERE session = ? AND generation = ? AND ordinal > ? AND ordinal <= ? ORDER BY ordinal LIMIT ?",
                (session, generation, after, last, CHUNK_ROWS),
            )
            for ordinal, src_off, src_len, out_off, out_len, hash8, day, outcome, reason in rows:
                if outcome not in names or reason not in names:
                    names = self.names()
                words = names.get(outcome, ""), names.get(reason, "")
                yield RecordRow(ordinal, src_off, src_len, out_off, out_len, hash8, day, *words)
            if len(rows) < CHUNK_ROWS:
                return
            after = rows[-1][0]

    def sites(
        self, session: int, generation: int, first: int | None = None, last: int | None = None
    ) -> Iterator[SiteRow]:
        """The site rows of a generation in order, `first` and `last` ordinal included; read in chunks."""
        names = self.names()
        after, last = ((first or 1) - 1, 1 << 62), (1 << 62) if last is None else last
        while True:
            rows = self._all(
                "SELECT ordinal, n, stage, tool, rule, reason, applied, off_in_output_record, bytes_after, "
                "bytes_before, value FROM site WHERE session = ? AND generation = ? AND (ordinal, n) > (?, ?) "
                "AND ordinal <= ? ORDER BY ordinal, n LIMIT ?",
                (session, generation, *after, last, CHUNK_ROWS),
            )
            for ordinal, n, *words, applied, off, bytes_after, bytes_before, value in rows:
                if any(word not in names for word in words):
                    names = self.names()
                stage, tool, rule, reason = (names.get(word, "") for word in words)
                yield SiteRow(
                    ordinal, n, stage, tool, rule, reason, bool(applied), off, bytes_after, bytes_before, value
                )
            if len(rows) < CHUNK_ROWS:
                return
            after = (rows[-1][0], rows[-1][1])

    def names(self) -> dict[int, str]:
        """The interned words by id; 0 is ""."""
        return {0: "", **dict(self._all("SELECT id, text FROM name"))}

    def values_by_prefix(self, prefix: str) -> list[ValueRow]:
        """Originals whose SHA-256 starts with these hex digits; digits behind the 32nd are not compared.

        Raises:
            UsageError: they are no hex digits.
        """
        digits = prefix.lower()
        if not digits or digits.strip("0123456789abcdef"):
            raise UsageError(f"HANDLE: need hex digits of a mark, got {prefix!r}")
        low, high = (bytes.fromhex(digits[:32].ljust(32, filler)) for filler in "0f")
        rows = self._all(
            "SELECT id, digest16, pack, frame, off, len FROM value WHERE digest16 BETWEEN ? AND ? ORDER BY id LIMIT ?",
            (low, high, MAX_VALUES),
        )
        return [ValueRow(*row) for row in rows]

    def _ending(self, end: bytes) -> list[SessionInfo]:
        if not end.strip(b"/"):
            return []
        # A path has to match from one of its own "/" on, so each is given one in front.
        tests = " OR ".join(
            f"substr(CAST('/' || {path} AS BLOB), -length(:end)) = :end" for path in (_SOURCE_PATH, _OUT_PATH)
        )
        return [SessionInfo(*row) for row in self._all(f"{_SESSION} WHERE {tests} ORDER BY s.id", {"end": end})]


def _uri_path(path: str) -> str:
    """A path for a file: URI."""
    return "".join(chr(byte) if byte in _PLAIN_BYTES else f"%{byte:02X}" for byte in os.fsencode(os.path.abspath(path)))
