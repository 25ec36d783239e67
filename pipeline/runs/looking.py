"""What tells the daemon of files: walks of the roots, looks at the known files, events. Events are only hints."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

import anyio
import anyio.to_thread
import watchfiles

from pipeline.disk.scan import Found, Root, by_length, inside, look_at, scan, scan_folder, wanted
from pipeline.runs.tracking import Tracker
from pipeline.settings import Settings

# watchfiles: how long events are gathered, and how often it looks, in milliseconds.
EVENT_DEBOUNCE_MS = 5
EVENT_STEP_MS = 1

log = logging.getLogger("compactd.watch")


class Looking:
    """Keeps a tracker informed about the files of the roots."""

    def __init__(self, settings: Settings, roots: Sequence[Root], tracker: Tracker) -> None:
        self._settings = settings
        self._roots = roots
        self._tracker = tracker
        self._own = (settings.out, settings.state)
        self._scans = anyio.CapacityLimiter(1)
        self._stop = anyio.Event()

    def stop(self) -> None:
        """Let go of the events, before the task is cancelled: their thread would be waited for."""
        self._stop.set()

    async def rescan(self) -> None:
        """Walk the roots: what a walk shows is the truth, whatever the events said."""
        found = await anyio.to_thread.run_sync(self._scan, limiter=self._scans)
        self._tracker.saw(found)
        for tracked in self._tracker.missing(found):
            # What cannot be seen is unknown, not deleted.
            if tracked.settled and not os.path.lexists(tracked.found.path):
                self._tracker.forget(tracked)

    async def rescan_regularly(self) -> None:
        """Walk the roots again and again."""
        while True:
            await anyio.sleep(self._settings.watch.rescan_seconds)
            await self.rescan()

    async def sweep_regularly(self) -> None:
        """Look at every known file again and again: finds what no event told."""
        while True:
            await anyio.sleep(self._settings.watch.sweep_seconds)
            known = [(tracked.found.root, tracked.found.rel) for tracked in self._tracker.files.values()]
            self._tracker.saw(await anyio.to_thread.run_sync(_look_at_all, known, limiter=self._scans))

    async def follow_events(self) -> None:
        """Watch the folders; on any trouble scan, wait and watch again."""
        warned = False
        while True:
            try:
                async for changes in watchfiles.awatch(
                    *(root.path for root in self._roots),
                    watch_filter=None,
                    debounce=EVENT_DEBOUNCE_MS,
                    step=EVENT_STEP_MS,
                    rust_timeout=1000,
                    yield_on_timeout=False,
                    stop_event=self._stop,
                    recursive=any(root.is_deep for root in self._roots),
                ):
                    warned = False
                    await self.changed({path for _, path in changes})
            except (OSError, RuntimeError, UnicodeError) as error:
                if not warned:
                    log.warning("no file events (%s): changes are found by looking every few seconds", error)
                warned = True
            await anyio.sleep(self._settings.watch.sweep_seconds)
            await self.rescan()

    async def changed(self, paths: set[str]) -> None:
        """Look at what events named: files as they are, folders with all that is in them."""
        found = await anyio.to_thread.run_sync(self._look_at_named, sorted(paths), limiter=self._scans)
        self._tracker.saw(found)

    def _scan(self) -> list[Found]:
        return list(scan(self._roots, skip=self._own))

    def _look_at_named(self, paths: Sequence[str]) -> list[Found]:
        found: list[Found] = []
        own = inside(self._own)
        for path in paths:
            real = os.path.realpath(path)
            # A link to a file that has its own path below a root is that file.
            path = real if any(real.startswith(root.path + os.sep) for root in self._roots) else path
            if os.path.join(real, "").startswith(own):
                continue
            for root in by_length(self._roots):
                if path.startswith(root.path + os.sep) and (files := self._below(root, path)):
                    found += files
                    break
        return found

    def _below(self, root: Root, path: str) -> list[Found]:
        if os.path.isdir(path):
            # A new folder may hold files that were written before it was watched.
            return scan_folder(root, path, skip=self._own)
        rel = path[len(root.path) + 1 :]
        file = look_at(root, rel) if wanted(root, rel) else None
        return [] if file is None else [file]


def _look_at_all(files: Sequence[tuple[Root, str]]) -> list[Found]:
    return [found for root, rel in files if (found := look_at(root, rel)) is not None]
