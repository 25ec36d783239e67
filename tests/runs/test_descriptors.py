"""A process that may open few files gets through many sessions with a backlog: it waits, it does not fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import Place, lines, session

from pipeline.runs.oneshot import compact_file
from pipeline.settings import Settings

SESSIONS = 200
RECORDS = 12
"""Three batches of the small-step configuration, so that all files are at work at the same time."""


@pytest.mark.parametrize(
    "command", [("backfill", "--jobs", "1"), ("backfill", "--jobs", "8"), ("watch", "--once")], ids=" ".join
)
def test_a_hundred_descriptors_are_enough_for_two_hundred_sessions(tmp_path: Path, command: tuple[str, ...]) -> None:
    place = Place(tmp_path).make()
    data = lines(session(3)[:RECORDS])
    for number in range(SESSIONS):
        (place.source / f"s{number}.jsonl").write_bytes(data)
    limited = ["/bin/sh", "-c", 'ulimit -n 100; exec "$@"', "sh", *place.command(*command, str(place.source))]
    done = subprocess.run(limited, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Too many open files" not in done.stderr
    oracle = tmp_path / "oracle.jsonl"
    compact_file(str(place.source / "s0.jsonl"), str(oracle), format="auto", settings=Settings())
    expected = oracle.read_bytes()
    outputs = {data.replace(b"compactd recall ", b"compactd digest ") for data in place.outputs().values()}
    assert (len(place.outputs()), outputs) == (SESSIONS, {expected})
    assert len(place.rows()["record"]) == SESSIONS * RECORDS
