"""Values of types that no writer puts in a place: they pass, and neither the session nor the run stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from home import Home
from support import lines, session

from pipeline.formats.detect import detect

LONG = "x" * 900
MIRRORS: list[Any] = [
    {"filenames": LONG},
    {"lines": LONG},
    {"structuredContent": {"lines": LONG}},
    {"structuredPatch": [{"lines": LONG}]},
    {"originalFile": [None]},
    {"originalFile": [LONG]},
    {"oldString": {"a": LONG}},
    {"newString": [LONG, 1]},
    {"stdout": [LONG], "stderr": {"a": LONG}},
    {"file": {"content": [LONG], "base64": 3}},
    {"newTodos": LONG, "questions": {"a": LONG}, "prompt": [1] * 900, "plan": 7},
    {"content": {"a": LONG}},
]


@pytest.mark.parametrize("mirror", MIRRORS, ids=str)
def test_a_hidden_field_of_another_type_stops_nothing(tmp_path: Path, mirror: Any) -> None:
    home = Home(tmp_path)
    record = json.dumps({"sessionId": "s", "type": "user", "uuid": "u", "toolUseResult": mirror}).encode()
    home.write("a.jsonl", lines(session(1)))
    home.write("b.jsonl", lines([record, record]))
    assert home.backfill().failed == []
    home.check("a.jsonl", "b.jsonl")


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":"message","message":{"role":[]}}',
        b'{"type":"message","message":{"role":{}}}',
        b'{"role":[],"content":""}',
        b'{"type":[],"sessionId":1}',
        b'{"messages":[{"role":{}}]}',
    ],
)
def test_a_format_is_told_or_not_of_any_types(record: bytes) -> None:
    assert detect([record]) is None
