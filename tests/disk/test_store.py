"""What is committed counts and nothing else does, whatever happens to the folders between and during runs."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Hand, Home, comparable, oracle, short, spans_of
from support import Place, lines, session

from pipeline.cli import main
from pipeline.disk.starts import PLANNED_BYTES
from pipeline.disk.store import Store
from pipeline.disk.writing import SETTLED_KEPT
from pipeline.errors import LedgerError, LockedError, OutputError
from pipeline.settings import Settings, VaultSettings

SESSION = HEAD + b"".join(short(number) for number in range(6))
MORE = b"".join(short(number) for number in range(100, 103))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_appended_records_count_when_they_are_committed(home: Home) -> None:
    path = home.write("a.jsonl", SESSION)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        assert hand.store.pending_records == 6
        assert hand.store.pending_bytes == sum(length for _, _, length in spans_of(SESSION)[:6])
        assert home.query("SELECT count(*) FROM record") == [(0,)]
        hand.store.commit()
        assert (hand.store.pending_records, hand.store.pending_bytes) == (0, 0)
        assert home.query("SELECT count(*) FROM record") == [(6,)]
        assert hand.store.vault_bytes == home.query("SELECT sum(length) FROM pack")[0][0]
        hand.take(reading)
        # Without a commit: the output has the bytes, but they do not count.
        assert comparable(home.output("a.jsonl")) == oracle(path, home.settings)
    with home.store():
        pass
    assert oracle(path, home.settings).startswith(comparable(home.output("a.jsonl")))
    assert len(home.output("a.jsonl")) == home.generations()[0].out_len
    home.backfill()
    home.check("a.jsonl")
    assert len(home.generations()) == 1


def test_a_commit_without_news_changes_nothing(home: Home) -> None:
    home.write("a.jsonl", SESSION)
    home.backfill()
    before = home.rows(), home.query("SELECT * FROM meta")
    with home.store() as store:
        store.commit()
    assert (home.rows(), home.query("SELECT * FROM meta")) == before


def test_files_and_folders_are_private(home: Home) -> None:
    home.write("p/a.jsonl", SESSION)
    home.backfill()
    home.write("p/a.jsonl", MORE)
    home.backfill()
    paths = [path for folder in (home.out, home.state) for path in (folder, *folder.rglob("*"))]
    assert len(paths) > 10
    modes = {str(path.relative_to(home.base)): path.stat().st_mode & 0o777 for path in paths}
    assert {name for name, mode in modes.items() if mode != (0o700 if (home.base / name).is_dir() else 0o600)} == set()


DAMAGES: list[tuple[str, Callable[[Path], None], str]] = [
    ("deleted", lambda path: path.unlink(), r"need {length} committed bytes, the file is gone; put it back, or run"),
    ("cut", lambda path: os.truncate(path, 100), r"need {length} committed bytes, it has 100; put it back, or run"),
    (
        "edited",
        lambda path: _edit(path),
        r"the bytes before {length} are not the ones that were written; put it back, or run",
    ),
]


@pytest.mark.parametrize(("how", "damage", "text"), DAMAGES, ids=[name for name, *_ in DAMAGES])
def test_an_output_changed_behind_our_back_is_refused(
    home: Home, how: str, damage: Callable[[Path], None], text: str
) -> None:
    path = home.write("a.jsonl", SESSION)
    home.backfill()
    output = home.out / "sessions" / "a.jsonl"
    good, rows = output.read_bytes(), home.rows()
    damage(output)
    home.append("a.jsonl", MORE)
    expected = re.escape(f"{output}: {text.format(length=len(good))} `compactd forget {output}` and backfill again")
    with Hand(home) as hand, pytest.raises(LedgerError, match=f"^{expected}$"):
        hand.take(hand.reading(path))
    assert home.rows() == rows
    # Both ways that the text names lead out.
    if how == "edited":
        output.write_bytes(good)
    else:
        options = ["--out", str(home.out), "--state", str(home.state)]
        assert main(["forget", str(output), *options]) == 0
    home.backfill()
    home.check("a.jsonl")


def test_the_command_says_it_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.write("a.jsonl", SESSION)
    options = ["--jobs", "1", "--out", str(home.out), "--state", str(home.state)]
    assert main(["backfill", str(home.source), *options]) == 0
    (home.out / "sessions" / "a.jsonl").unlink()
    home.append("a.jsonl", MORE)
    capsys.readouterr()
    assert main(["backfill", str(home.source), *options]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.match(r"compactd: .*/a.jsonl: need \d+ committed bytes, the file is gone; put it back", err)


def test_an_output_deleted_while_it_is_written_is_not_written_on_as_an_orphan(home: Home) -> None:
    path = home.write("a.jsonl", SESSION)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        hand.store.commit()
        (home.out / "sessions" / "a.jsonl").unlink()
        with pytest.raises(LedgerError, match="was deleted, replaced or changed while it was written"):
            hand.take(reading, 1)


def test_a_second_store_on_the_same_folders_is_refused_and_a_later_one_is_not(home: Home, tmp_path: Path) -> None:
    with home.store():
        for out, state in (("out", "state"), ("other", "state"), ("out", "other-state")):
            settings = replace(SHORT, out=str(tmp_path / out), state=str(tmp_path / state))
            held = f"held by process {os.getpid()}; stop it or use another folder"
            with pytest.raises(LockedError, match=held):
                Store.open(settings, "")
    with home.store():
        pass


def test_a_folder_reached_by_another_name_is_the_same_folder(home: Home, tmp_path: Path) -> None:
    with home.store():
        (tmp_path / "link").symlink_to(home.out)
        settings = replace(SHORT, out=str(tmp_path / "link"), state=str(tmp_path / "state-2"))
        with pytest.raises(LockedError):
            Store.open(settings, "")


@pytest.mark.parametrize("limit", [12_000, 40_000, 70_000])
def test_a_full_disk_is_one_clear_line_and_the_next_run_completes(tmp_path: Path, limit: int) -> None:
    """RLIMIT_FSIZE stands for the full disk: it hits output, pack or ledger, whichever is the largest."""
    place = Place(tmp_path).make()
    (place.source / "a.jsonl").write_bytes(lines(session(4)))
    (place.source / "b.jsonl").write_bytes(lines(session(1, seed=3)))
    run = place.command("backfill", str(place.source), "--jobs", "1")
    failed = _limited(run, limit)
    assert (failed[0], failed[1].count(b"\n")) == (1, 1), failed
    assert re.match(rb"compactd: \S+: .*(File too large|database or disk is full|disk I/O error)", failed[1]), failed
    for rel, length in _committed(place).items():
        output = place.out / "sessions" / rel
        assert (output.stat().st_size if output.exists() else 0) >= length
    done = place.run("backfill", str(place.source), "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, b"")
    home = Home(tmp_path, Settings())
    home.check("a.jsonl", "b.jsonl")


def test_a_full_disk_in_the_middle_leaves_nothing_half_written(home: Home) -> None:
    path = home.write("a.jsonl", SESSION)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        hand.store.commit()
        committed = home.output("a.jsonl")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(committed) + 100, hard))
        try:
            with pytest.raises(OutputError, match=r"a\.jsonl: cannot write: File too large$"):
                hand.take(reading)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert home.output("a.jsonl") == committed
    home.backfill()
    home.check("a.jsonl")


def test_without_a_vault_no_original_is_kept_and_nothing_can_be_restored(tmp_path: Path) -> None:
    home = Home(tmp_path, replace(SHORT, vault=VaultSettings(enabled=False)))
    path = home.write("a.jsonl", SESSION)
    home.backfill()
    assert comparable(home.output("a.jsonl")) == oracle(path, home.settings)
    assert home.query("SELECT count(*) FROM value") == [(0,)]
    edits = home.query("SELECT count(*), max(value) FROM site WHERE applied")
    assert edits[0][0] > 0
    assert edits[0][1] == 0
    assert [file.stat().st_size for file in (home.state / "vault").glob("*.pack")] == []
    with pytest.raises(LedgerError, match=r"record 3 was edited without a vault .*: it cannot be restored$"):
        home.restored(path)


def test_the_same_value_is_kept_once_for_all_sessions(home: Home) -> None:
    home.write("a.jsonl", SESSION)
    home.write("b.jsonl", HEAD + b'{"type":"summary","leafUuid":"u1"}\n' + SESSION.removeprefix(HEAD))
    home.write("c.jsonl", SESSION + MORE)
    home.backfill()
    values = home.query("SELECT count(*), count(DISTINCT digest16) FROM value")
    edits = home.query("SELECT session, count(*) FROM site WHERE applied GROUP BY 1 ORDER BY 1")
    assert edits == [(1, 6), (2, 6), (3, 9)]
    assert values == [(9, 9)]
    home.check("a.jsonl", "b.jsonl", "c.jsonl")


def test_many_more_sessions_than_outputs_that_may_be_open(home: Home) -> None:
    names = [f"s{number:02}.jsonl" for number in range(30)]
    for number, name in enumerate(names):
        home.write(name, HEAD + short(number) * 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
    try:
        home.backfill()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    home.check(*names)


def commits(home: Home) -> int:
    """Transactions so far."""
    return int(home.query("SELECT value FROM meta WHERE key = 'commits'")[0][0])


def test_many_new_sessions_are_begun_in_one_transaction(home: Home) -> None:
    names = [f"{number:02}.jsonl" for number in range(20)]
    for number, name in enumerate(names):
        home.write(name, HEAD + short(number))
    with Hand(home) as hand:
        before = commits(home)
        for name in names:
            hand.take(hand.reading(home.source / name))
        # The first one has made the root.
        assert commits(home) == before + 1
        assert list(home.outputs()) == []
        hand.store.commit()
        assert commits(home) == before + 3
    home.check(*names)


def test_new_outputs_do_not_wait_in_memory_without_limit(home: Home) -> None:
    path = home.write("a.jsonl", HEAD + b'{"type":"user","text":"' + b"x" * (PLANNED_BYTES + 100) + b'"}\n')
    with Hand(home) as hand:
        reading = hand.reading(path)
        output, length = home.out / "sessions" / "a.jsonl", 0
        while (parcel := hand.parcel(reading)) is not None:
            hand.store.append(parcel)
            length += len(parcel.output)
            assert length - (output.stat().st_size if output.exists() else 0) <= PLANNED_BYTES
        assert length > PLANNED_BYTES
        assert home.query("SELECT generation, src_off FROM generation") == [(1, 0)]
        hand.store.commit()
    home.check("a.jsonl")


def test_what_was_begun_and_never_committed_is_begun_again(home: Home) -> None:
    path = home.write("a.jsonl", HEAD + b'{"type":"user","text":"' + b"x" * (2 * PLANNED_BYTES) + b'"}\n')
    with Hand(home) as hand:
        hand.take(hand.reading(path))
    # Killed now: the file is there, and the ledger knows it as its own.
    assert len(home.output("a.jsonl")) > PLANNED_BYTES
    home.write("a.jsonl", SESSION)
    home.backfill()
    home.check("a.jsonl")
    assert [row.generation for row in home.generations()] == [1]


def test_a_file_that_appears_in_the_place_of_a_new_output_is_not_touched(home: Home) -> None:
    path = home.write("a.jsonl", SESSION)
    way = home.out / "sessions" / "a.jsonl"
    with Hand(home) as hand:
        hand.take(hand.reading(path))
        way.parent.mkdir()
        way.write_bytes(b"foreign")
        with pytest.raises(OutputError, match=r"a\.jsonl: something else was put there while the output was begun$"):
            hand.store.commit()
    need = "need this place for an output, something else is there; move it away, or give another --out"
    assert home.backfill().failed == [f"{way}: {need}"]
    assert (way.read_bytes(), home.query("SELECT * FROM session")) == (b"foreign", [])
    way.unlink()
    home.backfill()
    home.check("a.jsonl")


def test_a_source_replaced_before_its_first_commit_leaves_nothing_of_the_old_one(home: Home) -> None:
    """Its first bytes are pieces of a too long record, which does not count before its end."""
    path = home.write("a.jsonl", b'{"type":"user","text":"' + b"x" * 20_000 + b'"}\n')
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 3)
        os.truncate(path, 0)
        home.write("a.jsonl", SESSION)
        hand.settle(reading)
    home.check("a.jsonl")


def test_a_session_that_was_given_up_does_not_keep_the_others_from_their_commit(home: Home) -> None:
    first, second = home.write("a.jsonl", SESSION), home.write("b.jsonl", SESSION + MORE)
    with Hand(home) as hand:
        one, other = hand.reading(first), hand.reading(second)
        hand.take(one, 1)
        hand.take(other, 1)
        hand.store.abandon(one.session)
        hand.settle(other)
        assert list(home.outputs()) == ["sessions/b.jsonl"]
        assert home.query("SELECT rel FROM session") == [(b"b.jsonl",)]
    home.check("b.jsonl")
    home.backfill()
    home.check("a.jsonl", "b.jsonl")


def test_sessions_beyond_those_that_are_remembered_go_on_from_the_ledger(home: Home) -> None:
    count = SETTLED_KEPT + 20
    for number in range(count):
        home.write(f"{number:04}.jsonl", HEAD)
    with Hand(home) as hand:
        first = hand.reading(home.source / "0000.jsonl")
        hand.settle(first)
        for number in range(1, count):
            hand.take(hand.reading(home.source / f"{number:04}.jsonl"))
            if number % 200 == 0:
                hand.store.commit()
        hand.store.commit()
        home.append("0000.jsonl", SESSION.removeprefix(HEAD))
        hand.settle(hand.reading(home.source / "0000.jsonl"))
    home.check("0000.jsonl", "0001.jsonl", f"{count - 1:04}.jsonl")
    assert home.query("SELECT count(*) FROM session") == [(count,)]


def _edit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)


def _limited(command: list[str], limit: int) -> tuple[int, bytes]:
    """Run a command that may write no file larger than this; exit code and standard error."""
    code = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
        "os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(limit), *command], capture_output=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


def _committed(place: Place) -> dict[str, int]:
    """Committed output length by path below the root."""
    home = Home(place.base)
    if not (place.state / "ledger.db").exists() or not (place.state / "identity").exists():
        return {}
    rows = home.query("SELECT rel, out_len FROM session s JOIN generation g ON g.session = s.id")
    return {os.fsdecode(rel): length for rel, length in rows}
