"""The reading side of one session: source bytes to batches, one turn at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

from pipeline.disk.identity import MARKER_BYTES, NO_IDENTITY, Identity, same_content, signed_hash
from pipeline.disk.reader import ReadAt, SourceReader
from pipeline.disk.sources import Source, open_source
from pipeline.errors import SourceError
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.parcels import Checkpoint
from pipeline.records import Record
from pipeline.runs.replaying import Replay
from pipeline.settings import Settings
from pipeline.stages.base import Batch, SessionState, new_state

NOT_ALL_READ = -1
"""A time stamp that no file has."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where reading a session starts: what the ledger knows of its last commit.

    `generation` 0: there is none yet. `building`: this generation has not caught up with its source before.
    `open_tail`: the last record has no line end, so whatever follows belongs to it. `renew`: start a new generation
    in any case. `given`: who gave the format, as in `Parcel`; then the content is never asked for it.
    """

    session: int
    path: str
    format: str
    generation: int = 0
    building: bool = False
    src_off: int = 0
    records: int = 0
    identity: Identity = NO_IDENTITY
    open_tail: bool = False
    renew: bool = False
    given: str = ""
    note: str = ""


class SessionReading:
    """Reads one session in turns. Not thread-safe: one turn at a time.

    Source: README.md, "Architecture"; reliability is the identity check before every turn.
    """

    def __init__(self, opening: Opening, settings: Settings) -> None:
        self.session = opening.session
        self.path = opening.path
        self._settings = settings
        self._format = FORMATS[opening.format]
        self._given = opening.given
        self._generation = opening.generation
        self._building = opening.building
        self._identity = opening.identity
        self._open_tail = opening.open_tail
        self._renew = opening.renew or opening.generation == 0
        self._state: SessionState | None = None
        self._head = b""
        self._marker = b""
        self._reader = SourceReader(
            settings.reader,
            offset=opening.src_off,
            ordinal=opening.records + 1,
            document=self._format.whole_document,
        )
        self._whole = opening.src_off
        self._source: Source | None = None
        self._ended = False
        """The last record read had no line end: whatever follows belongs to it, and it has to be read again."""
        self._replay: Replay | None = None
        self.broken = False
        """A turn failed half-way: this reading must not go on; another one has to be opened from the ledger."""

    @property
    def offset(self) -> int:
        """Source bytes read so far in whole records (not: committed)."""
        return self._whole

    @property
    def replaying(self) -> bool:
        """The next turns go on with remembering what is committed, before anything new is read."""
        return self._replay is not None

    @property
    def is_open(self) -> bool:
        """The source is kept open between turns."""
        return self._source is not None

    def next_batch(self, *, at_end: bool) -> Batch | None:
        """As `turn`, with all the turns that a replay takes."""
        while (batch := self.turn(at_end=at_end)) is None and self.replaying:
            pass
        return batch

    def turn(self, *, at_end: bool) -> Batch | None:
        """The next batch; None when there is nothing (more) to read now, or while `replaying`.

        Args:
            at_end: a last line without a line end counts as a record, too.

        Raises:
            SourceError: the file cannot be opened or read.
        """
        if self._ended:
            return None
        kept_open = self._source is not None
        source = self._source = self._source or open_source(self.path)
        try:
            size = source.size
            batch = self._turn(source, source.read_at(self.path), size, at_end=at_end)
        except BaseException as error:
            self.broken = True
            self.close()
            if isinstance(error, OSError):
                raise SourceError(f"{self.path}: cannot read: {error.strerror}") from error
            raise
        if self.replaying:
            return None
        if batch is None or batch.checkpoint.src_off >= size:
            self.close()
        if batch is None and kept_open:
            # The file that was open is at its end; by now another one may have its name.
            return self.turn(at_end=at_end)
        return batch

    def close(self) -> None:
        """Close the source between turns; the next turn opens what lies at the path then."""
        if self._source is not None:
            self._source.close()
            self._source = None

    def _turn(self, opened: Source, read: ReadAt, size: int, *, at_end: bool) -> Batch | None:
        source = opened.file
        starts = self._renew or not same_content(read, size, self._reader.offset, self._identity)
        # The last record grew after the catalog had looked: it is not the record that was committed.
        starts = starts or (self._open_tail and size != self._reader.offset)
        if not starts and self._may_show_format:
            found = detect_bytes(read(HEAD_BYTES, 0), os.path.basename(self.path))
            starts = found is not None and found != self._format.name
        # A document is written anew at each change, also when its first bytes stay.
        complete = self._reader.offset and not self._reader.inside_record
        starts = starts or bool(self._format.whole_document and complete and size != self._reader.offset)
        if starts:
            self._start(read)
        reader = self._reader
        # Drops what is buffered: it may have been rewritten since, and the identity was taken of the file itself.
        source.seek(0, os.SEEK_END)
        # A document is complete whenever it is read: its writer replaces it as a whole.
        at_end = at_end or self._format.whole_document
        if self._replay is not None and not self._replayed(self._replay, source, read):
            return None
        inside = reader.inside_record
        records = reader.next(source, at_end=at_end)
        if inside and not records:
            # The source was cut inside of the record whose first pieces are under way.
            self._renew = True
            return self._turn(opened, read, opened.size, at_end=at_end)
        # Only now: to look at a file in which nothing is new costs no second reading.
        if self._state is None and records:
            offset, ordinal = records[0].offset, records[0].ordinal
            if not self._replayed(Replay(self.session, self._format, self._settings, offset), source, read):
                # These records are read again when all that is before them is remembered.
                self._reader = SourceReader(
                    self._settings.reader, offset=offset, ordinal=ordinal, document=self._format.whole_document
                )
                return None
        self._remember(records)
        if not reader.inside_record:
            self._whole = reader.offset
        done = not records or (reader.offset >= size and not reader.inside_record)
        finishes = self._building and done
        if not records and not starts and not finishes:
            return None
        state = self._state or new_state(self._format, self._settings)
        self._building = self._building and not finishes
        open_tail = self._ended = (
            bool(records)
            and records[-1].ends
            and not self._format.whole_document
            and not records[-1].raw.endswith(b"\n")
        )
        status = opened.status
        # How a compressed file looks says nothing before all of it is read.
        is_all = opened.packed is None or reader.offset >= size
        checkpoint = Checkpoint(
            reader.offset,
            reader.ordinal - 1,
            self._identity.head_len,
            self._identity.head_hash,
            self._identity.marker_len,
            self._identity.marker_hash,
            open_tail,
            status.st_size,
            status.st_mtime_ns if is_all else NOT_ALL_READ,
            status.st_dev,
            status.st_ino,
        )
        return Batch(self.session, state, records, self._generation, starts, finishes, checkpoint, self._given)

    @property
    def _may_show_format(self) -> bool:
        """The bytes that tell the format were not all there when it was told before."""
        return not self._given and self._reader.offset < (HEAD_BYTES if self._format.name == UNKNOWN else 1)

    def _start(self, read: ReadAt) -> None:
        """Begin a new generation at the source's first byte."""
        if not self._given and (self._format.name == UNKNOWN or self._generation):
            found = detect_bytes(read(HEAD_BYTES, 0), os.path.basename(self.path))
            self._format = FORMATS[found] if found else self._format
        # A generation that was still being built is built again under its number.
        if not self._building:
            self._generation += 1
        self._building = self._generation > 1
        self._renew = self._open_tail = False
        self._state = new_state(self._format, self._settings)
        self._replay = None
        self._head = self._marker = b""
        self._identity = NO_IDENTITY
        self._reader = SourceReader(self._settings.reader, document=self._format.whole_document)

    def _replayed(self, replay: Replay, source: BinaryIO, read: ReadAt) -> bool:
        """One more slice of what the session has to remember; True when that is all."""
        self._replay = replay
        if not replay.step(source):
            return False
        self._replay = None
        self._state = replay.state
        self._head = read(min(MARKER_BYTES, replay.end), 0)
        self._marker = read(min(MARKER_BYTES, replay.end), max(0, replay.end - MARKER_BYTES))
        return True

    def _remember(self, records: list[Record]) -> None:
        """Keep the first and the last bytes read, for the identity at this place."""
        if not records:
            return
        for record in records:
            if len(self._head) >= MARKER_BYTES:
                break
            self._head = (self._head + record.raw)[:MARKER_BYTES]
        tail = b""
        for record in reversed(records):
            tail = record.raw[-MARKER_BYTES:] + tail
            if len(tail) >= MARKER_BYTES:
                break
        if len(tail) < MARKER_BYTES:
            tail = self._marker + tail
        self._marker = tail[-MARKER_BYTES:]
        self._identity = Identity(
            len(self._head), signed_hash(self._head), len(self._marker), signed_hash(self._marker)
        )
