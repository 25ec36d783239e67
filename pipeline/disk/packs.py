"""Reads the vault's packs: one value by its place, or a pack entry by entry; `entries.py` documents the bytes."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Generator, Iterator

import xxhash
import zstandard

from pipeline.disk.entries import EDITS, HEADER, VALUE, Entry, digest16
from pipeline.disk.rows import ValueRow
from pipeline.errors import LedgerError

READ_BYTES = 256 * 1024
CACHE_BYTES = 32 * 1024 * 1024
FRAME_HEAD_BYTES = 18
LAST_BLOCK = b"\x01\x00\x00"


class VaultReader:
    """Reads values and entries of the packs in `folder`; keeps up to `cache_bytes` of uncompressed frames.

    A single frame that is larger than `cache_bytes` is kept, too, until the next one comes.
    """

    def __init__(self, folder: str, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.folder = folder
        self._decompressor = zstandard.ZstdDecompressor()
        self._cache: OrderedDict[tuple[int, int], bytes | bytearray] = OrderedDict()
        self._cache_limit = cache_bytes
        self._cached = 0

    def path(self, pack: int) -> str:
        """The file of a pack."""
        return os.path.join(self.folder, f"{pack:06}.pack")

    def read(self, pack: int, frame: int, off: int, length: int) -> bytes:
        """`length` bytes from `off` of the uncompressed frame that starts at byte `frame` of a pack.

        Raises:
            LedgerError: the pack cannot be read, or does not have these bytes; names pack and offset.
        """
        raw = self._frame(pack, frame, off + length)
        if off < 0 or length < 0 or off + length > len(raw):
            raise LedgerError(
                f"{self.path(pack)}: need bytes {off} to {off + length} of the frame at {frame}, "
                f"it has {len(raw)}; use a copy or a new --state"
            )
        return bytes(memoryview(raw)[off : off + length])

    def value(self, row: ValueRow) -> bytes:
        """The original that a row points at, checked against the row's length and digest.

        Raises:
            LedgerError: the pack does not hold it there.
        """
        data = self.read(row.pack, row.frame, row.off, row.len)
        if digest16(data) != row.digest16:
            raise LedgerError(
                f"{self.path(row.pack)}: the value at {row.off} of the frame at {row.frame} is not "
                f"{row.digest16.hex()}; use a copy or a new --state"
            )
        return data

    def equal(self, row: ValueRow, value: bytes) -> bool:
        """True if the row's value is the same bytes.

        Raises:
            LedgerError: the pack cannot be read.
        """
        if row.len != len(value):
            return False
        raw = self._frame(row.pack, row.frame, row.off + row.len)
        return raw.startswith(value, row.off)

    def entries(self, pack: int, length: int) -> Iterator[Entry]:
        """The entries in the first `length` bytes of a pack, in order; holds one frame at a time.

        Raises:
            LedgerError: the pack is shorter, or its frames or entries are damaged.
        """
        path = self.path(pack)
        for frame, raw in self._frames(pack, 0, length):
            at = 0
            while at < len(raw):
                if at + HEADER.size > len(raw):
                    raise LedgerError(f"{path}: the frame at {frame} ends inside an entry; use a copy or a new --state")
                kind, digest, size = HEADER.unpack_from(raw, at)
                at += HEADER.size
                data = raw[at : at + size]
                if kind not in (VALUE, EDITS) or len(data) != size or digest16(data) != digest:
                    raise LedgerError(
                        f"{path}: damaged entry at {at} of the frame at {frame}; use a copy or a new --state"
                    )
                yield Entry(kind, digest, pack, frame, at, data)
                at += size

    def frame_end(self, pack: int, frame: int, length: int) -> bytes:
        """The bytes that end the open frame at byte `frame` of a pack of `length` bytes: an empty block, checksum."""
        with contextlib.closing(self._frames(pack, frame, length)) as frames:
            _, raw = next(frames)
        return LAST_BLOCK + xxhash.xxh64_digest(raw)[:-5:-1]

    def remember(self, pack: int, frame: int, raw: bytes | bytearray) -> None:
        """Keep a frame that the caller has at hand."""
        self._cache[pack, frame] = raw
        self._cached += len(raw)
        while self._cached > self._cache_limit and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])

    def forget(self) -> None:
        """Drop the kept frames."""
        self._cache.clear()
        self._cached = 0

    def _frame(self, pack: int, frame: int, need: int) -> bytes | bytearray:
        """A frame's content, at least `need` bytes of it if there are so many: the last frame of a pack grows."""
        known = self._cache.pop((pack, frame), b"")
        self._cached -= len(known)
        if len(known) < need or not known:
            with contextlib.closing(self._frames(pack, frame, None)) as frames:
                _, known = next(frames, (frame, b""))
        self.remember(pack, frame, known)
        return known

    def _frames(self, pack: int, start: int, end: int | None) -> Generator[tuple[int, bytes], None, None]:
        """Place and content of each frame from byte `start` up to byte `end`, or up to the end of the file.

        The last one may have no end yet; it is then what was flushed of it.
        """
        path = self.path(pack)
        try:
            with open(path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                end = size if end is None else end
                if size < end or size < start:
                    raise LedgerError(
                        f"{path}: need {max(start, end)} bytes, it has {size}; use a copy or a new --state"
                    )
                rest = b""
                while start < end:
                    parts: list[bytes] = []
                    decompress = self._decompressor.decompressobj()
                    at = start + len(rest)
                    while not decompress.eof:
                        if not rest:
                            rest = os.pread(file.fileno(), min(READ_BYTES, end - at), at)
                            at += len(rest)
                            if not rest:
                                break
                        parts.append(decompress.decompress(rest))
                        rest = decompress.unused_data
                    yield start, b"".join(parts)
                    start = at - len(rest)
        except zstandard.ZstdError as error:
            raise LedgerError(
                f"{path}: the frame at {start} is damaged: {error}; use a copy or a new --state"
            ) from error
        except OSError as error:
            raise LedgerError(f"{path}: cannot read: {error.strerror}; use a copy or a new --state") from error


def open_frame(path: str, length: int) -> int | None:
    """Start of the frame that has no end yet in the first `length` bytes of a pack; None if the last one is whole.

    Hops from block to block, without decompressing (RFC 8878, 3.1.1).

    Raises:
        LedgerError: the pack cannot be read, or `length` lies inside a block.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            fd, start, at = file.fileno(), 0, 0
            while at < length:
                start = at
                head = os.pread(fd, FRAME_HEAD_BYTES, at)
                at += zstandard.frame_header_size(head)
                checksum_bytes = 4 if zstandard.get_frame_parameters(head).has_checksum else 0
                last = False
                while not last:
                    if at == length:
                        return start
                    block = int.from_bytes(os.pread(fd, 3, at), "little")
                    last = bool(block & 1)
                    run_length = block >> 1 & 3 == 1
                    at += 3 + (1 if run_length else block >> 3)
                    if at > length:
                        break
                at += checksum_bytes
    except zstandard.ZstdError as error:
        raise LedgerError(f"{path}: no frame at {start}: {error}; use a copy or a new --state") from error
    except OSError as error:
        raise LedgerError(f"{path}: cannot read: {error.strerror}; use a copy or a new --state") from error
    if at != length:
        raise LedgerError(
            f"{path}: the frame at {start} is cut inside a block at {length}; use a copy or a new --state"
        )
    return None
