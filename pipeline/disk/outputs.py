"""Output files of the sessions that are being written: append, cut back, and a bounded number of open descriptors."""

from __future__ import annotations

import contextlib
import os
import resource
from collections import OrderedDict
from dataclasses import dataclass

from pipeline.disk.failpoints import FailPoints
from pipeline.disk.files import PRIVATE_FILE, fsync_dir, make_private_dir, write_all
from pipeline.disk.identity import tail_hash
from pipeline.disk.reader import read_at
from pipeline.errors import OutputError, SessionError

OPEN_FILES = 256
RESERVED_FILES = 48
OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def open_limit() -> int:
    """How many outputs may be open at once: within the process's own limit, with a reserve for all else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES if soft == resource.RLIM_INFINITY else max(8, min(OPEN_FILES, soft - RESERVED_FILES))


@dataclass(slots=True)
class Output:
    """One output file while it is open. `length` counts what was appended, committed or not.

    `planned`: what was appended to a file that is not made yet (then `fd` is -1); None when it is there.
    """

    path: str
    fd: int
    committed: int
    length: int
    dirty: bool = False
    created: bool = False
    planned: bytearray | None = None
    replaces: bool = False


class Outputs:
    """Open outputs by path, least recently used first."""

    def __init__(self, failpoints: FailPoints) -> None:
        self._open: OrderedDict[str, Output] = OrderedDict()
        self._failpoints = failpoints
        self._limit = open_limit()
        self._planned: dict[str, Output] = {}

    @property
    def planned_bytes(self) -> int:
        """What waits in memory for files that are not made yet."""
        return sum(output.length for output in self._planned.values())

    @property
    def full(self) -> bool:
        """No further output can be opened before a commit makes the open ones clean."""
        return len(self._open) >= self._limit and all(output.dirty for output in self._open.values())

    def open(self, path: str, committed: int, marker_len: int, marker_hash: int) -> Output:
        """The output at `path`, cut to its committed length.

        Raises:
            SessionError: the file is gone, too short, or its committed end is not what was written.
            OutputError: it cannot be opened.
        """
        known = self._open.get(path)
        if known is not None:
            self._open.move_to_end(path)
            if known.planned is None and not _in_place(known):
                raise SessionError(
                    f"{path}: was deleted, replaced or changed while it was written; run `compactd forget` on it and "
                    "`compactd backfill` again"
                )
            return known
        self._make_room()
        created = not os.path.lexists(path)
        if created and committed:
            raise SessionError(
                f"{path}: need {committed} committed bytes, the file is gone; "
                f"put it back, or run `compactd forget {path}` and backfill again"
            )
        try:
            make_private_dir(os.path.dirname(path))
            fd = os.open(path, OPEN_FLAGS, PRIVATE_FILE)
        except OSError as error:
            raise OutputError(f"{path}: cannot open for writing: {error.strerror}") from error
        try:
            cut_back(fd, path, committed, marker_len, marker_hash)
        except BaseException:
            os.close(fd)
            raise
        output = Output(path, fd, committed, committed, dirty=created, created=created)
        self._open[path] = output
        return output

    def plan(self, path: str, *, replaces: bool) -> None:
        """Begin an output whose file is made later, by `make_planned`; one that is open at `path` is closed.

        Args:
            path: the output.
            replaces: a file that lies there is what an earlier attempt left, and goes then.
        """
        self.close(path)
        self._make_room()
        output = Output(path, -1, 0, 0, dirty=True, created=True, planned=bytearray(), replaces=replaces)
        self._open[path] = self._planned[path] = output

    def planned(self) -> list[Output]:
        """The outputs whose files are not made yet."""
        return list(self._planned.values())

    def make_planned(self) -> None:
        """Make the files of all planned outputs and write what they have.

        Raises:
            OutputError: a file cannot be made or written.
        """
        planned, self._planned = self._planned, {}
        for path, output in planned.items():
            try:
                make_private_dir(os.path.dirname(path))
                if output.replaces:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
                output.fd = os.open(path, OPEN_FLAGS | os.O_EXCL, PRIVATE_FILE)
            except OSError as error:
                raise OutputError(f"{path}: cannot open for writing: {error.strerror}") from error
            block, output.planned = output.planned, None
            output.length = 0
            self.append(output, bytes(block or b""))

    def append(self, output: Output, block: bytes) -> None:
        """Append bytes; on an error the file is cut back to its committed length before it is reported."""
        if output.planned is not None:
            output.planned += block
            output.length += len(block)
            return
        if not block:
            return
        self._failpoints.reach("output-before")
        if self._failpoints.reached("output-half"):
            os.write(output.fd, block[: len(block) // 2])
            self._failpoints.die()
        output.dirty = True
        try:
            write_all(output.fd, block)
        except OSError as error:
            self.cut(output)
            raise OutputError(f"{output.path}: cannot write: {error.strerror}") from error
        output.length += len(block)
        self._failpoints.reach("output-after")

    def cut(self, output: Output, length: int | None = None) -> None:
        """Drop what was appended since the last commit, or only what lies behind `length`."""
        length = output.committed if length is None else length
        output.length = length
        if output.planned is not None:
            del output.planned[length:]
            return
        try:
            os.ftruncate(output.fd, length)
        except OSError as error:
            raise OutputError(f"{output.path}: cannot cut back: {error.strerror}") from error

    def dirty(self) -> list[Output]:
        """Outputs with bytes that are not known to be on disk."""
        return [output for output in self._open.values() if output.dirty]

    def committed(self, output: Output, length: int) -> None:
        """The ledger has committed this length."""
        output.committed = length
        output.dirty = output.length > length
        output.created = False

    def close(self, path: str) -> None:
        """Close one output, if it is open."""
        output = self._open.pop(path, None)
        self._planned.pop(path, None)
        if output is not None and output.planned is None:
            os.close(output.fd)

    def close_all(self) -> None:
        """Close every output as it is."""
        for path in list(self._open):
            self.close(path)

    def _make_room(self) -> None:
        if len(self._open) < self._limit:
            return
        for path, output in self._open.items():
            if not output.dirty:
                self.close(path)
                return


def cut_back(fd: int, path: str, committed: int, marker_len: int, marker_hash: int) -> None:
    """Cut a file to its committed length, after making sure that its committed end is what was written.

    Raises:
        SessionError: it is shorter, or its end differs.
    """
    size = os.fstat(fd).st_size
    if size < committed:
        raise SessionError(
            f"{path}: need {committed} committed bytes, it has {size}; "
            f"put it back, or run `compactd forget {path}` and backfill again"
        )
    if committed and marker_len and tail_hash(read_at(fd, path), committed) != (marker_len, marker_hash):
        raise SessionError(
            f"{path}: the bytes before {committed} are not the ones that were written; "
            f"put it back, or run `compactd forget {path}` and backfill again"
        )
    if size > committed:
        try:
            os.ftruncate(fd, committed)
        except OSError as error:
            raise OutputError(f"{path}: cannot cut back: {error.strerror}") from error


def sync(fd: int, shown: str) -> None:
    """fdatasync. A failure is final for the data: the caller rebuilds from the last commit."""
    try:
        os.fdatasync(fd)
    except OSError as error:
        raise OutputError(f"{shown}: cannot flush to disk: {error.strerror}") from error


def sync_folder(path: str) -> None:
    """Make the names of new files in a folder durable."""
    try:
        fsync_dir(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot flush to disk: {error.strerror}") from error


def _in_place(output: Output) -> bool:
    try:
        there = os.stat(output.path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    here = os.fstat(output.fd)
    return os.path.samestat(there, here) and there.st_size == output.length
