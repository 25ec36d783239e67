"""The sessions that are being written: what of each is committed, and what came since."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice

from pipeline.disk.rows import GenerationRow, SessionRow
from pipeline.parcels import Checkpoint

SETTLED_KEPT = 1_000
"""So many sessions without news are remembered; the others are read from the ledger again when more comes."""


@dataclass(slots=True)
class Writing:
    """A session that is being written: its rows as committed, and what came since.

    `row_off`: where the next record's output begins; it lags behind the output's length inside a too long record.
    `src_off` is where that record begins in the source, `src_end` where the next parcel has to begin.
    `checkpoint` and `finishes` are those of the parcels since the last commit.
    """

    session: SessionRow
    generation: GenerationRow
    out_path: bytes
    path: str
    row_off: int
    src_off: int
    src_end: int
    checkpoint: Checkpoint | None = None
    finishes: bool = False

    @property
    def touched(self) -> bool:
        """The next commit changes its rows."""
        return self.checkpoint is not None or self.finishes

    @property
    def inside_record(self) -> bool:
        """The output has pieces of a too long record that does not count yet."""
        return self.src_end != self.src_off


class Writings:
    """Writings by session, least recently used first; only settled ones are ever given up."""

    def __init__(self, kept: int = SETTLED_KEPT) -> None:
        self._all: OrderedDict[int, Writing] = OrderedDict()
        self._touched: dict[int, Writing] = {}
        self._kept = kept

    def __len__(self) -> int:
        return len(self._all)

    def get(self, session: int) -> Writing | None:
        """The session's writing, if it is remembered."""
        writing = self._all.get(session)
        if writing is not None:
            self._all.move_to_end(session)
        return writing

    def add(self, writing: Writing) -> Writing:
        """Remember a writing; one of the same session is replaced."""
        self._all[writing.session.id] = writing
        self._all.move_to_end(writing.session.id)
        return writing

    def note(self, writing: Writing) -> None:
        """Something was appended to it."""
        if writing.touched:
            self._touched[writing.session.id] = writing

    def touched(self) -> list[Writing]:
        """Those that the next commit changes, in the order in which they were touched first."""
        return list(self._touched.values())

    def drop(self, session: int) -> Writing | None:
        """Forget a session, whatever state it is in; gives what was known."""
        self._touched.pop(session, None)
        return self._all.pop(session, None)

    def settle(self) -> None:
        """The touched ones are committed; give up the settled ones that were not used for long."""
        self._touched.clear()
        spare = len(self._all) - self._kept
        if spare <= 0:
            return
        settled = (id for id, writing in self._all.items() if not writing.touched and not writing.inside_record)
        for session in list(islice(settled, spare)):
            del self._all[session]
