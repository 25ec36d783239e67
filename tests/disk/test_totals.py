"""The sums over all sessions are those of the current generations, whatever became of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from home import HEAD, Hand, Home, short
from hypothesis import given
from hypothesis import strategies as st
from ledgers import add_session

from pipeline.disk.ledger import Ledger
from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SumRow
from pipeline.disk.rows import GenerationRow, RollupSums, SessionRow, Sums, day_text
from pipeline.disk.totals import Totals
from pipeline.runs.restoring import forget

OLD = HEAD + b"".join(short(number) for number in range(5))
NEW = HEAD + b"".join(short(number) for number in range(50, 54))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("p/a.jsonl", OLD)
    home.write("p/b.jsonl", OLD + short(9)[:-1])
    home.backfill()
    return home


def counted(home: Home) -> dict[str, list[SumRow]]:
    """By each grouping, the sums of the record and site rows themselves."""
    current = "JOIN session s ON s.id = r.session AND s.generation = r.generation"
    of_sites = (
        f"site r {current} JOIN record d ON (d.session, d.generation, d.ordinal) = (r.session, r.generation, r.ordinal)"
    )
    expected = {}
    for by, key in (("tool", "r.tool"), ("rule", "iif(r.rule, r.rule, r.reason)"), ("stage", "r.stage")):
        expected[by] = [
            SumRow(text, key_, 0, *rest)
            for key_, text, *rest in home.query(
                f"SELECT {key} AS k, (SELECT text FROM name WHERE id = {key}), count(*), sum(r.applied), "
                f"sum(r.bytes_before), sum(r.bytes_after) FROM {of_sites} GROUP BY k"
            )
        ]
    of_records = home.query(
        f"SELECT s.root, count(*), sum(r.src_len), sum(r.out_len) FROM record r {current} GROUP BY 1"
    )
    of_root = home.query(f"SELECT s.root, count(*), sum(r.applied) FROM site r {current} GROUP BY 1")
    sites = {root: (count, edits) for root, count, edits in of_root}
    names = dict(home.query("SELECT id, name FROM root"))
    expected["root"] = [
        SumRow(names[root], root, records, sites[root][0], sites[root][1], source, output)
        for root, records, source, output in of_records
    ]
    return expected


def check(home: Home) -> None:
    """All sums that `stats` shows are those of the rows, and `verify` finds nothing."""
    with LedgerReader.open(str(home.state / "ledger.db")) as reader:
        for by, rows in counted(home).items():
            assert sorted(reader.rollup_sums(by)) == sorted(rows), by  # type: ignore[arg-type]  # its keys are groupings
        total = reader.totals()
        for by in ("root", "day", "session", "format"):
            rows = reader.rollup_sums(by)  # type: ignore[arg-type]  # as above
            assert [sum(column) for column in zip(*(row[2:] for row in rows), strict=True)] == list(total[2:]), by
        assert total.output_bytes == reader.session_sizes().output_bytes
        assert reader.wrong_totals() == []
    assert home.query("SELECT * FROM total WHERE records <= 0 AND sites <= 0") == []
    assert home.problems() == []


def test_after_a_first_run(home: Home) -> None:
    check(home)


def test_after_a_new_generation_took_the_place_of_the_old_one(home: Home) -> None:
    home.write("p/a.jsonl", NEW)
    home.backfill()
    assert len(home.generations(1)) == 2
    check(home)


def test_after_a_generation_was_replaced_by_a_longer_one(home: Home) -> None:
    home.backfill(recompact=True)
    assert [row.generation for row in home.generations(1)] == [2]
    check(home)


def test_while_a_new_generation_is_built(home: Home) -> None:
    path = home.write("p/a.jsonl", NEW)
    with Hand(home) as hand:
        hand.take(hand.reading(path), 2)
        hand.store.commit()
        check(home)


def test_after_a_last_record_was_taken_back(home: Home) -> None:
    path = home.append("p/b.jsonl", b" ")
    with Hand(home) as hand:
        hand.reading(path)
        check(home)


def test_after_a_session_was_forgotten(home: Home) -> None:
    forget(home.settings, "p/a.jsonl")
    check(home)
    forget(home.settings, "p/b.jsonl")
    assert home.query("SELECT * FROM total") == []


def test_after_a_session_moved_to_another_root(home: Home) -> None:
    other = home.base / "other"
    other.mkdir()
    os.rename(home.source / "p" / "a.jsonl", other / "a.jsonl")
    home.backfill(home.source, other)
    assert home.query("SELECT name FROM root JOIN session ON root = root.id WHERE session.id = 1") == [("other",)]
    check(home)


def test_a_wrong_sum_is_found(home: Home) -> None:
    ((day,),) = home.query("SELECT min(day) FROM total WHERE grouping = 'root'")
    home.change("UPDATE total SET output_bytes = output_bytes + 1 WHERE grouping = 'root' AND day = ?", (day,))
    home.change("INSERT INTO total VALUES('tool', 7, 7, 0, 1, 0, 0, 0)")
    ledger = home.state / "ledger.db"
    assert home.problems() == [
        f"{ledger}: the sum over all sessions by root is wrong: day {day_text(day)}, key 1",
        f"{ledger}: the sum over all sessions by tool is wrong: day 1970-01-08, key 7",
    ]


KEYS = st.tuples(st.just(1), st.just(1), st.integers(0, 2), *[st.integers(0, 3)] * 4)
SUMS = st.builds(Sums, *[st.integers(0, 100)] * 5)


@given(st.lists(st.tuples(KEYS, SUMS), max_size=20))
def test_what_was_added_and_taken_back_leaves_nothing(rows: list[tuple[tuple[int, ...], Sums]]) -> None:
    totals = Totals()
    totals.add(rows, 1, 2)  # type: ignore[arg-type]  # the keys have seven numbers
    totals.add(rows, 1, 2, sign=-1)  # type: ignore[arg-type]  # as above
    assert {sums for _, sums in totals.items()} <= {Sums()}


def test_a_generation_counts_from_the_moment_it_is_current(tmp_path: Path) -> None:
    ledger = Ledger.open(str(tmp_path / "state" / "ledger.db"))
    row = add_session(ledger, SessionRow(0, ledger.root(b"/r", "r").id, b"a", b"a"))
    sums = RollupSums()
    sums.add([(1, 1, 1, 0, 10, 0, 5, 0, 7, 1, 0)], [])

    def total() -> list[tuple[object, ...]]:
        return ledger._all("SELECT grouping, day, records, source_bytes, output_bytes FROM total ORDER BY 1")

    with ledger.transaction() as change:
        change.put_generation(GenerationRow(1, 1, "building", "chat", ""))
        change.add_rollup(sums)
    assert total() == []
    row.generation = 1
    for _ in range(2):
        with ledger.transaction() as change:
            change.update_session(row)
        assert total() == [("format", 7, 1, 10, 5), ("root", 7, 1, 10, 5)]
    row.generation = 0
    with ledger.transaction() as change:
        change.update_session(row)
    assert total() == []
    ledger.close()
