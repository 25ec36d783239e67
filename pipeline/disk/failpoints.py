"""Named places where a test can have the process killed: `COMPACTD_FAILPOINT=name[:nth time]`."""

from __future__ import annotations

import os
import signal

VARIABLE = "COMPACTD_FAILPOINT"

NAMES = (
    "read-after",
    "begin-after",
    "output-before",
    "output-half",
    "output-after",
    "vault-after-flush",
    "sync-after",
    "commit-begin",
    "commit-rows",
    "commit-before-end",
    "commit-after",
    "swap-journal",
    "swap-archived",
    "swap-renamed",
    "swap-after",
    "recover-vault",
    "recover-outputs",
    "recover-after",
)


class FailPoints:
    """Kills this process with SIGKILL when the chosen place is reached for the chosen time; else does nothing."""

    def __init__(self, chosen: str = "") -> None:
        name, _, count = chosen.partition(":")
        self._name = name
        self._left = int(count) if count else 1

    @classmethod
    def from_environment(cls) -> FailPoints:
        """The place that the environment names, if any."""
        return cls(os.environ.get(VARIABLE, ""))

    def reached(self, name: str) -> bool:
        """True when this is the chosen place and time: for places that do half of their work first."""
        if name != self._name:
            return False
        self._left -= 1
        return self._left == 0

    def reach(self, name: str) -> None:
        """Die here, if this is the chosen place and time."""
        if self.reached(name):
            self.die()

    @staticmethod
    def die() -> None:
        """End at once, as a crash would: no clean-up, no flush."""
        os.kill(os.getpid(), signal.SIGKILL)
