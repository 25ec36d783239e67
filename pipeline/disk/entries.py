"""What a vault pack holds, byte by byte, so that packs and outputs alone can rebuild a ledger.

A pack is a row of zstd frames and nothing else: `zstd -dc NNNNNN.pack` prints its entries. A frame holds whole entries
and ends with a checksum; only the last one of a pack may have no end yet, it is flushed at each commit. An entry is

    kind       1 byte     "V" or "E"
    digest16  16 bytes    first half of the SHA-256 of `bytes`
    length     4 bytes    little endian
    bytes

Kind V: `bytes` is the original JSON token of an edit, as it stood in the source.
Kind E: `bytes` is the edit list of one record of an output. A number is a LEB128 varint, a text its length as a number
and UTF-8:

    text    path of the output below the output folder: root name, "/", path (bytes as the file system has them)
    number  generation
    number  ordinal
    number  length of the source record
    8 bytes xxh3_64 of the source record, little endian
    number  count of edits, then for each edit in the order of the record:
      number  offset of the new value in the output record
      number  its length
      number  length of the original token
      16      digest16 of the original token, which a V entry of any pack holds
      text    stage, then text tool, then text rule

The source record is the output record with each new value replaced by its original token. When a record was written
more than once (a last line without an end that grew), the list whose lengths and hash fit the output holds.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.errors import LedgerError

VALUE = b"V"
EDITS = b"E"
HEADER = struct.Struct("<c16sI")
DIGEST_BYTES = 16
MAX_ENTRY_BYTES = (1 << 32) - 1


class Entry(NamedTuple):
    """One entry of a pack; `off` is the place of `data` in the uncompressed frame that starts at byte `frame`."""

    kind: bytes
    digest16: bytes
    pack: int
    frame: int
    off: int
    data: bytes


class EditSpan(NamedTuple):
    """One edit of a record: span in the output record, length and digest of the original, and who did it."""

    off: int
    bytes_after: int
    bytes_before: int
    digest16: bytes
    stage: str = ""
    tool: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class RecordEdits:
    """The edit list of one record; `out_path` is the output below the output folder, `hash8` is signed."""

    out_path: bytes
    generation: int
    ordinal: int
    src_len: int
    hash8: int
    edits: tuple[EditSpan, ...]


def digest16(data: bytes) -> bytes:
    """The digest of an entry's bytes."""
    return hashlib.sha256(data).digest()[:DIGEST_BYTES]


def encode_edits(record: RecordEdits) -> bytes:
    """The bytes of a kind-E entry."""
    parts = [
        _text(record.out_path),
        _number(record.generation),
        _number(record.ordinal),
        _number(record.src_len),
        struct.pack("<q", record.hash8),
        _number(len(record.edits)),
    ]
    for off, after, before, digest, *names in record.edits:
        parts += (_number(off), _number(after), _number(before), digest[:DIGEST_BYTES])
        parts += [_text(name.encode("utf-8", "surrogatepass")) for name in names]
    return b"".join(parts)


def decode_edits(payload: bytes) -> RecordEdits:
    """The edit list in a kind-E entry.

    Raises:
        LedgerError: the bytes are no edit list.
    """
    cursor = _Cursor(payload)
    try:
        out_path, generation, ordinal = cursor.take(cursor.number()), cursor.number(), cursor.number()
        src_len = cursor.number()
        (hash8,) = struct.unpack("<q", cursor.take(8))
        edits = tuple(cursor.edit() for _ in range(cursor.number()))
    except (ValueError, struct.error) as error:
        raise LedgerError(f"vault: damaged edit list: {error}") from error
    if cursor.at != len(payload):
        raise LedgerError(f"vault: damaged edit list: {len(payload) - cursor.at} bytes too many")
    return RecordEdits(out_path, generation, ordinal, src_len, hash8, edits)


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError(f"a number of over 64 bits at byte {self.at}")

    def take(self, length: int) -> bytes:
        part = self.data[self.at : self.at + length]
        if len(part) != length:
            raise ValueError(f"need {length} bytes at byte {self.at}, there are {len(part)}")
        self.at += length
        return part

    def text(self) -> str:
        return self.take(self.number()).decode("utf-8", "surrogatepass")

    def edit(self) -> EditSpan:
        return EditSpan(
            self.number(), self.number(), self.number(), self.take(DIGEST_BYTES), self.text(), self.text(), self.text()
        )


def _number(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes(1, "little")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(data: bytes) -> bytes:
    return _number(len(data)) + data
