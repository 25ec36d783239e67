"""Every exception that compactd raises on purpose; anything else that escapes is a bug."""

from __future__ import annotations


class CompactdError(Exception):
    """Base of all errors with a text meant for the user: place, need and what came, on one line."""


class RecordError(CompactdError):
    """One record cannot be handled; it passes unchanged and is counted under `reason`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class UsageError(CompactdError):
    """A command line argument, PATH or SESSION is wrong: exit code 2."""


class ConfigError(UsageError):
    """The configuration is wrong: exit code 2 before anything starts."""


class SourceError(CompactdError):
    """A session's source cannot be read now; other sessions go on."""


class OutputError(CompactdError):
    """Output, vault or ledger cannot be written now (full disk, permission): back to the last commit, retry later."""


class LedgerError(CompactdError):
    """Ledger and files disagree, or the ledger cannot be used: stop, and say how to repair."""


class LockedError(CompactdError):
    """Another process holds the state or output folder."""
