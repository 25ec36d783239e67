"""Changes of a session's whole output: a new generation takes its place, a move, a last record taken back.

Each is journalled in the ledger first, so that a crash at any point is finished at the next start.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

import zstandard

from pipeline.disk.failpoints import FailPoints
from pipeline.disk.files import PRIVATE_FILE, fsync_dir, make_private_dir
from pipeline.disk.identity import MARKER_BYTES, Identity, signed_hash, tail_hash
from pipeline.disk.ledger import Ledger
from pipeline.disk.places import Places
from pipeline.disk.reader import read_at
from pipeline.disk.rows import GenerationRow, SessionRow
from pipeline.errors import OutputError, SessionError

COPY_BYTES = 1 << 20
BUILDING, SWAPPING, CURRENT, SUPERSEDED = "building", "swapping", "current", "superseded"


class Swapper:
    """Replaces, moves and cuts outputs together with their rows."""

    def __init__(self, ledger: Ledger, places: Places, failpoints: FailPoints) -> None:
        self._ledger = ledger
        self._places = places
        self._failpoints = failpoints

    def recover(self) -> None:
        """Finish what was under way, and cut every output back to its committed length."""
        for session in self._ledger.sessions():
            if session.moved_from is not None:
                self._finish_move(session)
            rows = [row for row in self._ledger.generations(session.id) if row.state != SUPERSEDED]
            swapping = next((row for row in rows if row.state == SWAPPING), None)
            if swapping is not None:
                # The output may be the new generation's already: the old one's length does not hold for it.
                self._complete(session, swapping)
                continue
            out_path = self._out_path(session)
            for row in rows:
                _cut(self._places.path(out_path, building=row.state == BUILDING), row.out_len)
        self._failpoints.reach("recover-outputs")

    def swap(self, session: SessionRow, row: GenerationRow) -> None:
        """Let a complete generation take the place of the current one."""
        row = replace(row, state=SWAPPING)
        with self._ledger.transaction() as change:
            change.put_generation(row)
        self._failpoints.reach("swap-journal")
        self._complete(session, row)

    def move(self, session: SessionRow, root: int, rel: bytes, out_rel: bytes) -> SessionRow:
        """Rename a session and its output."""
        old = self._out_path(session)
        moved = replace(session, root=root, rel=rel, out_rel=out_rel, moved_from=old)
        if self._out_path(moved) == old:
            # Only the source has another name: it was compressed.
            moved.moved_from = None
            with self._ledger.transaction() as change:
                change.update_session(moved)
            return moved
        if os.path.lexists(self._places.path(self._out_path(moved))):
            raise SessionError(f"{self._places.path(self._out_path(moved))}: is in the way of a moved session's output")
        with self._ledger.transaction() as change:
            change.update_session(moved)
            change.put_former_path(session.id, old)
        return self._finish_move(moved)

    def drop_tail(self, row: GenerationRow, identity: Identity) -> GenerationRow:
        """Take back the last record of a generation, and cut it off its output."""
        session = self._ledger.session_row(row.session)
        assert session is not None
        span = self._ledger.record_span(row.session, row.generation, row.records)
        assert span is not None
        src_off, out_off = span
        path = self._places.path(self._out_path(session), building=row.state == BUILDING)
        with _reading(path) as fd:
            marker_len, marker_hash = tail_hash(read_at(fd, path), out_off)
        shorter = replace(
            row,
            src_off=src_off,
            out_len=out_off,
            records=row.records - 1,
            head_len=identity.head_len,
            head_hash=identity.head_hash,
            marker_len=identity.marker_len,
            marker_hash=identity.marker_hash,
            out_marker_len=marker_len,
            out_marker_hash=marker_hash,
            open_tail=False,
        )
        with self._ledger.transaction() as change:
            change.delete_record(row.session, row.generation, row.records)
            change.put_generation(shorter)
        _cut(path, out_off)
        return shorter

    def _complete(self, session: SessionRow, row: GenerationRow) -> None:
        out_path = self._out_path(session)
        final, built = self._places.path(out_path), self._places.path(out_path, building=True)
        before = self._ledger.generation(session.id, session.generation)
        covered = before is not None and self._ledger.starts_with(session.id, row.generation, before.generation)
        try:
            if os.path.lexists(built):
                if before is not None and not covered and os.path.lexists(final):
                    _archive(final, before, self._places.archive(out_path, before.generation))
                self._failpoints.reach("swap-archived")
                os.replace(built, final)
                fsync_dir(os.path.dirname(final))
        except OSError as error:
            raise OutputError(f"{final}: cannot replace: {error.strerror}") from error
        self._failpoints.reach("swap-renamed")
        session.generation = row.generation
        superseded = before.generation if before is not None else 0
        with self._ledger.transaction() as change:
            if before is not None:
                if covered:
                    change.drop_generation(session.id, before.generation)
                else:
                    change.put_generation(replace(before, state=SUPERSEDED))
            for other in self._ledger.generations(session.id):
                # A first generation that never got to a commit of its own.
                if other.state in (CURRENT, BUILDING) and other.generation not in (row.generation, superseded):
                    change.drop_generation(session.id, other.generation)
            change.put_generation(replace(row, state=CURRENT))
            change.update_session(session)
        self._failpoints.reach("swap-after")

    def _finish_move(self, session: SessionRow) -> SessionRow:
        assert session.moved_from is not None
        new = self._out_path(session)
        try:
            for building in (False, True):
                source = self._places.path(session.moved_from, building=building)
                target = self._places.path(new, building=building)
                _rename(source, target)
            _rename(self._places.archive_folder(session.moved_from), self._places.archive_folder(new))
        except OSError as error:
            raise OutputError(f"{self._places.path(new)}: cannot move the output: {error.strerror}") from error
        settled = replace(session, moved_from=None)
        with self._ledger.transaction() as change:
            change.update_session(settled)
        return settled

    def _out_path(self, session: SessionRow) -> bytes:
        return self._places.of(session)


def _rename(source: str, target: str) -> None:
    """Rename a file or folder; nothing happens when that was done before."""
    if os.path.lexists(source) and not os.path.lexists(target):
        make_private_dir(os.path.dirname(target))
        os.rename(source, target)
        fsync_dir(os.path.dirname(target))
        fsync_dir(os.path.dirname(source))


def remove_outputs(places: Places, out_path: bytes) -> None:
    """Remove a session's output, one being built, and its archived generations.

    Raises:
        OutputError: a file cannot be removed.
    """
    paths = [places.path(out_path), places.path(out_path, building=True)]
    folder = places.archive_folder(out_path)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        paths += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".zst", ".zst.tmp"))]
    for path in paths:
        try:
            os.unlink(path)
            # Before the rows go: a name that came back after a power cut would belong to nobody.
            fsync_dir(os.path.dirname(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise OutputError(f"{path}: cannot remove: {error.strerror}") from error
    # Folders stay while other sessions have outputs in them.
    with contextlib.suppress(OSError):
        os.removedirs(folder)


def _cut(path: str, committed: int) -> None:
    """Cut a longer file; a shorter or missing one is found when it is opened for writing."""
    try:
        if os.stat(path, follow_symlinks=False).st_size > committed:
            os.truncate(path, committed)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot cut back: {error.strerror}") from error


def _archive(path: str, row: GenerationRow, target: str) -> None:
    """Keep a superseded output, compressed; an archive that has all of it already stays."""
    if _is_archive(target, row):
        return
    make_private_dir(os.path.dirname(target))
    part = target + ".tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    length = row.out_len
    with open(fd, "wb") as sink, open(path, "rb") as source:
        with zstandard.ZstdCompressor(level=3).stream_writer(sink, closefd=False) as packed:
            while length and (block := source.read(min(COPY_BYTES, length))):
                packed.write(block)
                length -= len(block)
        sink.flush()
        os.fsync(sink.fileno())
    os.replace(part, target)
    fsync_dir(os.path.dirname(target))


def _is_archive(path: str, row: GenerationRow) -> bool:
    """True if a file is one whole zstd frame of the generation's committed length, with its last bytes."""
    length = 0
    end = b""
    unpack = zstandard.ZstdDecompressor().decompressobj()
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            while not unpack.eof and length <= row.out_len and (block := file.read(COPY_BYTES // 8)):
                raw = unpack.decompress(block)
                length += len(raw)
                end = (end + raw[-MARKER_BYTES:])[-MARKER_BYTES:]
            more = unpack.unused_data or file.read(1)
    except (OSError, zstandard.ZstdError):
        return False
    marker = end[len(end) - row.out_marker_len :]
    return (unpack.eof, bool(more), length) == (True, False, row.out_len) and (
        len(marker),
        signed_hash(marker),
    ) == (row.out_marker_len, row.out_marker_hash)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SessionError(f"{path}: cannot open: {error.strerror}; put it back or run `compactd forget`") from error
    try:
        yield fd
    finally:
        os.close(fd)
