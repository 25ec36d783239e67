"""Reads the records of one source from an offset on, in batches; never past an unterminated line unless told to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

from pipeline.errors import SourceError
from pipeline.records import TOO_LONG, Record
from pipeline.settings import ReaderSettings

BUFFER_BYTES = 1 << 20
"""Smaller buffers make reading lines several times slower."""

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

    def __init__(self, settings: ReaderSettings, *, offset: int = 0, ordinal: int = 1, document: bool = False) -> None:
        self._settings = settings
        self.offset = offset
        self.ordinal = ordinal
        self._document = document
        self._long_end = 0
        """End of the too long record that is being read in pieces; 0 when there is none."""
        self._searched = 0
        """No line end lies between `offset` and here."""

    @property
    def inside_record(self) -> bool:
        """True between the pieces of a too long record."""
        return self._long_end > 0

    def next(self, source: BinaryIO, *, at_end: bool) -> list[Record]:
        """The next records, about `batch_bytes` of them; [] when there is nothing complete to read now.

        [] between the pieces of a too long record: the source was cut or rewritten, its pieces so far are void.

        Args:
            source: the open source, buffered; its position is moved.
            at_end: take a last line without a line end, too: the source will not grow now.

        Raises:
            OSError: the source cannot be read.
        """
        if self._long_end:
            return self._piece(source, at_end=at_end)
        if self._document:
            return self._whole(source) if at_end else []
        source.seek(self.offset)
        records, too_long = self._lines(source, at_end=at_end)
        if records or not too_long:
            return records
        self._find_end(source, at_end=at_end)
        return self._piece(source, at_end=at_end) if self._long_end else []

    def _lines(self, source: BinaryIO, *, at_end: bool) -> tuple[list[Record], bool]:
        """Whole lines, and whether the one behind them is too long."""
        limit, wanted = self._settings.max_record_bytes, self._settings.batch_bytes
        last = self.ordinal + self._settings.batch_records
        readline = source.readline
        records: list[Record] = []
        ordinal, offset = self.ordinal, self.offset
        end = offset + wanted
        too_long = False
        while offset < end and ordinal < last:
            raw = readline(limit + 1)
            if not raw:
                break
            if raw[-1] != 10:  # "\n"
                too_long = len(raw) > limit
                if too_long or not at_end:
                    break
            elif len(raw) > limit:
                too_long = True
                break
            records.append(Record(ordinal, offset, raw))
            ordinal += 1
            offset += len(raw)
        self.ordinal, self.offset = ordinal, offset
        return records, too_long

    def _find_end(self, source: BinaryIO, *, at_end: bool) -> None:
        """Look for the end of a too long record without holding it."""
        at = max(self.offset, self._searched)
        source.seek(at)
        while block := source.read(BUFFER_BYTES):
            found = block.find(b"\n")
            if found >= 0:
                self._long_end = at + found + 1
                return
            at += len(block)
        self._searched = at
        if at_end:
            self._long_end = at

    def _piece(self, source: BinaryIO, *, at_end: bool) -> list[Record]:
        """The next piece of a too long record; [] when the source was cut before its end meanwhile."""
        source.seek(self.offset)
        raw = source.read(min(self._settings.batch_bytes, self._long_end - self.offset))
        ends = self.offset + len(raw) >= self._long_end
        if not self._document:
            # The end was looked for before; what is read now may be something else.
            newline = raw.find(b"\n") + 1
            if newline:
                raw, ends = raw[:newline], True
            elif ends and not at_end:
                raw = b""
        if not raw:
            self._long_end = 0
            return []
        record = Record(self.ordinal, self.offset, raw, TOO_LONG, ends=ends, piece=True)
        self.offset += len(raw)
        if ends:
            self._long_end = 0
            self.ordinal += 1
        return [record]

    def _whole(self, source: BinaryIO) -> list[Record]:
        """The source as one record; it counts as complete whenever it is read."""
        if self.offset:
            return []
        source.seek(0)
        raw = source.read(self._settings.max_record_bytes + 1)
        if len(raw) > self._settings.max_record_bytes:
            self._long_end = source.seek(0, os.SEEK_END)
            return self._piece(source, at_end=True)
        if not raw:
            return []
        self.offset = len(raw)
        self.ordinal = 2
        return [Record(1, 0, raw)]
