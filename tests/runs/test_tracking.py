"""A reading is given up only when all that it read is committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from home import HEAD, Hand, Home, short

from pipeline.disk.scan import Root, look_at
from pipeline.runs.tracking import Tracked, Tracker

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
