"""The file `<state>/identity`: says that there was a ledger, which one, and how many commits it has had.

A database that lost its file, its content or its WAL opens without an error, only emptier. This
file is what tells. The count is written after each commit and not flushed: it may lag behind the ledger, so only a
ledger with fewer commits than the file says has lost some.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass

from pipeline.disk.files import replace_file
from pipeline.errors import LedgerError, OutputError

_TEXT = re.compile(rb"([0-9a-f]{32})\n([0-9]{20})\n")


@dataclass(slots=True)
class Sentinel:
    """The identity file at `path` and what it says."""

    path: str
    state_id: str
    commits: int
    _fd: int = -1

    @classmethod
    def read(cls, path: str) -> Sentinel | None:
        """What the file says; None if there is none.

        Raises:
            LedgerError: it is no identity file.
            OutputError: it cannot be read.
        """
        try:
            with open(path, "rb") as file:
                data = file.read(1024)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(f"{path}: cannot read: {error.strerror}") from error
        match = _TEXT.fullmatch(data)
        if match is None:
            raise LedgerError(
                f"{path}: need an identity and a count of commits, got {data[:60]!r}; use a copy or a new --state"
            )
        return cls(path, match[1].decode(), int(match[2]))

    @classmethod
    def create(cls, path: str, state_id: str, commits: int) -> Sentinel:
        """Write the file so that it survives a crash.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            replace_file(path, _text(state_id, commits))
        except OSError as error:
            raise OutputError(f"{path}: cannot write: {error.strerror}") from error
        return cls(path, state_id, commits)

    def count(self, commits: int) -> None:
        """Note how many commits there are. A failure is ignored: a count that lags is allowed."""
        self.commits = commits
        with contextlib.suppress(OSError):
            if self._fd < 0:
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            os.pwrite(self._fd, _text(self.state_id, commits), 0)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _text(state_id: str, commits: int) -> bytes:
    return b"%s\n%020d\n" % (state_id.encode(), commits)
