"""What is forgotten is gone from the packs, all else stays, and a crash in between leaves one or the other."""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path

import pytest
from home import HEAD, Home, short
from ledgers import add_session

from pipeline.disk.entries import EDITS, EditSpan, RecordEdits, decode_edits, digest16, encode_edits
from pipeline.disk.ledger import Ledger
from pipeline.disk.packs import VaultReader
from pipeline.disk.purge import purge_values
from pipeline.disk.rows import SessionRow
from pipeline.disk.vault import VaultWriter
from pipeline.errors import OutputError
from pipeline.runs.restoring import forget


def original(id: int) -> bytes:
    return random.Random(id).randbytes(700)


def filled(tmp_path: Path, count: int = 12) -> tuple[Ledger, VaultWriter]:
    """Values 1 to `count` in small packs; odd ones belong to the output "w/odd", with an edit list each."""
    ledger = Ledger.open(str(tmp_path / "state" / "ledger.db"))
    add_session(ledger, SessionRow(0, 1, b"odd", b"odd"))
    writer = VaultWriter(str(tmp_path / "state" / "vault"), frame_bytes=1_600, pack_bytes=3_000)
    writer.open({})
    for id in range(1, count + 1):
        writer.add(id, digest16(original(id)), original(id))
        out_path = b"w/odd" if id % 2 else b"w/even"
        edit = EditSpan(1, 2, 700, digest16(original(id)))
        writer.add_record_edits(encode_edits(RecordEdits(out_path, 1, id, 900, 0, (edit,))))
    rows = writer.flush()
    with ledger.transaction() as tx:
        tx.insert_values(rows)
        tx.put_packs(writer.lengths())
    writer.committed()
    return ledger, writer


def everything(folder: Path) -> bytes:
    reader = VaultReader(str(folder))
    packs = [(int(path.stem), path.stat().st_size) for path in sorted(folder.iterdir())]
    return b"".join(entry.data for pack, length in packs for entry in reader.entries(pack, length))


def lists_of(folder: Path, packs: dict[int, int]) -> list[tuple[bytes, int]]:
    reader = VaultReader(str(folder))
    entries = [entry for pack in sorted(packs) for entry in reader.entries(pack, packs[pack]) if entry.kind == EDITS]
    return [(edits.out_path, edits.ordinal) for edits in (decode_edits(entry.data) for entry in entries)]


def test_purged_values_are_gone_and_the_others_are_where_the_ledger_says(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    folder = tmp_path / "state" / "vault"
    packs_before = set(ledger.committed_packs())
    dropped = purge_values(writer, ledger, [2, 3], sessions=[1])
    assert (dropped, ledger.sessions()) == ([1], [])
    assert set(ledger.committed_packs()) - packs_before
    reader = VaultReader(str(folder))
    left = ledger.values(range(1, 13))
    assert {row.id: reader.value(row) for row in left} == {id: original(id) for id in range(1, 13) if id not in (2, 3)}
    raw = everything(folder)
    assert [original(id) in raw for id in (1, 2, 3, 4)] == [True, False, False, True]
    assert {path.name for path in folder.iterdir()} == {f"{pack:06}.pack" for pack in ledger.committed_packs()}
    assert sorted(ordinal for _, ordinal in lists_of(folder, ledger.committed_packs())) == list(range(1, 13))
    writer.close()
    ledger.close()


def test_the_edit_lists_of_an_output_go_from_all_packs(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    folder = tmp_path / "state" / "vault"
    purge_values(writer, ledger, [1], doomed=lambda edits: edits.out_path == b"w/odd")
    assert lists_of(folder, ledger.committed_packs()) == [(b"w/even", id) for id in range(2, 13, 2)]
    reader = VaultReader(str(folder))
    assert [reader.value(row) for row in ledger.values(range(1, 13))] == [original(id) for id in range(2, 13)]
    writer.close()
    ledger.close()


def test_the_vault_goes_on_after_a_purge_of_everything(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    purge_values(writer, ledger, range(1, 13), doomed=lambda edits: edits.ordinal > 0)
    assert (ledger.committed_packs(), list((tmp_path / "state" / "vault").iterdir())) == ({}, [])
    row = writer.add(13, digest16(b"new"), b"new")
    writer.flush()
    writer.committed()
    assert writer.same(row, b"new")
    writer.close()
    ledger.close()


def test_nothing_to_purge_changes_nothing(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    before = ledger.committed_packs()
    assert purge_values(writer, ledger, [99]) == []
    assert ledger.committed_packs() == before
    writer.close()
    ledger.close()


def test_a_full_disk_leaves_the_vault_as_it_was(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    folder = tmp_path / "state" / "vault"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
    try:
        with pytest.raises(OutputError, match="cannot write"):
            purge_values(writer, ledger, [2])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert len(ledger.values(range(1, 13))) == 12
    assert purge_values(writer, ledger, [2]) == [1]
    writer.close()
    ledger.close()


def test_what_a_crash_leaves_of_old_or_new_packs_is_removed_at_the_next_start(tmp_path: Path) -> None:
    ledger, writer = filled(tmp_path)
    folder = tmp_path / "state" / "vault"
    old = (folder / "000001.pack").read_bytes()
    purge_values(writer, ledger, [2])
    writer.close()
    # Killed after the commit and before the removal; and a later purge killed before its commit.
    (folder / "000001.pack").write_bytes(old)
    (folder / "000099.pack").write_bytes(old)
    writer.open(ledger.committed_packs())
    assert original(2) not in everything(folder)
    assert {path.name for path in folder.iterdir()} == {f"{pack:06}.pack" for pack in ledger.committed_packs()}
    assert os.listdir(folder)
    writer.close()
    ledger.close()


OLD = HEAD + b"".join(short(number) for number in range(3))


def listed(home: Home) -> list[tuple[bytes, int]]:
    """Output and ordinal of each edit list in the vault."""
    folder = home.state / "vault"
    return sorted(lists_of(folder, dict(home.query("SELECT id, length FROM pack"))))


def test_a_moved_session_takes_its_older_edit_lists_along_when_it_is_forgotten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("a.jsonl", OLD)
    home.write("b.jsonl", HEAD + short(8))
    home.backfill()
    for number, name in enumerate(("c.jsonl", "d.jsonl")):
        (last,) = (home.source / rel for rel in ("a.jsonl", "c.jsonl") if (home.source / rel).exists())
        os.rename(last, home.source / name)
        home.append(name, short(20 + number))
        home.backfill()
    paths = {path for path, _ in listed(home)}
    assert paths == {b"sessions/a.jsonl", b"sessions/b.jsonl", b"sessions/c.jsonl", b"sessions/d.jsonl"}
    forget(home.settings, "d.jsonl")
    assert {path for path, _ in listed(home)} == {b"sessions/b.jsonl"}
    assert home.query("SELECT * FROM former_path") == []
    home.check("b.jsonl")


@pytest.mark.parametrize("forgotten", ["moved", "later"])
def test_an_edit_list_of_another_session_that_lay_at_the_same_place_stays(tmp_path: Path, forgotten: str) -> None:
    home = Home(tmp_path)
    home.write("a.jsonl", OLD)
    home.backfill()
    of_first = listed(home)
    os.rename(home.source / "a.jsonl", home.source / "moved.jsonl")
    home.backfill()
    home.write("a.jsonl", HEAD + short(8))
    home.backfill()
    of_second = listed(home)
    for one in of_first:
        of_second.remove(one)
    assert of_first
    assert of_second
    assert {path for path, _ in of_first + of_second} == {b"sessions/a.jsonl"}
    forget(home.settings, "moved.jsonl" if forgotten == "moved" else "/a.jsonl")
    assert listed(home) == (of_second if forgotten == "moved" else of_first)
    home.check("a.jsonl" if forgotten == "moved" else "moved.jsonl")
