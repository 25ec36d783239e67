"""The ledger for people: sessions, rows and sums, read-only, in short transactions that never hold up the writer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple

from pipeline.disk.queries import Queries
from pipeline.disk.rows import ValueRow, day_number, day_text
from pipeline.disk.sqlite import check_version, is_empty, translated
from pipeline.errors import CompactdError, UsageError

__all__ = [
    "By",
    "LedgerReader",
    "RecordRow",
    "SessionInfo",
    "SessionSizes",
    "SiteRow",
    "SumRow",
    "ValueRow",
    "VaultSizes",
    "day_number",
    "day_text",
    "shown",
]

By = Literal["tool", "rule", "session", "root", "format", "stage", "day"]

CHUNK_ROWS = 5_000
BUSY_SECONDS = 5.0
MAX_VALUES = 100
"""`values_by_prefix` gives at most so many: a short prefix fits everything."""
_PLAIN_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session with its current generation; before the first is complete all that is 0 or ""."""

    id: int
    root: int
    root_name: str
    root_path: bytes
    rel: bytes
    out_rel: bytes
    size: int
    mtime_ns: int
    generation: int
    state: str
    format: str
    config: str
    records: int
    source_bytes: int
    output_bytes: int

    @property
    def source_path(self) -> bytes:
        """The source file."""
        return os.path.join(self.root_path, self.rel)

    @property
    def out_path(self) -> bytes:
        """The output below the output folder."""
        return os.path.join(self.root_name.encode(), self.out_rel)


class RecordRow(NamedTuple):
    """A record row with its words."""

    ordinal: int
    src_off: int
    src_len: int
    out_off: int
    out_len: int
    hash8: int
    day: int
    outcome: str
    reason: str


class SiteRow(NamedTuple):
    """A site row with its words; `value` is a value id, 0 for none."""

    ordinal: int
    n: int
    stage: str
    tool: str
    rule: str
    reason: str
    applied: bool
    off_in_output_record: int
    bytes_after: int
    bytes_before: int
    value: int


class SumRow(NamedTuple):
    """Sums of one group; `key` is its name and `id` its number in the ledger (0 when it has none)."""

    key: str
    id: int
    records: int
    sites: int
    edits: int
    source_bytes: int
    output_bytes: int

    @property
    def saved_bytes(self) -> int:
        """Source minus output; negative when something grew."""
        return self.source_bytes - self.output_bytes


class VaultSizes(NamedTuple):
    """`disk_bytes`: committed lengths of all packs. `raw_bytes` in `values` originals, each counted once."""

    disk_bytes: int
    raw_bytes: int
    values: int


class SessionSizes(NamedTuple):
    """All sessions together: their source files as last seen, and the committed bytes of the current outputs."""

    sessions: int
    source_disk_bytes: int
    output_bytes: int


# How a question groups rollup rows `r` of sessions `s` and generations `g`: key, its text, its id, over which rows.
_RULE = "CASE WHEN r.rule THEN r.rule ELSE r.reason END"
_WORD = "coalesce((SELECT text FROM name WHERE id = k), '')"
_GROUPS: dict[By, tuple[str, str, str, str]] = {
    "tool": ("r.tool", _WORD, "k", "r.stage > 0"),
    "rule": (_RULE, _WORD, "k", "r.stage > 0"),
    "stage": ("r.stage", _WORD, "k", "r.stage > 0"),
    "session": (
        "r.session",
        "(SELECT CAST(root.name || '/' || out_rel AS BLOB) FROM session JOIN root ON root.id = root "
        "WHERE session.id = k)",
        "k",
        "1",
    ),
    "root": ("s.root", "(SELECT name FROM root WHERE id = k)", "k", "1"),
    "format": ("(SELECT format FROM generation WHERE session = s.id AND generation = s.generation)", "k", "0", "1"),
    "day": ("r.day", "k", "0", "1"),
}

_SESSION = (
    "SELECT s.id, s.root, r.name, r.path, s.rel, s.out_rel, s.size, s.mtime_ns, s.generation, "
    "coalesce(g.state, ''), coalesce(g.format, ''), coalesce(g.config, ''), coalesce(g.records, 0), "
    "coalesce(g.src_off, 0), coalesce(g.out_len, 0) FROM session s JOIN root r ON r.id = s.root "
    "LEFT JOIN generation g ON g.session = s.id AND g.generation = s.generation"
)
_SOURCE_PATH = "CAST(r.path || '/' || s.rel AS BLOB)"
_OUT_PATH = "CAST(r.name || '/' || s.out_rel AS BLOB)"


class LedgerReader(Queries):
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

    def rollup_sums(self, by: By, since: int | None = None, until: int | None = None) -> list[SumRow]:
        """Sums over the current generations by group, most saved bytes first (days in order).

        Args:
            by: what to group by. Tool, rule and stage sum over sites, so `records` is 0 and the bytes are those of
                the values; a site that no rule changed counts under its reason. The others sum over records.
            since: first day, as `day_number`; None for no limit.
            until: last day, included.
        """
        key, label, id_, rows_wanted = _GROUPS[by]
        of_records = rows_wanted == "1"
        size = "CASE r.stage WHEN 0 THEN r.{0} ELSE 0 END" if of_records else "r.{0}"
        rows = self._all(
            f"SELECT {label}, {id_}, records, sites, edits, source_bytes, output_bytes FROM ("
            f"SELECT {key} AS k, sum(r.records) AS records, sum(r.sites) AS sites, sum(r.edits) AS edits, "
            f"sum({size.format('source_bytes')}) AS source_bytes, sum({size.format('output_bytes')}) AS output_bytes "
            f"FROM rollup r JOIN session s ON s.id = r.session AND s.generation = r.generation "
            f"WHERE {rows_wanted} AND r.day >= ? AND r.day <= ? GROUP BY k) "
            f"ORDER BY {'k' if by == 'day' else 'source_bytes - output_bytes DESC, k'}",
            _days(since, until),
        )
        return [SumRow(_label(label, by), *rest) for label, *rest in rows]

    def totals(self, since: int | None = None, until: int | None = None) -> SumRow:
        """Sums over all records and sites of the current generations; bytes are those of the records."""
        ((records, sites, edits, source, output),) = self._all(
            "SELECT sum(r.records), sum(r.sites), sum(r.edits), sum(CASE r.stage WHEN 0 THEN r.source_bytes END), "
            "sum(CASE r.stage WHEN 0 THEN r.output_bytes END) "
            "FROM rollup r JOIN session s ON s.id = r.session AND s.generation = r.generation "
            "WHERE r.day >= ? AND r.day <= ?",
            _days(since, until),
        )
        return SumRow("", 0, records or 0, sites or 0, edits or 0, source or 0, output or 0)

    def vault_bytes(self) -> int:
        """Committed bytes of all packs."""
        ((length,),) = self._all("SELECT coalesce(sum(length), 0) FROM pack")
        return int(length)

    def vault_sizes(self) -> VaultSizes:
        """All about the vault's size; reads the whole value table."""
        ((count, raw),) = self._all("SELECT count(*), coalesce(sum(len), 0) FROM value")
        return VaultSizes(self.vault_bytes(), raw, count)

    def session_sizes(self) -> SessionSizes:
        """Sums over all sessions."""
        ((sessions, source, output),) = self._all(
            "SELECT count(*), coalesce(sum(s.size), 0), coalesce(sum(g.out_len), 0) FROM session s "
            "LEFT JOIN generation g ON g.session = s.id AND g.generation = s.generation"
        )
        return SessionSizes(sessions, source, output)

    def _ending(self, end: bytes) -> list[SessionInfo]:
        if not end.strip(b"/"):
            return []
        # A path has to match from one of its own "/" on, so each is given one in front.
        tests = " OR ".join(
            f"substr(CAST('/' || {path} AS BLOB), -length(:end)) = :end" for path in (_SOURCE_PATH, _OUT_PATH)
        )
        return [SessionInfo(*row) for row in self._all(f"{_SESSION} WHERE {tests} ORDER BY s.id", {"end": end})]


def shown(path: bytes) -> str:
    """A path for people and JSON: bytes that are no UTF-8 as escapes."""
    return path.decode("utf-8", "backslashreplace")


def _label(value: Any, by: By) -> str:
    if by == "day":
        return day_text(value)
    return shown(value) if isinstance(value, bytes) else str(value or "")


def _days(since: int | None, until: int | None) -> tuple[int, int]:
    return -(1 << 62) if since is None else since, (1 << 62) if until is None else until


def _uri_path(path: str) -> str:
    """A path for a file: URI."""
    return "".join(chr(byte) if byte in _PLAIN_BYTES else f"%{byte:02X}" for byte in os.fsencode(os.path.abspath(path)))
