"""Only sessions without news are given up, the longest unused first."""

from __future__ import annotations

from pipeline.disk.rows import GenerationRow, SessionRow
from pipeline.disk.writing import Writing, Writings
from pipeline.parcels import Checkpoint


def writing(session: int) -> Writing:
    row = SessionRow(session, 1, b"a", b"a")
    return Writing(row, GenerationRow(session, 1, "current", "chat", ""), b"r/a", "/out/r/a", 0, 0, 0)


def held(writings: Writings, count: int) -> list[int]:
    return [session for session in range(1, count + 1) if writings.get(session) is not None]


def test_the_longest_unused_settled_ones_are_given_up_after_a_commit() -> None:
    writings = Writings(kept=3)
    for session in range(1, 7):
        writings.add(writing(session))
    assert len(writings) == 6
    writings.get(1)
    writings.settle()
    assert held(writings, 6) == [1, 5, 6]


def test_what_has_news_or_is_inside_of_a_record_is_never_given_up() -> None:
    writings = Writings(kept=0)
    inside, touched, finishing = (writings.add(writing(session)) for session in (1, 2, 3))
    inside.src_end = 10
    touched.checkpoint = Checkpoint(5)
    finishing.finishes = True
    writings.add(writing(4))
    writings.settle()
    assert held(writings, 4) == [1, 2, 3]
    inside.src_off = 10
    touched.checkpoint = None
    finishing.finishes = False
    writings.settle()
    assert len(writings) == 0


def test_a_commit_is_told_only_of_what_was_touched_since_the_last() -> None:
    writings = Writings()
    first, second, third = (writings.add(writing(session)) for session in (1, 2, 3))
    for one in (third, first):
        one.checkpoint = Checkpoint(5)
    for one in (third, first, second, third):
        writings.note(one)
    assert writings.touched() == [third, first]
    writings.drop(3)
    assert writings.touched() == [first]
    writings.settle()
    assert writings.touched() == []
