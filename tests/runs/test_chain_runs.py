"""What goes into the chain is committed in order, within the limits, and once more when it ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from home import HEAD, SHORT, Home, short

from pipeline.disk.scan import roots_of, scan
from pipeline.parcels import Parcel
from pipeline.runs.catalog import Catalog
from pipeline.runs.chain import AsyncChain, sent
from pipeline.runs.reading import Opening, SessionReading
from pipeline.settings import CommitSettings

RELS = ["a.jsonl", "b.jsonl", "c.jsonl"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for number, rel in enumerate(RELS):
        home.write(rel, HEAD + b"".join(short(100 * number + n) for n in range(6)))
    return home


def run(home: Home) -> tuple[list[list[Parcel]], dict[int, str], list[int]]:
    """Send all batches of all sessions in turn; gives what was committed together, and what was given up."""
    commits: list[list[Parcel]] = []
    given_up: list[int] = []

    async def go() -> dict[int, str]:
        with home.store() as store:
            openings = [Catalog(store).opening(found) for found in scan(roots_of([str(home.source)]))]
            readings = [SessionReading(one, home.settings) for one in openings if isinstance(one, Opening)]
            chain = AsyncChain(
                home.settings,
                store,
                delay_seconds=60,
                on_commit=commits.append,
                on_failure=lambda session, why: given_up.append(session) if why else None,
            )
            async with anyio.create_task_group() as group:
                running = chain.start(group)
                running.parcels.close()
                async with running.batches:
                    while readings:
                        for reading in list(readings):
                            batch = reading.turn(at_end=True)
                            if batch is None:
                                readings.remove(reading)
                            elif not await sent(running.batches, batch):
                                return chain.failed
            assert [meter.name for meter in running.meters][-1] == "commit"
            assert {meter.batches for meter in running.meters[:-1]} == {running.meters[0].batches}
            return chain.failed

    failed = anyio.run(go)
    return commits, failed, given_up


@pytest.mark.parametrize(
    ("limits", "several"),
    [
        pytest.param(CommitSettings(), False, id="large"),
        pytest.param(CommitSettings(max_records=4), True, id="records"),
        pytest.param(CommitSettings(max_bytes=3000), True, id="bytes"),
    ],
)
def test_all_is_committed_in_order_within_the_limits(home: Home, limits: CommitSettings, several: bool) -> None:
    small = Home(home.base, replace(SHORT, commit=limits))
    commits, failed, _ = run(small)
    assert (failed, len(commits) > 1) == ({}, several)
    for session in range(1, 4):
        offsets = [parcel.checkpoint.src_off for commit in commits for parcel in commit if parcel.session == session]
        assert offsets == sorted(set(offsets))
        assert offsets[-1] == (home.source / RELS[session - 1]).stat().st_size
    # What is kept of them for the report has no contents.
    assert not any(parcel.output or parcel.originals for commit in commits for parcel in commit)
    small.check(*RELS)


def test_a_session_whose_output_is_not_what_was_committed_is_the_only_one_that_stops(home: Home) -> None:
    home.backfill()
    output = home.out / "sessions" / RELS[1]
    output.write_bytes(output.read_bytes().replace(b"make part", b"bake part"))
    for rel in RELS:
        home.append(rel, short(900) + short(901) + short(902))
    commits, failed, given_up = run(home)
    assert (list(failed), given_up) == ([2], [2])
    assert f"{output}: the bytes before " in failed[2]
    assert {parcel.session for commit in commits for parcel in commit} == {1, 3}
    assert home.restored(home.source / RELS[0]) == (home.source / RELS[0]).read_bytes()
    assert home.restored(home.source / RELS[2]) == (home.source / RELS[2]).read_bytes()
