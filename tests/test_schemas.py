"""Compacted sessions of every format are still sessions of it, and nothing that readers go by has changed (P7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from planted_sessions import SESSIONS
from schemas import SCHEMAS, problems, records, skeleton
from support import SAMPLE_SESSIONS

from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.runs.oneshot import compact_file
from pipeline.settings import Settings

FAILURES = ["error: the gate is stuck"] * 3


def compacted(path: Path, folder: Path) -> bytes:
    target = folder / "small"
    compact_file(str(path), str(target), format="auto", settings=Settings())
    return target.read_bytes()


def format_of(path: Path) -> str:
    format_ = detect_bytes(path.read_bytes()[:HEAD_BYTES], path.name)
    assert format_ is not None
    return format_


@pytest.mark.parametrize("path", SAMPLE_SESSIONS, ids=lambda path: path.name[:12])
def test_samples_stay_what_they_are(path: Path, tmp_path: Path) -> None:
    format_ = format_of(path)
    source, output = path.read_bytes(), compacted(path, tmp_path)
    assert len(output) < len(source)
    assert problems(format_, source) == []
    assert problems(format_, output) == []
    assert skeleton(format_, output) == skeleton(format_, source)


def test_there_is_a_schema_for_each_format() -> None:
    assert set(SCHEMAS) == set(FORMATS) - {UNKNOWN}


@pytest.mark.parametrize("name", SESSIONS)
def test_planted_sessions_stay_what_they_are(name: str, tmp_path: Path) -> None:
    file_name, build = SESSIONS[name]
    path = tmp_path / file_name
    path.write_bytes(build(FAILURES))
    format_ = name.partition(",")[0]
    output = compacted(path, tmp_path)
    assert skeleton(format_, output) == skeleton(format_, path.read_bytes())
    assert len(output) < path.stat().st_size


def first_with(path: tuple[str | int, ...], items: list[Any]) -> Any:
    """The first record that has something at a path."""
    for item in items:
        value = item
        try:
            for step in path:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            continue
        return item
    raise AssertionError(f"need a record with {path}")


def changed(format_: str, data: bytes, path: tuple[str | int, ...], new: Any) -> bytes:
    """A session with one value changed, or taken out when `new` is the word for that."""
    items = list(records(format_, data))
    owner = first_with(path, items)
    for step in path[:-1]:
        owner = owner[step]
    if new == GONE:
        del owner[path[-1]]
    else:
        owner[path[-1]] = new
    return b"\n".join(item if isinstance(item, bytes) else json.dumps(item).encode() for item in items)


GONE = "(gone)"
CONTENT = ("message", "content")
MUTATIONS = [
    ("claude-code", ("uuid",), GONE),
    ("claude-code", ("message", "content"), None),
    ("claude-code", (*CONTENT, 0, "input"), "{}"),
    ("claude-code", (*CONTENT, 0, "tool_use_id"), GONE),
    ("claude-code", (*CONTENT, 0, "content"), {"text": "x"}),
    ("claude-code", ("toolUseResult",), None),
    ("claude-code", ("toolUseResult", "stdout"), None),
    ("claude-code", ("toolUseResult", "structuredPatch"), "one line"),
    ("claude-code", ("toolUseResult", "file", "content"), ["a"]),
    ("openviking", ("parts",), GONE),
    ("openviking", ("parts", 1, "tool_input"), "a summary"),
    ("openviking", ("parts", 1, "tool_output"), None),
    ("openclaw", ("message", "content", 1, "arguments"), "{}"),
    ("openclaw", ("message", "toolName"), GONE),
    ("openclaw", ("message", "details", "aggregated"), None),
    ("codex", ("payload", "arguments"), "{cut"),
    ("codex", ("payload", "arguments"), {"command": "ls"}),
    ("codex", ("payload", "output"), '{"output": cut'),
    ("codex", ("payload",), GONE),
    ("chat", ("tool_calls", 0, "function", "arguments"), "{cut"),
    ("chat", ("tool_call_id",), GONE),
    ("chat", ("content",), {"cut": 3}),
    ("gemini", ("messages", 0, "id"), GONE),
    ("gemini", ("messages",), {}),
    ("gemini-jsonl", ("toolCalls", 0, "args"), "cut"),
    ("gemini-jsonl", ("toolCalls", 0, "result"), "cut"),
]


@pytest.mark.parametrize(("format_", "path", "new"), MUTATIONS)
def test_a_damaged_session_is_found_out(format_: str, path: tuple[str | int, ...], new: Any) -> None:
    """The schemas can fail: without this they would prove nothing."""
    found = []
    for source in SAMPLE_SESSIONS:
        if format_of(source) == format_:
            data = source.read_bytes()
            try:
                broken = changed(format_, data, path, new)
            except AssertionError:
                continue
            found.append(problems(format_, broken))
    assert [] not in found
    assert found
