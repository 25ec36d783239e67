"""`compactd backfill` says what it did, in words and as a document."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept import CONFIG, Kept, Run
from support import SAMPLE_SESSIONS, SAMPLES


def test_the_document_has_a_row_a_session_and_sums_that_add_up(fresh: Kept, document: Callable[..., Any]) -> None:
    found = document("backfill", str(SAMPLES), "--jobs", "1", *fresh.options)
    sizes = {str(path): path.stat().st_size for path in SAMPLE_SESSIONS}
    assert {row["session"]: row["source_bytes"] for row in found["rows"]} == sizes
    for row in [*found["rows"], found["total"]]:
        assert row["saved_bytes"] == row["source_bytes"] - row["output_bytes"]
        assert row["saved_ratio"] == pytest.approx(row["saved_bytes"] / row["source_bytes"], abs=1e-4)
    assert found["total"]["sessions"] == len(sizes)
    outputs = sum(path.stat().st_size for path in fresh.out.rglob("*.json*"))
    assert found["total"]["output_bytes"] == outputs


def test_the_summary_is_one_line(fresh: Kept, run: Run) -> None:
    code, out, err = run("backfill", str(SAMPLES), "--jobs", "1", *fresh.options)
    assert (code, err) == (0, "")
    assert out.startswith(f"{len(SAMPLE_SESSIONS)} sessions; ")
    assert "saved " in out
    assert out.count("\n") == 1


def test_a_second_run_finds_everything_unchanged(kept: Kept, document: Callable[..., Any]) -> None:
    found = document("backfill", str(SAMPLES), "--jobs", "1", *kept.options)
    assert found["rows"] == []
    assert (found["total"]["unchanged"], found["total"]["records"]) == (len(SAMPLE_SESSIONS), 0)


def test_without_a_path_the_roots_of_the_config_file_are_taken(tmp_path: Path, document: Callable[..., Any]) -> None:
    config = tmp_path / "c.toml"
    shutil.copytree(SAMPLES / "openviking", tmp_path / "viking")
    config.write_text('out = "o"\nstate = "s"\n[[root]]\npath = "viking"\n')
    found = document("backfill", "--jobs", "1", "--config", str(config))
    assert found["total"]["sessions"] == 2
    assert (tmp_path / "o" / "viking" / "messages.jsonl").is_file()


def test_files_of_no_known_format_in_a_folder_are_counted_and_named_on_demand(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "notes.jsonl").write_text('{"a": 1}\n')
    options = ["--config", str(CONFIG), "--out", str(tmp_path / "o"), "--state", str(tmp_path / "s")]
    code, out, err = run("backfill", str(folder), "--jobs", "1", "--log-level", "info", *options)
    assert code == 0
    assert "1 file of no known format" in out
    assert f"skipped {folder / 'notes.jsonl'}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "backfill: need a PATH, or [[root]] tables in the config file, got none", id="nothing"),
        pytest.param(["/no/such"], "/no/such: need a file, folder or glob, it is missing", id="missing"),
        pytest.param(
            ["/tmp", "--jobs", "0"], "backfill: argument --jobs: need a whole number from 1 to 256, got '0'", id="jobs"
        ),
        pytest.param(["/tmp", "--format", "odd"], "backfill: argument --format: invalid choice: 'odd'", id="format"),
    ],
)
def test_wrong_arguments_end_with_2_before_anything_starts(
    fresh: Kept, run: Run, arguments: list[str], message: str
) -> None:
    code, out, err = run("backfill", *arguments, *fresh.options)
    assert (code, out) == (2, "")
    assert err.startswith(f"compactd: {message}")
    assert not (fresh.out / "samples").exists()
