"""The one-shot filter: a file or a stream in, its compacted form out, no state. It is the oracle of P0."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from pipeline.disk.reader import ReadAt, SourceReader, read_at
from pipeline.disk.sources import open_any, spooled
from pipeline.disk.targets import written
from pipeline.errors import OutputError
from pipeline.formats.base import Format
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.chain import build_chain


def compact_file(source: str | None, target: str | None, *, format: str, settings: Settings) -> dict[str, int]:
    """Compact one source into one target.

    Args:
        source: path of a file, or of a FIFO or device that is read to its end; None or "-" for standard input.
        target: path of the new file, written beside and renamed when complete; None or "-" for standard output.
        format: a format's name, or "auto".
        settings: as everywhere; out and state are not used.

    Returns:
        Counts: records, edits, source_bytes, output_bytes, undecoded.

    Raises:
        UsageError: the source is missing or a folder.
        SourceError: it cannot be read.
        OutputError: the target cannot be written, and nothing half-written stays; or no room to keep a stream.
    """
    shown = "<stdin>" if source is None or source == "-" else source
    with spooled(sys.stdin.buffer, shown) if shown == "<stdin>" else open_any(shown) as opened:
        read = read_at(opened.fileno(), shown)
        chosen = choose_format(read, os.path.basename(shown), format)
        batches = compact_batches(opened, chosen, settings)
        if target is None or target == "-":
            return _write(batches, sys.stdout.buffer, "<stdout>")
        with written(target) as sink:
            return _write(batches, sink, target)


def choose_format(read: ReadAt, name: str, wanted: str) -> Format:
    """The format that was asked for, or the one the content shows; unknown content only passes through."""
    if wanted != "auto":
        return FORMATS[wanted]
    return FORMATS[detect_bytes(read(HEAD_BYTES, 0), name) or UNKNOWN]


def compact_batches(source: BinaryIO, format_: Format, settings: Settings, *, verb: str = "digest") -> Iterator[Batch]:
    """All batches of a source that will not grow any more, compacted."""
    chain = build_chain(settings, verb=verb)
    state = new_state(format_, settings)
    reader = SourceReader(settings.reader, document=format_.whole_document)
    while records := reader.next(source, at_end=True):
        yield chain(Batch(0, state, records))


def _write(batches: Iterator[Batch], sink: BinaryIO, shown: str) -> dict[str, int]:
    counts = {"records": 0, "edits": 0, "source_bytes": 0, "output_bytes": 0, "undecoded": 0}
    try:
        for batch in batches:
            block = b"".join([record.output or record.raw for record in batch.records])
            sink.write(block)
            counts["output_bytes"] += len(block)
            counts["records"] += batch.record_count
            counts["source_bytes"] += batch.source_bytes
            counts["edits"] += sum([len(record.edits) for record in batch.records])
            counts["undecoded"] += sum([record.ends for record in batch.records if record.reason])
        sink.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{shown}: cannot write: {error.strerror}") from error
    return counts
