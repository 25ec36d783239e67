"""One process at a time in a folder: a kernel lock on an open file, which ends with the process however it ends."""

from __future__ import annotations

import fcntl
import os
from types import TracebackType

from pipeline.disk.files import PRIVATE_FILE, make_private_dir
from pipeline.errors import LockedError, OutputError

PID_BYTES = 32


class FolderLock:
    """Holds `path`, a file in the folder it guards, from `acquire` to `release`; also a context manager.

    A file left by a dead process holds nothing: only the kernel's lock counts, the pid in it is for people. The file
    is never removed, since another process could then lock a second one of the same name. A forked child shares the
    lock until it ends; one started by exec does not.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    @property
    def held(self) -> bool:
        """True between `acquire` and `release`."""
        return self._fd >= 0

    def acquire(self) -> None:
        """Take the lock at once or not at all; makes the folder and the file when they are missing.

        Raises:
            LockedError: another process, or another lock of this one, has it; names the pid when it is known.
            OutputError: the file cannot be made or locked.
        """
        if self.held:
            raise RuntimeError(f"{self.path}: is held already")
        try:
            make_private_dir(os.path.dirname(self.path))
            while True:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                fd = os.open(self.path, flags, PRIVATE_FILE)
                if self._lock(fd):
                    break
        except OSError as error:
            raise OutputError(f"{self.path}: cannot lock: {error.strerror}") from error
        self._fd = fd

    def release(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self.held:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> FolderLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _lock(self, fd: int) -> bool:
        """Lock an open file and note the pid; False if its name now belongs to another file. Closes it on failure."""
        locked = False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(fd, self.path):
                os.ftruncate(fd, 0)
                os.pwrite(fd, b"%d\n" % os.getpid(), 0)
                locked = True
        except BlockingIOError as error:
            holder = os.pread(fd, PID_BYTES, 0).strip()
            who = f"process {holder.decode()}" if holder.isdigit() else "another process"
            raise LockedError(f"{self.path}: held by {who}; stop it or use another folder") from error
        finally:
            if not locked:
                os.close(fd)
        return locked


def _same_file(fd: int, path: str) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))
