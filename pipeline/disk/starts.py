"""Generations that are begun: many of them become known in one transaction, before any of their files is made.

At the next start a file without a row would be somebody else's; a row without a file is an attempt to begin again.
"""

from __future__ import annotations

import os

from pipeline.disk.failpoints import FailPoints
from pipeline.disk.generations import BUILDING
from pipeline.disk.ledger import Ledger
from pipeline.disk.outputs import Outputs
from pipeline.disk.places import Places
from pipeline.disk.writing import Writing
from pipeline.errors import OutputError, SessionError

PLANNED_BYTES = 1024 * 1024
"""So much of new outputs waits in memory at most, until one transaction names them all."""


class Starts:
    """Writings whose generation the ledger does not have yet; their outputs are planned only."""

    def __init__(self, ledger: Ledger, places: Places, outputs: Outputs, failpoints: FailPoints) -> None:
        self._ledger = ledger
        self._places = places
        self._outputs = outputs
        self._failpoints = failpoints
        self._starting: dict[int, Writing] = {}

    def __contains__(self, session: int) -> bool:
        return session in self._starting

    @property
    def due(self) -> bool:
        """What waits in memory should be written."""
        return self._outputs.planned_bytes > PLANNED_BYTES

    def add(self, writing: Writing) -> None:
        """Begin a generation.

        Raises:
            SessionError: something that is not ours lies in the place of its output.
        """
        row = writing.generation
        # An attempt that was not finished may have left a file; only such a one is ever replaced.
        ours = row.state == BUILDING or self._ledger.generation(row.session, row.generation) is not None
        if not ours and (os.path.lexists(writing.path) or not self._places.holds(writing.path)):
            raise SessionError(
                f"{writing.path}: need this place for an output, something else is there; "
                "move it away, or give another --out"
            )
        self._outputs.plan(writing.path, replaces=ours)
        self._starting[row.session] = writing

    def drop(self, session: int) -> None:
        """Give up what was begun for a session; its output has to be closed, too."""
        self._starting.pop(session, None)

    def make(self) -> None:
        """Make all that was begun known in one transaction, then make its files.

        Raises:
            OutputError: a file or the ledger cannot be written, or something else was put in a file's place.
            LedgerError: the ledger was removed or replaced, or is damaged.
        """
        if not self._starting:
            return
        for output in self._outputs.planned():
            if not output.replaces and os.path.lexists(output.path):
                raise OutputError(f"{output.path}: something else was put there while the output was begun")
        with self._ledger.transaction() as change:
            for writing in self._starting.values():
                if self._ledger.is_reserved(writing.session.id):
                    change.insert_session(writing.session)
                else:
                    change.drop_generation(writing.session.id, writing.generation.generation)
                change.put_generation(writing.generation)
        for writing in self._starting.values():
            self._ledger.inserted(writing.session)
        self._starting.clear()
        self._failpoints.reach("begin-after")
        self._outputs.make_planned()
