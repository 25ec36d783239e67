"""Tool inputs: summaries, texts to inline, and the cuts planned for session files."""

from __future__ import annotations

import copy
import json
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import Json, Path, Where
from pipeline.rules.marks import MARK_KEY, cut_mark, holds_mark_value, place, utf8_bytes
from pipeline.rules.tool_input import (
    TOOL_INPUT_POLICIES,
    InputCut,
    Shape,
    compact_tool_input,
    compact_tool_input_text,
    plan_input,
)

LONG = "".join(f"line {number:05}: some words\n" for number in range(100))  # 2300 characters
CONTENT = "0123456789" * 7 + "\n" + "x" * 29 + "\n"  # 102 characters, 2 lines
MARK = cut_mark(3, 300, "0123456789abcdef")


def body(count: int) -> str:
    return "\n".join("body" for _ in range(count))


@pytest.mark.parametrize(
    ("tool", "tool_input", "expected"),
    [
        pytest.param(
            "Write",
            {"file_path": "/a.py", "content": "x" * 71 + "\n" + "y" * 7128},
            {
                "file_path": "/a.py",
                "content_summary": "2 lines, 7200 chars",
                "content_preview": "x" * 71 + "\n" + "y" * 128,
            },
            id="Write",
        ),
        pytest.param(
            "write_file",
            {"path": "a", "content": LONG, "mode": "w"},
            {"path": "a", "content_summary": "100 lines, 2300 chars", "content_preview": LONG[:200]},
            id="write_file, its own path key",
        ),
        pytest.param(
            "Edit",
            {"replace_all": True, "file_path": "/a", "old_string": "o" * 3000, "new_string": "n" * 500},
            {
                "file_path": "/a",
                "replace_all": True,
                "old_summary": "3000 chars",
                "old_preview": "o" * 150,
                "new_summary": "500 chars",
                "new_preview": "n" * 150,
            },
            id="Edit",
        ),
        pytest.param(
            "edit",
            {"path": "a", "oldText": "o" * 300, "newText": ""},
            {
                "path": "a",
                "old_summary": "300 chars",
                "old_preview": "o" * 150,
                "new_summary": "0 chars",
                "new_preview": "",
            },
            id="edit, other keys",
        ),
        pytest.param(
            "str_replace_editor",
            {"command": "create", "path": "a", "file_text": LONG},
            {
                "path": "a",
                "command": "create",
                "content_summary": "100 lines, 2300 chars",
                "content_preview": LONG[:200],
            },
            id="one editor that also writes",
        ),
        pytest.param(
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "o" * 400, "new_string": "n"}, {"old_string": "a"}]},
            {
                "file_path": "a",
                "edits": [
                    {
                        "old_summary": "400 chars",
                        "old_preview": "o" * 150,
                        "new_summary": "1 chars",
                        "new_preview": "n",
                    },
                    {"old_string": "a"},
                ],
            },
            id="MultiEdit, small ones as they are",
        ),
        pytest.param(
            "NotebookEdit",
            {"notebook_path": "a.ipynb", "cell_id": "c1", "new_source": "n" * 900, "edit_mode": "replace"},
            {
                "notebook_path": "a.ipynb",
                "cell_id": "c1",
                "edit_mode": "replace",
                "new_summary": "900 chars",
                "new_preview": "n" * 150,
            },
            id="NotebookEdit",
        ),
        pytest.param(
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Update File: a\n"
                + "+x\n" * 300
                + "*** Add File: b\n+y\n*** Move to: c\n*** End Patch"
            },
            {
                "input": "*** Begin Patch\n*** Update File: a\n"
                + "+x\n" * 55
                + "…[+782 chars]\n*** Add File: b\n*** Move to: c"
            },
            id="patch, its later headers kept",
        ),
        pytest.param("Bash", {"command": "ls", "description": "List"}, {"command": "ls"}, id="Bash"),
        pytest.param(
            "exec_command",
            {"cmd": "x" * 3000, "workdir": "/"},
            {"cmd": "x" * 2000 + "…[+1000 chars]"},
            id="cmd, capped",
        ),
        pytest.param(
            "shell",
            {"command": ["bash", "-lc", f"cat > f <<'E'\n{body(100)}\nE\nls"], "timeout_ms": 5},
            {"command": ["bash", "-lc", f"cat > f <<'E'\n{body(40)}\n…[+299 chars]\nE\nls"]},
            id="a script in a list",
        ),
        pytest.param(
            "Bash",
            {"command": f"cat <<-A; cat <<'BC'\n{body(60)}\n\tA\n{body(50)}\nBC\nls"},
            {"command": f"cat <<-A; cat <<'BC'\n{body(40)}\n…[+99 chars]\n\tA\n{body(40)}\n…[+49 chars]\nBC\nls"},
            id="several here-documents",
        ),
        pytest.param(
            "TaskUpdate",
            {"taskId": "1", "status": "done", "description": "d" * 50},
            {"status": "done", "taskId": "1"},
            id="TaskUpdate",
        ),
        pytest.param(
            "TaskCreate",
            {"subject": "s" * 2100, "activeForm": "a"},
            {"subject": "s" * 2000 + "…[+100 chars]"},
            id="Task",
        ),
        pytest.param(
            "Grep",
            {"pattern": "p" * 2500, "n": [1, "q" * 2500]},
            {"pattern": "p" * 2000 + "…[+500 chars]", "n": [1, "q" * 2000 + "…[+500 chars]"]},
            id="full, capped",
        ),
        pytest.param("mcp__x__y", ["z" * 2050], ["z" * 2000 + "…[+50 chars]"], id="a list"),
        pytest.param("apply_patch", "*** Begin Patch\n" + "y" * 400, "*** Begin Patch\n…[+400 chars]", id="bare patch"),
        pytest.param("bash", f"cat <<E\n{body(80)}\nE", f"cat <<E\n{body(40)}\n…[+199 chars]\nE", id="bare command"),
        pytest.param("think", "t" * 2100, "t" * 2000 + "…[+100 chars]", id="bare text"),
    ],
)
def test_an_input_becomes_its_summary(tool: str, tool_input: Json, expected: Json) -> None:
    before = copy.deepcopy(tool_input)
    result = compact_tool_input(tool, tool_input)
    assert result == expected
    assert type(result) is type(tool_input)
    assert tool_input == before
    assert list(result) == list(expected) if isinstance(expected, dict) and isinstance(result, dict) else True


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        pytest.param("Write", {"file_path": "a", "content": CONTENT}, id="a short file"),
        pytest.param("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, id="a short edit"),
        pytest.param("Bash", {"command": "ls"}, id="only a command"),
        pytest.param("Read", {"file_path": "a", "limit": 5}, id="full"),
        pytest.param("Write", {"file_path": "a", "content": f"{LONG}\n{MARK}"}, id="a mark"),
        pytest.param("Write", {"file_path": "a", "content": {"x": [1]}}, id="content that is no text"),
        pytest.param("TaskOutput", {"task_id": "1", "block": True}, id="a shell tool without command"),
        pytest.param("Bash", {}, id="empty"),
        pytest.param("Bash", None, id="null"),
        pytest.param("Bash", 7, id="a number"),
        pytest.param("Bash", "echo '[' {", id="a string that is no JSON"),
        pytest.param("Bash", '{"command":"ls"}', id="JSON text"),
        pytest.param("AskUserQuestion", "q" * 2000, id="just short enough"),
    ],
)
def test_what_would_not_shrink_is_the_input_itself(tool: str, tool_input: Json) -> None:
    assert compact_tool_input(tool, tool_input) is tool_input
    for shape in SHAPES:
        assert plan_input(tool, tool_input, shape=shape, max_chars=2000, policies={}) == []


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_text_keeps_its_style(indent: int | str | None, separators: tuple[str, str], ascii_only: bool) -> None:
    if indent is not None:
        separators = (",", ": ")

    def dumps(value: Json) -> str:
        return json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only)

    summary: Json = {"path": "é", "content_summary": "1 lines, 900 chars", "content_preview": "é" * 200}
    assert compact_tool_input("write", dumps({"path": "é", "content": "é" * 900})) == dumps(summary)


def test_json_text_that_cannot_be_said_again_stays() -> None:
    text = json.dumps({"a": "x" * 3000}).replace("}", ', "limit": 1e400}')
    assert compact_tool_input("Read", text) is text
    assert plan_input("Read", text, shape="in-place", max_chars=2000, policies={}) == []


def test_zero_means_no_cap() -> None:
    assert compact_tool_input("Bash", {"command": "x" * 9000, "why": "y"}, max_chars=0) == {"command": "x" * 9000}


def test_a_low_cap_holds_for_previews() -> None:
    assert compact_tool_input("Write", {"path": "a", "content": "x" * 900}, max_chars=20) == {
        "path": "a",
        "content_summary": "1 lines, 900 chars",
        "content_preview": "x" * 20,
    }


@pytest.mark.parametrize(
    ("tool", "tool_input", "max_chars", "expected"),
    [
        pytest.param("Bash", {"command": "ls", "why": "é"}, 2000, '{\n  "command": "ls"\n}', id="pretty"),
        pytest.param("Read", {"path": "é"}, 2000, '{\n  "path": "é"\n}', id="raw UTF-8"),
        pytest.param("Read", {"a": ["x" * 40] * 3}, 30, '{\n  "a": [\n    "xxxxxxxxxxxxxx…[+129 chars]', id="capped"),
        pytest.param("bash", "ls", 2000, "ls", id="string"),
        pytest.param("Read", "r" * 50, 30, "r" * 30 + "…[+20 chars]", id="string, capped"),
        pytest.param("Read", {}, 2000, "{}", id="empty"),
        pytest.param("Read", None, 2000, "null", id="null"),
    ],
)
def test_text_to_inline(tool: str, tool_input: Json, max_chars: int, expected: str) -> None:
    assert compact_tool_input_text(tool, tool_input, max_chars=max_chars) == expected


def test_a_value_of_any_depth_can_be_inlined() -> None:
    value: Json = "x"
    for _ in range(20_000):
        value = {"k": value}
    assert "…" in compact_tool_input_text("Read", value, max_chars=0)


def test_the_table_of_policies_cannot_be_changed() -> None:
    assert TOOL_INPUT_POLICIES["Write"] == TOOL_INPUT_POLICIES["exec_command"] == "summary"
    assert TOOL_INPUT_POLICIES["Read"] == TOOL_INPUT_POLICIES["process"] == TOOL_INPUT_POLICIES["TodoWrite"] == "full"
    with pytest.raises(TypeError):
        TOOL_INPUT_POLICIES["Read"] = "summary"  # type: ignore[index]  # what is tested


# --- plans -----------------------------------------------------------------------------------------------------------

SHAPES: tuple[Literal["summary", "in-place"], ...] = ("summary", "in-place")
Row = tuple[Path, Json, Where, str]


def rows(tool: str, tool_input: Json, shape: Shape, policies: dict[str, str] | None = None) -> list[Row]:
    cuts = plan_input(tool, tool_input, shape=shape, max_chars=2000, policies=policies or {})
    return [(cut.path, cut.new, cut.where, cut.rule) for cut in cuts]


@pytest.mark.parametrize(
    ("tool", "tool_input", "expected"),
    [
        pytest.param(
            "Write",
            {"file_path": "a", "content": LONG, "note": "n", "size": 3},
            [
                (("content",), LONG[:200], Where.LAST_LINE, "write-summary"),
                (("note",), "", Where.NONE, "write-summary"),
            ],
            id="Write",
        ),
        pytest.param(
            "Write",
            {"file_path": "a", "content": "x" * 300},
            [(("content",), "x" * 200 + "…[+100 chars]", Where.NONE, "write-summary")],
            id="Write that loses too little for a mark",
        ),
        pytest.param(
            "Edit",
            {"file_path": "a", "old_string": "o" * 500, "new_string": "n" * 150, "replace_all": False},
            [(("old_string",), "o" * 150, Where.LAST_LINE, "edit-summary")],
            id="Edit",
        ),
        pytest.param(
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "o" * 500, "new_string": "n"}, {"new_string": "n" * 400}]},
            [
                (("edits", 0, "old_string"), "o" * 150, Where.LAST_LINE, "edit-summary"),
                (("edits", 1, "new_string"), "n" * 150, Where.LAST_LINE, "edit-summary"),
            ],
            id="MultiEdit",
        ),
        pytest.param(
            "Bash",
            {"command": f"cat <<E\n{body(200)}\nE", "description": "d" * 160, "timeout": 5},
            [
                (("command",), f"cat <<E\n{body(40)}\n…[+799 chars]\nE", Where.LAST_LINE, "heredoc"),
                (("description",), "", Where.WHOLE, "shell-command"),
            ],
            id="Bash",
        ),
        pytest.param(
            "shell",
            {"workdir": "/w", "command": ["bash", "-lc", "x" * 2500]},
            [
                (("workdir",), "", Where.NONE, "shell-command"),
                (("command", 2), "x" * 2000 + "…[+500 chars]", Where.LAST_LINE, "cap"),
            ],
            id="a command list",
        ),
        pytest.param(
            "TaskCreate",
            {"subject": "s", "description": "d" * 500, "metadata": {"a": "b"}},
            [(("description",), "", Where.WHOLE, "task-fields")],
            id="TaskCreate",
        ),
        pytest.param(
            "apply_patch",
            {"input": "*** Begin Patch\n" + "+y\n" * 300},
            [(("input",), "*** Begin Patch\n" + "+y\n" * 61 + "…[+717 chars]", Where.DIFF_HEAD, "edit-summary")],
            id="apply_patch",
        ),
        pytest.param(
            "WebFetch",
            {"a": {"b": [0, "x" * 2500]}, "url": "u" * 2010},
            [(("a", "b", 1), "x" * 2000 + "…[+500 chars]", Where.LAST_LINE, "cap")],
            id="full",
        ),
        pytest.param("Write", {"file_path": "a", "content": f"{LONG}\n{MARK}"}, [], id="a leaf with a mark"),
        pytest.param("Write", {"path": "a", "content_preview": "x" * 200, MARK_KEY: MARK}, [], id="a summary"),
        pytest.param(
            "exec_command",
            json.dumps({"cmd": f"cat <<E\n{body(200)}\nE", "workdir": "/"}),
            [
                (
                    (),
                    json.dumps({"cmd": f"cat <<E\n{body(40)}\n…[+799 chars]\nE", "workdir": ""}, ensure_ascii=False),
                    Where.JSON_MEMBER,
                    "heredoc",
                )
            ],
            id="JSON text",
        ),
        pytest.param(
            "bash",
            "apply_patch <<E\n*** Begin Patch\n" + "+y\n" * 300 + "E",
            [
                (
                    (),
                    "apply_patch <<E\n*** Begin Patch\n" + "+y\n" * 61 + "+…[+715 chars]\nE",
                    Where.LAST_LINE,
                    "heredoc",
                )
            ],
            id="a bare command with a patch",
        ),
    ],
)
def test_in_place_keeps_keys_and_types(tool: str, tool_input: Json, expected: list[Row]) -> None:
    assert rows(tool, tool_input, "in-place") == expected


@pytest.mark.parametrize(
    ("tool", "tool_input", "expected"),
    [
        pytest.param(
            "Write",
            {"file_path": "a", "content": LONG},
            (
                {"file_path": "a", "content_summary": "100 lines, 2300 chars", "content_preview": LONG[:200]},
                Where.JSON_MEMBER,
                "write-summary",
            ),
            id="Write",
        ),
        pytest.param(
            "Bash",
            {"command": "ls", "description": "d"},
            ({"command": "ls"}, Where.NONE, "shell-command"),
            id="too little for a mark",
        ),
        pytest.param(
            "think",
            ["x" * 2500],
            (["x" * 2000 + "…[+500 chars]"], Where.JSON_ELEMENT, "cap"),
            id="a list",
        ),
        pytest.param(
            "write",
            json.dumps({"path": "a", "content": LONG}),
            (
                json.dumps({"path": "a", "content_summary": "100 lines, 2300 chars", "content_preview": LONG[:200]}),
                Where.JSON_MEMBER,
                "write-summary",
            ),
            id="JSON text",
        ),
    ],
)
def test_summary_replaces_the_input(tool: str, tool_input: Json, expected: tuple[Json, Where, str]) -> None:
    assert rows(tool, tool_input, "summary") == [((), *expected)]


def test_a_cut_says_how_much_was_lost() -> None:
    (cut,) = plan_input("write", {"path": "a", "content": LONG}, shape="in-place", max_chars=2000, policies={})
    assert (cut.lost_lines, cut.lost_bytes) == (100 - 9, 2100)
    (cut,) = plan_input("write", {"path": "a", "content": "é" * 999}, shape="in-place", max_chars=0, policies={})
    assert (cut.lost_lines, cut.lost_bytes) == (0, 2 * 799)


@pytest.mark.parametrize("name", ["my_tool", "MY_TOOL"])
def test_policies_come_before_the_table(name: str) -> None:
    tool_input: Json = {"path": "p" * 300, "text": "t" * 600, "deep": ["t" * 600]}
    policies = {"my_tool": "summary", "Write": "full"}
    assert rows(name, tool_input, "in-place", policies) == [
        (("text",), "t" * 200 + "…[+400 chars]", Where.LAST_LINE, "cap"),
        (("deep", 0), "t" * 200 + "…[+400 chars]", Where.LAST_LINE, "cap"),
    ]
    assert rows(name, tool_input, "summary", policies) == [
        (
            (),
            {"path": "p" * 300, "text": "t" * 200 + "…[+400 chars]", "deep": ["t" * 200 + "…[+400 chars]"]},
            Where.JSON_MEMBER,
            "cap",
        )
    ]
    assert rows("Write", {"path": "a", "content": "c" * 1900}, "in-place", policies) == []


def test_a_lone_surrogate_is_counted() -> None:
    for shape in SHAPES:
        (cut,) = plan_input(
            "write", {"path": "\udc00", "content": "\ud800" * 900}, shape=shape, max_chars=0, policies={}
        )
        assert cut.lost_bytes > 1900


def test_depth_is_no_problem() -> None:
    value: Json = "x" * 3000
    for _ in range(20_000):
        value = [value]
    (cut,) = plan_input("Read", {"a": value}, shape="in-place", max_chars=2000, policies={})
    assert len(cut.path) == 20_001
    assert len(plan_input("Read", {"a": value}, shape="summary", max_chars=2000, policies={})) == 1
    text = '{"a": ' + "[" * 20_000 + "]" * 20_000 + "}"
    assert len(plan_input("Read", text, shape="in-place", max_chars=2000, policies={})) == 1


# --- properties ------------------------------------------------------------------------------------------------------

TOOLS = st.sampled_from(
    ["Write", "edit", "MultiEdit", "NotebookEdit", "apply_patch", "Bash", "shell", "TaskCreate", "Read", "my_tool", "x"]
)
POLICIES = {"my_tool": "summary"}
PIECES = st.sampled_from(
    [
        "a",
        "x" * 70,
        "é" * 30,
        "\n",
        "\n",
        '"\\',
        "\ud800",
        "\u2028",
        "…[+5 chars]",
        "<<E\n",
        "<<'F' <<-E\n",
        "\nE\n",
        "\nF\n",
        "*** Begin Patch\n",
        "\n*** Update File: " + "f" * 40 + "\n",
        "diff --git a b",
        "…",
        MARK,
        "{",
        "[1, ",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
KEYS = st.sampled_from(
    [
        "file_path",
        "path",
        "content",
        "old_string",
        "newText",
        "new_source",
        "input",
        "command",
        "cmd",
        "replace_all",
        "description",
        "subject",
        "status",
        "content_summary",
        "edits",
        MARK_KEY,
    ]
)
LEAVES = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
ITEMS = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3), max_leaves=5
)
OBJECTS = st.dictionaries(KEYS, TEXTS | ITEMS, max_size=5)
INPUTS: st.SearchStrategy[Json] = st.one_of(
    OBJECTS,
    OBJECTS.map(json.dumps),
    OBJECTS.map(lambda value: json.dumps(value, indent=2, ensure_ascii=False)),
    TEXTS,
    ITEMS,
    TEXTS.map(lambda text: {"command": ["bash", "-lc", text]}),
)
CAPS = st.sampled_from([0, 1, 30, 160, 230, 2000])


def put(value: Json, path: Path, new: Json) -> Json:
    if not path:
        return new
    holder = value
    for key in path[:-1]:
        holder = holder[key]  # type: ignore[index]  # test data
    holder[path[-1]] = new  # type: ignore[index]  # test data
    return value


def marked(cut: InputCut) -> Json:
    if cut.where is Where.NONE:
        return cut.new
    return place(cut.new, cut_mark(cut.lost_lines, cut.lost_bytes, "0123456789abcdef"), cut.where)


def encoded(value: Json, *, ascii_only: bool = False) -> int:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    return utf8_bytes(text)


@given(TOOLS, INPUTS, st.sampled_from(SHAPES), CAPS)
@settings(max_examples=400, deadline=None)
def test_cuts_shrink_and_a_second_plan_has_none(tool: str, tool_input: Json, shape: Shape, max_chars: int) -> None:
    before = copy.deepcopy(tool_input)
    cuts = plan_input(tool, tool_input, shape=shape, max_chars=max_chars, policies=POLICIES)
    assert tool_input == before
    bare = copy.deepcopy(tool_input)
    full = copy.deepcopy(tool_input)
    for cut in cuts:
        assert not holds_mark_value(cut.old)
        assert encoded(marked(cut)) < encoded(cut.old)
        assert encoded(marked(cut), ascii_only=True) < encoded(cut.old, ascii_only=True)
        assert (cut.where is Where.NONE) == (cut.lost_bytes < 160)
        assert cut.lost_bytes > 0
        assert cut.lost_lines >= 0
        assert type(cut.new) is type(cut.old)
        bare = put(bare, cut.path, cut.new)
        full = put(full, cut.path, marked(cut))
    assert plan_input(tool, bare, shape=shape, max_chars=max_chars, policies=POLICIES) == []
    assert plan_input(tool, full, shape=shape, max_chars=max_chars, policies=POLICIES) == []


@given(TOOLS, INPUTS, CAPS)
@settings(max_examples=300, deadline=None)
def test_a_summary_is_smaller_of_the_same_type_and_final(tool: str, tool_input: Json, max_chars: int) -> None:
    before = copy.deepcopy(tool_input)
    result = compact_tool_input(tool, tool_input, max_chars=max_chars)
    assert tool_input == before
    assert type(result) is type(tool_input)
    assert result is tool_input or encoded(result) < encoded(tool_input)
    assert compact_tool_input(tool, result, max_chars=max_chars) == result
    text = compact_tool_input_text(tool, tool_input, max_chars=max_chars)
    assert max_chars == 0 or len(text) <= max_chars + 30


@given(TOOLS, OBJECTS, CAPS)
def test_in_place_keeps_every_key_and_what_is_no_string(tool: str, tool_input: dict[str, Json], max_chars: int) -> None:
    result = copy.deepcopy(tool_input)
    for cut in plan_input(tool, tool_input, shape="in-place", max_chars=max_chars, policies=POLICIES):
        assert isinstance(cut.old, str)
        put(result, cut.path, "")

    def skeleton(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: skeleton(item) for key, item in value.items()}
        if isinstance(value, list):
            return [skeleton(item) for item in value]
        return "" if isinstance(value, str) else value

    assert skeleton(result) == skeleton(tool_input)
