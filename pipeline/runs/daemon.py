"""The daemon: files that have something new take turns; every change of a session ends up committed."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Sequence

import anyio
import anyio.to_thread

from pipeline.disk.scan import Root, roots_of
from pipeline.disk.store import Store
from pipeline.errors import CompactdError, OutputError, UsageError
from pipeline.rules.base import RULES_VERSION
from pipeline.runs.catalog import Catalog
from pipeline.runs.chain import AsyncChain, Running, sent
from pipeline.runs.looking import Looking
from pipeline.runs.tracking import Tracker
from pipeline.runs.turns import Turns
from pipeline.settings import RootSettings, Settings, output_digest

LONGEST_RETRY_SECONDS = 60.0

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
        OutputError: only with `once`: output or state cannot be written; all is as at the last commit.
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
        self._stopping = anyio.Event()
        self._tracker = Tracker()

    async def run(self) -> int:
        """Run until stopped; after an output error pause and start again from the last commit."""
        failure: CompactdError | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._await_signals, group.cancel_scope)
            pause = self._settings.watch.retry_seconds
            while True:
                began = time.monotonic()
                errors: list[CompactdError] = []
                try:
                    await self._session_of_work()
                    break
                except* OutputError as group_of_errors:
                    errors = _leaves(group_of_errors)
                if self._once:
                    failure = errors[0]
                    break
                for error in errors:
                    log.error("%s; trying again in %.0f s", error, pause)
                if self._stopping.is_set():
                    log.error("stopped while the output could not be written; all is as at the last commit")
                    break
                with anyio.move_on_after(pause):
                    await self._stopping.wait()
                worked = time.monotonic() - began > LONGEST_RETRY_SECONDS
                pause = self._settings.watch.retry_seconds if worked else min(LONGEST_RETRY_SECONDS, pause * 2)
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return 0

    async def _session_of_work(self) -> None:
        """One life of the chain, from an opened store to its last commit."""
        tracker = self._tracker = Tracker()
        store = await anyio.to_thread.run_sync(Store.open, self._settings, output_digest(self._settings, RULES_VERSION))

        def give_up(session: int, why: str) -> None:
            log.error("%s", why)
            tracker.give_up(session)

        try:
            chain = AsyncChain(
                self._settings,
                store,
                delay_seconds=self._settings.commit.max_delay_seconds,
                on_commit=tracker.committed,
                on_failure=give_up,
            )
            looking = Looking(self._settings, self._roots, tracker)
            turns = Turns(self._settings, tracker, chain, Catalog(store))
            async with anyio.create_task_group() as group:
                running = chain.start(group)
                running.parcels.close()
                async with running.batches, anyio.create_task_group() as lookers:
                    await looking.rescan()
                    log.info("watching %d files below %d roots", len(tracker.files), len(self._roots))
                    if not self._once:
                        lookers.start_soon(looking.follow_events)
                        lookers.start_soon(looking.sweep_regularly)
                        lookers.start_soon(looking.rescan_regularly)
                    try:
                        await self._read_all(running, looking, turns, store)
                    finally:
                        looking.stop()
                    lookers.cancel_scope.cancel()
        finally:
            tracker.close()
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

    async def _read_all(self, running: Running, looking: Looking, turns: Turns, store: Store) -> None:
        """Give each queued file its turn; when stopping, look at everything once more and drain the queue."""
        tracker = self._tracker
        drained = self._once
        deadline = float("inf")
        while True:
            tracked = tracker.pop()
            if tracked is None:
                await turns.settle()
                if not tracker.waiting and (self._stopping.is_set() or self._once):
                    if drained:
                        return
                    drained = True
                    deadline = time.monotonic() + self._settings.watch.stop_seconds
                    await looking.rescan()
                    continue
                await tracker.wait()
                continue
            if time.monotonic() > deadline:
                log.warning("not all was taken in within %.0f s", self._settings.watch.stop_seconds)
                return
            batch = await turns.turn(tracked)
            if batch is not None:
                store.failpoints.reach("read-after")
                if not await sent(running.batches, batch):
                    return


def _leaves(group: BaseExceptionGroup[OutputError]) -> list[CompactdError]:
    leaves: list[CompactdError] = []
    for error in group.exceptions:
        leaves.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return leaves
