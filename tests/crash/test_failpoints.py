"""A process that is killed at any step, and started again, ends where an uninterrupted one does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from support import Place, lines, session, write_sessions

from pipeline.disk.failpoints import NAMES, VARIABLE
from pipeline.runs.oneshot import compact_file
from pipeline.settings import Settings

COMMANDS = (("backfill", "--jobs", "1"), ("watch", "--once"))
SWAPS = tuple(name for name in NAMES if name.startswith("swap"))
# Which of the passes at a place the process dies at: first, and in the middle of the work.
TIMES = (1, 3)
RANDOM_KILLS = 50


def fill(place: Place) -> None:
    """The sessions of both phases' start."""
    write_sessions(place.source, [5, 3, 4])


def change(place: Place) -> None:
    """Append to one session, write another anew, cut a third short."""
    first, second, third = sorted(place.source.rglob("*.jsonl"))
    with first.open("ab") as sink:
        sink.write(lines(session(2, seed=77)))
    second.write_bytes(lines(session(4, seed=88)))
    third.write_bytes(lines(session(1, seed=99)))


def finish(place: Place, *command: str) -> None:
    """Run the command to its end; it has to go on from whatever was left."""
    done = place.run(*command, str(place.source))
    assert done.returncode == 0, done.stderr.decode()


def check(place: Place, twin: Place) -> None:
    """Same outputs and rows as the uninterrupted run, each record once, and `verify` agrees."""
    assert place.outputs() == twin.outputs()
    assert place.rows() == twin.rows()
    verified = place.run("verify")
    assert verified.returncode == 0, verified.stderr.decode()
    for source in place.source.rglob("*.jsonl"):
        oracle = place.base / "oracle.jsonl"
        compact_file(str(source), str(oracle), format="auto", settings=Settings())
        output = place.out / "sessions" / source.relative_to(place.source)
        assert output.read_bytes().replace(b"compactd recall ", b"compactd digest ") == oracle.read_bytes()


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Place]:
    """Uninterrupted runs: after the first phase, and after the changes."""
    first = Place(tmp_path_factory.mktemp("first")).make()
    fill(first)
    finish(first, "backfill")
    second = Place(tmp_path_factory.mktemp("second")).make()
    fill(second)
    finish(second, "backfill")
    change(second)
    finish(second, "backfill")
    return first, second


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SWAPS])
def test_killed_at_a_step_of_the_first_run_the_result_is_the_same(
    name: str, command: tuple[str, ...], tmp_path: Path, twins: tuple[Place, Place]
) -> None:
    place = Place(tmp_path).make()
    fill(place)
    killed = 0
    for nth in TIMES:
        died = place.run(*command, str(place.source), env={VARIABLE: f"{name}:{nth}"})
        killed += died.returncode == -signal.SIGKILL
    assert killed, f"{name} is never reached"
    finish(place, *command)
    check(place, twins[0])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", SWAPS)
def test_killed_while_a_generation_is_replaced_the_result_is_the_same(
    name: str, command: tuple[str, ...], tmp_path: Path, twins: tuple[Place, Place]
) -> None:
    place = Place(tmp_path).make()
    fill(place)
    finish(place, *command)
    change(place)
    died = place.run(*command, str(place.source), env={VARIABLE: name})
    assert died.returncode == -signal.SIGKILL
    finish(place, *command)
    check(place, twins[1])


@pytest.mark.parametrize("name", ["recover-vault", "recover-outputs", "recover-after"])
def test_killed_five_times_in_a_row_during_recovery_the_result_is_the_same(
    name: str, tmp_path: Path, twins: tuple[Place, Place]
) -> None:
    place = Place(tmp_path).make()
    fill(place)
    assert place.run("backfill", str(place.source), env={VARIABLE: "output-half:4"}).returncode == -signal.SIGKILL
    for _ in range(5):
        assert place.run("backfill", str(place.source), env={VARIABLE: name}).returncode == -signal.SIGKILL
    finish(place, "backfill")
    check(place, twins[0])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_killed_at_random_moments_the_result_is_the_same(
    command: tuple[str, ...], tmp_path: Path, twins: tuple[Place, Place]
) -> None:
    """Kills at random; the seed is fixed, the moments are the scheduler's."""
    place = Place(tmp_path).make()
    fill(place)
    finish(place, *command)
    change(place)
    chance = random.Random(20260105)
    for _ in range(int(os.environ.get("TEST_RANDOM_KILLS", RANDOM_KILLS // len(COMMANDS) // 5))):
        process = subprocess.Popen(
            place.command(*command, str(place.source)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(chance.uniform(0.1, 0.6))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    finish(place, *command)
    check(place, twins[1])
