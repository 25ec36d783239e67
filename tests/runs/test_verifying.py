"""Verify finds what is wrong, and calls nothing wrong that is not; what was made without a vault is only noted."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Home, comparable, short
from support import call, result

from pipeline.errors import LedgerError
from pipeline.runs.restoring import recall
from pipeline.runs.verifying import verify
from pipeline.settings import VaultSettings

DATA = HEAD + b"".join(short(number) for number in range(5))
BARE = replace(SHORT, vault=VaultSettings(enabled=False))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("a.jsonl", DATA)
    home.write("b.jsonl", DATA.replace(b"crate", b"crane"))
    home.backfill()
    return home


def bare(tmp_path: Path) -> Home:
    """Two sessions that were made without a vault."""
    home = Home(tmp_path, BARE)
    home.write("a.jsonl", DATA)
    home.write("plain.jsonl", HEAD)
    home.backfill()
    return home


def test_all_numbers_are_those_of_the_files(home: Home) -> None:
    report = verify(home.settings, [])
    outputs = [len(home.output(rel)) for rel in ("a.jsonl", "b.jsonl")]
    assert (report.failed, report.notes) == ([], [])
    assert [row["output_bytes"] for row in report.rows] == outputs
    assert [(row["ok"], row["restorable"], row["compared_with"], row["records"]) for row in report.rows] == [
        (True, True, "source", 11)
    ] * 2
    assert (report.total["source_bytes"], report.total["output_bytes"]) == (2 * len(DATA), sum(outputs))


def flip(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


SESSION = "WHERE session = 1 AND ordinal = 3"
DAMAGES: list[tuple[str, Callable[[Home], object], str]] = [
    ("output, unedited", lambda h: flip(h.out / "sessions/a.jsonl", b"make part2", b"make part9"), "what is restored"),
    ("output cut", lambda h: os.truncate(h.out / "sessions/a.jsonl", 99), "bytes too short"),
    ("output gone", lambda h: (h.out / "sessions/a.jsonl").unlink(), "cannot open the output: No such file"),
    (
        "span",
        lambda h: h.change(f"UPDATE site SET off_in_output_record = 9999 {SESSION}"),
        "lies outside of the record",
    ),
    ("sizes", lambda h: h.change(f"UPDATE site SET bytes_before = bytes_before + 1 {SESSION}"), "its edits saved"),
    ("place", lambda h: h.change(f"UPDATE record SET src_off = src_off + 1 {SESSION}"), "record 3: need place"),
    ("hash", lambda h: h.change(f"UPDATE record SET hash8 = hash8 + 1 {SESSION}"), "record 3: what is restored is not"),
    (
        "rollup",
        lambda h: h.change("UPDATE rollup SET edits = edits + 1 WHERE session = 1 AND sites > 0"),
        "the sums that",
    ),
    (
        "checkpoint",
        lambda h: h.change("UPDATE generation SET out_len = out_len + 1 WHERE session = 1"),
        "checkpoint says",
    ),
    (
        "original",
        lambda h: h.change(f"DELETE FROM value WHERE id = (SELECT value FROM site {SESSION} AND applied)"),
        "record 3: need original #1 of edit 0, the ledger has no such row",
    ),
]


@pytest.mark.parametrize(("name", "damage", "text"), DAMAGES, ids=[name for name, *_ in DAMAGES])
def test_damage_is_found_and_told_for_its_session_alone(
    home: Home, name: str, damage: Callable[[Home], object], text: str
) -> None:
    del name
    damage(home)
    report = verify(home.settings, [])
    assert report.failed
    assert text in report.failed[0]
    assert [row["ok"] for row in report.rows] == [False, True]
    assert not report.rows[0]["restorable"]


def test_a_source_that_is_gone_is_compared_by_its_hashes_and_one_that_was_rewritten_too(home: Home) -> None:
    (home.source / "a.jsonl").unlink()
    home.write("b.jsonl", DATA[:-9])
    report = verify(home.settings, [])
    assert report.failed == []
    assert [(row["compared_with"], row["restorable"]) for row in report.rows] == [("hashes", True)] * 2
    home.append("b.jsonl", DATA)
    # More is in the source than was taken in, and what is gone already is no choice any more.
    assert verify(home.settings, [], restorable=True).rows == []


def test_a_source_that_was_rewritten_since_is_not_listed_as_restorable(home: Home) -> None:
    listed = [row["session"] for row in verify(home.settings, [], restorable=True).rows]
    assert str(home.source / "b.jsonl") in listed
    data = (home.source / "b.jsonl").read_bytes()
    home.write("b.jsonl", data[:-200] + b"x" * 100 + b"\n")
    report = verify(home.settings, [], restorable=True)
    assert str(home.source / "b.jsonl") not in [row["session"] for row in report.rows]
    assert report.failed == []
    assert any("its source has changed since it was taken in" in note for note in report.notes)


def test_a_changed_output_is_not_restored(home: Home) -> None:
    output = home.out / "sessions" / "a.jsonl"
    data = bytearray(output.read_bytes())
    data[5] ^= 1
    output.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match="record 1: what is restored is not what was read"):
        home.restored(home.source / "a.jsonl")


def test_without_a_vault_all_is_well_and_nothing_edited_can_be_restored(tmp_path: Path) -> None:
    home = bare(tmp_path)
    path = home.source / "a.jsonl"
    report = verify(home.settings, [])
    assert report.failed == []
    assert report.notes == [f"{path}: not restorable: 5 records were edited without a vault"]
    assert {row["session"]: (row["ok"], row["restorable"], bool(row["note"])) for row in report.rows} == {
        str(path): (True, False, True),
        str(home.source / "plain.jsonl"): (True, True, False),
    }
    with pytest.raises(LedgerError, match="record 3 was edited without a vault"):
        home.restored(path)


def test_without_a_vault_what_was_not_edited_is_still_compared_with_the_source(tmp_path: Path) -> None:
    home = bare(tmp_path)
    flip(home.out / "sessions" / "a.jsonl", b'"tool_use_id":"t1"', b'"tool_use_id":"t7"')
    assert [text.partition(": ")[2] for text in home.problems()] == [
        "record 3: what was not edited is not what was read"
    ]
    # Without the source nobody can tell.
    (home.source / "a.jsonl").unlink()
    assert home.problems() == []


@pytest.mark.parametrize("first", [True, False], ids=["on, then off", "off, then on"])
def test_a_vault_that_is_switched_between_runs_keeps_what_was_edited_while_it_was_on(
    tmp_path: Path, first: bool
) -> None:
    home = Home(tmp_path, replace(SHORT, vault=VaultSettings(enabled=first)))
    home.write("a.jsonl", DATA)
    home.backfill()
    other = Home(tmp_path, replace(SHORT, vault=VaultSettings(enabled=not first)))
    other.append("a.jsonl", short(70) + short(71))
    other.write("new.jsonl", DATA)
    other.backfill()
    report = verify(other.settings, [])
    assert report.failed == []
    notes = {row["session"].rpartition("/")[2]: row["note"] for row in report.rows}
    assert notes == {
        "a.jsonl": f"not restorable: {2 if first else 5} records were edited without a vault",
        "new.jsonl": "not restorable: 5 records were edited without a vault" if first else "",
    }
    # The output itself does not depend on the vault (P0).
    assert len(other.generations(1)) == 1
    twin = Home(tmp_path / "twin")
    twin.write("a.jsonl", (home.source / "a.jsonl").read_bytes())
    twin.backfill()
    assert comparable(other.output("a.jsonl")) == comparable(twin.output("a.jsonl"))
    # With a new generation all of it is kept.
    on = other if other.settings.vault.enabled else home
    on.backfill(recompact=True)
    on.check("a.jsonl", "new.jsonl")


def test_copies_of_a_result_under_tools_of_another_class_come_back(tmp_path: Path) -> None:
    """The same text is what a command printed, what a file holds, and what was written: each has its own way back."""
    text = "\n".join(f"step {row}: took crate {row * 7919 % 1009} to the shelf" for row in range(40))
    records = [
        call(1, "Bash", {"command": "cat notes.txt"}),
        result(2, 1, text, toolUseResult={"stdout": text, "stderr": ""}),
        call(3, "Read", {"file_path": "/srv/notes.txt"}),
        result(4, 3, text, toolUseResult={"type": "text", "file": {"filePath": "/srv/notes.txt", "content": text}}),
        call(5, "Write", {"file_path": "/srv/copy.txt", "content": text}),
        result(6, 5, "ok", toolUseResult={"type": "create", "filePath": "/srv/copy.txt", "content": text}),
        call(7, "Grep", {"pattern": "step"}),
        result(8, 7, [{"type": "text", "text": text}], toolUseResult={"mode": "content", "content": text}),
    ]
    home = Home(tmp_path)
    home.write("a.jsonl", HEAD + b"".join(record + b"\n" for record in records))
    home.backfill()
    home.check("a.jsonl")
    handles = home.query("SELECT DISTINCT hex(digest16) FROM value JOIN site ON value.id = site.value")
    assert len(handles) >= 1
    originals = {recall(home.settings, handle.lower()[:16], raw=False) for (handle,) in handles}
    assert text.encode() in originals
    # Opened again it still knows what it saw.
    home.append("a.jsonl", result(9, 7, text) + b"\n")
    home.backfill()
    home.check("a.jsonl")
