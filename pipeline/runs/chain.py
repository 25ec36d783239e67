"""The whole chain as async stages: batches in, committed parcels out. Backfill and daemon both run this."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.abc
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from pipeline.disk.store import Store
from pipeline.errors import SessionError
from pipeline.parcels import Parcel
from pipeline.settings import CommitSettings, Settings
from pipeline.stages.base import Batch
from pipeline.stages.chain import build_chain, verb_of
from pipeline.stages.pack import Pack
from pipeline.stages.pump import Meter, pump

# Batches that wait between two stages. Small: a slow disk has to slow the reader, not fill the memory.
BUFFERED = 1

In = TypeVar("In")
Out = TypeVar("Out")
OnCommit = Callable[[list[Parcel]], None]
OnFailure = Callable[[int, str], None]


def _nothing(*_: object) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Running:
    """A running chain: where batches or parcels go in, and what each stage measured."""

    batches: MemoryObjectSendStream[Batch]
    parcels: MemoryObjectSendStream[Parcel]
    meters: list[Meter] = field(default_factory=list)


class AsyncChain:
    """Decode, compact inputs, compact results, splice, pack, commit: each stage a task, small buffers between them."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        delay_seconds: float,
        on_commit: OnCommit = _nothing,
        on_failure: OnFailure = _nothing,
    ) -> None:
        self._settings = settings
        self._store = store
        self._delay = delay_seconds
        self._on_commit = on_commit
        self._on_failure = on_failure
        # The pure stages share the interpreter anyway; one at a time spares them the fight for it.
        self._pure = anyio.CapacityLimiter(1)
        self._disk = anyio.CapacityLimiter(1)
        self.failed: dict[int, str] = {}
        """Sessions that were given up, and why."""

    def start(self, group: anyio.abc.TaskGroup) -> Running:
        """Start every stage in a task group; it ends when the returned streams are closed and all is committed."""
        stages = build_chain(self._settings, verb=verb_of(self._settings)).stages
        send, receive = anyio.create_memory_object_stream[Batch](BUFFERED)
        first = send
        meters: list[Meter] = []
        for stage in stages:
            meter = Meter(stage.name)
            meters.append(meter)
            next_send, next_receive = anyio.create_memory_object_stream[Batch](BUFFERED)
            self._spawn(group, stage, receive, next_send, meter)
            receive = next_receive
        parcels, packed = anyio.create_memory_object_stream[Parcel](BUFFERED)
        meter = Meter(Pack.name)
        pack = Pack(self._settings.vault.enabled)
        group.start_soon(lambda: pump(pack, receive, parcels, meter=meter, limiter=self._pure), name=Pack.name)
        commit = Meter("commit")
        meters += [meter, commit]
        group.start_soon(self._commit, packed, commit, name="commit")
        return Running(first, parcels.clone(), meters)

    async def on_disk(self, work: Callable[[In], Out], argument: In) -> Out:
        """Do something with the store's ledger while no append or commit runs."""
        return await anyio.to_thread.run_sync(work, argument, limiter=self._disk)

    def _spawn(
        self,
        group: anyio.abc.TaskGroup,
        stage: Callable[[Batch], Batch],
        receive: MemoryObjectReceiveStream[Batch],
        send: MemoryObjectSendStream[Batch],
        meter: Meter,
    ) -> None:
        group.start_soon(lambda: pump(stage, receive, send, meter=meter, limiter=self._pure), name=meter.name)

    async def _appended(self, parcel: Parcel) -> bool:
        """Append a parcel; False if its session's output is not what the ledger says: only that session stops."""
        if parcel.session in self.failed:
            return False
        with contextlib.suppress(SessionError):
            await anyio.to_thread.run_sync(self._store.append, parcel, limiter=self._disk)
        self._note_failures()
        return parcel.session not in self.failed

    def _note_failures(self) -> None:
        """Take over which sessions the store gave up."""
        for session, why in self._store.failed.items():
            if session not in self.failed:
                self.failed[session] = why
                self._on_failure(session, why)

    async def _commit(self, receive: MemoryObjectReceiveStream[Parcel], meter: Meter) -> None:
        """Append parcels as they come; commit when a limit is reached, and once more at the end."""
        limits = self._settings.commit
        waiting: list[Parcel] = []
        deadline = float("inf")
        async with receive:
            while True:
                before = time.perf_counter()
                parcel: Parcel | None = None
                ended = False
                with anyio.move_on_after(max(0.0, deadline - time.monotonic())):
                    try:
                        parcel = await receive.receive()
                    except anyio.EndOfStream:
                        ended = True
                received = time.perf_counter()
                meter.starved_seconds += received - before
                if parcel is not None and await self._appended(parcel):
                    waiting.append(_emptied(parcel))
                    meter.batches += 1
                    meter.records += parcel.record_count
                    meter.source_bytes += parcel.source_bytes
                    deadline = min(deadline, time.monotonic() + self._delay)
                due = ended or parcel is None or _full(self._store, limits) or time.monotonic() >= deadline
                if due and waiting:
                    # A commit that was begun is finished: its result must be known.
                    with anyio.CancelScope(shield=True):
                        await anyio.to_thread.run_sync(self._store.commit, limiter=self._disk)
                    self._note_failures()
                    self._on_commit([parcel for parcel in waiting if parcel.session not in self.failed])
                    waiting = []
                    deadline = float("inf")
                meter.busy_seconds += time.perf_counter() - received
                if ended:
                    return


async def sent(send: MemoryObjectSendStream[In], item: In) -> bool:
    """Send an item to the chain; False when the chain has ended, whose own error tells why."""
    try:
        await send.send(item)
    except anyio.BrokenResourceError:
        return False
    return True


def _full(store: Store, limits: CommitSettings) -> bool:
    return store.pending_bytes >= limits.max_bytes or store.pending_records >= limits.max_records or store.must_commit


def _emptied(parcel: Parcel) -> Parcel:
    """What is kept of a parcel for the report after its commit: sizes, no contents."""
    parcel.output = b""
    parcel.originals.clear()
    parcel.sites.clear()
    return parcel
