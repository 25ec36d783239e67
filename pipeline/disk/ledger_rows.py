"""What the ledger's readers get: its rows with their words and paths, for people."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session with its current generation; before the first is complete all that is 0 or ""."""

    id: int
    root: int
    root_name: str
    root_path: bytes
    rel: bytes
    out_rel: bytes
    size: int
    mtime_ns: int
    generation: int
    state: str
    format: str
    config: str
    records: int
    source_bytes: int
    output_bytes: int

    @property
    def source_path(self) -> bytes:
        """The source file."""
        return os.path.join(self.root_path, self.rel)

    @property
    def out_path(self) -> bytes:
        """The output below the output folder."""
        return os.path.join(self.root_name.encode(), self.out_rel)


class RecordRow(NamedTuple):
    """A record row with its words."""

    ordinal: int
    src_off: int
    src_len: int
    out_off: int
    out_len: int
    hash8: int
    day: int
    outcome: str
    reason: str


class SiteRow(NamedTuple):
    """A site row with its words; `value` is a value id, 0 for none."""

    ordinal: int
    n: int
    stage: str
    tool: str
    rule: str
    reason: str
    applied: bool
    off_in_output_record: int
    bytes_after: int
    bytes_before: int
    value: int


class SumRow(NamedTuple):
    """Sums of one group; `key` is its name and `id` its number in the ledger (0 when it has none)."""

    key: str
    id: int
    records: int
    sites: int
    edits: int
    source_bytes: int
    output_bytes: int

    @property
    def saved_bytes(self) -> int:
        """Source minus output; negative when something grew."""
        return self.source_bytes - self.output_bytes


class SessionSizes(NamedTuple):
    """All sessions together: their source files as last seen, and the committed bytes of the current outputs."""

    sessions: int
    source_disk_bytes: int
    output_bytes: int


def shown(path: bytes) -> str:
    """A path for people and JSON: bytes that are no UTF-8 as escapes."""
    return path.decode("utf-8", "backslashreplace")
