"""What is wrong with one session's output stops that session; what is wrong with ledger or vault stops them all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from home import HEAD, Hand, Home, short

from pipeline.errors import CompactdError, LedgerError, OutputError, SessionError
from pipeline.runs.reading import SessionReading


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for number, rel in enumerate(("a.jsonl", "b.jsonl")):
        home.write(rel, HEAD + b"".join(short(100 * number + n) for n in range(9)))
    return home


def grown(home: Home) -> None:
    for number, rel in enumerate(("a.jsonl", "b.jsonl")):
        home.append(rel, b"".join(short(100 * number + n) for n in range(10, 19)))


def readings(home: Home, hand: Hand) -> tuple[SessionReading, SessionReading]:
    return hand.reading(home.source / "a.jsonl"), hand.reading(home.source / "b.jsonl")


def only_a_is_wrong(home: Home) -> bool:
    path = home.source / "b.jsonl"
    assert home.restored(path) == path.read_bytes()
    return all(problem.startswith(str(home.source / "a.jsonl")) for problem in home.problems())


def no_dangling_values(home: Home) -> bool:
    (rows,) = home.query("SELECT count(*) FROM site WHERE applied AND value NOT IN (SELECT id FROM value)")
    return rows == (0,)


def test_a_pack_that_was_replaced_stops_everything_and_leaves_nothing_dangling(home: Home) -> None:
    home.backfill()
    grown(home)
    with Hand(home) as hand:
        a, b = readings(home, hand)
        hand.take(a)
        (pack,) = (home.state / "vault").glob("*.pack")
        shutil.copy(pack, home.base / "copy")
        pack.unlink()
        shutil.move(home.base / "copy", pack)
        hand.take(b)
        with pytest.raises(LedgerError, match="replaced"):
            hand.store.commit()
        # What was taken back is not made to count by asking again.
        with pytest.raises(OutputError, match="not written after"):
            hand.store.commit()
    assert no_dangling_values(home)
    home.backfill()
    home.check("a.jsonl", "b.jsonl")


def test_an_output_that_was_changed_before_a_commit_is_given_up_alone(home: Home) -> None:
    home.backfill()
    grown(home)
    with Hand(home) as hand:
        a, b = readings(home, hand)
        hand.take(a)
        hand.take(b)
        output = home.out / "sessions" / "a.jsonl"
        output.write_bytes(b"something else\n")
        hand.store.commit()
        assert list(hand.store.failed) == [1]
        assert "a.jsonl: was deleted, replaced or changed" in hand.store.failed[1]
    assert no_dangling_values(home)
    assert only_a_is_wrong(home)
    home.backfill(recompact=True)
    home.check("a.jsonl", "b.jsonl")


def test_an_output_that_is_gone_at_an_append_is_given_up_alone(home: Home) -> None:
    home.backfill()
    grown(home)
    with Hand(home) as hand:
        a, b = readings(home, hand)
        (home.out / "sessions" / "a.jsonl").unlink()
        with pytest.raises(SessionError, match=r"a\.jsonl: need \d+ committed bytes, the file is gone"):
            hand.take(a)
        hand.settle(b)
    assert only_a_is_wrong(home)
    assert home.backfill(recompact=True).failed == []
    home.check("a.jsonl", "b.jsonl")


def test_a_missing_output_of_an_unchanged_session_is_told(home: Home) -> None:
    home.backfill()
    output = home.out / "sessions" / "a.jsonl"
    output.unlink()
    report = home.backfill()
    (failed,) = report.failed
    assert failed.startswith(f"{output}: need an output of ")
    assert "it is gone" in failed
    assert home.backfill(recompact=True).failed == []
    home.check("a.jsonl", "b.jsonl")


def test_a_replaced_ledger_stops_everything(home: Home) -> None:
    home.backfill()
    grown(home)
    errors: list[CompactdError] = []
    with Hand(home) as hand:
        a, b = readings(home, hand)
        hand.take(a)
        ledger = home.state / "ledger.db"
        shutil.copy(ledger, home.base / "copy.db")
        ledger.unlink()
        shutil.move(home.base / "copy.db", ledger)
        for work in (hand.store.commit, lambda: hand.take(b)):
            try:
                work()
            except CompactdError as error:
                errors.append(error)
    assert [type(error) for error in errors] == [LedgerError, OutputError]
