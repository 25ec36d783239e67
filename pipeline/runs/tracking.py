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
"""So many files are read at once; a file beyond them waits until one has caught up."""
SOURCES_OPEN = 8
"""Of these so many stay open between turns: within what `RESERVED_FILES` keeps free for all but outputs."""


@dataclass(slots=True)
class Tracked:
    """A known file. `reading` is kept while it is active; `under_way` counts its batches that are not committed."""

    found: Found
    queued: bool = False
    reading: SessionReading | None = None
    under_way: int = 0
    failed: bool = False
    """It could not be read the last time: it is tried again at each look."""
    given_up: bool = False
    """Its output is not what the ledger says: it is left alone until the next start."""

    @property
    def settled(self) -> bool:
        """Everything that was read is committed, so that the reading may be given up.

        Offsets would not tell: after a rewrite another generation may be read up to the very same one.
        """
        return self.under_way == 0


class Tracker:
    """Known files by path, and the queue of those with something to read: first come first served, a batch a turn."""

    def __init__(self, *, readings_kept: int = READINGS_KEPT) -> None:
        self.files: dict[str, Tracked] = {}
        self._kept = readings_kept
        self._queue: deque[Tracked] = deque()
        self._waiting: list[Tracked] = []
        self._active: OrderedDict[str, Tracked] = OrderedDict()
        self._open: OrderedDict[str, Tracked] = OrderedDict()
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
        if not tracked.queued and not tracked.given_up:
            tracked.queued = True
            self._queue.append(tracked)
            self._news.set()

    def wake(self) -> None:
        """Have whoever waits for a file look again."""
        self._news.set()

    async def wait(self) -> None:
        """Wait until something is queued or `wake` was called."""
        await self._news.wait()

    @property
    def waiting(self) -> int:
        """Files that wait for others to be committed, so that their readings can be given up."""
        return len(self._waiting)

    def pop(self) -> Tracked | None:
        """The file whose turn it is; None when no file has anything to read, or all that have are `waiting`."""
        self._news = anyio.Event()
        while self._queue:
            tracked = self._queue.popleft()
            if self.files.get(tracked.found.path) is not tracked:
                # It was forgotten since: its file has another name, or none.
                tracked.queued = False
                continue
            if tracked.reading is None and not self._has_room():
                self._waiting.append(tracked)
                continue
            tracked.queued = False
            return tracked
        return None

    def active(self, tracked: Tracked, reading: SessionReading) -> None:
        """A file has a reading now."""
        tracked.reading, tracked.under_way = reading, 0
        self._by_session[reading.session] = tracked
        self._active[tracked.found.path] = tracked

    def turned(self, tracked: Tracked) -> None:
        """A file had its turn: of the sources that are open now the least recently used are closed."""
        path = tracked.found.path
        self._open.pop(path, None)
        if tracked.reading is not None:
            self._active.move_to_end(path)
            if tracked.reading.is_open:
                self._open[path] = tracked
        while len(self._open) > SOURCES_OPEN:
            _, other = self._open.popitem(last=False)
            if other.reading is not None:
                other.reading.close()
        self._let_in()

    def release(self, tracked: Tracked) -> None:
        """Give up a file's reading; the next turn opens it from the ledger."""
        if tracked.reading is not None:
            self._by_session.pop(tracked.reading.session, None)
            tracked.reading.close()
        self._active.pop(tracked.found.path, None)
        self._open.pop(tracked.found.path, None)
        tracked.reading, tracked.under_way = None, 0
        self._let_in()

    def give_up(self, session: int) -> None:
        """Never read this session's file again."""
        tracked = self._by_session.get(session)
        if tracked is not None:
            tracked.given_up = True
            self.release(tracked)

    def reader_of(self, session: int) -> Tracked | None:
        """The file that has this session open."""
        return self._by_session.get(session)

    def committed(self, parcels: list[Parcel]) -> None:
        """Note that these are committed."""
        for parcel in parcels:
            tracked = self._by_session.get(parcel.session)
            if tracked is not None:
                tracked.under_way -= 1
        self._let_in()

    def missing(self, found: Iterable[Found]) -> list[Tracked]:
        """Known files that a whole scan did not show: gone, or in a folder that cannot be listed now."""
        there = {file.path for file in found}
        return [tracked for path, tracked in self.files.items() if path not in there]

    def forget(self, tracked: Tracked) -> None:
        """Stop looking at a file."""
        self.release(tracked)
        self.files.pop(tracked.found.path, None)

    def close(self) -> None:
        """Close all sources that are open."""
        for tracked in self._active.values():
            if tracked.reading is not None:
                tracked.reading.close()

    def _has_room(self) -> bool:
        """Is there room for one more reading? The longest unused one that has caught up is given up for it."""
        if len(self._active) >= self._kept:
            other = next((other for other in self._active.values() if other.settled and not other.queued), None)
            if other is None:
                return False
            self.release(other)
        return True

    def _let_in(self) -> None:
        if self._waiting and (len(self._active) < self._kept or any(map(_is_idle, self._active.values()))):
            self._queue.extend(self._waiting)
            self._waiting.clear()
            self._news.set()


def _is_idle(tracked: Tracked) -> bool:
    return tracked.settled and not tracked.queued


def _differs(before: Found, now: Found) -> bool:
    return (before.size, before.mtime_ns, before.inode, before.dev) != (now.size, now.mtime_ns, now.inode, now.dev)
