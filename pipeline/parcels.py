"""What goes to disk: a compacted batch as plain values, which can cross a process border."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a session is read after a batch, and what its source looked like there.

    `src_off` bytes in `records` whole records. Head and marker are the hashes of `pipeline.disk.identity`;
    `open_tail`: the last record has no line end yet.
    """

    src_off: int = 0
    records: int = 0
    head_len: int = 0
    head_hash: int = 0
    marker_len: int = 0
    marker_hash: int = 0
    open_tail: bool = False
    size: int = 0
    mtime_ns: int = 0
    dev: int = 0
    inode: int = 0


def signed(hash: int) -> int:
    """A 64-bit hash as SQLite keeps it: a signed integer."""
    return hash - (1 << 64) if hash >= 1 << 63 else hash


RecordValues = tuple[int, int, int, int, int, str, str, str]
"""ordinal, src_off, src_len, out_len, hash8 (signed), day ("" = unknown), outcome, reason."""

SiteValues = tuple[int, int, str, str, str, str, bool, int, int, int, bytes]
"""ordinal, n, stage, tool, rule, reason, applied, off_in_output_record, bytes_after, bytes_before, SHA-256."""


@dataclass(slots=True)
class Parcel:
    """One batch on its way to disk: output bytes, rows, and the original tokens of its edits by SHA-256."""

    session: int
    generation: int
    format: str
    starts: bool
    finishes: bool
    checkpoint: Checkpoint
    output: bytes
    source_bytes: int
    records: list[RecordValues] = field(default_factory=list)
    sites: list[SiteValues] = field(default_factory=list)
    originals: dict[bytes, bytes] = field(default_factory=dict)
    exact_scans: int = 0
    edits: int = 0
    complete: bool = True
    """False when the batch ends inside a too long record: its bytes are written, nothing is committed yet."""
    given: str = ""
    """"" when the content told the format; "+name" when the user gave it with a command, "@name" for a whole root."""

    @property
    def record_count(self) -> int:
        """Records that end in this parcel."""
        return len(self.records)
