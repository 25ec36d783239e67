"""Tool classes and contexts: what is known from a tool's name and input, whole or compacted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import Json, Where
from pipeline.rules.base import ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.marks import cut_mark, place
from pipeline.rules.tool_classes import context_of, edit_kind, file_kind, tool_class
from pipeline.rules.tool_input import InputCut, Shape, compact_tool_input, plan_input


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bash", "shell"),
        ("bash", "shell"),
        ("BASH", "shell"),
        ("exec_command", "shell"),
        ("Write", "write"),
        ("write_file", "write"),
        ("MultiEdit", "edit"),
        ("apply_patch", "edit"),
        ("replace", "edit"),
        ("READ", "read"),
        ("Grep", "search"),
        ("Glob", "list"),
        ("WebFetch", "fetch"),
        ("google_web_search", "web_search"),
        ("Task", "agent"),
        ("TodoWrite", "task"),
        ("NotebookEdit", "notebook"),
        ("Skill", "skill"),
        ("mcp__tracker__list_issues", "mcp"),
        ("tracker__LIST", "mcp"),
        ("mcporter", "mcp"),
        ("__init__", ""),
        ("AskUserQuestion", ""),
        ("my_tool", ""),
        ("", ""),
    ],
)
def test_a_name_has_its_class(name: str, expected: str) -> None:
    assert tool_class(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Write", "write"), ("str_replace", "edit"), ("apply_patch", "patch"), ("NotebookEdit", "notebook"), ("Bash", "")],
)
def test_a_name_tells_how_it_edits(name: str, expected: str) -> None:
    assert edit_kind(name) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b.py", "source"),
        ("C:\\a\\b.TSX", "source"),
        ("error.ts", "source"),
        ("build.log", "log"),
        ("build.log.2", "log"),
        ("out.txt", "log"),
        ("README.md", "other"),
        ("data.json", "other"),
        ("Makefile", "other"),
        ("a.d/x", "other"),
        ("py", "other"),
        ("", "other"),
    ],
)
def test_a_suffix_tells_source_from_logs(path: str, expected: str) -> None:
    assert file_kind(path) == expected


@pytest.mark.parametrize(
    ("name", "tool_input", "expected"),
    [
        pytest.param("Bash", {"command": "ls -l"}, ToolContext(command="ls -l", tool_class="shell"), id="string"),
        pytest.param("exec_command", {"cmd": "ls"}, ToolContext(command="ls", tool_class="shell"), id="cmd"),
        pytest.param(
            "shell", {"command": ["sh", "-c", "ls"]}, ToolContext(command="ls", tool_class="shell"), id="script"
        ),
        pytest.param("shell", {"command": ["git", "st"]}, ToolContext(command="git st", tool_class="shell"), id="list"),
        pytest.param("shell", '{"command":["git","st"]}', ToolContext(command="git st", tool_class="shell"), id="JSON"),
        pytest.param("bash", "ls", ToolContext(command="ls", tool_class="shell"), id="bare command"),
        pytest.param("Bash", None, ToolContext(tool_class="shell"), id="nothing"),
        pytest.param("Read", {"file_path": "/a.py"}, ToolContext(path="/a.py", tool_class="read"), id="read"),
        pytest.param("edit", {"path": "a", "oldText": "x"}, ToolContext(path="a", tool_class="edit"), id="edit"),
        pytest.param("Grep", {"path": 3}, ToolContext(tool_class="search"), id="path of a wrong type"),
        pytest.param(
            "apply_patch",
            "*** Begin Patch\n*** Update File: src/a.py\n",
            ToolContext(path="src/a.py", tool_class="edit"),
            id="bare patch",
        ),
        pytest.param(
            "Bash",
            {"command": "cat > a.sh <<'X'\nnpm test\nX\nls"},
            ToolContext(command="cat > a.sh <<'X'\n\nX\nls", tool_class="shell"),
            id="a body is no command",
        ),
        pytest.param("Bash", {"command": "x" * 5000}, ToolContext(command="x" * 2000, tool_class="shell"), id="long"),
    ],
)
def test_a_context_says_command_path_and_class(name: str, tool_input: Json, expected: ToolContext) -> None:
    assert context_of(name, tool_input) == expected


def test_a_context_takes_flags_and_keeps_the_input_on_request() -> None:
    fields: Json = {"command": "ls"}
    assert context_of("Bash", fields, exit_code=2, is_error=True, keep_input=True) == ToolContext(
        tool_input={"command": "ls"}, command="ls", exit_code=2, is_error=True, tool_class="shell"
    )


def test_without_a_cap_a_command_is_cut_at_4096() -> None:
    assert len(context_of("Bash", {"command": "x" * 9000}, max_chars=0).command) == 4096


def applied(value: Json, cuts: list[InputCut], *, marked: bool) -> Json:
    """The input after its cuts, as a session file holds it."""
    result: Json = json.loads(json.dumps(value))
    for cut in cuts:
        new = cut.new
        if marked and cut.where is not Where.NONE:
            new = place(new, cut_mark(cut.lost_lines, cut.lost_bytes, "0" * 16), cut.where)
        if not cut.path:
            result = new
            continue
        holder: Json = result
        for key in cut.path[:-1]:
            holder = holder[key]  # type: ignore[index]  # test data
        holder[cut.path[-1]] = new  # type: ignore[index]  # test data
    return result


LINES = st.lists(
    st.sampled_from(
        [
            "cat > f <<'A'",
            "cat <<B; ls <<-A",
            "A",
            "\tA",
            "B",
            "npm test && ls",
            "x" * 90,
            "é" * 130,
            "echo $((1<<n))",
            "",
        ]
    ),
    max_size=14,
).map("\n".join)
COMMANDS = st.one_of(
    LINES.map(lambda text: {"command": text, "description": "why"}),
    LINES.map(lambda text: {"cmd": text, "workdir": "w" * 300}),
    LINES.map(lambda text: {"command": ["bash", "-lc", text]}),
    st.lists(LINES, max_size=4).map(lambda words: {"command": words}),
    LINES,
)


@given(
    COMMANDS,
    st.sampled_from(["summary", "in-place"]),
    st.sampled_from(["summary", "full"]),
    st.sampled_from([0, 40, 150, 260, 600]),
    st.booleans(),
)
@settings(max_examples=300)
def test_each_form_of_a_command_gives_the_same_context(
    tool_input: Json, shape: Shape, policy: str, max_chars: int, marked: bool
) -> None:
    cuts = plan_input("Bash", tool_input, shape=shape, max_chars=max_chars, policies={"Bash": policy})
    compacted = applied(tool_input, cuts, marked=marked)
    known = [context_of("Bash", value, max_chars=max_chars) for value in (compacted, tool_input)]
    assert simple_commands(known[0].command) == simple_commands(known[1].command)
    assert replace(known[0], command="") == replace(known[1], command="")


PATCHES = st.lists(
    st.sampled_from(["*** Update File: a/b.py", "*** Add File: " + "c" * 250, "-old", "+" + "n" * 80]),
    max_size=12,
).map(lambda lines: "\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


@given(
    st.one_of(
        PATCHES,
        PATCHES.map(lambda text: {"input": text}),
        st.text().map(lambda text: {"path": "p" * 400, "old_str": text * 20, "new_str": text * 9, "why": text}),
        st.text(min_size=1).map(lambda text: {"why": text, "file_path": "a.md", "content": text * 300}),
    ),
    st.sampled_from(["summary", "in-place"]),
    st.sampled_from([0, 600, 2000]),
)
def test_each_form_of_an_edit_gives_the_same_context(tool_input: Json, shape: Shape, max_chars: int) -> None:
    cuts = plan_input("apply_patch", tool_input, shape=shape, max_chars=max_chars, policies={})
    context = context_of("apply_patch", tool_input, max_chars=max_chars)
    assert context_of("apply_patch", applied(tool_input, cuts, marked=True), max_chars=max_chars) == context


def test_a_library_summary_gives_the_same_context() -> None:
    tool_input: Json = {"command": "cat > f <<E\n" + "line\n" * 900 + "E\nnpm test " + "x" * 3000, "description": "d"}
    assert context_of("Bash", compact_tool_input("Bash", tool_input)) == context_of("Bash", tool_input)
