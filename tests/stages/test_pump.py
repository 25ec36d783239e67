"""The pump runs a stage on every batch, measures it, and lets no source run ahead of a slow stage."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from pipeline.stages.pump import Meter, pump

BUFFER = 1


@dataclass
class Parcel:
    """A batch of whatever."""

    number: int
    source_bytes: int = 10
    record_count: int = 2
    passed: list[str] = field(default_factory=list)


def stage(name: str) -> Callable[[Parcel], Parcel]:
    def work(parcel: Parcel) -> Parcel:
        parcel.passed.append(name)
        return parcel

    return work


class Line:
    """Stages behind each other with small buffers between them."""

    def __init__(self, *stages: Callable[[Parcel], Parcel]) -> None:
        self.limiter = anyio.CapacityLimiter(len(stages))
        self.meters = [Meter(f"stage {number}") for number in range(len(stages))]
        self.stages = stages
        self.inner: list[MemoryObjectReceiveStream[Parcel]] = []

    def start(
        self, group: anyio.abc.TaskGroup
    ) -> tuple[MemoryObjectSendStream[Parcel], MemoryObjectReceiveStream[Parcel]]:
        first, receive = anyio.create_memory_object_stream[Parcel](BUFFER)
        for work, meter in zip(self.stages, self.meters, strict=True):
            send, next_receive = anyio.create_memory_object_stream[Parcel](BUFFER)
            self.inner.append(receive)
            group.start_soon(self._pump, work, receive, send, meter)
            receive = next_receive
        return first, receive

    async def _pump(
        self,
        work: Callable[[Parcel], Parcel],
        receive: MemoryObjectReceiveStream[Parcel],
        send: MemoryObjectSendStream[Parcel],
        meter: Meter,
    ) -> None:
        await pump(work, receive, send, meter=meter, limiter=self.limiter)


def test_every_batch_passes_every_stage_in_order() -> None:
    async def main() -> list[tuple[int, list[str]]]:
        line = Line(stage("a"), stage("b"), stage("c"))
        found: list[tuple[int, list[str]]] = []
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)

            async def feed() -> None:
                async with send:
                    for number in range(20):
                        await send.send(Parcel(number))

            group.start_soon(feed)
            async with receive:
                async for parcel in receive:
                    found.append((parcel.number, parcel.passed))
        return found

    assert anyio.run(main) == [(number, ["a", "b", "c"]) for number in range(20)]


def test_the_meter_counts_batches_records_bytes_and_where_the_time_went() -> None:
    gate = threading.Event()

    def slow(parcel: Parcel) -> Parcel:
        # Busy until the test lets go, so that no clock decides.
        assert gate.wait(30)
        return parcel

    async def main() -> list[Meter]:
        line = Line(stage("quick"), slow)
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)
            async with send, receive:
                for number in range(3):
                    await send.send(Parcel(number, source_bytes=100 + number, record_count=number))
                # What comes now is held up by the slow stage.
                with anyio.move_on_after(0.05) as scope:
                    while True:
                        await send.send(Parcel(9, 0, 0))
                assert scope.cancelled_caught
                gate.set()
                send.close()
                async for _ in receive:
                    pass
        return line.meters

    quick, slowed = anyio.run(main)
    assert (quick.batches, quick.records, quick.source_bytes) == (slowed.batches, 3, 303)
    assert slowed.busy_seconds > 0.05
    assert quick.blocked_seconds > quick.busy_seconds
    assert quick.starved_seconds >= 0
    assert slowed.name == "stage 1"


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_a_stage_that_does_not_go_on_holds_the_source_back(stages: int) -> None:
    stuck = threading.Event()
    taken: list[int] = []

    def waits(parcel: Parcel) -> Parcel:
        taken.append(parcel.number)
        assert stuck.wait(30)
        return parcel

    async def main() -> int:
        line = Line(*(stage(str(number)) for number in range(stages - 1)), waits)
        sent = 0
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)
            async with send, receive:
                with anyio.move_on_after(0.2):
                    while True:
                        await send.send(Parcel(sent))
                        sent += 1
                seen = sent
                assert taken == [0]
                stuck.set()
                send.close()
                async for _ in receive:
                    pass
        return seen

    # One batch in each stage and in each buffer in front of one; a buffer's batch may be on its way.
    assert anyio.run(main) == stages * (BUFFER + 1)
    stuck.set()


def test_a_stage_that_fails_ends_the_group_and_leaves_no_stream_open() -> None:
    class BrokenError(Exception):
        pass

    def fails(parcel: Parcel) -> Parcel:
        if parcel.number == 2:
            raise BrokenError("stage broke")
        return parcel

    statistics: list[tuple[int, int]] = []

    async def main() -> None:
        line = Line(stage("a"), fails, stage("b"))
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)
            try:
                async with send, receive:
                    # The sender may see the end before it is cancelled.
                    with contextlib.suppress(anyio.BrokenResourceError):
                        for number in range(100):
                            await send.send(Parcel(number))
            finally:
                statistics.extend(
                    (stream.statistics().open_receive_streams, stream.statistics().open_send_streams)
                    for stream in line.inner[2:]
                )

    with pytest.raises(ExceptionGroup) as raised:
        anyio.run(main)
    broken, rest = raised.value.split(BrokenError)
    assert broken is not None
    assert rest is None
    assert str(broken.exceptions[0]) == "stage broke"


def test_a_stage_whose_next_one_has_ended_ends_quietly() -> None:
    async def main() -> Meter:
        line = Line(stage("a"))
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)
            receive.close()
            async with send:
                await send.send(Parcel(0))
        return line.meters[0]

    assert anyio.run(main).batches == 0


def test_streams_are_closed_when_the_input_ends() -> None:
    async def main() -> tuple[bool, bool]:
        send, receive = anyio.create_memory_object_stream[Parcel](BUFFER)
        out, result = anyio.create_memory_object_stream[Parcel](BUFFER)
        async with result:
            async with anyio.create_task_group() as group:
                send.close()
                group.start_soon(
                    lambda: pump(stage("a"), receive, out, meter=Meter("a"), limiter=anyio.CapacityLimiter(1))
                )
            closed = result.statistics().open_send_streams == 0
            with pytest.raises(anyio.EndOfStream):
                await result.receive()
            with pytest.raises(anyio.ClosedResourceError):
                await receive.receive()
        return closed, True

    assert anyio.run(main) == (True, True)


def test_the_event_loop_stays_free_while_a_stage_works() -> None:
    async def main() -> int:
        turns = 0
        done = threading.Event()

        def waits(parcel: Parcel) -> Parcel:
            assert done.wait(30)
            return parcel

        line = Line(waits)
        async with anyio.create_task_group() as group:
            send, receive = line.start(group)
            async with send, receive:
                await send.send(Parcel(0))
                for _ in range(100):
                    await anyio.lowlevel.checkpoint()
                    turns += 1
                done.set()
                assert (await receive.receive()).number == 0
        return turns

    assert anyio.run(main) == 100
