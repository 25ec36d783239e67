"""Every known format is there under its own name, and those without rules have no sites."""

from __future__ import annotations

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.registry import FORMATS, UNKNOWN


def test_names_are_those_of_the_command_line_and_unknown() -> None:
    assert list(FORMATS) == [
        "claude-code",
        "openviking",
        "openclaw",
        "codex",
        "chat",
        "gemini",
        "gemini-jsonl",
        UNKNOWN,
    ]
    assert all(FORMATS[name].name == name for name in FORMATS)
    assert [name for name in FORMATS if FORMATS[name].whole_document] == ["gemini"]
    assert [name for name in FORMATS if FORMATS[name].summary_inputs] == ["openviking"]


@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].compacts])
def test_a_format_without_rules_has_no_sites(name: str) -> None:
    record = {"role": "tool", "content": "x" * 5000, "timestamp": "2026-01-05T08:00:00.000Z"}
    assert FORMATS[name].sites({**record}, Pairing()) == []
    assert FORMATS[name].day({**record}) == ""
