"""Opening session files for reading: regular files, never waiting for one, one clear error; streams spooled."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import xxhash

from pipeline.disk.packed import is_packed, unpacked
from pipeline.disk.reader import BUFFER_BYTES, ReadAt, read_at
from pipeline.errors import OutputError, SourceError, UsageError
from pipeline.parcels import signed

# A FIFO in a session's place must not block; the mode of what was opened is looked at then.
OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(slots=True)
class Source:
    """A session file that is open: its content, buffered. Of a compressed file that is a private copy.

    `packed`: what `stat` said of the compressed file when it was opened.
    """

    file: BinaryIO
    packed: os.stat_result | None = None

    @property
    def size(self) -> int:
        """Bytes of the content now."""
        return os.fstat(self.file.fileno()).st_size

    @property
    def status(self) -> os.stat_result:
        """What `stat` says of the session file itself."""
        return self.packed or os.fstat(self.file.fileno())

    def read_at(self, shown: str) -> ReadAt:
        """Reads of the content at any place."""
        return read_at(self.file.fileno(), shown)

    def close(self) -> None:
        """Close it."""
        self.file.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_source(path: str) -> Source:
    """A session file; the caller closes it.

    Raises:
        SourceError: it cannot be opened, is no regular file now, or is compressed and damaged.
    """
    file = open(_descriptor(path), "rb", buffering=BUFFER_BYTES)  # noqa: SIM115 - the caller closes it
    if not is_packed(file):
        return Source(file)
    with file:
        status = os.fstat(file.fileno())
        return Source(unpacked(file, path), status)


@contextmanager
def looked_into(path: str) -> Iterator[ReadAt]:
    """A session file's content for a few positioned reads.

    Raises:
        SourceError: as `open_source`.
    """
    with open_source(path) as source:
        yield source.read_at(path)


def same_records(file: BinaryIO, records: Iterable[tuple[int, int]]) -> bool:
    """Does a file, from where it stands, hold records of just these lengths and hashes?"""
    for length, hash8 in records:
        hashed = xxhash.xxh3_64()
        while length:
            block = file.read(min(length, BUFFER_BYTES))
            if not block:
                return False
            hashed.update(block)
            length -= len(block)
        if signed(hashed.intdigest()) != hash8:
            return False
    return True


def open_any(path: str) -> BinaryIO:
    """Whatever can be read to its end: a file as it is, a FIFO, device or compressed file as a private copy.

    Raises:
        UsageError: there is nothing, or a folder.
        SourceError: it cannot be opened or read.
        OutputError: there is no room for the copy.
    """
    if os.path.isdir(path) or not os.path.exists(path):
        raise UsageError(f"{path}: need a session file, it is {what_is(path)}")
    try:
        # Waits for the writer of a FIFO, who was asked for by name.
        source = open(path, "rb", buffering=BUFFER_BYTES)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise SourceError(f"{path}: cannot open: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
        with source:
            source = spooled(source, path)
    if not is_packed(source):
        return source
    with source:
        return unpacked(source, path)


def spooled(stream: BinaryIO, shown: str) -> BinaryIO:
    """A private temporary copy of a stream, so that it can be read at any place; the caller closes it.

    Raises:
        SourceError: the stream cannot be read.
        OutputError: there is no room for the copy.
    """
    spool: BinaryIO | None = None
    try:
        spool = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        while block := _next_block(stream, shown):
            spool.write(block)
        spool.flush()
    except BaseException as error:
        if spool is not None:
            spool.close()
        if not isinstance(error, OSError):
            raise
        raise OutputError(f"cannot keep {shown} in {tempfile.gettempdir()}: {error.strerror}") from error
    return spool


def what_is(path: str) -> str:
    """What lies at a path, for people: "a file", "a folder", "no regular file" or "missing"."""
    if os.path.isdir(path):
        return "a folder"
    if os.path.isfile(path):
        return "a file"
    return "no regular file" if os.path.exists(path) else "missing"


def _next_block(stream: BinaryIO, shown: str) -> bytes:
    try:
        return stream.read(BUFFER_BYTES)
    except OSError as error:
        raise SourceError(f"{shown}: cannot read: {error.strerror}") from error


def _descriptor(path: str) -> int:
    try:
        fd = os.open(path, OPEN_FLAGS)
    except OSError as error:
        raise SourceError(f"{path}: cannot open: {error.strerror}") from error
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    what = "a folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "a FIFO, socket or device"
    os.close(fd)
    raise SourceError(f"{path}: need a regular file, it is {what} now")
