"""The one loop that runs any stage: receive, work in a thread, send; and measure all three."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream


class Flowing(Protocol):
    """What flows between stages: it knows its source bytes and how many records it holds."""

    @property
    def source_bytes(self) -> int:
        """Bytes of the source in this batch."""

    @property
    def record_count(self) -> int:
        """Records in this batch."""


In = TypeVar("In", bound=Flowing)
Out = TypeVar("Out")


@dataclass(slots=True)
class Meter:
    """What one stage did so far, in wall-clock seconds. `starved`: waiting for input, `blocked`: for the next stage."""

    name: str
    batches: int = 0
    records: int = 0
    source_bytes: int = 0
    busy_seconds: float = 0.0
    starved_seconds: float = 0.0
    blocked_seconds: float = 0.0


async def pump(
    work: Callable[[In], Out],
    receive: MemoryObjectReceiveStream[In],
    send: MemoryObjectSendStream[Out],
    *,
    meter: Meter,
    limiter: anyio.CapacityLimiter,
) -> None:
    """Run one stage until its input ends; closes both streams.

    The stage runs in a worker thread under `limiter`, so the event loop stays free. An exception of the stage ends
    the task group. Backpressure: `send` waits while the next stage is busy and its buffer is full.
    """
    clock = time.perf_counter
    async with receive, send:
        before = clock()
        async for batch in receive:
            received = clock()
            result = await anyio.to_thread.run_sync(work, batch, limiter=limiter)
            done = clock()
            try:
                await send.send(result)
            except anyio.BrokenResourceError:
                # The next stage has ended; why, its own error tells.
                return
            sent = clock()
            meter.batches += 1
            meter.records += batch.record_count
            meter.source_bytes += batch.source_bytes
            meter.starved_seconds += received - before
            meter.busy_seconds += done - received
            meter.blocked_seconds += sent - done
            before = sent
