"""What compactd takes on disk beside what the ledger itself knows."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pipeline.disk.places import ARCHIVE


@dataclass(frozen=True, slots=True)
class StateSizes:
    """File sizes in bytes: the ledger with its WAL, and superseded generations."""

    ledger_bytes: int
    archive_bytes: int


def state_sizes(out: str, state: str) -> StateSizes:
    """Sizes of what lies in these folders; what is missing is 0."""
    ledger = sum(_size(os.path.join(state, f"ledger.db{suffix}")) for suffix in ("", "-wal"))
    archive = 0
    for folder, _, names in os.walk(os.path.join(out, ARCHIVE)):
        archive += sum(_size(os.path.join(folder, name)) for name in names)
    return StateSizes(ledger, archive)


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0
