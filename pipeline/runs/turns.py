"""One turn of one file in the daemon: open its session, read a batch; what goes wrong stays with the file."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread

from pipeline.errors import SessionError, SourceError
from pipeline.runs.catalog import Catalog, Skipped, Unchanged
from pipeline.runs.chain import AsyncChain
from pipeline.runs.reading import SessionReading
from pipeline.runs.tracking import Tracked, Tracker
from pipeline.settings import Settings
from pipeline.stages.base import Batch

log = logging.getLogger("compactd.watch")


class Turns:
    """Gives the tracker's files their turns; one at a time."""

    def __init__(self, settings: Settings, tracker: Tracker, chain: AsyncChain, catalog: Catalog) -> None:
        self._settings = settings
        self._tracker = tracker
        self._chain = chain
        self._catalog = catalog
        self._files = anyio.CapacityLimiter(1)

    async def turn(self, tracked: Tracked) -> Batch | None:
        """The file's next batch, which counts as under way; None when there is none now.

        A file that may have more is queued again, so that a long one delays nobody. Of one that cannot be read a line
        is logged, the first time.
        """
        try:
            batch = await self._turn(tracked)
        except SourceError as error:
            if not tracked.failed:
                log.warning("%s; it is tried again", error)
            tracked.failed = True
            # While records of it are under way the ledger does not know yet where reading goes on.
            if tracked.settled:
                self._tracker.release(tracked)
            batch = None
        except SessionError as error:
            # Its output or rows are in the way of a move or a longer record: the others go on.
            log.error("%s", error)
            tracked.given_up = True
            self._tracker.release(tracked)
            batch = None
        if batch is not None or (tracked.reading is not None and tracked.reading.replaying):
            self._tracker.queue(tracked)
        self._tracker.turned(tracked)
        return batch

    async def settle(self) -> None:
        """Note what was found out about files with nothing new in them."""
        if self._catalog.touched:
            await self._chain.on_disk(_settle, self._catalog)

    async def _turn(self, tracked: Tracked) -> Batch | None:
        if tracked.reading is not None and tracked.reading.broken:
            if not tracked.settled:
                # A later look takes it up again: the ledger does not know yet where.
                return None
            self._tracker.release(tracked)
        if tracked.reading is None and not await self._open(tracked):
            tracked.failed = False
            return None
        reading = tracked.reading
        assert reading is not None
        batch = None
        tracked.under_way += 1
        try:
            batch = await anyio.to_thread.run_sync(_next_batch, reading, limiter=self._files)
        finally:
            tracked.under_way -= batch is None
        tracked.failed = False
        return batch

    async def _open(self, tracked: Tracked) -> bool:
        """Find the file's session; False when there is nothing to read."""
        opening = await self._chain.on_disk(self._catalog.opening, tracked.found)
        if isinstance(opening, Unchanged):
            return False
        if isinstance(opening, Skipped):
            log.debug("%s: %s", opening.path, opening.why)
            return False
        if opening.session in self._chain.failed:
            tracked.given_up = True
            return False
        other = self._tracker.reader_of(opening.session)
        if other is not None and other is not tracked:
            if not other.settled:
                # Its file moved here while batches of it are under way: wait for their commit.
                self._tracker.queue(tracked)
                await anyio.sleep(self._settings.commit.max_delay_seconds)
                return False
            self._tracker.forget(other)
        self._tracker.active(tracked, SessionReading(opening, self._settings))
        return True


def _next_batch(reading: SessionReading) -> Batch | None:
    return reading.turn(at_end=False)


def _settle(catalog: Catalog) -> None:
    catalog.settle()
