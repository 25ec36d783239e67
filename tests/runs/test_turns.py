"""A file that cannot be read between a batch and its commit is taken up again where it was; the others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from home import HEAD, SHORT, Home, short

from pipeline.disk.scan import Root, look_at
from pipeline.runs.catalog import Catalog
from pipeline.runs.chain import AsyncChain, Running, sent
from pipeline.runs.tracking import Tracked, Tracker
from pipeline.runs.turns import Turns
from pipeline.settings import CommitSettings

DATA = HEAD + b"".join(short(number) for number in range(9))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Commits come only at the end, and when they are asked for."""
    home = Home(tmp_path, replace(SHORT, commit=CommitSettings()))
    home.write("a.jsonl", DATA)
    return home


class Work:
    """The parts of the daemon, turned by hand."""

    def __init__(self, home: Home, chain: AsyncChain, running: Running, tracker: Tracker, turns: Turns) -> None:
        self.home, self.chain, self.running, self.tracker, self.turns = home, chain, running, tracker, turns

    def saw(self, rel: str) -> Tracked:
        found = look_at(Root(str(self.home.source), (), only=frozenset({rel})), rel)
        assert found is not None
        self.tracker.saw([found])
        return self.tracker.files[found.path]

    async def turn(self, tracked: Tracked) -> bool:
        """One turn, sent on; False if there was nothing."""
        batch = await self.turns.turn(tracked)
        if batch is not None:
            assert await sent(self.running.batches, batch)
        return batch is not None

    async def drain(self) -> None:
        """Turns until no file has anything to read."""
        while (tracked := self.tracker.pop()) is not None:
            await self.turn(tracked)


def work(home: Home, story: Callable[[Work], Awaitable[None]]) -> None:
    """Run a story in a chain that commits at its end."""

    async def run() -> None:
        with home.store() as store:
            tracker = Tracker()
            chain = AsyncChain(home.settings, store, delay_seconds=60, on_commit=tracker.committed)
            turns = Turns(home.settings, tracker, chain, Catalog(store))
            async with anyio.create_task_group() as group:
                running = chain.start(group)
                running.parcels.close()
                async with running.batches:
                    await story(Work(home, chain, running, tracker, turns))
            tracker.close()

    anyio.run(run)


def test_a_source_that_is_away_for_a_while(home: Home) -> None:
    path = home.source / "a.jsonl"

    async def story(work: Work) -> None:
        tracked = work.saw("a.jsonl")
        assert await work.turn(tracked)
        assert tracked.reading is not None
        # As when too many are open: the next turn opens it again.
        tracked.reading.close()
        path.rename(path.with_suffix(".away"))
        path.mkdir()
        for _ in range(2):
            assert not await work.turn(tracked)
            assert (tracked.failed, tracked.settled) == (True, False)
            assert tracked.reading is not None
        path.rmdir()
        path.with_suffix(".away").rename(path)
        work.saw("a.jsonl")
        await work.drain()
        assert not tracked.failed

    work(home, story)
    home.check("a.jsonl")


def test_a_source_that_comes_back_as_another(home: Home) -> None:
    path = home.source / "a.jsonl"

    async def story(work: Work) -> None:
        tracked = work.saw("a.jsonl")
        assert await work.turn(tracked)
        assert tracked.reading is not None
        tracked.reading.close()
        path.unlink()
        assert not await work.turn(tracked)
        path.write_bytes(HEAD + short(77))
        work.saw("a.jsonl")
        await work.drain()

    work(home, story)
    home.check("a.jsonl")


def test_a_turn_that_broke_off_is_gone_on_with_only_when_all_before_it_is_committed(home: Home) -> None:
    async def story(work: Work) -> None:
        tracked = work.saw("a.jsonl")
        assert await work.turn(tracked)
        reading = tracked.reading
        assert reading is not None
        # As after an error in the midst of a turn: nobody knows how far it got.
        reading.broken = True
        assert not await work.turn(tracked)
        assert tracked.reading is reading

    work(home, story)
    assert home.query("SELECT records FROM generation") == [(3,)]

    home.backfill()
    home.check("a.jsonl")


def test_a_file_that_was_never_readable_is_tried_again_and_holds_up_nobody(home: Home) -> None:
    home.write("b.jsonl", DATA.replace(b"crate", b"crane"))

    async def story(work: Work) -> None:
        first, second = work.saw("a.jsonl"), work.saw("b.jsonl")
        path = home.source / "a.jsonl"
        path.rename(path.with_suffix(".away"))
        await work.drain()
        assert (first.failed, first.reading, second.failed) == (True, None, False)
        path.with_suffix(".away").rename(path)
        work.saw("a.jsonl")
        await work.drain()
        assert not first.failed

    work(home, story)
    home.check("a.jsonl", "b.jsonl")
