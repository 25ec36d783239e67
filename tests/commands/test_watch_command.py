"""`compactd watch --once` takes in what is there and stops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kept import Kept, Run
from support import SAMPLES


def test_once_does_what_a_backfill_does(tmp_path: Path, run: Run, document: Callable[..., Any]) -> None:
    sessions = str(SAMPLES / "openviking")
    watched, filled = Kept(tmp_path / "watched"), Kept(tmp_path / "filled")
    assert run("watch", sessions, "--once", "--log-level", "error", *watched.options) == (0, "", "")
    assert run("backfill", sessions, "--jobs", "1", *filled.options)[0] == 0
    one, other = (document("stats", "--by", "rule", *kept.options) for kept in (watched, filled))
    assert one["rows"] == other["rows"]
    outputs = [path.relative_to(filled.out) for path in sorted(filled.out.rglob("*.jsonl"))]
    assert outputs
    for path in outputs:
        assert (watched.out / path).read_bytes() == (filled.out / path).read_bytes()


def test_without_path_and_roots_there_is_nothing_to_watch(fresh: Kept, run: Run) -> None:
    code, _, err = run("watch", *fresh.options)
    assert code == 2
    assert err == "compactd: watch: need a PATH, or [[root]] tables in the config file, got none\n"
