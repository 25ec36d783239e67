"""The daemon ends where one pass over the final files would, whatever fails on the way; no test waits for a clock."""

from __future__ import annotations

import logging
import os
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Home, short

from pipeline.errors import OutputError
from pipeline.runs.daemon import watch
from pipeline.settings import CommitSettings, WatchSettings

TOO_SMALL = 400_000
"""Bytes; ledger and vault of the first commits have room in it, the first output has not."""
FULL = "File too large|disk I/O error"
RELS = ["a.jsonl", "p/b.jsonl", "p/c.jsonl"]
PROSE = b'{"type":"user","sessionId":"s1","uuid":"p","message":{"role":"user","content":"%s"}}\n' % (b"words " * 400)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Three sessions whose outputs have some 60 kB each."""
    home = Home(
        tmp_path,
        replace(
            SHORT, commit=CommitSettings(max_bytes=30_000, max_records=10), watch=WatchSettings(retry_seconds=0.01)
        ),
    )
    for number, rel in enumerate(RELS):
        home.write(rel, HEAD + b"".join(short(100 * number + n) + PROSE for n in range(25)))
    return home


def once(home: Home) -> int:
    return watch(home.settings, [str(home.source)], once=True)


@contextmanager
def small_files(limit: int) -> Iterator[Callable[[], None]]:
    """No file can grow beyond the limit, until the block ends or what is given is called."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def lift() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield lift
    finally:
        lift()


@contextmanager
def on_log(action: Callable[[str], None]) -> Iterator[None]:
    """Call this with every line that the daemon logs."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            action(record.getMessage())

    log, handler = logging.getLogger("compactd.watch"), Handler()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def test_once_ends_with_the_error_when_nothing_can_be_written_and_goes_on_the_next_time(home: Home) -> None:
    # The ledger is a file, too; it is made before.
    home.store().close()
    with small_files(TOO_SMALL), pytest.raises(OutputError, match=FULL):
        once(home)
    assert home.problems() == []
    assert once(home) == 0
    home.check(*RELS)


def test_the_daemon_goes_on_by_itself_when_there_is_room_again_and_a_signal_ends_it(home: Home) -> None:
    home.store().close()
    lines: list[str] = []

    with small_files(TOO_SMALL) as lift:

        def act(line: str) -> None:
            lines.append(line)
            if "trying again" in line:
                lift()
            if "watching 3 files" in line and len(lines) > 1:
                # The second life of the chain takes in what is there, then ends.
                os.kill(os.getpid(), signal.SIGTERM)

        with on_log(act):
            assert watch(home.settings, [str(home.source)]) == 0
    assert any(re.search(f"({FULL}); trying again", line) for line in lines)
    home.check(*RELS)


def test_a_session_whose_output_was_changed_is_given_up_alone(home: Home) -> None:
    assert once(home) == 0
    damaged = home.out / "sessions" / RELS[0]
    os.truncate(damaged, 100)
    for rel in RELS:
        home.append(rel, short(900))
    lines: list[str] = []
    with on_log(lines.append):
        assert once(home) == 0
    assert sum(str(damaged) in line for line in lines) == 1
    for rel in RELS[1:]:
        assert home.restored(home.source / rel) == (home.source / rel).read_bytes()
    assert damaged.stat().st_size == 100


def test_another_configuration_holds_for_what_grows_from_then_on(home: Home) -> None:
    once(home)
    wider = replace(home, given=replace(home.given, tool_result=replace(home.given.tool_result, head_lines=4)))
    before = home.outputs()
    once(wider)
    assert wider.outputs() == before
    wider.append(RELS[1], short(900))
    once(wider)
    wider.check(RELS[1])
    assert [row.generation for row in wider.generations(2)] == [2]
    assert wider.outputs()[f"sessions/{RELS[0]}"] == before[f"sessions/{RELS[0]}"]


def test_what_was_only_touched_is_looked_into_once(home: Home) -> None:
    once(home)
    path = home.source / RELS[0]
    os.utime(path, ns=(7, 7))
    before = home.rows()
    once(home)
    assert home.query("SELECT mtime_ns FROM session WHERE rel = ?", (os.fsencode(RELS[0]),)) == [(7,)]
    assert {**home.rows(), "session": before["session"]} == before


def test_a_glob_that_is_watched_takes_in_a_file_that_appears_later(home: Home) -> None:
    """It is written when the daemon has looked at all, and is there for its last look."""

    def act(line: str) -> None:
        if line.startswith("watching "):
            home.write("p/new.jsonl", HEAD + short(950))
            os.kill(os.getpid(), signal.SIGTERM)

    with on_log(act):
        assert watch(home.settings, [str(home.source / "p" / "*.jsonl")]) == 0
    assert sorted(path.name for path in home.out.rglob("*.jsonl")) == ["b.jsonl", "c.jsonl", "new.jsonl"]
    assert home.restored(home.source / "p" / "new.jsonl") == HEAD + short(950)
