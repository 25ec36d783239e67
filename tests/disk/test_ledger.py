"""The ledger commits whole or not at all, and refuses to work when it is not the one it was."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import add_session

from pipeline.disk.ledger import Ledger
from pipeline.disk.rows import (
    GenerationRow,
    RecordTuple,
    RollupSums,
    RootRow,
    SessionRow,
    SiteTuple,
    ValueRow,
)
from pipeline.disk.schema import APPLICATION_ID, USER_VERSION
from pipeline.errors import LedgerError, OutputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(str(path))
    yield opened
    opened.close()


def record(ordinal: int, *, session: int = 1, generation: int = 1, day: int = 20_000) -> RecordTuple:
    return (session, generation, ordinal, ordinal * 100, 100, ordinal * 40, 40, -ordinal, day, 1, 0)


def site(ordinal: int, n: int = 0, *, session: int = 1, generation: int = 1, value: int = 0) -> SiteTuple:
    return (session, generation, ordinal, n, 2, 3, 4, 5, 1, 7, 10, 70, value)


def add(ledger: Ledger, records: list[RecordTuple], sites: list[SiteTuple]) -> None:
    sums = RollupSums()
    sums.add(records, sites)
    with ledger.transaction() as tx:
        tx.insert_records(records)
        tx.insert_sites(sites)
        tx.add_rollup(sums)


def new_session(ledger: Ledger, rel: bytes = b"a.jsonl") -> SessionRow:
    row = SessionRow(0, ledger.root(b"/sessions", "sessions").id, rel, rel)
    return add_session(ledger, row)


def crashed_copy(path: Path, to: Path, *, wal: bool) -> Path:
    """The state folder as a kill would leave it, with or without the WAL file."""
    to.mkdir()
    for name in ("ledger.db", "identity", *(["ledger.db-wal"] if wal else [])):
        shutil.copy(path.parent / name, to / name)
    return to / "ledger.db"


def test_a_new_ledger_is_private_and_says_what_it_is(path: Path, ledger: Ledger) -> None:
    ledger.name_id("Bash")
    raw = sqlite3.connect(path)
    assert [
        raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "journal_mode")
    ] == [
        APPLICATION_ID,
        USER_VERSION,
        "wal",
    ]
    raw.close()
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert (path.parent / "identity").read_text() == f"{ledger.meta('state_id')}\n{1:020}\n"


def test_rows_come_back_as_they_were_stored(path: Path) -> None:
    ledger = Ledger.open(str(path))
    session = new_session(ledger, b"\xff/a.jsonl")
    generation = GenerationRow(session.id, 1, "current", "codex", "abc", 1, 2, 3, 4, -5, 6, -7, 8, -9, True)
    values = [ValueRow(1, b"a" * 16, 1, 0, 21, 5), ValueRow(2, b"a" * 16, 1, 900, 21, 6)]
    with ledger.transaction() as tx:
        tx.put_generation(generation)
        tx.insert_values(values)
        tx.put_packs({1: 1_000, 2: 5})
        session.size, session.moved_from, session.generation = 10, b"old", 1
        tx.update_session(session)
    ledger.close()
    again = Ledger.open(str(path), quick_check=True)
    assert again.sessions() == [session]
    assert again.session(session.root, session.rel) == session == again.session_row(session.id)
    assert again.generations(session.id) == [generation] == [again.generation(session.id, 1)]
    assert again.value_by_digest(b"a" * 16) == values == again.values_in_pack(1)
    assert again.values([2, 3]) == values[1:]
    assert again.committed_packs() == {1: 1_000, 2: 5}
    assert again.next_value_id() == 3
    assert [
        again.session(1, b"none"),
        again.session_row(99),
        again.generation(1, 9),
        again.value(9),
        again.meta("x"),
    ] == [None] * 5
    again.close()


def test_an_error_rolls_back_rows_and_words(ledger: Ledger) -> None:
    word = 0

    def fail() -> None:
        nonlocal word
        with ledger.transaction() as tx:
            tx.insert_records([record(1)])
            word = ledger.name_id("Bash")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert ledger.recount(1, 1) == {}
    assert (ledger.name_id("Read"), ledger.name_id("Bash")) == (word, word + 1)


def test_the_same_record_twice_is_refused_and_the_transaction_is_gone(ledger: Ledger) -> None:
    add(ledger, [record(1)], [])
    with pytest.raises(LedgerError, match="UNIQUE"):
        add(ledger, [record(2), record(1)], [])
    assert [sums.records for sums in ledger.recount(1, 1).values()] == [1]


def test_words_are_interned_once_and_any_tool_name_can_be_stored(ledger: Ledger) -> None:
    names = ["Bash", "\ud800", "x" * 10_000, "a\0b", "Bash"]
    ids = [ledger.name_id(name) for name in names]
    assert ledger.name_id("") == 0
    assert ids[0] == ids[4]
    assert len(set(ids)) == 4
    assert [ledger.name_id(name) for name in names] == ids


def test_root_names_are_unique_without_regard_to_case_and_safe_as_folders(ledger: Ledger) -> None:
    roots = [(b"/a/p", "p"), (b"/b/p", "p"), (b"/c/P", "P"), (b"/", ""), (b"/x/.generations", ".generations")]
    roots.append((b"/\xff", os.fsdecode(b"\xff")))
    names = [ledger.root(path, base).name for path, base in roots]
    assert names == ["p", "p-2", "P-3", "root", "root-2", "\ufffd"]
    assert ledger.root(b"/b/p", "p") == RootRow(2, "p-2", b"/b/p")
    assert len(ledger.roots()) == 6


def test_sessions_are_found_by_inode(ledger: Ledger) -> None:
    session = new_session(ledger)
    session.dev, session.inode = 5, 6
    with ledger.transaction() as tx:
        tx.update_session(session)
    assert ledger.sessions_by_inode(5, 6) == [session]
    assert ledger.sessions_by_inode(6, 5) == []


def test_a_reserved_session_is_known_and_has_no_row_until_it_is_inserted(path: Path, ledger: Ledger) -> None:
    first = new_session(ledger)
    row = SessionRow(0, first.root, b"b.jsonl", b"b.jsonl")
    assert ledger.reserve_session(row) == row.id == first.id + 1
    assert ledger.session(row.root, row.rel) is ledger.session_row(row.id) is row
    assert (ledger.is_reserved(row.id), ledger.is_reserved(first.id), ledger.sessions()) == (True, False, [first])
    other = Ledger.open(str(path))
    assert other.session_row(row.id) is None
    other.close()
    with ledger.transaction() as tx:
        tx.insert_session(row)
    ledger.inserted(row)
    assert (ledger.is_reserved(row.id), ledger.session(row.root, row.rel), ledger.sessions()) == (
        False,
        row,
        [first, row],
    )
    assert ledger.reserve_session(SessionRow(0, 1, b"c", b"c")) == row.id + 1


def test_a_moved_session_is_known_by_all_its_places(ledger: Ledger) -> None:
    first, second = new_session(ledger), new_session(ledger, b"b.jsonl")
    with ledger.transaction() as tx:
        for out_path in (b"sessions/old", b"sessions/b.jsonl", b"sessions/old"):
            tx.put_former_path(first.id, out_path)
    assert ledger.out_paths(first.id) == [b"sessions/a.jsonl", b"sessions/b.jsonl", b"sessions/old"]
    assert ledger.out_paths(second.id) == [b"sessions/b.jsonl"]
    assert ledger.sessions_at(b"sessions/b.jsonl") == [first.id, second.id]
    assert (ledger.sessions_at(b"sessions/old"), ledger.sessions_at(b"none")) == ([first.id], [])
    with ledger.transaction() as tx:
        tx.drop_session(first.id)
    assert ledger.sessions_at(b"sessions/b.jsonl") == [second.id]


def test_a_session_that_is_not_there_cannot_be_updated(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="#9"), ledger.transaction() as tx:
        tx.update_session(SessionRow(9, 1, b"", b""))


def test_value_ids_are_never_given_out_twice(ledger: Ledger) -> None:
    first = ledger.next_value_id()

    def fail() -> None:
        with ledger.transaction() as tx:
            tx.insert_values([ValueRow(first, b"d" * 16, 1, 0, 0, 0)])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [ledger.next_value_id(), ledger.next_value_id()] == [first + 1, first + 2]


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(19_990, 19_993), st.booleans()), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.data())
def test_the_rollup_is_what_the_rows_add_up_to_whatever_is_taken_back(
    tmp_path_factory: pytest.TempPathFactory, plan: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    ledger = Ledger.open(str(tmp_path_factory.mktemp("state") / "ledger.db"))
    for ordinal, (count, day, late) in enumerate(plan, 1):
        add(
            ledger,
            [record(ordinal, day=day, generation=1 + late)],
            [site(ordinal, n, generation=1 + late) for n in range(count)],
        )
    gone = data.draw(st.sets(st.integers(1, len(plan))))
    for ordinal in sorted(gone):
        with ledger.transaction() as tx:
            tx.delete_record(1, 1 + plan[ordinal - 1][2], ordinal)
    for generation in (1, 2):
        assert ledger.rollup(1, generation) == ledger.recount(1, generation)
    with ledger.transaction() as tx:
        tx.drop_generation(1, 1)
    assert ledger.rollup(1, 1) == ledger.recount(1, 1) == {}
    assert ledger.rollup(1, 2) == ledger.recount(1, 2)
    ledger.close()


def test_taking_back_a_record_tells_what_it_had_added(ledger: Ledger) -> None:
    add(ledger, [record(1), record(2)], [site(2)])
    with ledger.transaction() as tx:
        sums = tx.delete_record(1, 1, 2)
    assert sums.items() == {
        (1, 1, 20_000, 0, 0, 1, 0): (-1, 0, 0, -100, -40),
        (1, 1, 20_000, 2, 3, 4, 5): (0, -1, -1, -70, -10),
    }
    with pytest.raises(LedgerError, match="record 2"), ledger.transaction() as tx:
        tx.delete_record(1, 1, 2)


def test_unshared_and_unreferenced_values_are_told_apart(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.insert_values([ValueRow(id, bytes([id]) * 16, 1, 0, 0, 0) for id in range(1, 5)])
        tx.insert_sites([site(1, 0, value=1), site(1, 1, value=2), site(1, 2), site(1, 0, session=2, value=2)])
        tx.insert_sites([site(1, 1, session=2, value=3)])
    assert (ledger.unshared_values(1), ledger.unshared_values(2), ledger.unreferenced_values()) == ([1], [3], [4])
    with ledger.transaction() as tx:
        tx.drop_session(1)
    assert ledger.unreferenced_values() == [1, 4]


def test_a_generation_starts_with_another_only_if_all_its_records_are_there(ledger: Ledger) -> None:
    add(ledger, [record(1), record(2)], [])
    add(ledger, [record(n, generation=2) for n in (1, 2, 3)], [])
    add(ledger, [record(1, generation=3)], [])
    assert [ledger.starts_with(1, 2, 1), ledger.starts_with(1, 3, 1), ledger.starts_with(1, 3, 9)] == [
        True,
        False,
        True,
    ]
    assert (ledger.record_span(1, 2, 3), ledger.record_span(1, 2, 4)) == ((300, 120), None)


@pytest.mark.parametrize("wal", [True, False])
def test_commits_that_were_lost_with_the_wal_are_noticed(path: Path, ledger: Ledger, tmp_path: Path, wal: bool) -> None:
    add(ledger, [record(1)], [])
    copy = crashed_copy(path, tmp_path / "copy", wal=wal)
    if wal:
        again = Ledger.open(str(copy))
        assert again.recount(1, 1) == ledger.recount(1, 1) != {}
        again.close()
    else:
        with pytest.raises(LedgerError, match=r"need 1 commits as .* says, got 0: .*a new --state"):
            Ledger.open(str(copy))


def test_a_wal_cut_short_is_noticed(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    for ordinal in range(1, 5):
        add(ledger, [record(ordinal)], [])
    copy = crashed_copy(path, tmp_path / "copy", wal=True)
    wal = copy.with_name("ledger.db-wal")
    os.truncate(wal, wal.stat().st_size - 100)
    with pytest.raises(LedgerError, match=r"need 4 commits as .* says, got 3"):
        Ledger.open(str(copy))


def test_a_ledger_put_back_from_an_older_copy_is_noticed(path: Path) -> None:
    ledger = Ledger.open(str(path))
    ledger.close()
    old = path.read_bytes()
    ledger = Ledger.open(str(path))
    add(ledger, [record(1)], [])
    ledger.close()
    path.write_bytes(old)
    with pytest.raises(LedgerError, match="an older copy was put back"):
        Ledger.open(str(path))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("gone", "is gone, but .*identity says"),
        ("empty", "is empty, but .*identity says"),
        ("other", "need the ledger [0-9a-f]{32} of .*identity, got [0-9a-f]{32}"),
        ("header", "file is not a database"),
        ("page", "damaged|malformed"),
        ("identity", "identity: need an identity"),
    ],
)
def test_a_ledger_that_is_not_the_one_it_was_stops_the_start(
    tmp_path: Path, path: Path, damage: str, expected: str
) -> None:
    ledger = Ledger.open(str(path))
    add(ledger, [record(n) for n in range(1, 2_000)], [])
    ledger.close()
    if damage == "gone":
        path.unlink()
    elif damage == "empty":
        os.truncate(path, 0)
    elif damage == "other":
        Ledger.open(str(tmp_path / "b" / "ledger.db")).close()
        shutil.copy(tmp_path / "b" / "ledger.db", path)
    elif damage == "identity":
        (path.parent / "identity").write_text("")
    else:
        data = bytearray(path.read_bytes())
        at = 0 if damage == "header" else len(data) - 4096
        data[at : at + 100] = bytes(100)
        path.write_bytes(data)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(LedgerError, match=expected):
        Ledger.open(str(path), quick_check=True)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        (f"application_id = {APPLICATION_ID + 1}", "need a ledger of compactd"),
        (f"user_version = {USER_VERSION + 1}", "a newer compactd has written it"),
        ("user_version = 0", f"need schema {USER_VERSION}, got 0"),
    ],
)
def test_foreign_and_newer_databases_are_refused_untouched(path: Path, pragma: str, expected: str) -> None:
    Ledger.open(str(path)).close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA {pragma}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=expected):
        Ledger.open(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("left", ["nothing", "0 bytes", "no schema", "no identity"])
def test_a_start_that_was_killed_half_way_is_finished_by_the_next(path: Path, left: str) -> None:
    path.parent.mkdir()
    if left == "0 bytes":
        path.write_bytes(b"")
    elif left == "no schema":
        raw = sqlite3.connect(path)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.close()
    elif left == "no identity":
        Ledger.open(str(path)).close()
        (path.parent / "identity").unlink()
    for _ in range(2):
        ledger = Ledger.open(str(path))
        assert (path.parent / "identity").read_text().startswith(ledger.meta("state_id"))
        ledger.close()


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_database_that_is_taken_away_gets_no_further_commit(path: Path, ledger: Ledger, how: str) -> None:
    ledger.assert_in_place()
    data = path.read_bytes()
    path.rename(path.with_suffix(".away"))
    if how == "replaced":
        path.write_bytes(data)
    with pytest.raises(LedgerError, match=f"was {how}"):
        add(ledger, [record(1)], [])


def test_a_full_disk_is_an_output_error_and_the_next_try_works(path: Path, ledger: Ledger) -> None:
    rows = [record(n) for n in range(1, 20_000)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100_000, hard))
    try:
        with pytest.raises(OutputError, match="cannot use the ledger now"):
            add(ledger, rows, [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ledger.recount(1, 1) == {}
    add(ledger, rows, [])
    assert [sums.records for sums in ledger.recount(1, 1).values()] == [len(rows)]


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot make the state folder"):
        Ledger.open(str(tmp_path / "file" / "ledger.db"))


def test_transactions_do_not_nest(ledger: Ledger) -> None:
    with pytest.raises(RuntimeError), ledger.transaction(), ledger.transaction():
        pass


def test_a_long_reader_does_not_stop_the_writer(path: Path, ledger: Ledger) -> None:
    add(ledger, [record(1)], [])
    reader = sqlite3.connect(path)
    cursor = reader.execute("SELECT * FROM record")
    assert cursor.fetchone()[2] == 1
    add(ledger, [record(2)], [])
    reader.close()
    assert [sums.records for sums in ledger.recount(1, 1).values()] == [2]


def test_a_row_takes_less_than_110_bytes(path: Path) -> None:
    pick = random.Random(1)
    ledger = Ledger.open(str(path))
    count = 0
    for session in range(1, 21):
        for start in range(1, 201, 50):
            records = [
                (
                    session,
                    1,
                    n,
                    n * 3_000,
                    pick.randrange(9_000),
                    n * 900,
                    900,
                    pick.getrandbits(63),
                    20_000 + n // 99,
                    1,
                    0,
                )
                for n in range(start, start + 50)
            ]
            values = [
                ValueRow(ledger.next_value_id(), pick.randbytes(16), 1, n // 9 * 800_000, n % 9 * 4_000, 4_000)
                for n in range(start, start + 50)
            ]
            sites = [
                (session, 1, n, 0, 2, 3, 4, 5, 1, 300, 200, 4_000, values[n - start].id)
                for n in range(start, start + 50)
            ]
            add(ledger, records, sites)
            with ledger.transaction() as tx:
                tx.insert_values(values)
            count += len(records) + len(sites)
    ledger.close()
    assert path.stat().st_size < 110 * count
