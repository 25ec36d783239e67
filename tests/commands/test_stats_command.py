"""`compactd stats` shows numbers that can be re-derived from outputs and ledger."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from kept import Kept, Run
from support import SAMPLE_SESSIONS

from pipeline.commands.stats import GROUPS
from pipeline.disk.ledger_sums import By
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.monitor.stats import OF_VALUES, bar

Document = Callable[..., Any]


@pytest.mark.parametrize("by", GROUPS)
def test_each_grouping_sums_up_to_the_whole(kept: Kept, document: Document, by: By) -> None:
    found = document("stats", "--by", by, *kept.options)
    rows, total = found["rows"], found["total"]
    assert rows
    keys = ["sites", "edits", "saved_bytes"]
    # Values are a part of the records, but all that was saved was saved in values.
    keys += [] if by in OF_VALUES else ["records", "source_bytes", "output_bytes"]
    assert {key: sum(row[key] for row in rows) for key in keys} == {key: total[key] for key in keys}
    assert all(by in row for row in rows)


def test_the_total_is_that_of_the_files(kept: Kept, document: Document) -> None:
    total = document("stats", *kept.options)["total"]
    sources = sum(path.stat().st_size for path in SAMPLE_SESSIONS)
    outputs = sum(path.stat().st_size for path in kept.out.rglob("*.json*"))
    vault = sum(path.stat().st_size for path in kept.state.glob("vault/*.pack"))
    ledger = sum(path.stat().st_size for path in kept.state.glob("ledger.db*") if not path.name.endswith("-shm"))
    assert (total["source_bytes"], total["output_bytes"], total["vault_bytes"]) == (sources, outputs, vault)
    assert (total["source_disk_bytes"], total["output_disk_bytes"]) == (sources, outputs)
    assert (total["ledger_disk_bytes"], total["archive_disk_bytes"]) == (ledger, 0)
    assert total["disk_bytes"] == outputs + vault + ledger
    assert total["saved_ratio"] == pytest.approx((sources - outputs) / sources, abs=1e-4)
    assert total["sessions"] == len(SAMPLE_SESSIONS)


@pytest.mark.parametrize(
    ("days", "some"),
    [
        pytest.param(["--since", "2026-01-05"], True, id="first day"),
        pytest.param(["--until", "2026-01-05"], True, id="last day"),
        pytest.param(["--until", "2026-01-04"], False, id="before"),
        pytest.param(["--since", "2999-01-01"], False, id="after"),
    ],
)
def test_days_limit_the_sums(kept: Kept, document: Document, days: list[str], some: bool) -> None:
    found = document("stats", *days, *kept.options)
    assert bool(found["rows"]) is some
    assert bool(found["total"]["records"]) is some
    assert found["total"]["vault_bytes"] > 0


def test_a_pipe_gets_plain_aligned_text(kept: Kept, run: Run) -> None:
    code, out, err = run("stats", "--by", "format", *kept.options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("1.1 MB -> ")
    assert lines[3] == ""
    assert lines[4].split() == ["format", "records", "sites", "edits", "before", "after", "saved", "saved", "%", "part"]
    assert {line.split()[0] for line in lines[5:]} == set(FORMATS) - {UNKNOWN}
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--since", "today"], "--since: need YYYY-MM-DD, got 'today'", id="no day"),
        pytest.param(["--until", "2026-02-30"], "--until: need YYYY-MM-DD, got '2026-02-30'", id="no such day"),
        pytest.param(
            ["--since", "2026-01-02", "--until", "2026-01-01"],
            "--until: need a day not before 2026-01-02, got 2026-01-01",
            id="turned round",
        ),
    ],
)
def test_wrong_days_are_wrong_use(kept: Kept, run: Run, arguments: list[str], message: str) -> None:
    assert run("stats", *arguments, *kept.options) == (2, "", f"compactd: {message}\n")


def test_without_a_ledger_the_remedy_is_told(fresh: Kept, run: Run) -> None:
    code, out, err = run("stats", *fresh.options)
    assert (code, out) == (2, "")
    assert "run `compactd backfill PATH` first" in err
    assert not fresh.state.exists()


@pytest.mark.parametrize(
    ("part", "most", "chars"), [(0, 10, 0), (-5, 10, 0), (10, 10, 12), (5, 10, 6), (1, 1000, 0), (3, 0, 0)]
)
def test_a_bar_is_as_long_as_its_part(part: int, most: int, chars: int) -> None:
    assert bar(part, most) == "█" * chars


@pytest.mark.benchmark
def test_the_document_comes_within_100_ms(kept: Kept) -> None:
    command = [sys.executable, "-m", "pipeline", "stats", "--json", *kept.options]
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    assert sorted(times)[2] < 0.1
