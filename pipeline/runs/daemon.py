"""The daemon: events are hints, scans are the truth; every change of a session ends up committed."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Sequence

import anyio
import anyio.to_thread
import watchfiles

from pipeline.disk.scan import Found, Root, by_length, inside, look_at, roots_of, scan, scan_folder, wanted
from pipeline.disk.store import Store
from pipeline.errors import CompactdError, OutputError, SourceError, UsageError
from pipeline.rules.base import RULES_VERSION
from pipeline.runs.catalog import Catalog, Skipped, Unchanged
from pipeline.runs.chain import AsyncChain, Running, sent
from pipeline.runs.reading import SessionReading
from pipeline.runs.tracking import Tracked, Tracker
from pipeline.settings import RootSettings, Settings, output_digest
from pipeline.stages.base import Batch

LONGEST_RETRY_SECONDS = 60.0
# watchfiles: how long events are gathered, and how often it looks, in milliseconds.
EVENT_DEBOUNCE_MS = 5
EVENT_STEP_MS = 1

log = logging.getLogger("compactd.watch")


def watch(settings: Settings, targets: Sequence[RootSettings | str], *, once: bool = False) -> int:
    """Run the daemon in the foreground until SIGTERM or SIGINT; returns the exit code.

    Args:
        settings: with absolute out and state folders.
        targets: files, folders, globs or roots; empty means the roots of the settings.
        once: take in everything that is there now, then stop.

    Raises:
        UsageError: there is nothing to watch.
        LockedError: another process works on the same state or output folder.
        LedgerError: ledger and files disagree.
    """
    roots = roots_of(list(targets) or list(settings.roots))
    if not roots:
        raise UsageError("watch: need a PATH, or [[root]] tables in the config file, got none")
    return anyio.run(_Daemon(settings, roots, once=once).run)


class _Daemon:
    def __init__(self, settings: Settings, roots: Sequence[Root], *, once: bool) -> None:
        self._settings = settings
        self._roots = roots
        self._once = once
        self._own = (settings.out, settings.state)
        self._stopping = anyio.Event()
        self._tracker = Tracker()
        self._files = anyio.CapacityLimiter(1)
        self._scans = anyio.CapacityLimiter(1)

    async def run(self) -> int:
        """Run until stopped; after an output error pause and start again from the last commit."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._await_signals, group.cancel_scope)
            pause = self._settings.watch.retry_seconds
            while True:
                began = time.monotonic()
                try:
                    await self._session_of_work()
                    break
                except* OutputError as errors:
                    for error in _leaves(errors):
                        log.error("%s; trying again in %.0f s", error, pause)
                if self._stopping.is_set():
                    log.error("stopped while the output could not be written; all is as at the last commit")
                    break
                with anyio.move_on_after(pause):
                    await self._stopping.wait()
                worked = time.monotonic() - began > LONGEST_RETRY_SECONDS
                pause = self._settings.watch.retry_seconds if worked else min(LONGEST_RETRY_SECONDS, pause * 2)
            group.cancel_scope.cancel()
        return 0

    async def _session_of_work(self) -> None:
        """One life of the chain, from an opened store to its last commit."""
        self._tracker = Tracker()
        store = await anyio.to_thread.run_sync(Store.open, self._settings, output_digest(self._settings, RULES_VERSION))
        try:
            chain = AsyncChain(
                self._settings,
                store,
                delay_seconds=self._settings.commit.max_delay_seconds,
                on_commit=self._tracker.committed,
            )
            async with anyio.create_task_group() as group:
                running = chain.start(group)
                running.parcels.close()
                async with running.batches, anyio.create_task_group() as looking:
                    await self._rescan()
                    log.info("watching %d files below %d roots", len(self._tracker.files), len(self._roots))
                    if not self._once:
                        looking.start_soon(self._follow_events)
                        looking.start_soon(self._sweep_regularly)
                        looking.start_soon(self._rescan_regularly)
                    await self._read_all(running, chain, store)
                    looking.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(store.close)

    async def _await_signals(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                if self._stopping.is_set():
                    log.warning("second signal: stopping at once; the next start goes on from the last commit")
                    scope.cancel()
                    return
                log.info("%s: taking in what is there, then stopping", signal.Signals(number).name)
                self._stopping.set()
                self._tracker.wake()

    async def _read_all(self, running: Running, chain: AsyncChain, store: Store) -> None:
        """Give each queued file its turn; when stopping, look at everything once more and drain the queue."""
        catalog = Catalog(store)
        drained = self._once
        deadline = float("inf")
        while True:
            tracked = self._tracker.pop()
            if tracked is None:
                if self._stopping.is_set() or self._once:
                    if drained:
                        return
                    drained = True
                    deadline = time.monotonic() + self._settings.watch.stop_seconds
                    await self._rescan()
                    continue
                await self._tracker.wait()
                continue
            if time.monotonic() > deadline:
                log.warning("not all was taken in within %.0f s", self._settings.watch.stop_seconds)
                return
            if tracked.reading is not None and tracked.reading.session in chain.failed:
                self._give_up(tracked, chain.failed[tracked.reading.session])
                continue
            batch = await self._turn(tracked, catalog, chain)
            if batch is not None:
                store.failpoints.reach("read-after")
                if not await sent(running.batches, batch):
                    return
                # There may be more: back to the end of the queue, so that a long backlog delays nobody.
                self._tracker.queue(tracked)

    def _give_up(self, tracked: Tracked, why: str) -> None:
        """Leave a session alone whose output was changed by somebody else; the others go on."""
        if not tracked.failed:
            log.error("%s", why)
        tracked.failed = True

    async def _turn(self, tracked: Tracked, catalog: Catalog, chain: AsyncChain) -> Batch | None:
        try:
            if tracked.reading is None and not await self._open(tracked, catalog, chain):
                return None
            reading = tracked.reading
            assert reading is not None
            batch = await anyio.to_thread.run_sync(_next_batch, reading, limiter=self._files)
            tracked.failed = False
            return batch
        except SourceError as error:
            if not tracked.failed:
                log.warning("%s; it is tried again", error)
            tracked.failed = True
            # While records of it are under way the ledger does not know yet where reading goes on.
            if tracked.settled:
                self._tracker.release(tracked)
            return None

    async def _open(self, tracked: Tracked, catalog: Catalog, chain: AsyncChain) -> bool:
        """Find the file's session; False when there is nothing to read."""
        opening = await chain.on_disk(catalog.opening, tracked.found)
        if isinstance(opening, Unchanged):
            return False
        if isinstance(opening, Skipped):
            log.debug("%s: %s", opening.path, opening.why)
            return False
        other = self._tracker.reader_of(opening.session)
        if other is not None and other is not tracked:
            if not other.settled:
                # Its file moved here while batches of it are under way: wait for their commit.
                self._tracker.queue(tracked)
                await anyio.sleep(self._settings.commit.max_delay_seconds)
                return False
            self._tracker.forget(other)
        self._tracker.active(tracked, SessionReading(opening, self._settings), opening.src_off)
        return True

    async def _rescan(self) -> None:
        """Walk the roots: what a walk shows is the truth, whatever the events said."""
        found = await anyio.to_thread.run_sync(self._scan, limiter=self._scans)
        self._tracker.saw(found)
        for tracked in self._tracker.missing(found):
            # What cannot be seen is unknown, not deleted.
            if tracked.settled and not os.path.lexists(tracked.found.path):
                self._tracker.forget(tracked)

    def _scan(self) -> list[Found]:
        return list(scan(self._roots, skip=(self._settings.out, self._settings.state)))

    async def _rescan_regularly(self) -> None:
        while True:
            await anyio.sleep(self._settings.watch.rescan_seconds)
            await self._rescan()

    async def _sweep_regularly(self) -> None:
        """Look at every known file: finds what no event told."""
        while True:
            await anyio.sleep(self._settings.watch.sweep_seconds)
            known = [(tracked.found.root, tracked.found.rel) for tracked in self._tracker.files.values()]
            self._tracker.saw(await anyio.to_thread.run_sync(_look_at_all, known, limiter=self._scans))

    async def _follow_events(self) -> None:
        """Watch the folders; on any trouble scan, wait and watch again."""
        stop = anyio.Event()
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
                    stop_event=stop,
                    recursive=any(not root.only for root in self._roots),
                ):
                    warned = False
                    await self._changed({path for _, path in changes})
            except (OSError, RuntimeError, UnicodeError) as error:
                if not warned:
                    log.warning("no file events (%s): changes are found by looking every few seconds", error)
                warned = True
            await anyio.sleep(self._settings.watch.sweep_seconds)
            await self._rescan()

    async def _changed(self, paths: set[str]) -> None:
        """Look at what events named: files as they are, folders with all that is in them."""
        found = await anyio.to_thread.run_sync(self._look_at_named, sorted(paths), limiter=self._scans)
        self._tracker.saw(found)

    def _look_at_named(self, paths: Sequence[str]) -> list[Found]:
        found: list[Found] = []
        own = inside(self._own)
        for path in paths:
            real = os.path.realpath(path)
            # A link to a file that has its own path below a root is that file.
            path = real if any(real.startswith(root.path + os.sep) for root in self._roots) else path
            root = next((root for root in by_length(self._roots) if path.startswith(root.path + os.sep)), None)
            if root is None or os.path.join(real, "").startswith(own):
                continue
            rel = path[len(root.path) + 1 :]
            if os.path.isdir(path):
                # A new folder may hold files that were written before it was watched.
                found += scan_folder(root, path, skip=self._own)
            elif wanted(root, rel) and (file := look_at(root, rel)) is not None:
                found.append(file)
        return found


def _next_batch(reading: SessionReading) -> Batch | None:
    return reading.turn(at_end=False)


def _look_at_all(files: Sequence[tuple[Root, str]]) -> list[Found]:
    return [found for root, rel in files if (found := look_at(root, rel)) is not None]


def _leaves(group: BaseExceptionGroup[OutputError]) -> list[CompactdError]:
    leaves: list[CompactdError] = []
    for error in group.exceptions:
        leaves.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return leaves
