"""Rows of the ledger as values; the columns are documented in `schema.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from pipeline.errors import UsageError

EPOCH_ORDINAL = 719_163
"""`date(1970, 1, 1).toordinal()`."""

RecordTuple: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int]
"""session, generation, ordinal, src_off, src_len, out_off, out_len, hash8, day, outcome id, reason id."""

SiteTuple: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""session, generation, ordinal, n, stage id, tool id, rule id, reason id, applied, off_in_output_record, bytes_after,
bytes_before, value id."""

RollupKey: TypeAlias = tuple[int, int, int, int, int, int, int]
"""session, generation, day, stage, tool, rule, reason."""


class ValueRow(NamedTuple):
    """Where the vault keeps one original."""

    id: int
    digest16: bytes
    pack: int
    frame: int
    off: int
    len: int


@dataclass(frozen=True, slots=True)
class RootRow:
    """A folder with sessions."""

    id: int
    name: str
    path: bytes


@dataclass(slots=True)
class SessionRow:
    """One source file; `id` 0 is a session that the ledger does not have yet."""

    id: int
    root: int
    rel: bytes
    out_rel: bytes
    generation: int = 0
    dev: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    moved_from: bytes | None = None


SESSION_COLUMNS = "id, root, rel, out_rel, generation, dev, inode, size, mtime_ns, moved_from"
session_values = attrgetter(*SESSION_COLUMNS.split(", "))
"""The columns of a SessionRow, in their order."""


@dataclass(slots=True)
class GenerationRow:
    """One life of a session's content, with its checkpoint."""

    session: int
    generation: int
    state: str
    format: str
    config: str
    src_off: int = 0
    out_len: int = 0
    records: int = 0
    head_len: int = 0
    head_hash: int = 0
    marker_len: int = 0
    marker_hash: int = 0
    out_marker_len: int = 0
    out_marker_hash: int = 0
    open_tail: bool = False


GENERATION_COLUMNS = (
    "session, generation, state, format, config, src_off, out_len, records, head_len, head_hash, marker_len, "
    "marker_hash, out_marker_len, out_marker_hash, open_tail"
)
generation_values = attrgetter(*GENERATION_COLUMNS.split(", "))
"""The columns of a GenerationRow, in their order."""


def generation_row(values: Sequence[object]) -> GenerationRow:
    """A GenerationRow of the columns in their order."""
    row = GenerationRow(*values)  # type: ignore[arg-type]  # SQLite's columns have these types
    row.open_tail = bool(row.open_tail)
    return row


class Sums(NamedTuple):
    """The sums of one rollup row."""

    records: int = 0
    sites: int = 0
    edits: int = 0
    source_bytes: int = 0
    output_bytes: int = 0


SUMS = Sums._fields
"""The columns of sums, in their order."""


class RollupSums:
    """Adds up record and site rows to what the rollup table gets, so that one UPSERT a key is enough."""

    def __init__(self) -> None:
        self._sums: dict[RollupKey, list[int]] = {}

    def add(self, records: Iterable[RecordTuple], sites: Iterable[SiteTuple], *, sign: int = 1) -> None:
        """Add whole records: each site's record has to be among `records`, whose day it takes. `sign` -1 subtracts."""
        days: dict[tuple[int, int, int], int] = {}
        sums = self._sums
        for session, generation, ordinal, _, src_len, _, out_len, _, day, outcome, reason in records:
            days[session, generation, ordinal] = day
            key = (session, generation, day, 0, 0, outcome, reason)
            entry = sums.get(key)
            if entry is None:
                entry = sums[key] = [0, 0, 0, 0, 0]
            entry[0] += sign
            entry[3] += sign * src_len
            entry[4] += sign * out_len
        for session, generation, ordinal, _, stage, tool, rule, reason, applied, _, after, before, _ in sites:
            key = (session, generation, days[session, generation, ordinal], stage, tool, rule, reason)
            entry = sums.get(key)
            if entry is None:
                entry = sums[key] = [0, 0, 0, 0, 0]
            entry[1] += sign
            entry[2] += sign * applied
            entry[3] += sign * before
            entry[4] += sign * after

    def items(self) -> Mapping[RollupKey, Sums]:
        """The sums so far, by key."""
        return {key: Sums(*entry) for key, entry in self._sums.items()}


def day_number(text: str) -> int:
    """Days since 1970-01-01 of a day written YYYY-MM-DD.

    Raises:
        UsageError: it is no such day.
    """
    try:
        # fromisoformat also takes "20260131" and week dates.
        if len(text) != 10 or text[4] != "-" or text[7] != "-":
            raise ValueError(text)
        return date.fromisoformat(text).toordinal() - EPOCH_ORDINAL
    except ValueError as error:
        raise UsageError(f"day: need YYYY-MM-DD, got {text!r}") from error


def day_text(day: int) -> str:
    """The day as YYYY-MM-DD; a number outside the calendar as it is."""
    try:
        return date.fromordinal(day + EPOCH_ORDINAL).isoformat()
    except (ValueError, OverflowError):
        return str(day)
