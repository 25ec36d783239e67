"""`restore`, `recall`, `verify` and `forget` undo, check and remove what a backfill left."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from kept import Kept, Run
from support import SAMPLE_SESSIONS, SAMPLES

from pipeline.cli import main

SAMPLE = next(SAMPLES.glob("claude-code/*/*.jsonl"))
Document = Callable[..., Any]


@pytest.mark.parametrize("path", SAMPLE_SESSIONS, ids=lambda path: path.name[:12])
def test_every_sample_comes_back_byte_for_byte(kept: Kept, run: Run, path: Any) -> None:
    assert run("restore", str(path), *kept.options) == (0, path.read_bytes().decode(), "")


def test_a_restored_file_is_private_and_whole(kept: Kept, run: Run, tmp_path: Any) -> None:
    target = tmp_path / "back.jsonl"
    assert run("restore", SAMPLE.name, "-o", str(target), *kept.options) == (0, "", "")
    assert target.read_bytes() == SAMPLE.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_restore_leaves_no_file(kept: Kept, run: Run, tmp_path: Any) -> None:
    code, _, err = run("restore", "none.jsonl", "-o", str(tmp_path / "back.jsonl"), *kept.options)
    assert code == 2
    assert err.startswith("compactd: SESSION: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["out", "state"])
def test_nothing_is_written_into_the_folders_that_compactd_keeps(kept: Kept, run: Run, folder: str) -> None:
    target = getattr(kept, folder) / "back.jsonl"
    code, _, err = run("restore", SAMPLE.name, "-o", str(target), *kept.options)
    assert code == 2
    assert "which compactd keeps itself" in err
    assert not target.exists()


def test_a_generation_that_never_was_is_wrong_use(kept: Kept, run: Run) -> None:
    assert run("restore", SAMPLE.name, "--generation", "7", *kept.options)[0] == 2
    assert run("restore", SAMPLE.name, "--generation", "x", *kept.options)[0] == 2


def test_recall_gives_text_and_raw_token(kept: Kept, run: Run, document: Document) -> None:
    rows = document("show", f"{SAMPLE}:20", *kept.options)["rows"]
    handle = next(row["handle"] for row in rows if row["rule"] == "html-to-text")
    code, text, err = run("recall", handle, *kept.options)
    assert (code, err) == (0, "")
    assert text.startswith("<!DOCTYPE html>\n<html>")
    raw = run("recall", handle, "--raw", *kept.options)[1]
    assert json.loads(raw) == text
    assert raw.encode() in SAMPLE.read_bytes()


@pytest.mark.parametrize("handle", ["zz", "0123456789abcdef"])
def test_an_unknown_handle_is_wrong_use(kept: Kept, run: Run, handle: str) -> None:
    code, out, err = run("recall", handle, *kept.options)
    assert (code, out) == (2, "")
    assert err.startswith("compactd: HANDLE: need ")


def test_verify_finds_all_as_it_should_be(kept: Kept, run: Run, document: Document) -> None:
    assert len(document("verify", *kept.options)["rows"]) == len(SAMPLE_SESSIONS)
    code, out, err = run("verify", SAMPLE.name, *kept.options)
    assert (code, err) == (0, "")
    assert out.startswith("1 session, 28 records, ")
    assert out.endswith("all as it should be\n")


def test_restorable_lists_paths_for_other_programs(kept: Kept, run: Run) -> None:
    code, out, err = run("verify", "--restorable", *kept.options)
    assert code == 0
    assert sorted(out.splitlines()) == sorted(map(str, SAMPLE_SESSIONS))
    assert err == f"{len(SAMPLE_SESSIONS)} sources can be restored from output, vault and ledger\n"


def test_verify_ends_with_1_when_an_output_was_changed(fresh: Kept, run: Run) -> None:
    assert main(["backfill", str(SAMPLES / "openviking"), "--jobs", "1", *fresh.options]) == 0
    output = fresh.out / "openviking" / "messages.jsonl"
    data = output.read_bytes()
    output.write_bytes(data.replace(b"gauge", b"gouge", 1))
    code, out, err = run("verify", *fresh.options)
    assert code == 1
    assert "1 difference" in out
    assert err.startswith(f"compactd: {SAMPLES / 'openviking' / 'messages.jsonl'}: ")


def test_a_forgotten_session_is_gone_and_its_source_stays(fresh: Kept, run: Run, document: Document) -> None:
    viking = SAMPLES / "openviking"
    assert main(["backfill", str(viking), "--jobs", "1", *fresh.options]) == 0
    code, out, err = run("forget", "history/archive_001/messages.jsonl", *fresh.options)
    assert (code, err) == (0, "")
    assert out.startswith("forgotten: ")
    assert document("stats", *fresh.options)["total"]["sessions"] == 1
    assert not (fresh.out / "openviking" / "history" / "archive_001" / "messages.jsonl").exists()
    assert (viking / "history" / "archive_001" / "messages.jsonl").is_file()
