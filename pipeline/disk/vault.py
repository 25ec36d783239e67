"""The vault: originals of edits in `<state>/vault/NNNNNN.pack`, written by one writer, read by anyone.

`entries.py` documents the bytes. A pack only grows, and only its committed length counts: what lies behind it is cut
at the next start. Positions are known when a frame is written, so `flush` comes before the rows.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Mapping

import zstandard

from pipeline.disk.entries import (
    DIGEST_BYTES,
    EDITS,
    HEADER,
    MAX_ENTRY_BYTES,
    VALUE,
    EditSpan,
    Entry,
    RecordEdits,
    decode_edits,
    digest16,
    encode_edits,
)
from pipeline.disk.files import PRIVATE_FILE, fsync_dir, make_private_dir, write_all_at
from pipeline.disk.rows import ValueRow
from pipeline.errors import LedgerError, OutputError

__all__ = [
    "EDITS",
    "VALUE",
    "EditSpan",
    "Entry",
    "RecordEdits",
    "ValueRow",
    "VaultReader",
    "VaultWriter",
    "decode_edits",
    "digest16",
    "encode_edits",
]

MIB = 1024 * 1024
READ_BYTES = 256 * 1024
WRITER_CACHE_BYTES = 16 * MIB
READER_CACHE_BYTES = 32 * MIB

_PACK_NAME = re.compile(r"(\d{6,18})\.pack")


class VaultReader:
    """Reads values and entries of the packs in `folder`; keeps up to `cache_bytes` of uncompressed frames.

    A single frame that is larger than `cache_bytes` is kept, too, until the next one comes.
    """

    def __init__(self, folder: str, *, cache_bytes: int = READER_CACHE_BYTES) -> None:
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
        raw = self._frame(pack, frame)
        if off < 0 or length < 0 or off + length > len(raw):
            raise LedgerError(
                f"{self.path(pack)}: need bytes {off} to {off + length} of the frame at {frame}, "
                f"it has {len(raw)}; run `compactd repair`"
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
                f"{row.digest16.hex()}; run `compactd repair`"
            )
        return data

    def equal(self, row: ValueRow, value: bytes) -> bool:
        """True if the row's value is the same bytes.

        Raises:
            LedgerError: the pack cannot be read.
        """
        if row.len != len(value):
            return False
        raw = self._frame(row.pack, row.frame)
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
                    raise LedgerError(f"{path}: the frame at {frame} ends inside an entry; run `compactd repair`")
                kind, digest, size = HEADER.unpack_from(raw, at)
                at += HEADER.size
                if at + size > len(raw) or kind not in (VALUE, EDITS):
                    raise LedgerError(f"{path}: no entry at {at} of the frame at {frame}; run `compactd repair`")
                yield Entry(kind, digest, pack, frame, at, raw[at : at + size])
                at += size

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

    def _frame(self, pack: int, frame: int) -> bytes | bytearray:
        known = self._cache.get((pack, frame))
        if known is not None:
            self._cache.move_to_end((pack, frame))
            return known
        with contextlib.closing(self._frames(pack, frame, None)) as frames:
            _, raw = next(frames, (frame, b""))
        self.remember(pack, frame, raw)
        return raw

    def _frames(self, pack: int, start: int, end: int | None) -> Generator[tuple[int, bytes], None, None]:
        """Place and content of each frame from byte `start` up to byte `end`, or up to the end of the file."""
        path = self.path(pack)
        try:
            with open(path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                end = size if end is None else end
                if size < end or size < start:
                    raise LedgerError(f"{path}: need {max(start, end)} bytes, it has {size}; run `compactd repair`")
                rest = b""
                while start < end:
                    frame = _Frame(self._decompressor.decompressobj(), path, start)
                    file_at = start + len(rest)
                    while not frame.ended:
                        if not rest:
                            rest = os.pread(file.fileno(), min(READ_BYTES, end - file_at), file_at)
                            file_at += len(rest)
                        rest = frame.feed(rest)
                    yield start, b"".join(frame.parts)
                    start = file_at - len(rest)
        except OSError as error:
            raise LedgerError(f"{path}: cannot read: {error.strerror}; run `compactd repair`") from error


class _Frame:
    """One frame while it is decompressed."""

    def __init__(self, decompressor: zstandard.ZstdDecompressionObj, path: str, start: int) -> None:
        self._decompressor = decompressor
        self._where = f"{path}: the frame at {start}"
        self.parts: list[bytes] = []

    @property
    def ended(self) -> bool:
        return self._decompressor.eof

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the pack; gives back those behind the end of the frame."""
        if not data:
            raise LedgerError(f"{self._where} is cut off; run `compactd repair`")
        try:
            self.parts.append(self._decompressor.decompress(data))
        except zstandard.ZstdError as error:
            raise LedgerError(f"{self._where} is damaged: {error}; run `compactd repair`") from error
        return self._decompressor.unused_data


class VaultWriter:
    """The one writer of the packs in `folder`; used by one thread at a time.

    `open` comes first. Values and edit lists go into a frame in memory; a frame goes to the current pack when it has
    `frame_bytes`, or at `flush`. Nothing counts before `committed`; `rollback` takes it all back.

    Args:
        folder: made when it is missing, 0700.
        level: zstd level of the frames.
        frame_bytes: uncompressed size of a frame at most; an entry that is larger has a frame of its own.
        pack_bytes: no frame is added to a pack that is larger.
    """

    def __init__(self, folder: str, *, level: int = 3, frame_bytes: int = 4 * MIB, pack_bytes: int = 256 * MIB) -> None:
        self.folder = folder
        self._frame_bytes = frame_bytes
        self._pack_bytes = pack_bytes
        self._compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
        self._reader = VaultReader(folder, cache_bytes=WRITER_CACHE_BYTES)
        self._committed: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self._fds: dict[int, int] = {}
        self._current = 0
        self._last = 0
        """The highest pack number so far: none is used twice while the writer lives."""
        self._raw = bytearray()
        self._in_frame: list[ValueRow] = []
        self._written: list[ValueRow] = []
        self._pending: dict[bytes, list[ValueRow]] = {}

    def open(self, committed: Mapping[int, int]) -> None:
        """Make the packs what the ledger says: cut each to its committed length, remove those without one.

        Raises:
            LedgerError: a pack is gone or shorter than committed. Nothing was changed then.
            OutputError: the folder or a pack cannot be changed.
        """
        self.close()
        try:
            make_private_dir(self.folder)
            names = {int(match[1]): name for name in os.listdir(self.folder) if (match := _PACK_NAME.fullmatch(name))}
            for pack, length in committed.items():
                size = os.stat(self._path(pack)).st_size if pack in names else -1
                if size < length:
                    came = f"it has {size}" if pack in names else "it is gone"
                    raise LedgerError(
                        f"{self._path(pack)}: need {length} committed bytes, {came}; run `compactd repair`"
                    )
            for pack, name in names.items():
                if pack not in committed:
                    os.unlink(os.path.join(self.folder, name))
                elif os.stat(self._path(pack)).st_size > committed[pack]:
                    os.truncate(self._path(pack), committed[pack])
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot open the vault: {error.strerror}") from error
        self._committed = dict(committed)
        self._lengths = dict(committed)
        self._last = max(self._last, *committed, 0)
        self._current = max(committed, default=0)
        self._reader.forget()
        self._drop_pending()

    def add(self, id: int, digest: bytes, value: bytes) -> None:
        """Keep an original under the value id that its ledger row will have.

        Args:
            id: from `Ledger.next_value_id`.
            digest: SHA-256 of `value`, or its first 16 bytes.
            value: the token's source bytes, under 4 GiB.

        Raises:
            OutputError: a full frame could not be written; everything since the last commit is taken back.
            LedgerError: the current pack was deleted or replaced.
        """
        short = digest[:DIGEST_BYTES]
        off = self._append(VALUE, short, value)
        row = ValueRow(id, short, 0, 0, off, len(value))
        self._in_frame.append(row)
        self._pending.setdefault(short, []).append(row)

    def add_record_edits(self, payload: bytes) -> None:
        """Keep the edit list of one record, from `encode_edits`; raises as `add`."""
        self._append(EDITS, digest16(payload), payload)

    def find_pending(self, digest: bytes, value: bytes) -> int | None:
        """The id under which the same bytes were added since the last commit; None if they were not."""
        for row in self._pending.get(digest[:DIGEST_BYTES], ()):
            if self.same(row, value):
                return row.id
        return None

    def same(self, row: ValueRow, value: bytes) -> bool:
        """True if a value of the ledger, or a pending one, is the same bytes: equal digests are no proof.

        Raises:
            LedgerError: its pack cannot be read.
        """
        if row.pack:
            return self._reader.equal(row, value)
        return row.len == len(value) and self._raw.startswith(value, row.off)

    def flush(self) -> list[ValueRow]:
        """Write the current frame; the rows of all values added since the last `flush`, with their places.

        Raises:
            OutputError: it could not be written; everything since the last commit is taken back.
            LedgerError: the current pack was deleted or replaced.
        """
        if self._raw:
            self._write_frame()
        rows, self._written = self._written, []
        return rows

    def fds_to_sync(self) -> list[int]:
        """Descriptors of the packs with bytes that are not committed, for fdatasync before the commit."""
        return [self._fds[pack] for pack in self.lengths()]

    def lengths(self) -> dict[int, int]:
        """Length of each pack that has grown since the last commit, for the ledger."""
        return {pack: length for pack, length in self._lengths.items() if length != self._committed.get(pack)}

    def committed(self) -> None:
        """The ledger has committed `lengths()` and the rows of `flush`."""
        if self._raw or self._written:
            raise RuntimeError("vault: committed before flush")
        self._committed = dict(self._lengths)
        self._pending.clear()
        for pack in [pack for pack in self._fds if pack != self._current]:
            os.close(self._fds.pop(pack))

    def rollback(self) -> None:
        """Take back everything since the last commit; never fails."""
        self._drop_pending()
        self._reader.forget()
        for pack in self.lengths():
            fd, kept = self._fds[pack], self._committed.get(pack)
            # What cannot be cut now lies behind the committed length: it is overwritten, or cut by the next `open`.
            with contextlib.suppress(OSError):
                if kept is None:
                    os.unlink(self._path(pack))
                else:
                    os.ftruncate(fd, kept)
            if kept is None:
                os.close(self._fds.pop(pack))
        self._lengths = dict(self._committed)
        self._current = max(self._committed, default=0)

    def start_pack(self) -> None:
        """Let the next frame start a new pack, whatever the size of the current one."""
        self._current = 0

    def entries(self, pack: int) -> Iterator[Entry]:
        """The committed entries of a pack, as `VaultReader.entries`."""
        return self._reader.entries(pack, self._committed[pack])

    def drop_packs(self, packs: Iterable[int]) -> None:
        """Remove packs that the ledger does not have any more.

        Raises:
            OutputError: one cannot be removed; the next `open` tries again.
        """
        self._reader.forget()
        for pack in packs:
            self._committed.pop(pack, None)
            self._lengths.pop(pack, None)
            if pack in self._fds:
                os.close(self._fds.pop(pack))
            try:
                os.unlink(self._path(pack))
            except OSError as error:
                raise OutputError(f"{self._path(pack)}: cannot remove: {error.strerror}") from error
            if pack == self._current:
                self._current = 0

    def close(self) -> None:
        """Close the packs; what was not committed is cut at the next `open`."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()

    def _append(self, kind: bytes, digest: bytes, data: bytes) -> int:
        """Add an entry to the frame; the place of its bytes."""
        if len(data) > MAX_ENTRY_BYTES:
            raise ValueError(f"vault: need an entry under 4 GiB, got {len(data)} bytes")
        if self._raw and len(self._raw) + HEADER.size + len(data) > self._frame_bytes:
            self._write_frame()
        self._raw += HEADER.pack(kind, digest, len(data))
        off = len(self._raw)
        self._raw += data
        return off

    def _write_frame(self) -> None:
        data = self._compressor.compress(self._raw)
        try:
            pack = self._pack()
            start = self._lengths[pack]
            write_all_at(self._fds[pack], data, start)
        except OSError as error:
            self.rollback()
            raise OutputError(f"{self.folder}: cannot write to the vault: {error.strerror}") from error
        self._lengths[pack] = start + len(data)
        for row in self._in_frame:
            placed = row._replace(pack=pack, frame=start)
            self._written.append(placed)
            same_digest = self._pending[row.digest16]
            same_digest[same_digest.index(row)] = placed
        self._in_frame.clear()
        self._reader.remember(pack, start, self._raw)
        self._raw = bytearray()

    def _pack(self) -> int:
        """The pack that the next frame goes to, opened."""
        if self._current and self._lengths[self._current] < self._pack_bytes:
            if self._current not in self._fds:
                self._fds[self._current] = os.open(self._path(self._current), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            self._check_in_place(self._current)
            return self._current
        pack = self._last + 1
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fds[pack] = os.open(self._path(pack), flags, PRIVATE_FILE)
        self._lengths[pack] = 0
        self._current = self._last = pack
        fsync_dir(self.folder)
        return pack

    def _check_in_place(self, pack: int) -> None:
        """A pack that was deleted or cut while it is open would take the bytes and lose them."""
        path, here = self._path(pack), os.fstat(self._fds[pack])
        try:
            there = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, here) or here.st_size < self._lengths[pack]:
            raise LedgerError(f"{path}: was deleted, replaced or cut while it was written; run `compactd repair`")

    def _drop_pending(self) -> None:
        self._raw = bytearray()
        self._in_frame.clear()
        self._written.clear()
        self._pending.clear()

    def _path(self, pack: int) -> str:
        return self._reader.path(pack)
