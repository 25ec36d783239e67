"""Compaction of lines in memory: the library's way into the chain."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.errors import UsageError
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.records import TOO_LONG, Note, Record
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.chain import build_chain


@dataclass(frozen=True, slots=True)
class CompactedRecord:
    """One record after compaction.

    Attributes:
        ordinal: 1-based line number.
        source: the line as it came, line end included.
        output: the compacted line; `source` itself when nothing was edited.
        sites: what was decided for each site of the record, and why.
        reason: why the record was not decoded, "" if it was.
    """

    ordinal: int
    source: bytes
    output: bytes
    sites: tuple[Note, ...]
    reason: str


def compact_lines(
    lines: Iterable[bytes], *, format: str = "auto", config: Settings | None = None
) -> Iterator[CompactedRecord]:
    """Compact the lines of one session, in order; the same bytes as `compactd compact` gives.

    Args:
        lines: whole records, each with its line end (the last may lack it); the lines of a format whose sessions are
            one document are one record.
        format: a format's name, or "auto" to look at the first records.
        config: settings; the defaults if None. `max_record_bytes` holds here, too.

    Raises:
        UsageError: an unknown format name, or lines that are no bytes.

    Source: README.md.
    """
    settings = config or Settings()
    source = map(_checked, lines)
    first: list[bytes] = []
    name = format
    if format == "auto":
        first = _head(source)
        name = detect_bytes(b"".join(first)[:HEAD_BYTES]) or UNKNOWN
    elif format not in FORMATS:
        raise UsageError(f"format: need one of {', '.join(FORMATS)} or auto, got {format!r}")
    chain = build_chain(settings, verb="digest")
    state = new_state(FORMATS[name], settings)
    records: Iterable[bytes] = itertools.chain(first, source)
    if FORMATS[name].whole_document:
        # One record, however many lines it is written in.
        records = [b"".join(records)]
    for ordinal, raw in enumerate(records, 1):
        record = Record(ordinal, 0, raw)
        if len(raw) > settings.reader.max_record_bytes:
            record.reason, record.piece = TOO_LONG, True
        chain(Batch(0, state, [record]))
        yield CompactedRecord(ordinal, raw, record.output, tuple(record.notes), record.reason)


def _checked(line: bytes) -> bytes:
    if not isinstance(line, bytes):
        raise UsageError(f"lines: need bytes, as a file opened with 'rb' gives them, got {type(line).__name__}")
    return line


def _head(lines: Iterator[bytes]) -> list[bytes]:
    """The lines that hold the first `HEAD_BYTES`, or all there are."""
    first: list[bytes] = []
    size = 0
    for line in lines:
        first.append(line)
        size += len(line)
        if size >= HEAD_BYTES:
            break
    return first
