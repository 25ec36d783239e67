"""Reads the records of one source from an offset on, in batches; never past an unterminated line unless told to."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from pipeline.errors import SourceError
from pipeline.records import TOO_LONG, Record
from pipeline.settings import ReaderSettings

ReadAt = Callable[[int, int], bytes]
"""`(length, offset) -> bytes`, empty at the end: `os.pread` of an open file."""


def read_at(fd: int, shown: str) -> ReadAt:
    """A positioned read of an open file whose errors name the file and the offset."""

    def read(length: int, offset: int) -> bytes:
        try:
            return os.pread(fd, length, offset)
        except OSError as error:
            raise SourceError(f"{shown}: cannot read at offset {offset}: {error.strerror}") from error

    return read


class SourceReader:
    """The records of one source in order. `offset` and `ordinal` are those of the next record."""

    def __init__(
        self, read: ReadAt, settings: ReaderSettings, *, offset: int = 0, ordinal: int = 1, document: bool = False
    ) -> None:
        self._read = read
        self._settings = settings
        self.offset = offset
        self.ordinal = ordinal
        self._document = document
        self._long_end = 0
        """End of the too long record that is being read in pieces; 0 when there is none."""
        self._searched = 0
        """No line end lies between `offset` and here."""

    def use(self, read: ReadAt) -> None:
        """Read from here on; the source was opened anew."""
        self._read = read

    @property
    def inside_record(self) -> bool:
        """True between the pieces of a too long record."""
        return self._long_end > 0

    def next(self, *, at_end: bool) -> list[Record]:
        """The next records, about `batch_bytes` of them; [] when there is nothing complete to read now.

        Args:
            at_end: take a last line without a line end, too: the source will not grow now.
        """
        if self._long_end:
            return self._pieces()
        if self._document:
            return self._whole(at_end=at_end)
        block = self._block()
        if block is None:
            return self._pieces()
        cut = block.rfind(b"\n") + 1
        if not cut:
            if not (at_end and block):
                return []
            cut = len(block)
        elif at_end and cut < len(block) < self._settings.batch_bytes:
            # The end of the source: the torn line comes with the same batch.
            cut = len(block)
        return self._records(block[:cut])

    def _block(self) -> bytes | None:
        """Bytes from the offset that hold a line end, or all there are; None when the next record is too long."""
        size, limit = self._settings.batch_bytes, self._settings.max_record_bytes
        block = self._read(size, self.offset)
        if len(block) < size or b"\n" in block:
            return block
        parts, length = [block], len(block)
        while length <= limit:
            block = self._read(size, self.offset + length)
            parts.append(block)
            length += len(block)
            if not block or b"\n" in block:
                return b"".join(parts)
        return None if self._find_end(length) else b""

    def _find_end(self, known: int) -> bool:
        """Look for the end of a too long record without holding it."""
        at = max(self.offset + known, self._searched)
        while block := self._read(self._settings.batch_bytes, at):
            found = block.find(b"\n")
            if found >= 0:
                self._long_end = at + found + 1
                return True
            at += len(block)
        self._searched = at
        return False

    def take_rest_as_long(self) -> bool:
        """At the end of a source that ends inside a too long record: read it in pieces all the same."""
        if self._searched > self.offset and not self._long_end:
            self._long_end = self._searched
            return True
        return False

    def _pieces(self) -> list[Record]:
        block = self._read(min(self._settings.batch_bytes, self._long_end - self.offset), self.offset)
        if not block:
            # The source was cut meanwhile: whoever reads it finds out by its identity.
            self._long_end = 0
            return []
        ends = self.offset + len(block) >= self._long_end
        record = Record(self.ordinal, self.offset, block, TOO_LONG, ends=ends, piece=True)
        self.offset += len(block)
        if ends:
            self._long_end = 0
            self.ordinal += 1
        return [record]

    def _whole(self, *, at_end: bool) -> list[Record]:
        """The source as one record; it counts as complete whenever it is read."""
        limit = self._settings.max_record_bytes
        if self.offset or not at_end:
            return []
        parts: list[bytes] = []
        length = 0
        while length <= limit and (block := self._read(self._settings.batch_bytes, length)):
            parts.append(block)
            length += len(block)
        if length <= limit:
            return self._records(b"".join(parts), lines=False) if length else []
        while block := self._read(self._settings.batch_bytes, length):
            length += len(block)
        self._long_end = length
        return self._pieces()

    def _records(self, block: bytes, *, lines: bool = True) -> list[Record]:
        limit = self._settings.max_record_bytes
        records: list[Record] = []
        ordinal, offset = self.ordinal, self.offset
        for raw in io.BytesIO(block).readlines() if lines else [block]:
            if len(raw) > limit:
                records.append(Record(ordinal, offset, raw, TOO_LONG, piece=True))
            else:
                records.append(Record(ordinal, offset, raw))
            ordinal += 1
            offset += len(raw)
            if len(records) >= self._settings.batch_records:
                break
        self.ordinal, self.offset = ordinal, offset
        return records
