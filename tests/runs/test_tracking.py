"""A reading is given up only when all that it read is committed; how many there are, and are open, is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest
from home import HEAD, Hand, Home, short

from pipeline.disk.scan import Root, look_at
from pipeline.runs.tracking import SOURCES_OPEN, Tracked, Tracker

OLD = HEAD + short(1) + short(2)
NEW = OLD.replace(b"crate", b"crane")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("a.jsonl", OLD)
    home.backfill()
    return home


def tracked_of(tracker: Tracker, home: Home, rel: str) -> Tracked:
    found = look_at(Root(str(home.source), (), only=frozenset({rel})), rel)
    assert found is not None
    tracker.saw([found])
    return tracker.files[found.path]


def test_a_rewrite_of_the_same_size_is_not_settled_before_its_commit(home: Home) -> None:
    """The committed offset is that of the old content, and equals the new one's."""
    assert len(OLD) == len(NEW)
    path = home.write("a.jsonl", NEW)
    tracker = Tracker()
    tracked = tracked_of(tracker, home, "a.jsonl")
    with Hand(home) as hand:
        reading = hand.reading(path)
        tracker.active(tracked, reading)
        assert tracked.settled
        parcels = []
        while (parcel := hand.parcel(reading)) is not None:
            tracked.under_way += 1
            hand.store.append(parcel)
            parcels.append(parcel)
        assert reading.offset == len(OLD)
        assert not tracked.settled
        hand.store.commit()
        tracker.committed(parcels[:1])
        assert not tracked.settled
        tracker.committed(parcels[1:])
        assert tracked.settled
    home.check("a.jsonl")


def test_a_reading_that_was_given_up_has_nothing_under_way(home: Home) -> None:
    tracker = Tracker()
    tracked = tracked_of(tracker, home, "a.jsonl")
    path = home.append("a.jsonl", short(5))
    with Hand(home) as hand:
        reading = hand.reading(path)
        tracker.active(tracked, reading)
        tracked.under_way += 1
        assert tracker.reader_of(reading.session) is tracked
        tracker.release(tracked)
        assert (tracked.reading, tracked.settled, tracker.reader_of(reading.session)) == (None, True, None)


def test_only_the_sources_that_had_a_turn_last_stay_open(home: Home) -> None:
    tracker = Tracker()
    rels = [f"s{number}.jsonl" for number in range(SOURCES_OPEN + 3)]
    with Hand(home) as hand:
        for rel in rels:
            path = home.write(rel, OLD + OLD)
            tracked = tracked_of(tracker, home, rel)
            tracker.active(tracked, hand.reading(path))
            assert tracked.reading is not None
            assert tracked.reading.turn(at_end=False) is not None
            tracker.turned(tracked)
        readings = [tracked.reading for path, tracked in tracker.files.items() if path.endswith(tuple(rels))]
        assert [reading.is_open for reading in readings if reading] == [False] * 3 + [True] * SOURCES_OPEN
        tracker.close()
        assert not any(reading.is_open for reading in readings if reading)


def test_a_file_beyond_the_bound_waits_until_another_has_caught_up(home: Home) -> None:
    tracker = Tracker(readings_kept=2)
    rels = ["a.jsonl", "b.jsonl", "c.jsonl"]
    for rel in rels:
        home.write(rel, OLD + OLD)
    files = [tracked_of(tracker, home, rel) for rel in rels]
    with Hand(home) as hand:
        for tracked, rel in zip(files[:2], rels, strict=False):
            assert tracker.pop() is tracked
            tracker.active(tracked, hand.reading(home.source / rel))
            tracked.under_way += 1
            tracker.queue(tracked)
            tracker.turned(tracked)
        # The third has no room; the others have more to read.
        assert [tracker.pop(), tracker.pop(), tracker.pop()] == [files[0], files[1], None]
        assert tracker.waiting == 1
        # The first has caught up, but its last batch is not committed.
        tracker.turned(files[0])
        assert (tracker.waiting, tracker.pop()) == (1, None)
        assert files[0].reading is not None
        parcel = hand.parcel(files[0].reading)
        assert parcel is not None
        tracker.committed([parcel])
        assert (tracker.waiting, tracker.pop()) == (0, files[2])
        assert [tracked.reading is None for tracked in files] == [True, False, True]


def test_a_file_that_was_forgotten_has_no_turn(home: Home) -> None:
    tracker = Tracker()
    first, second = (tracked_of(tracker, home, rel) for rel in ("a.jsonl", "a.jsonl"))
    assert first is second
    tracker.forget(first)
    assert tracker.pop() is None


def test_a_session_that_was_given_up_is_not_queued_again(home: Home) -> None:
    tracker = Tracker()
    path = home.append("a.jsonl", OLD)
    tracked = tracked_of(tracker, home, "a.jsonl")
    with Hand(home) as hand:
        assert tracker.pop() is tracked
        reading = hand.reading(path)
        tracker.active(tracked, reading)
        tracker.give_up(reading.session)
        tracker.give_up(77)
        home.append("a.jsonl", OLD)
        tracked_of(tracker, home, "a.jsonl")
        assert (tracker.pop(), tracked.reading) == (None, None)
