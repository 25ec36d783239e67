"""Which files the daemon knows, which of them have something to read, and whose turn it is."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass

import anyio

from pipeline.disk.scan import Found
from pipeline.parcels import Parcel
from pipeline.runs.reading import SessionReading

READINGS_KEPT = 512


@dataclass(slots=True)
class Tracked:
    """A known file. `reading` is kept while it is active; `committed` is its last committed source offset."""

    found: Found
    queued: bool = False
    reading: SessionReading | None = None
    committed: int = -1
    failed: bool = False

    @property
    def settled(self) -> bool:
        """Everything that was read is committed, so that the reading may be given up."""
        return self.reading is None or self.reading.offset == self.committed


class Tracker:
    """Known files by path, and the queue of those with something to read: first come first served, a batch a turn."""

    def __init__(self) -> None:
        self.files: dict[str, Tracked] = {}
        self._queue: deque[Tracked] = deque()
        self._active: OrderedDict[str, Tracked] = OrderedDict()
        self._by_session: dict[int, Tracked] = {}
        self._news = anyio.Event()

    def saw(self, found: Iterable[Found]) -> None:
        """Take in what a look at the files showed; new and changed ones are queued."""
        for file in found:
            tracked = self.files.get(file.path)
            if tracked is None:
                tracked = self.files[file.path] = Tracked(file)
                self.queue(tracked)
            elif _differs(tracked.found, file) or tracked.failed:
                tracked.found = file
                self.queue(tracked)

    def queue(self, tracked: Tracked) -> None:
        """Put a file at the end of the queue, once."""
        if not tracked.queued:
            tracked.queued = True
            self._queue.append(tracked)
            self._news.set()

    def wake(self) -> None:
        """Have whoever waits for a file look again."""
        self._news.set()

    async def wait(self) -> None:
        """Wait until something is queued or `wake` was called."""
        await self._news.wait()

    def pop(self) -> Tracked | None:
        """The file whose turn it is; None when no file has anything to read."""
        self._news = anyio.Event()
        if not self._queue:
            return None
        tracked = self._queue.popleft()
        tracked.queued = False
        return tracked

    def active(self, tracked: Tracked, reading: SessionReading, committed: int) -> None:
        """A file has a reading now; the longest unused settled ones are given up when there are too many."""
        tracked.reading, tracked.committed = reading, committed
        self._by_session[reading.session] = tracked
        self._active[tracked.found.path] = tracked
        self._active.move_to_end(tracked.found.path)
        for path, other in list(self._active.items()):
            if len(self._active) <= READINGS_KEPT:
                break
            if other is not tracked and other.settled and not other.queued:
                self.release(other)
                del path

    def release(self, tracked: Tracked) -> None:
        """Give up a file's reading; the next turn opens it from the ledger."""
        if tracked.reading is not None:
            self._by_session.pop(tracked.reading.session, None)
            tracked.reading.close()
        self._active.pop(tracked.found.path, None)
        tracked.reading = None

    def reader_of(self, session: int) -> Tracked | None:
        """The file that has this session open."""
        return self._by_session.get(session)

    def committed(self, parcels: list[Parcel]) -> None:
        """Note how far each session is committed."""
        for parcel in parcels:
            tracked = self._by_session.get(parcel.session)
            if tracked is not None and parcel.complete:
                tracked.committed = parcel.checkpoint.src_off

    def missing(self, found: Iterable[Found]) -> list[Tracked]:
        """Known files that a whole scan did not show: gone, or in a folder that cannot be listed now."""
        there = {file.path for file in found}
        return [tracked for path, tracked in self.files.items() if path not in there]

    def forget(self, tracked: Tracked) -> None:
        """Stop looking at a file."""
        self.release(tracked)
        self.files.pop(tracked.found.path, None)


def _differs(before: Found, now: Found) -> bool:
    return (before.size, before.mtime_ns, before.inode, before.dev) != (now.size, now.mtime_ns, now.inode, now.dev)
