"""Each cut of a tool input is a note and a plan of its own; an input without one has a note with the reason."""

from __future__ import annotations

import pytest
from support import call, log_lines

from pipeline.formats.registry import FORMATS
from pipeline.records import Note, Plan, Record
from pipeline.settings import Settings, ToolInputSettings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.compact_input import CompactInput, input_shape
from pipeline.stages.decode import Decode


def decisions(name: str, tool_input: object, settings: ToolInputSettings) -> list[tuple[Note, Plan | None]]:
    batch = Batch(0, new_state(FORMATS["claude-code"], Settings()), [Record(1, 0, call(1, name, tool_input))])
    (record,) = CompactInput(settings)(Decode()(batch)).records
    return [decision for site in record.sites for decision in site.decisions]


def test_each_long_string_of_an_edit_has_its_plan() -> None:
    old, new = log_lines(30, 1), log_lines(30, 2)
    tool_input = {"file_path": "/a.py", "old_string": old, "new_string": new}
    found = decisions("Edit", tool_input, ToolInputSettings())
    assert [(note.stage, note.tool, note.rule, note.reason, note.applied) for note, _ in found] == [
        ("tool-input", "Edit", "edit-summary", "", True)
    ] * 2
    plans = [plan for _, plan in found if plan is not None]
    assert [plan.path[-2:] for plan in plans] == [("input", "old_string"), ("input", "new_string")]
    assert [(plan.old, plan.new) for plan in plans] == [(old, old[:150]), (new, new[:150])]


@pytest.mark.parametrize(
    ("tool_input", "settings", "reason"),
    [
        pytest.param({"file_path": "/a.py", "content": "x"}, ToolInputSettings(), "passthrough-small", id="small"),
        pytest.param(
            {"file_path": "/a.py", "content": "x" * 900},
            ToolInputSettings(enabled=False),
            "passthrough-policy",
            id="off",
        ),
        pytest.param(
            {"content": "x" * 900 + "[copy, 600 bytes: compactd recall 0123456789abcdef]"},
            ToolInputSettings(),
            "passthrough-compacted",
            id="marked",
        ),
        pytest.param(
            {"content": "x" * 900}, ToolInputSettings(policies={"Write": "full"}), "passthrough-small", id="policy"
        ),
    ],
)
def test_an_input_that_stays_has_its_reason(
    tool_input: dict[str, str], settings: ToolInputSettings, reason: str
) -> None:
    assert [
        (note.rule, note.reason, note.applied, plan) for note, plan in decisions("Write", tool_input, settings)
    ] == [("", reason, False, None)]


def test_the_shape_is_the_formats_own_unless_the_settings_name_one() -> None:
    formats = (FORMATS["claude-code"], FORMATS["openviking"])
    assert [input_shape(format_, ToolInputSettings()) for format_ in formats] == ["in-place", "summary"]
    assert {input_shape(format_, ToolInputSettings(shape="summary")) for format_ in formats} == {"summary"}
