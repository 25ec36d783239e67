"""What a session remembers of its committed records, rebuilt in slices so that other sessions get their turn."""

from __future__ import annotations

from typing import BinaryIO

from pipeline.disk.reader import SourceReader
from pipeline.formats.base import Format
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.chain import replay

BATCHES_A_SLICE = 8
"""A slice takes about as long as one batch that is compacted."""


class Replay:
    """Lets the first `end` bytes of a source through, only to remember them; `state` is whole when `step` said so."""

    def __init__(self, session: int, format_: Format, settings: Settings, end: int) -> None:
        self.state = new_state(format_, settings)
        self.end = end
        self._session = session
        self._reader = SourceReader(settings.reader)
        self._done = not format_.compacts

    def step(self, source: BinaryIO) -> bool:
        """Read one slice; True when that was the last one.

        Raises:
            OSError: the source cannot be read.
        """
        for _ in range(BATCHES_A_SLICE):
            if self._done or self._reader.offset >= self.end:
                return True
            records = [record for record in self._reader.next(source, at_end=True) if record.offset < self.end]
            if not records:
                return True
            replay(Batch(self._session, self.state, records))
        return self._done or self._reader.offset >= self.end
