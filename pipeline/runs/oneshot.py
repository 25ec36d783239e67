"""The one-shot filter: a file or a stream in, its compacted form out, no state. It is the oracle of P0."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

from pipeline.disk.reader import BUFFER_BYTES, ReadAt, SourceReader, read_at
from pipeline.errors import OutputError, SourceError, UsageError
from pipeline.formats.base import Format
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.chain import build_chain


def compact_file(source: str | None, target: str | None, *, format: str, settings: Settings) -> dict[str, int]:
    """Compact one source into one target.

    Args:
        source: path of a file; None or "-" for standard input.
        target: path of the new file, written beside and renamed when complete; None or "-" for standard output.
        format: a format's name, or "auto".
        settings: as everywhere; out and state are not used.

    Returns:
        Counts: records, edits, source_bytes, output_bytes, undecoded.

    Raises:
        UsageError: the source is missing or no file.
        SourceError: it cannot be read.
        OutputError: the target cannot be written; nothing half-written stays.
    """
    with ExitStack() as stack:
        opened = _open_source(source, stack)
        shown = "<stdin>" if source in (None, "-") else str(source)
        read = read_at(opened.fileno(), shown)
        chosen = choose_format(read, os.path.basename(shown), format)
        batches = compact_batches(opened, chosen, settings)
        if target is None or target == "-":
            return _write(batches, sys.stdout.buffer, "<stdout>")
        return _write_file(batches, target)


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


def _open_source(source: str | None, stack: ExitStack) -> BinaryIO:
    if source is None or source == "-":
        spool: BinaryIO = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        stdin = sys.stdin.buffer
        try:
            while block := stdin.read(1 << 20):
                spool.write(block)
            spool.flush()
        except OSError as error:
            raise OutputError(f"cannot keep standard input in {tempfile.gettempdir()}: {error.strerror}") from error
        return spool
    try:
        if not os.path.isfile(source):
            what = "a folder" if os.path.isdir(source) else "no regular file" if os.path.exists(source) else "missing"
            raise UsageError(f"{source}: need a session file, it is {what}")
        return stack.enter_context(open(source, "rb", buffering=BUFFER_BYTES))
    except OSError as error:
        raise SourceError(f"{source}: cannot open: {error.strerror}") from error


def _write(batches: Iterator[Batch], sink: BinaryIO, shown: str) -> dict[str, int]:
    counts = {"records": 0, "edits": 0, "source_bytes": 0, "output_bytes": 0, "undecoded": 0}
    try:
        for batch in batches:
            block = b"".join([record.output or record.raw for record in batch.records])
            sink.write(block)
            counts["output_bytes"] += len(block)
            for record in batch.records:
                counts["records"] += record.ends
                counts["edits"] += len(record.edits)
                counts["source_bytes"] += len(record.raw)
                counts["undecoded"] += record.ends and bool(record.reason)
        sink.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{shown}: cannot write: {error.strerror}") from error
    return counts


def _write_file(batches: Iterator[Batch], target: str) -> dict[str, int]:
    folder = os.path.dirname(os.path.abspath(target))
    try:
        fd, name = tempfile.mkstemp(prefix=".compactd-", dir=folder)
    except OSError as error:
        raise OutputError(f"{target}: cannot write in {folder}: {error.strerror}") from error
    try:
        with open(fd, "wb", buffering=1 << 20) as sink:
            counts = _write(batches, sink, target)
        os.replace(name, target)
    except OSError as error:
        raise OutputError(f"{target}: cannot write: {error.strerror}") from error
    finally:
        if os.path.exists(name):
            os.unlink(name)
    return counts
