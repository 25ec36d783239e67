"""Whatever a writer does to a file between two turns, output and ledger end as if it had been read once, at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from home import HEAD, SHORT, Hand, Home, comparable, oracle, short, spans_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from pipeline.disk.identity import Identity
from pipeline.errors import SourceError
from pipeline.runs.catalog import Unchanged
from pipeline.runs.reading import Opening, SessionReading
from pipeline.stages.base import Batch

BASE = HEAD + b"".join(short(number) for number in range(4))
LONG = b'{"type":"user","sessionId":"s1","message":{"role":"user","content":"' + b"z" * 6000 + b'"}}\n'
assert len(LONG) > SHORT.reader.max_record_bytes


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("rewritten", [False, True], ids=["grown", "rewritten meanwhile"])
def test_a_long_session_is_remembered_in_slices_before_it_goes_on(home: Home, rewritten: bool) -> None:
    """Between the slices other sessions have their turn; the copy at the end is known as one only after all of them."""
    path = home.write("a.jsonl", HEAD + b"".join(short(number) for number in range(60)))
    home.backfill()
    home.append("a.jsonl", short(0))
    with Hand(home) as hand:
        reading = hand.reading(path)
        turns = 0
        while (batch := reading.turn(at_end=True)) is None:
            assert reading.replaying
            turns += 1
            if rewritten and turns == 2:
                home.write("a.jsonl", OTHER + short(50))
        assert turns >= 2
        assert (reading.replaying, batch.starts) == (False, rewritten)
    home.backfill()
    home.check("a.jsonl")
    assert len(home.generations()) == 1 + rewritten


def change_and_check(home: Home, change: Callable[[Path], object], *, live: bool) -> list[tuple[int, str]]:
    """Commit BASE, change the file, commit again; the states of its generations.

    `live`: the same reading goes on, as in the daemon; else everything is opened again.
    """
    path = home.write("a.jsonl", BASE)
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        hand.settle(reading)
        if live:
            change(path)
            hand.settle(reading)
    if not live:
        change(path)
        with Hand(home, at_end=False) as hand:
            opening = hand.catalog(path)
            if isinstance(opening, Opening):
                hand.settle(hand.reading(path))
    held = path.read_bytes()
    whole = held[: held.rfind(b"\n") + 1]
    path.write_bytes(whole)
    assert comparable(home.output("a.jsonl")) == oracle(path, home.settings)
    assert home.spans("a.jsonl") == spans_of(whole)
    assert (home.restored("#1"), home.problems()) == (whole, [])
    return [(row.generation, row.state) for row in home.generations()]


def _append(path: Path, *parts: bytes) -> None:
    with path.open("ab", buffering=0) as sink:
        for part in parts:
            sink.write(part)


def _replace(path: Path, data: bytes) -> None:
    path.with_suffix(".new").write_bytes(data)
    os.replace(path.with_suffix(".new"), path)


def _recreate(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


OTHER = HEAD + b"".join(short(number) for number in range(50, 58))
GREW = [(1, "current")]
NEW = [(1, "superseded"), (2, "current")]
CHANGES: list[tuple[str, Callable[[Path], object], list[tuple[int, str]]]] = [
    ("nothing", lambda path: path.exists(), GREW),
    ("touch", lambda path: os.utime(path, ns=(1, 1)), GREW),
    ("append", lambda path: _append(path, short(9)), GREW),
    ("append torn", lambda path: _append(path, short(9)[:-1]), GREW),
    ("append inside of a character", lambda path: _append(path, b'{"a":"\xc3', b'\xa9"}\n'), GREW),
    ("append a too long record", lambda path: _append(path, LONG, short(9)), GREW),
    ("append lines that are no records", lambda path: _append(path, b"\n\r\n\0\0\n\xff\n[]\n"), GREW),
    ("truncate", lambda path: os.truncate(path, len(BASE) // 2), NEW),
    ("truncate at a record", lambda path: os.truncate(path, len(HEAD + short(0))), NEW),
    ("truncate to nothing", lambda path: os.truncate(path, 0), NEW),
    ("rewrite shorter", lambda path: path.write_bytes(OTHER[: len(BASE) // 2]), NEW),
    ("rewrite longer", lambda path: path.write_bytes(OTHER), NEW),
    ("rewrite in place, same size", lambda path: path.write_bytes(BASE.replace(b"crate", b"chest")), NEW),
    ("truncate and grow again past the old size", lambda path: path.write_bytes(BASE[: len(BASE) // 2] + OTHER), NEW),
    ("cut off the last record and write others", lambda path: path.write_bytes(BASE[:-1] + b" \n" + short(9)), NEW),
    ("a run of NULs at the head", lambda path: path.write_bytes(b"\0" * len(BASE) + short(9)), NEW),
    ("replace by rename: old content and one record", lambda path: _replace(path, BASE + short(9)), GREW),
    ("replace by rename: the same", lambda path: _replace(path, BASE), GREW),
    ("replace by rename: other content", lambda path: _replace(path, OTHER), NEW),
    ("delete and make again: the same and more", lambda path: _recreate(path, BASE + short(9)), GREW),
    ("delete and make again: other content", lambda path: _recreate(path, OTHER), NEW),
    ("delete and make again: a torn line only", lambda path: _recreate(path, b'{"type"'), NEW),
]


@pytest.mark.parametrize("live", [True, False], ids=["live", "stopped"])
@pytest.mark.parametrize(("name", "change", "expected"), CHANGES, ids=[name for name, *_ in CHANGES])
def test_a_change_between_two_turns(
    home: Home, name: str, change: Callable[[Path], object], expected: list[tuple[int, str]], live: bool
) -> None:
    del name
    assert change_and_check(home, change, live=live) == expected


def test_an_empty_source_is_a_session_that_grows(home: Home) -> None:
    path = home.write("a.jsonl", b"")
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        assert hand.take(reading, 5) == 1
        hand.store.commit()
        assert isinstance(hand.catalog(path), Unchanged)
        home.append("a.jsonl", BASE)
        hand.settle(reading)
    home.check("a.jsonl")


@pytest.mark.parametrize(
    ("name", "first", "rest", "format"),
    [
        pytest.param("a.jsonl", b"", BASE, "claude-code", id="empty"),
        pytest.param("messages.jsonl", b"", BASE, "claude-code", id="empty with a telling name"),
        pytest.param("a.jsonl", b"\n" * 30, BASE, "claude-code", id="many blank lines"),
        pytest.param("a.jsonl", BASE[:20], BASE[20:], "claude-code", id="torn first line"),
        pytest.param("a.jsonl", b"notes\n", b"more notes\n", "unknown", id="no format"),
    ],
)
def test_the_format_is_the_one_that_the_whole_shows(
    home: Home, name: str, first: bytes, rest: bytes, format: str
) -> None:
    path = home.write(name, first)
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        hand.settle(reading)
        home.append(name, rest)
        hand.settle(reading)
        assert hand.take(reading, 5) == 0
    home.check(name)
    assert home.generations()[-1].format == format


def test_a_source_of_another_format_in_its_place_gets_that_format(home: Home) -> None:
    path = home.write("a.jsonl", BASE)
    codex = b'{"timestamp":"2026-01-05T08:00:00.000Z","type":"session_meta","payload":{"id":"x"}}\n'
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        hand.settle(reading)
        home.write("a.jsonl", b"")
        hand.settle(reading)
        home.write("a.jsonl", codex)
        hand.settle(reading)
        home.write("a.jsonl", BASE)
        hand.settle(reading)
    home.check("a.jsonl")
    formats = [(row.format, row.state) for row in home.generations()]
    assert formats == [("claude-code", "superseded"), ("codex", "superseded"), ("claude-code", "current")]


def test_a_reading_that_has_nothing_to_read_holds_no_file_open(home: Home) -> None:
    path = home.write("a.jsonl", BASE + b"torn")
    before = len(os.listdir("/proc/self/fd"))
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        during = len(os.listdir("/proc/self/fd"))
        batch = reading.turn(at_end=False)
        assert batch is not None
        assert len(os.listdir("/proc/self/fd")) == during + 1
        while reading.turn(at_end=False) is not None:
            pass
        assert len(os.listdir("/proc/self/fd")) == during
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_turn_takes_no_more_than_a_batch(home: Home) -> None:
    path = home.write("a.jsonl", BASE + LONG)
    with Hand(home) as hand:
        reading = hand.reading(path)
        batches: list[Batch] = []
        while (batch := reading.turn(at_end=True)) is not None:
            batches.append(batch)
    assert [batch.record_count for batch in batches] == [3, 3, 3, 0, 0, 1]
    assert b"".join(record.raw for batch in batches for record in batch.records) == BASE + LONG
    assert max(batch.source_bytes for batch in batches) <= home.given.reader.batch_bytes
    assert [batch.starts for batch in batches] == [True] + [False] * 5
    assert not any(batch.finishes for batch in batches)


def test_what_is_no_regular_file_any_more_is_a_source_error_and_does_not_block(home: Home) -> None:
    path = home.write("a.jsonl", BASE)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading)
        path.unlink()
        with pytest.raises(SourceError, match=r"a\.jsonl: cannot open: No such file or directory$"):
            reading.turn(at_end=True)
        os.mkfifo(path)
        with pytest.raises(SourceError, match=r"a\.jsonl: need a regular file, it is a FIFO, socket or device now$"):
            reading.turn(at_end=True)
        path.unlink()
        path.mkdir()
        with pytest.raises(SourceError, match=r"a\.jsonl: need a regular file, it is a folder now$"):
            reading.turn(at_end=True)
        path.rmdir()
        # It is back: the reading goes on where it was.
        path.write_bytes(BASE + short(9))
        hand.settle(reading)
    home.check("a.jsonl")
    assert [(row.generation, row.state) for row in home.generations()] == GREW


@pytest.mark.parametrize("live", [True, False], ids=["live", "stopped"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: os.truncate(path, len(BASE) + 2100), id="cut inside of the record"),
        pytest.param(lambda path: os.truncate(path, len(BASE) + 1000), id="cut before what was read"),
        pytest.param(lambda path: _recut(path, b'z"}}\n' + short(9)), id="cut and grown shorter"),
        pytest.param(lambda path: _recut(path, b"z" * 9000 + b"\n" + short(9)), id="cut and grown longer"),
        pytest.param(lambda path: _recut(path, b"z" * 9000), id="cut and grown longer, torn"),
        pytest.param(lambda path: path.write_bytes(OTHER), id="rewritten"),
        pytest.param(lambda path: path.write_bytes(BASE), id="taken away"),
    ],
)
def test_a_change_in_the_middle_of_a_too_long_record(home: Home, change: Callable[[Path], object], live: bool) -> None:
    path = home.write("a.jsonl", BASE + LONG + short(8))
    with Hand(home, at_end=False) as hand:
        reading = hand.reading(path)
        assert hand.take(reading, 4) == 4
        assert reading.offset == len(BASE)
        hand.store.commit()
        change(path)
        if live:
            hand.settle(reading)
            home.append("a.jsonl", b"\n" + short(10))
            hand.settle(reading)
    if not live:
        home.append("a.jsonl", b"\n" + short(10))
        home.backfill(path)
    home.check("a.jsonl")


def _recut(path: Path, data: bytes) -> None:
    os.truncate(path, len(BASE) + 2100)
    _append(path, data)


def test_a_last_record_that_grows_after_the_catalog_has_looked_is_read_whole(home: Home) -> None:
    path = home.write("a.jsonl", BASE + short(9)[:-40])
    home.backfill()
    with Hand(home) as hand:
        row = hand.store.ledger.generation(1, 1)
        assert row is not None
        assert row.open_tail
        # What the catalog gives when it looked before the file grew.
        identity = Identity(row.head_len, row.head_hash, row.marker_len, row.marker_hash)
        opening = Opening(1, str(path), row.format, 1, False, row.src_off, row.records, identity, row.open_tail)
        _append(path, short(9)[-40:])
        hand.settle(SessionReading(opening, home.settings))
    home.check("a.jsonl")


def test_a_file_without_final_newline_that_was_only_touched_is_unchanged(home: Home) -> None:
    path = home.write("a.jsonl", BASE[:-1])
    home.backfill()
    rows = home.rows()
    os.utime(path, ns=(5, 5))
    with Hand(home) as hand:
        assert isinstance(hand.catalog(path), Unchanged)
    home.backfill()
    assert home.query("SELECT mtime_ns FROM session") == [(5,)]
    assert {**home.rows(), "session": rows["session"]} == rows


ODD = [b"\n", b"\r\n", b"\xff\n", b"[]\n", b"\0" * 40 + b"\n", "\ufeff\u2028\n".encode(), b"{}{}\n"]
NAMES = ["a.jsonl", "b.jsonl", "c.jsonl"]


class Lives(RuleBasedStateMachine):
    """A writer does anything to a file, a reader gets its turns in between; `settled` says what has to hold then."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Home(Path(tempfile.mkdtemp(prefix="lives-")))
        self.name = NAMES[0]
        self.count = 0
        self.clock = 10**18
        self.rest = b""
        self.path.touch()
        self.hand = Hand(self.home, at_end=False)
        self.reading: SessionReading | None = None

    def teardown(self) -> None:
        self.hand.__exit__()
        shutil.rmtree(self.home.base)

    @property
    def path(self) -> Path:
        return self.home.source / self.name

    def record(self) -> bytes:
        """Two records that no other is like."""
        self.count += 1
        return short(self.count)

    def changed(self) -> None:
        """Time goes on with each change: two within one tick of the clock could not be told apart."""
        self.clock += 10**9
        os.utime(self.path, ns=(self.clock, self.clock))

    def write(self, data: bytes) -> None:
        self.path.write_bytes(data)
        self.changed()

    def append(self, data: bytes) -> None:
        _append(self.path, data)
        self.changed()

    # The writer.

    @rule(count=st.integers(1, 3), head=st.booleans())
    def appends(self, count: int, head: bool) -> None:
        self.append(HEAD * head + b"".join(self.record() for _ in range(count)))

    @rule(share=st.floats(0, 1))
    def appends_torn(self, share: float) -> None:
        record = self.record()
        cut = int(len(record) * share)
        self.rest = record[cut:]
        self.append(record[:cut])

    @precondition(lambda self: self.rest)
    @rule()
    def completes(self) -> None:
        self.append(self.rest)
        self.rest = b""

    @rule(data=st.sampled_from(ODD))
    def appends_odd(self, data: bytes) -> None:
        self.append(data)

    @rule(torn=st.booleans())
    def appends_long(self, torn: bool) -> None:
        self.count += 1
        long = "".join(f"{self.count}.{number};" for number in range(900))
        self.append(f'{{"type":"user","sessionId":"s","long":"{long}"}}'.encode() + b"\n" * (not torn))

    @rule(share=st.floats(0, 1))
    def truncates(self, share: float) -> None:
        os.truncate(self.path, int(self.path.stat().st_size * share))
        self.changed()

    @rule()
    def rewrites_at_the_same_size(self) -> None:
        size = self.path.stat().st_size
        data = HEAD + b"".join(self.record() for _ in range(size // 300 + 1))
        self.write(data[: max(0, size - 1)] + b"\n" * (size > 0))

    @rule(share=st.floats(0, 1))
    def truncates_and_grows_past_the_old_size(self, share: float) -> None:
        data = self.path.read_bytes()
        kept = data[: int(len(data) * share)]
        while len(kept) <= len(data):
            kept += self.record()
        self.write(kept)

    @rule()
    def replaces_by_rename_with_one_more(self) -> None:
        _replace(self.path, self.path.read_bytes() + self.record())
        self.changed()

    @rule(count=st.integers(0, 3))
    def deletes_and_makes_again(self, count: int) -> None:
        _recreate(self.path, b"".join(self.record() for _ in range(count)))
        self.changed()

    @rule(name=st.sampled_from(NAMES))
    def renames(self, name: str) -> None:
        if name == self.name:
            return
        # Whole records that are under way are committed before the catalog is asked for the new name; a too long one
        # is given up between its pieces.
        self.hand.store.commit()
        os.rename(self.path, self.home.source / name)
        self.name = name
        self.reading = None

    # The reader.

    def open(self) -> SessionReading | None:
        if self.reading is None:
            opening = self.hand.catalog(self.path)
            if isinstance(opening, Opening):
                self.reading = self.hand.reading(self.path)
        return self.reading

    @rule(turns=st.integers(1, 3), commits=st.booleans())
    def reads(self, turns: int, commits: bool) -> None:
        reading = self.open()
        if reading is not None:
            self.hand.take(reading, turns)
        if commits:
            self.hand.store.commit()

    @rule()
    def stops(self) -> None:
        """What is not committed is lost."""
        self.hand.__exit__()
        self.hand, self.reading = Hand(self.home, at_end=False), None

    @rule()
    def settles(self) -> None:
        reading = self.open()
        if reading is not None:
            self.hand.settle(reading)
        data = self.path.read_bytes()
        # A last line without end that a backfill took counts until it grows.
        open_tail = self.home.query(
            "SELECT open_tail FROM generation JOIN session s ON s.id = session AND "
            "s.generation = generation.generation WHERE s.rel = ? AND src_off = ?",
            (os.fsencode(self.name), len(data)),
        )
        self.settled(data if open_tail == [(1,)] else data[: data.rfind(b"\n") + 1])

    @rule()
    def settles_to_the_last_byte(self) -> None:
        """A backfill: the file counts as complete."""
        self.hand.__exit__()
        report = self.home.backfill(self.path)
        self.hand, self.reading = Hand(self.home, at_end=False), None
        assert report.failed == []
        self.settled(self.path.read_bytes())

    def settled(self, data: bytes) -> None:
        """Output, ledger and vault are what they would be had there been nothing but these bytes."""
        twin = self.home.base / self.name
        twin.write_bytes(data)
        assert comparable(self.home.output(self.name)) == oracle(twin, self.home.settings)
        assert self.home.spans(self.name) == spans_of(data)
        assert self.home.restored(self.path) == data
        assert self.home.problems() == []


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
