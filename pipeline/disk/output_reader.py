"""Reads committed outputs and archived ones, forward only, as far as the ledger says that they go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from pipeline.disk.ledger_rows import SessionInfo, shown
from pipeline.disk.places import ARCHIVE
from pipeline.disk.rows import GenerationRow
from pipeline.errors import LedgerError

COPY_BYTES = 1 << 20


def output_path(out: str, session: SessionInfo, generation: GenerationRow) -> str:
    """Where a generation's output lies; a superseded one in the archive."""
    below = os.fsdecode(session.out_path)
    if generation.state == "superseded":
        return os.path.join(out, ARCHIVE, below, f"{generation.generation}.jsonl.zst")
    path = os.path.join(out, below)
    return path + ".tmp" if generation.state == "building" else path


def open_output(path: str) -> BinaryIO:
    """Open an output or an archived one for reading.

    Raises:
        LedgerError: it cannot be opened.
    """
    try:
        source = open(path, "rb", buffering=COPY_BYTES)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise LedgerError(f"{shown(os.fsencode(path))}: cannot open the output: {error.strerror}") from error
    if path.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(source, closefd=True)
    return source


def read_exactly(output: BinaryIO, length: int, path: str) -> bytes:
    """So many bytes, no fewer.

    Raises:
        LedgerError: the output ends before, or cannot be read.
    """
    parts: list[bytes] = []
    missing = length
    while missing:
        try:
            block = output.read(missing)
        except (OSError, zstandard.ZstdError) as error:
            raise LedgerError(f"{path}: cannot read the output: {error}; use a copy or a new --state") from error
        if not block:
            raise LedgerError(f"{path}: the output is {missing} bytes too short; use a copy or a new --state")
        parts.append(block)
        missing -= len(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def pieces(output: BinaryIO, length: int, path: str) -> Iterator[bytes]:
    """So many bytes, a piece at a time."""
    while length:
        block = read_exactly(output, min(length, COPY_BYTES), path)
        length -= len(block)
        yield block


def skip(output: BinaryIO, length: int, path: str) -> None:
    """Move forward."""
    if length and output.seekable():
        output.seek(length, os.SEEK_CUR)
        return
    for _ in pieces(output, length, path):
        pass
