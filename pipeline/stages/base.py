"""What flows between the stages, what a session remembers on the way, and what a stage is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pipeline.formats.base import Format, Pairing
from pipeline.parcels import Checkpoint
from pipeline.records import Record
from pipeline.rules.copies import Seen
from pipeline.settings import Settings


@dataclass(slots=True)
class SessionState:
    """What compaction has to know of the records before: a function of the source bytes alone (README.md, P0).

    It can be rebuilt at any record by letting the earlier ones through `observe`.
    """

    format: Format
    seen: Seen
    pairing: Pairing = field(default_factory=Pairing)


def new_state(format_: Format, settings: Settings) -> SessionState:
    """The state of a session before its first record."""
    return SessionState(format_, Seen(min_bytes=settings.copies.min_bytes))


@dataclass(slots=True)
class Batch:
    """Neighbouring records of one session on their way.

    `session` and `generation` are the ledger's numbers. `starts`: the first batch of a new generation; `finishes`:
    the generation has caught up with its source. Both may come without records. `given`: as in `Parcel`.
    """

    session: int
    state: SessionState
    records: list[Record]
    generation: int = 1
    starts: bool = False
    finishes: bool = False
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    given: str = ""

    @property
    def source_bytes(self) -> int:
        """Bytes of the source in this batch."""
        return sum([len(record.raw) for record in self.records])

    @property
    def record_count(self) -> int:
        """Records in this batch; the pieces of a too long record count once."""
        return sum([record.ends for record in self.records])


class Stage(Protocol):
    """A synchronous, pure step: it adds to the records of a batch and leaves their bytes alone.

    Source: README.md, "Architecture".
    """

    @property
    def name(self) -> str:
        """The stage's name in statistics."""

    def __call__(self, batch: Batch) -> Batch:
        """The same batch, with what the stage found out."""
