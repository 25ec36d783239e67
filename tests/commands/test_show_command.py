"""`compactd show` tells what happened to every record and every site, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from kept import Kept, Run
from support import SAMPLES

from pipeline import records
from pipeline.monitor.show import WHY
from pipeline.rules import base
from pipeline.stages.splice import UNSPLICED

SAMPLE = next(SAMPLES.glob("claude-code/*/*.jsonl"))
LINES = SAMPLE.read_bytes().count(b"\n") + 1
Document = Callable[..., Any]


def test_a_session_has_a_row_a_record(kept: Kept, document: Document) -> None:
    found = document("show", str(SAMPLE), *kept.options)
    rows = found["rows"]
    assert [row["record"] for row in rows] == list(range(1, LINES + 1))
    assert sum(row["source_bytes"] for row in rows) == found["total"]["source_bytes"] == SAMPLE.stat().st_size
    assert {row["outcome"] for row in rows} == {"untouched", "edited"}
    assert all(bool(row["rules"]) == bool(row["edits"]) for row in rows)


def test_the_document_is_one_line_as_json_writes_it(kept: Kept, run: Run) -> None:
    for what in (str(SAMPLE), f"{SAMPLE}:9", f"{SAMPLE}:1"):
        _, out, _ = run("show", what, "--json", *kept.options)
        assert out == json.dumps(json.loads(out), ensure_ascii=False) + "\n"


def test_the_sites_of_a_record_make_up_its_savings(kept: Kept, document: Document) -> None:
    record = document("show", str(SAMPLE), *kept.options)["rows"][8]
    found = document("show", f"{SAMPLE}:9", *kept.options)
    assert len(found["rows"]) == record["sites"]
    applied = [row for row in found["rows"] if row["applied"]]
    assert sum(row["saved_bytes"] for row in applied) == record["saved_bytes"] == found["total"]["saved_bytes"]
    assert all(row["rule"] and re.fullmatch("[0-9a-f]{16}", row["handle"]) for row in applied)
    assert all(row["reason"] and not row["handle"] for row in found["rows"] if not row["applied"])


def test_text_has_a_line_a_record_and_the_rules_in_it(kept: Kept, run: Run) -> None:
    code, out, err = run("show", SAMPLE.name, *kept.options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].endswith(str(SAMPLE))
    assert lines[1].endswith(SAMPLE.name)
    assert [int(line.split()[0]) for line in lines[5:]] == list(range(1, LINES + 1))
    assert any("html-to-text, copy" in line for line in lines)


def test_a_record_in_words_names_the_way_back(kept: Kept, run: Run, document: Document) -> None:
    handle = next(row["handle"] for row in document("show", f"{SAMPLE}:9", *kept.options)["rows"] if row["handle"])
    out = run("show", f"{SAMPLE}:9", *kept.options)[1]
    assert f"original: compactd recall {handle}" in out
    assert "saved " in out


def test_a_site_that_was_left_says_why(kept: Kept, run: Run) -> None:
    out = run("show", f"{SAMPLE}:3", *kept.options)[1]
    assert "passthrough-small\n     shorter than the configured least size" in out


def test_a_record_without_sites_says_so(kept: Kept, run: Run) -> None:
    assert "nothing in it is a tool input" in run("show", f"{SAMPLE}:1", *kept.options)[1]


@pytest.mark.parametrize(
    ("session", "message"),
    [
        pytest.param(f"{SAMPLE.name}:999", f"RECORD: need a line number from 1 to {LINES}, got 999", id="record"),
        pytest.param("messages.jsonl", "SESSION: need one session, 'messages.jsonl' fits 2: #", id="ambiguous"),
        pytest.param("none.jsonl", "SESSION: no session fits", id="none"),
        pytest.param("#77", "SESSION: no session fits", id="no such number"),
    ],
)
def test_what_is_no_one_session_is_wrong_use(kept: Kept, run: Run, session: str, message: str) -> None:
    code, out, err = run("show", session, *kept.options)
    assert (code, out) == (2, "")
    assert err.startswith(f"compactd: {message}")
    assert err.count("\n") == 1


def test_every_reason_has_its_words() -> None:
    reasons = {value for name, value in vars(base).items() if name.isupper() and isinstance(value, str)}
    reasons |= {records.NOT_JSON, records.NOT_UTF8, records.NOT_OBJECT, records.TOO_LONG, records.TOO_DEEP}
    reasons |= {records.NUL_RUN, records.BLANK, records.NO_RULES, UNSPLICED}
    assert reasons <= set(WHY)
