"""The daemon learns of every file that fits its targets, also of those that appear later; of no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from home import HEAD, Home, short

from pipeline.disk.scan import roots_of
from pipeline.runs.looking import Looking
from pipeline.runs.tracking import Tracker

DATA = HEAD + short(1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("p/a.jsonl", DATA)
    return home


def known(home: Home, tracker: Tracker) -> list[str]:
    return sorted(str(Path(path).relative_to(home.source)) for path in tracker.files)


def looking(home: Home, targets: Sequence[str]) -> tuple[Tracker, Looking]:
    tracker = Tracker()
    return tracker, Looking(home.settings, roots_of([str(home.source / target) for target in targets]), tracker)


@pytest.mark.parametrize("event", [True, False], ids=["by an event", "by a walk"])
@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        pytest.param(["p/*.jsonl"], ["p/a.jsonl", "p/b.jsonl"], id="glob"),
        pytest.param(["**/*.jsonl"], ["p/a.jsonl", "p/b.jsonl", "q/r/c.jsonl"], id="deep glob"),
        pytest.param(["p*/a*"], ["p/a.jsonl", "p/a.txt"], id="glob of names"),
        pytest.param([""], ["p/a.jsonl", "p/b.jsonl", "q/r/c.jsonl"], id="folder"),
        pytest.param(["p/a.jsonl"], ["p/a.jsonl"], id="file"),
        pytest.param(["", "p/a*"], ["p/a.jsonl", "p/a.txt", "p/b.jsonl", "q/r/c.jsonl"], id="several"),
    ],
)
def test_files_that_appear_later(home: Home, targets: list[str], expected: list[str], event: bool) -> None:
    async def follow() -> None:
        tracker, look = looking(home, targets)
        await look.rescan()
        assert known(home, tracker) == ["p/a.jsonl"]
        new = [home.write(rel, DATA) for rel in ("p/b.jsonl", "p/a.txt", "q/r/c.jsonl")]
        if event:
            # Of a folder that is new itself there may be no event but its own.
            await look.changed({str(new[0]), str(new[1]), str(home.source / "q")})
        else:
            await look.rescan()
        assert known(home, tracker) == expected

    anyio.run(follow)


def test_output_and_state_are_not_looked_at(home: Home) -> None:
    home.backfill()

    async def follow() -> None:
        tracker = Tracker()
        look = Looking(home.settings, roots_of([str(home.base)]), tracker)
        await look.changed({str(home.out / "sessions" / "p" / "a.jsonl"), str(home.out), str(home.source / "p")})
        await look.rescan()
        assert known(home, tracker) == ["p/a.jsonl"]

    anyio.run(follow)


def test_a_file_that_is_gone_is_forgotten_and_one_that_cannot_be_seen_is_not(home: Home) -> None:
    async def follow() -> None:
        tracker, look = looking(home, [""])
        gone = home.write("gone.jsonl", DATA)
        await look.rescan()
        gone.unlink()
        # A name that no pattern takes any more, but still there: as in a folder that cannot be listed.
        tracker.saw([tracker.files[str(home.source / "p" / "a.jsonl")].found])
        await look.rescan()
        assert known(home, tracker) == ["p/a.jsonl"]

    anyio.run(follow)
