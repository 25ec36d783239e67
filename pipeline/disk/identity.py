"""Is this still the content that was read before?"""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

from pipeline.disk.reader import ReadAt
from pipeline.parcels import signed

MARKER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Identity:
    """Hashes of a source's first bytes and of the bytes just before the checkpoint; lengths up to MARKER_BYTES."""

    head_len: int = 0
    head_hash: int = 0
    marker_len: int = 0
    marker_hash: int = 0


NO_IDENTITY = Identity()


def signed_hash(data: bytes) -> int:
    """xxh3_64 as SQLite keeps it: a signed 64-bit integer."""
    return signed(xxhash.xxh3_64_intdigest(data))


def identify(read: ReadAt, offset: int) -> Identity:
    """The identity of a source's first `offset` bytes."""
    length = min(MARKER_BYTES, offset)
    head = read(length, 0)
    marker = read(length, offset - length)
    return Identity(len(head), signed_hash(head), len(marker), signed_hash(marker))


def same_content(read: ReadAt, size: int, offset: int, identity: Identity) -> bool:
    """True if a source of `size` bytes still starts with the `offset` bytes that `identity` was taken of.

    A file that was rewritten in its middle only, with equal head and marker, cannot be told from this.
    """
    if size < offset:
        return False
    # Before the first byte every content is the same, also to an identity that was never taken.
    return offset == 0 or identify(read, offset) == identity


def tail_hash(read: ReadAt, length: int) -> tuple[int, int]:
    """Length and hash of the last bytes of an output of `length` bytes."""
    size = min(MARKER_BYTES, length)
    data = read(size, length - size)
    return len(data), signed_hash(data)
