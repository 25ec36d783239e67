"""Every exception that compactd raises on purpose; anything else that escapes is a bug."""

from __future__ import annotations


class CompactdError(Exception):
    """Base of all errors with a text meant for the user: place, need and what came, on one line."""


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


class SessionError(LedgerError):
    """The output of one session is gone, was changed, or something else is in its place: the other sessions go on."""


class LockedError(CompactdError):
    """Another process holds the state or output folder."""
