"""Compressed session files: told by their first bytes, read through a private copy of their content."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from pipeline.errors import SourceError

SUFFIXES = (".gz", ".zst")
"""What the name of a compressed session ends with, behind the name of the session itself."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_COPY_BYTES = 1 << 20
# Little at a time: a few bytes can stand for very many.
_FEED_BYTES = 4096


def content_name(name: str) -> str:
    """The name or path of a session without the suffix of its compression: `x.jsonl.zst` is the session `x.jsonl`."""
    return name.removesuffix(next((suffix for suffix in SUFFIXES if name.endswith(suffix)), ""))


def is_packed(source: BinaryIO) -> bool:
    """Whether a file's first bytes are those of gzip or zstd."""
    return _head(source).startswith((_GZIP, _ZSTD))


def unpacked(source: BinaryIO, shown: str) -> BinaryIO:
    """A private temporary copy of what is in a compressed file, also in several parts; the caller closes it.

    Raises:
        SourceError: it is damaged or cut off, cannot be read, or there is no room for the copy.
    """
    source.seek(0)
    spool: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        for block in _blocks(source, shown):
            _keep(spool, block, shown)
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return spool


def _keep(spool: BinaryIO, block: bytes, shown: str) -> None:
    try:
        spool.write(block)
        spool.flush()
    except OSError as error:
        raise SourceError(f"{shown}: no room for its content in {tempfile.gettempdir()}: {error.strerror}") from error


def _blocks(source: BinaryIO, shown: str) -> Iterator[bytes]:
    try:
        yield from _gunzipped(source) if _head(source).startswith(_GZIP) else _unzstd(source)
    except (zstandard.ZstdError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise SourceError(f"{shown}: damaged or cut off as a compressed file: {error}") from error
    except OSError as error:
        raise SourceError(f"{shown}: cannot read: {error.strerror}") from error


def _gunzipped(source: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=source) as content:
        while block := content.read(_COPY_BYTES):
            yield block


def _unzstd(source: BinaryIO) -> Iterator[bytes]:
    """All frames; the reader of the library would take a frame that is cut off for a whole one."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    while block := source.read(_FEED_BYTES):
        while block:
            begun = True
            yield frame.decompress(block)
            block = b""
            if frame.eof:
                block = frame.unused_data
                frame = zstandard.ZstdDecompressor().decompressobj()
                begun = False
    if begun:
        raise EOFError("its last frame is not complete")


def _head(source: BinaryIO) -> bytes:
    return os.pread(source.fileno(), len(_ZSTD), 0)
