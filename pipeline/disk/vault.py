"""Writes the vault: originals of edits in `<state>/vault/NNNNNN.pack`; there is one writer.

`entries.py` documents the bytes. A pack only grows, and only its committed length counts: what lies behind it is cut
at the next start.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping

import zstandard

from pipeline.disk.entries import DIGEST_BYTES, EDITS, HEADER, MAX_ENTRY_BYTES, VALUE, Entry, digest16
from pipeline.disk.files import PRIVATE_FILE, fsync_dir, make_private_dir, write_all_at
from pipeline.disk.frames import OpenFrame, frame_parameters
from pipeline.disk.packs import VaultReader, open_frame
from pipeline.disk.rows import ValueRow
from pipeline.errors import LedgerError, OutputError

MIB = 1024 * 1024
FEED_BYTES = 512 * 1024
"""The compressor gets so much at once."""
CACHE_BYTES = 8 * MIB
"""Uncompressed frames kept for comparing values."""

_PACK_NAME = re.compile(r"(\d{6,18})\.pack")


class VaultWriter:
    """The one writer of the packs in `folder`; used by one thread at a time.

    `open` comes first. A commit is `flush`, fdatasync of `fds_to_sync`, the ledger's transaction, `committed`; until
    then `rollback` takes everything back. A frame goes on over commits until it is full, so that small commits
    compress as well as large ones.

    Args:
        folder: made when it is missing, 0700.
        level: zstd level of the frames.
        frame_bytes: uncompressed size of a frame at most; an entry that is larger has a frame of its own.
        pack_bytes: no frame is begun in a pack that is larger.
    """

    def __init__(self, folder: str, *, level: int = 3, frame_bytes: int = 4 * MIB, pack_bytes: int = 256 * MIB) -> None:
        self.folder = folder
        self._frame_bytes = frame_bytes
        self._pack_bytes = pack_bytes
        self._compressor = zstandard.ZstdCompressor(compression_params=frame_parameters(level, frame_bytes))
        self._reader = VaultReader(folder, cache_bytes=CACHE_BYTES)
        self._committed: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self._fds: dict[int, int] = {}
        self._current = 0
        """The pack that frames go to; 0 when the next frame starts a new one."""
        self._last = 0
        """The highest pack number so far: none is used twice while the writer lives."""
        self._frame: OpenFrame | None = None
        self._rows: list[ValueRow] = []
        self._flushed = 0
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
                        f"{self._path(pack)}: need {length} committed bytes, {came}; use a copy or a new --state"
                    )
            for pack, name in names.items():
                if pack not in committed:
                    os.unlink(os.path.join(self.folder, name))
                elif os.stat(self._path(pack)).st_size > committed[pack]:
                    os.truncate(self._path(pack), committed[pack])
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot open the vault: {error.strerror}") from error
        self._committed = dict(committed)
        self._last = max(self._last, *committed, 0)
        self._reset()

    def add(self, id: int, digest: bytes, value: bytes) -> ValueRow:
        """Keep an original under the value id that its ledger row will have.

        Args:
            id: from `Ledger.next_value_id`.
            digest: SHA-256 of `value`, or its first 16 bytes.
            value: the token's source bytes, under 4 GiB.

        Returns:
            Its row, which `flush` gives, too.

        Raises:
            OutputError: the pack could not be written; everything since the last commit is taken back.
            LedgerError: the current pack was deleted or replaced.
        """
        short = digest[:DIGEST_BYTES]
        frame, off = self._append(VALUE, short, value)
        row = ValueRow(id, short, frame.pack, frame.start, off, len(value))
        self._rows.append(row)
        self._pending.setdefault(short, []).append(row)
        return row

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
        frame = self._frame
        if frame is not None and (row.pack, row.frame) == (frame.pack, frame.start):
            return row.len == len(value) and frame.raw.startswith(value, row.off)
        return self._reader.equal(row, value)

    def flush(self) -> list[ValueRow]:
        """Write what is in memory; the rows of all values added since the last commit.

        Raises:
            OutputError: it could not be written; everything since the last commit is taken back.
            LedgerError: the current pack was deleted or replaced.
        """
        if self._frame is not None and self._frame.waiting:
            self._write(self._frame.pack, self._frame.flush())
        self._flushed = len(self._rows)
        return list(self._rows)

    def fds_to_sync(self) -> list[int]:
        """Descriptors of the packs with bytes that are not committed, for fdatasync before the commit."""
        return [self._fds[pack] for pack in self.lengths()]

    def lengths(self) -> dict[int, int]:
        """Length of each pack that has grown since the last commit, for the ledger."""
        return {pack: length for pack, length in self._lengths.items() if length != self._committed.get(pack)}

    def committed(self) -> None:
        """The ledger has committed `lengths()` and the rows of `flush`."""
        if len(self._rows) != self._flushed or (self._frame is not None and self._frame.waiting):
            raise RuntimeError("vault: committed before flush")
        self._rows.clear()
        self._flushed = 0
        self._committed = dict(self._lengths)
        self._pending.clear()
        for pack in [pack for pack in self._fds if pack != self._current]:
            os.close(self._fds.pop(pack))

    def rollback(self) -> None:
        """Take back everything since the last commit; never fails."""
        for pack, fd in list(self._fds.items()):
            kept = self._committed.get(pack)
            # What cannot be cut now lies behind the committed length: it is overwritten, or cut by the next `open`.
            with contextlib.suppress(OSError):
                if kept is None:
                    os.unlink(self._path(pack))
                else:
                    os.ftruncate(fd, kept)
            if kept is None:
                del self._fds[pack]
                os.close(fd)
        self._reset()

    def start_pack(self) -> None:
        """Let the next frame start a new pack. Nothing may be pending; the frame of the last commit stays open."""
        self._frame = None
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
            if pack == self._current:
                self.start_pack()
            self._committed.pop(pack, None)
            self._lengths.pop(pack, None)
            if pack in self._fds:
                os.close(self._fds.pop(pack))
            try:
                os.unlink(self._path(pack))
                fsync_dir(self.folder)
            except OSError as error:
                raise OutputError(f"{self._path(pack)}: cannot remove: {error.strerror}") from error

    def close(self) -> None:
        """Close the packs; what was not committed is cut at the next `open`."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
        self._frame = None

    def _append(self, kind: bytes, digest: bytes, data: bytes) -> tuple[OpenFrame, int]:
        """Add an entry to the frame; the frame, and the place of the entry's bytes in it."""
        if len(data) > MAX_ENTRY_BYTES:
            raise ValueError(f"vault: need an entry under 4 GiB, got {len(data)} bytes")
        frame = self._frame
        if frame is not None and len(frame.raw) + HEADER.size + len(data) > self._frame_bytes:
            self._write(frame.pack, frame.finish())
            self._reader.remember(frame.pack, frame.start, frame.raw)
            frame = self._frame = None
        if frame is None:
            pack = self._ready_pack()
            frame = self._frame = OpenFrame(pack, self._lengths[pack], self._compressor)
        frame.raw += HEADER.pack(kind, digest, len(data))
        off = len(frame.raw)
        frame.raw += data
        if frame.waiting >= FEED_BYTES:
            self._write(frame.pack, frame.feed())
        return frame, off

    def _write(self, pack: int, data: bytes) -> None:
        if not data:
            return
        try:
            self._check_in_place(pack)
            write_all_at(self._fds[pack], data, self._lengths[pack])
        except LedgerError:
            self.rollback()
            raise
        except OSError as error:
            self.rollback()
            raise OutputError(f"{self._path(pack)}: cannot write: {error.strerror}") from error
        self._lengths[pack] += len(data)

    def _ready_pack(self) -> int:
        """The pack that the next frame goes to, open and behind a whole frame."""
        pack = self._current
        if pack and self._lengths[pack] >= self._pack_bytes:
            pack = self._current = 0
        try:
            if not pack:
                return self._new_pack()
            if pack not in self._fds:
                self._fds[pack] = os.open(self._path(pack), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            self.rollback()
            raise OutputError(f"{self.folder}: cannot open a pack: {error.strerror}") from error
        start = open_frame(self._path(pack), self._lengths[pack])
        if start is not None:
            self._write(pack, self._reader.frame_end(pack, start, self._lengths[pack]))
        return pack

    def _new_pack(self) -> int:
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
            raise LedgerError(f"{path}: was deleted, replaced or cut while it was written; use a copy or a new --state")

    def _reset(self) -> None:
        """Forget all that is not committed. The frame goes, too: its compressor is ahead of the commit."""
        self._frame = None
        self._rows.clear()
        self._flushed = 0
        self._pending.clear()
        self._reader.forget()
        self._lengths = dict(self._committed)
        self._current = max(self._committed, default=0)

    def _path(self, pack: int) -> str:
        return self._reader.path(pack)
