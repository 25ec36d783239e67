"""People see the sessions, rows and sums that are committed, under the names they know."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledgers import add_session

from pipeline.disk.ledger import Ledger
from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SumRow, shown
from pipeline.disk.rows import (
    GenerationRow,
    RecordTuple,
    RollupSums,
    SessionRow,
    SiteTuple,
    ValueRow,
    day_number,
    day_text,
)
from pipeline.errors import LedgerError, UsageError

DAY = day_number("2026-01-05")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with three sessions; #1 has a superseded generation, #3 has none yet."""
    path = tmp_path / "state" / "ledger.db"
    ledger = Ledger.open(str(path))
    work, other = ledger.root(b"/data/work", "work"), ledger.root(b"/data/other/work", "work")
    for root, rel, out_rel in (
        (work, b"p/a.jsonl", b"p/a.jsonl"),
        (other, b"p/a.jsonl.gz", b"p/a.jsonl"),
        (other, b"\xff/long-b.jsonl", b"\xff/long-b.jsonl"),
    ):
        add_session(ledger, SessionRow(0, root.id, rel, out_rel))
    name = ledger.name_id
    records: list[RecordTuple] = []
    sites: list[SiteTuple] = []
    for session, generation, count in ((1, 1, 2), (1, 2, 4), (2, 1, 1)):
        for n in range(1, count + 1):
            key = (session, generation, n)
            saved = 60 if n > 1 else 0
            outcome = name("edited" if saved else "untouched")
            records.append((*key, n * 100, 100, n * 70, 100 - saved, -n, DAY + n - 1, outcome, 0))
            sites.append((*key, 0, name("tool-input"), name("Bash"), 0, name("passthrough-small"), 0, 0, 8, 8, 0))
            if saved:
                edit = (name("tool-result"), name("Read"), name("dedup-elide"), name("applied"), 1, 5, 20, 80, n)
                sites.append((*key, 1, *edit))
    sums = RollupSums()
    sums.add(records, sites)
    with ledger.transaction() as tx:
        tx.put_generation(GenerationRow(1, 1, "superseded", "codex", "c", 200, 140, 2))
        tx.put_generation(GenerationRow(1, 2, "current", "codex", "c", 400, 220, 4))
        tx.put_generation(GenerationRow(2, 1, "current", "chat", "d", 100, 100, 1))
        for session, generation in ((1, 2), (2, 1)):
            row = ledger.session_row(session)
            assert row is not None
            row.generation = generation
            tx.update_session(row)
        tx.insert_records(records)
        tx.insert_sites(sites)
        tx.add_rollup(sums)
        tx.insert_values([ValueRow(id, bytes([0xAB, id]) + bytes(14), 1, 0, id * 9, 80) for id in (2, 3, 4)])
        tx.put_packs({1: 300, 2: 33})
    ledger.close()
    return path


@pytest.fixture
def reader(path: Path) -> Iterator[LedgerReader]:
    with LedgerReader.open(str(path)) as opened:
        yield opened


def sums(rows: list[SumRow]) -> list[tuple[str, int, int, int, int, int, int]]:
    return [(row.key, *row[2:], row.saved_bytes) for row in rows]


def test_a_session_shows_its_current_generation(reader: LedgerReader) -> None:
    first, second, third = reader.sessions()
    assert (first.id, first.generation, first.state, first.format, first.records) == (1, 2, "current", "codex", 4)
    assert (first.source_bytes, first.output_bytes) == (400, 220)
    assert (first.source_path, first.out_path) == (b"/data/work/p/a.jsonl", b"work/p/a.jsonl")
    assert (second.source_path, second.out_path) == (b"/data/other/work/p/a.jsonl.gz", b"work-2/p/a.jsonl")
    assert (third.generation, third.format, third.records) == (0, "", 0)
    assert reader.session(2) == second


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("#2", [2], id="number"),
        pytest.param("#9", [], id="no such number"),
        pytest.param("#99999999999999999999", [], id="huge number"),
        pytest.param("#x", [], id="no number"),
        pytest.param("/data/work/p/a.jsonl", [1], id="source path"),
        pytest.param("/data/work/./p/../p/a.jsonl", [1], id="source path, not normal"),
        pytest.param("/out/work-2/p/a.jsonl", [2], id="output path"),
        pytest.param("/else/work-2/p/a.jsonl", [], id="path below another folder"),
        pytest.param("work/p/a.jsonl", [1], id="last components"),
        pytest.param("./work/p/a.jsonl", [1], id="last components from here"),
        pytest.param("p/a.jsonl", [1, 2], id="ambiguous"),
        pytest.param("a.jsonl.gz", [2], id="file name"),
        pytest.param("other/work/p/a.jsonl.gz", [2], id="components of the root"),
        pytest.param("b.jsonl", [3], id="last characters"),
        pytest.param(os.fsdecode(b"\xff/long-b.jsonl"), [3], id="no UTF-8"),
        pytest.param("jsonl", [1, 2, 3], id="nearly nothing"),
        pytest.param("", [], id="nothing"),
        pytest.param("/", [], id="slash"),
        pytest.param("%.jsonl", [], id="no pattern"),
    ],
)
def test_a_session_is_found_by_what_people_type(reader: LedgerReader, text: str, ids: list[int]) -> None:
    assert [session.id for session in reader.find_session(text, out="/out")] == ids


def test_a_path_from_the_current_folder_is_a_source_path(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(str(path))
    add_session(ledger, SessionRow(0, ledger.root(os.fsencode(tmp_path), "t").id, b"a.jsonl", b"a.jsonl"))
    ledger.close()
    monkeypatch.chdir(tmp_path)
    with LedgerReader.open(str(path)) as reader:
        assert [session.id for session in reader.find_session("a.jsonl")] == [4]


def test_rows_have_their_words(reader: LedgerReader) -> None:
    assert [row.ordinal for row in reader.records(1, 2)] == [1, 2, 3, 4]
    (second,) = reader.records(1, 2, 2, 2)
    assert second == (2, 200, 100, 140, 40, -2, DAY + 1, "edited", "")
    small, edit = reader.sites(1, 2, 2, 2)
    assert small == (2, 0, "tool-input", "Bash", "", "passthrough-small", False, 0, 8, 8, 0)
    assert edit == (2, 1, "tool-result", "Read", "dedup-elide", "applied", True, 5, 20, 80, 2)
    assert [(row.ordinal, row.n) for row in reader.sites(1, 2, first=3)] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert (list(reader.records(9, 9)), list(reader.sites(9, 9))) == ([], [])


def test_rows_are_read_in_chunks_without_a_gap(path: Path) -> None:
    count = 12_001
    ledger = Ledger.open(str(path))
    with ledger.transaction() as tx:
        tx.insert_records((3, 1, n, n, 1, n, 1, n, DAY, 0, 0) for n in range(1, count + 1))
        tx.insert_sites((3, 1, n, i, 0, 0, 0, 0, 0, 0, 1, 1, 0) for n in range(1, 5_001) for i in range(3))
    with LedgerReader.open(str(path)) as reader:
        records = reader.records(3, 1)
        seen = [next(records).ordinal]
        with ledger.transaction() as tx:
            tx.insert_records([(3, 1, count + 1, 0, 1, 0, 1, 0, DAY, ledger.name_id("new word"), 0)])
        rest = list(records)
        assert seen + [row.ordinal for row in rest] == list(range(1, count + 2))
        assert rest[-1].outcome == "new word"
        assert [(row.ordinal, row.n) for row in reader.sites(3, 1)] == [
            (n, i) for n in range(1, 5_001) for i in range(3)
        ]
    ledger.close()


def test_sums_over_sites_have_the_bytes_of_values(reader: LedgerReader) -> None:
    assert sums(reader.rollup_sums("tool")) == [("Read", 0, 3, 3, 240, 60, 180), ("Bash", 0, 5, 0, 40, 40, 0)]
    assert sums(reader.rollup_sums("rule")) == [
        ("dedup-elide", 0, 3, 3, 240, 60, 180),
        ("passthrough-small", 0, 5, 0, 40, 40, 0),
    ]
    assert sums(reader.rollup_sums("stage")) == [
        ("tool-result", 0, 3, 3, 240, 60, 180),
        ("tool-input", 0, 5, 0, 40, 40, 0),
    ]


def test_sums_over_records_have_the_bytes_of_records(reader: LedgerReader) -> None:
    first, second = (4, 7, 3, 400, 220, 180), (1, 1, 0, 100, 100, 0)
    assert sums(reader.rollup_sums("session")) == [("work/p/a.jsonl", *first), ("work-2/p/a.jsonl", *second)]
    assert [row.id for row in reader.rollup_sums("session")] == [1, 2]
    assert sums(reader.rollup_sums("root")) == [("work", *first), ("work-2", *second)]
    assert sums(reader.rollup_sums("format")) == [("codex", *first), ("chat", *second)]
    assert sums(reader.rollup_sums("day")) == [
        ("2026-01-05", 2, 2, 0, 200, 200, 0),
        ("2026-01-06", 1, 2, 1, 100, 40, 60),
        ("2026-01-07", 1, 2, 1, 100, 40, 60),
        ("2026-01-08", 1, 2, 1, 100, 40, 60),
    ]


def test_days_limit_the_sums_at_both_ends_included(reader: LedgerReader) -> None:
    assert [row.key for row in reader.rollup_sums("day", DAY + 1, DAY + 2)] == ["2026-01-06", "2026-01-07"]
    assert reader.totals(DAY + 3) == SumRow("", 0, 1, 2, 1, 100, 40)
    assert reader.totals(until=DAY - 1) == SumRow("", 0, 0, 0, 0, 0, 0)


def test_totals_count_current_generations_once(reader: LedgerReader) -> None:
    total = reader.totals()
    assert (total, total.saved_bytes) == (SumRow("", 0, 5, 8, 3, 500, 320), 180)
    assert reader.vault_bytes() == 333


def test_values_are_found_by_the_first_digits_of_their_digest(reader: LedgerReader) -> None:
    assert [row.id for row in reader.values_by_prefix("ab03")] == [3]
    assert [row.id for row in reader.values_by_prefix("AB0")] == [2, 3, 4]
    assert [row.id for row in reader.values_by_prefix("ab04" + "0" * 60)] == [4]
    assert reader.values_by_prefix("ac") == []
    for wrong in ("", "xyz", "ab "):
        with pytest.raises(UsageError, match="need hex digits"):
            reader.values_by_prefix(wrong)


def test_a_reader_sees_what_a_live_writer_has_committed_and_never_writes(path: Path) -> None:
    ledger = Ledger.open(str(path))
    with LedgerReader.open(str(path)) as reader:
        add_session(ledger, SessionRow(0, 1, b"new", b"new"))
        assert len(reader.sessions()) == 4
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._connection.execute("DELETE FROM session")
    ledger.close()


def test_no_ledger_yet_is_a_usage_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="compactd backfill"):
        LedgerReader.open(str(tmp_path / "ledger.db"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "ledger.db").write_bytes(b"")
    with pytest.raises(UsageError, match="is empty"):
        LedgerReader.open(str(tmp_path / "ledger.db"))


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a #?%.db").write_bytes(b"no database" * 1_000)
    with pytest.raises(LedgerError, match="not a database"):
        LedgerReader.open(str(tmp_path / "a #?%.db"))
    raw = sqlite3.connect(tmp_path / "b.db")
    raw.execute("CREATE TABLE t(x)")
    raw.close()
    with pytest.raises(LedgerError, match="need a ledger of compactd"):
        LedgerReader.open(str(tmp_path / "b.db"))


@pytest.mark.parametrize("day", ["1970-01-01", "2026-01-05", "0001-01-01", "9999-12-31"])
def test_days_and_their_numbers_are_one_to_one(day: str) -> None:
    assert day_text(day_number(day)) == day


@pytest.mark.parametrize("text", ["", "2026-1-5", "20260105", "2026-W01-1", "2026-02-30", "today", "2026-01-05T00:00"])
def test_what_is_no_day_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="need YYYY-MM-DD"):
        day_number(text)


def test_any_path_can_be_shown() -> None:
    assert (shown(b"a/\xff.jsonl"), shown("ä".encode())) == ("a/\\xff.jsonl", "ä")
    assert (day_text(0), day_text(10**9)) == ("1970-01-01", "1000000000")
