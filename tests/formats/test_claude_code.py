"""Where Claude Code records hold inputs, results and copies, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.claude_code import ClaudeCode
from pipeline.records import Site, Treat

LONG = "a line of a tool\n" * 40
OTHER = "what stands nowhere else\n" * 40
NUMBERED = "\n".join(f"{n:6}→line {n}" for n in range(60))
Value = Any


def sites_of(*records: Value) -> list[Site]:
    """The sites of the last record."""
    pairing = Pairing()
    sites: list[Site] = []
    for record in records:
        sites = ClaudeCode().sites(record, pairing)
    return sites


def places(sites: list[Site]) -> list[tuple[str, Treat]]:
    return [(".".join(map(str, site.path)), site.treat) for site in sites]


def use(name: str, tool_input: Value, call_id: str = "t1") -> Value:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}, "uuid": "u1"}


def answer(content: Value, mirror: Value = None, call_id: str = "t1", **more: Value) -> Value:
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}
    record: Value = {"type": "user", "message": {"role": "user", "content": [block]}, "uuid": "u2"}
    return record if mirror is None else {**record, "toolUseResult": mirror}


def progress(data: Value) -> Value:
    return {"type": "progress", "data": data, "parentToolUseID": "t1", "uuid": "u3"}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
TODOS = [{"content": "paint the doors", "status": "pending"}] * 9
NAMES = [f"/srv/shed/part{n}.py" for n in range(30)]
INNER = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": OTHER}]}, "uuid": "n1"}
NESTED = {**answer(LONG, {"stdout": LONG}), "uuid": "n2"}

MIRRORS = [
    ("a string that repeats the text", LONG, LONG, [("", Treat.CONTAINED)]),
    ("a string that differs", "short", "Error: " + LONG, [("", Treat.MIRROR)]),
    (
        "blocks of an MCP result",
        [{"type": "text", "text": LONG}],
        [{"type": "text", "text": LONG}, IMAGE],
        [("0.text", Treat.CONTAINED), ("1", Treat.IMAGE)],
    ),
    (
        "shell output, trimmed in the text",
        LONG.strip(),
        {"stdout": "\n" + LONG, "stderr": OTHER, "interrupted": False},
        [("stdout", Treat.CONTAINED), ("stderr", Treat.MIRROR)],
    ),
    ("empty output", "", {"stdout": "", "stderr": ""}, []),
    ("short output", "ok", {"stdout": "x" * 72, "stderr": "x" * 73}, [("stderr", Treat.MIRROR)]),
    (
        "an image on standard output",
        [IMAGE],
        {"stdout": "data:image/png;base64," + "A" * 4000, "isImage": True},
        [("stdout", Treat.IMAGE)],
    ),
    (
        "a file read",
        NUMBERED,
        {"type": "text", "file": {"filePath": "/srv/" + "a" * 90, "content": OTHER, "numLines": 9}},
        [("file.content", Treat.FILE)],
    ),
    (
        "an image read",
        [IMAGE],
        {"type": "image", "file": {"base64": "A" * 4000, "type": "image/png"}},
        [("file.base64", Treat.IMAGE)],
    ),
    (
        "a file written",
        "done",
        {"filePath": "/srv/a", "content": OTHER, "structuredPatch": [], "originalFile": None},
        [("content", Treat.FILE)],
    ),
    (
        "an edit",
        "done",
        {
            "filePath": "/srv/a",
            "oldString": OTHER,
            "newString": LONG,
            "originalFile": OTHER,
            "structuredPatch": [{"oldStart": 1, "lines": ["+a"] * 9}],
            "userModified": False,
        },
        [
            ("oldString", Treat.FILE),
            ("newString", Treat.FILE),
            ("originalFile", Treat.FILE),
            ("structuredPatch.0.lines", Treat.LINES),
        ],
    ),
    (
        "several edits",
        "done",
        {"edits": [{"old_string": OTHER, "new_string": LONG}]},
        [("edits.0.old_string", Treat.FILE), ("edits.0.new_string", Treat.FILE)],
    ),
    ("a search text", LONG, {"mode": "content", "content": LONG, "filenames": []}, [("content", Treat.CONTAINED)]),
    ("file names in the text", "Found 30\n" + "\n".join(NAMES), {"filenames": NAMES}, [("filenames", Treat.CONTAINED)]),
    ("file names alone", "Found 30", {"filenames": NAMES}, [("filenames", Treat.LINES)]),
    (
        "a subagent's report",
        [{"type": "text", "text": LONG}],
        {"prompt": OTHER, "content": [{"type": "text", "text": LONG}], "usage": {"x": OTHER}},
        [("prompt", Treat.COPY_ONLY), ("content.0.text", Treat.CONTAINED)],
    ),
    ("a plan", "ok", {"plan": OTHER, "filePath": OTHER}, [("plan", Treat.COPY_ONLY)]),
    (
        "tasks",
        "ok",
        {"oldTodos": [], "newTodos": TODOS, "questions": TODOS},
        [("newTodos", Treat.COPY_ONLY), ("questions", Treat.COPY_ONLY)],
    ),
    ("a fetched page", LONG, {"result": LONG, "url": "https://example.org/" + "a" * 90}, [("result", Treat.CONTAINED)]),
    ("output of a task", f"<output>\n{LONG}</output>", {"task": {"output": LONG}}, [("task.output", Treat.CONTAINED)]),
    (
        "search results",
        "Links:\n" + LONG,
        {"query": OTHER, "results": [LONG, {"tool_use_id": "s1", "content": [{"title": OTHER}]}]},
        [("results.0", Treat.CONTAINED), ("results.1.content.0.title", Treat.MIRROR)],
    ),
]


@pytest.mark.parametrize(("text", "mirror", "expected"), [case[1:] for case in MIRRORS], ids=[x[0] for x in MIRRORS])
def test_a_tool_use_result_repeats_input_or_text(text: Value, mirror: Value, expected: list[tuple[str, Treat]]) -> None:
    found = [(path, treat) for path, treat in places(sites_of(answer(text, mirror))) if path.startswith("toolUse")]
    assert [(path.removeprefix("toolUseResult").lstrip("."), treat) for path, treat in found] == expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(use("Bash", {"command": "ls"}), [("message.content.0.input", Treat.INPUT)], id="call"),
        pytest.param(use("Bash", {}), [], id="call without input"),
        pytest.param(answer("ok"), [("message.content.0.content", Treat.TEXT)], id="result"),
        pytest.param(answer(""), [], id="empty result"),
        pytest.param(answer([]), [], id="result without blocks"),
        pytest.param(
            answer([{"type": "text", "text": "a"}, {"type": "tool_reference"}, IMAGE, {"type": "text", "text": ""}]),
            [("message.content.0.content.0.text", Treat.TEXT), ("message.content.0.content.2", Treat.IMAGE)],
            id="result of blocks",
        ),
        pytest.param(
            {"type": "user", "message": {"content": "see\n[[tool-result]] bash (a)\n```text\nx\n```"}},
            [("message.content", Treat.MARKDOWN)],
            id="prose with a block",
        ),
        pytest.param(
            {"type": "user", "message": {"content": [IMAGE, {"type": "text", "text": LONG}]}},
            [("message.content.0", Treat.IMAGE)],
            id="an image of the user",
        ),
        pytest.param(
            {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": LONG, "signature": LONG}]}},
            [],
            id="thinking",
        ),
        pytest.param({"type": "file-history-snapshot", "snapshot": {"content": LONG}}, [], id="snapshot"),
        pytest.param(
            {"type": "system", "content": LONG, "planContent": OTHER}, [("planContent", Treat.COPY_ONLY)], id="plan"
        ),
        pytest.param(
            progress({"type": "agent_progress", "prompt": OTHER, "message": INNER, "normalizedMessages": [NESTED, 7]}),
            [
                ("data.prompt", Treat.COPY_ONLY),
                ("data.message.message.content.0.text", Treat.COPY_ONLY),
                ("data.normalizedMessages.0.message.content.0.content", Treat.MIRROR),
                ("data.normalizedMessages.0.toolUseResult.stdout", Treat.CONTAINED),
            ],
            id="subagent",
        ),
        pytest.param(
            progress({"type": "bash_progress", "output": LONG[-200:], "fullOutput": LONG}),
            [("data.output", Treat.CONTAINED), ("data.fullOutput", Treat.GROWING)],
            id="output so far",
        ),
        pytest.param(progress({"type": "hook_progress", "output": LONG}), [], id="other progress"),
        pytest.param(
            {"type": "attachment", "attachment": {"type": "hook", "command": "lint", "stdout": LONG, "content": LONG}},
            [("attachment.stdout", Treat.MIRROR), ("attachment.content", Treat.MIRROR)],
            id="hook",
        ),
        pytest.param(
            {"attachment": {"filename": "/a.py", "content": {"file": {"filePath": "/a.py", "content": LONG}}}},
            [("attachment.content.file.content", Treat.FILE)],
            id="attached file",
        ),
        pytest.param(
            {"attachment": {"addedLines": NAMES, "addedNames": NAMES, "removedNames": []}},
            [("attachment.addedLines", Treat.COPY_ONLY), ("attachment.addedNames", Treat.COPY_ONLY)],
            id="tool lists",
        ),
        pytest.param({"message": 1, "toolUseResult": None, "data": [], "attachment": "x"}, [], id="odd types"),
        pytest.param({"message": {"content": [7, None, {"type": "tool_result"}]}}, [], id="odd blocks"),
    ],
)
def test_each_place_has_its_treatment(record: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(record)) == expected


def test_sites_come_in_the_order_of_the_records_keys() -> None:
    record = answer(LONG, {"stdout": OTHER})
    turned = {"toolUseResult": record["toolUseResult"], **record}
    assert [path for path, _ in places(sites_of(turned))] == ["toolUseResult.stdout", "message.content.0.content"]


def test_a_result_has_tool_command_exit_code_and_error_of_its_call() -> None:
    text, mirror = sites_of(
        use("Bash", {"command": "make"}), answer("Exit code 2\nno", {"stderr": LONG}, is_error=True)
    )
    for site in (text, mirror):
        assert (site.tool, site.context.command, site.context.exit_code, site.context.is_error) == (
            "Bash",
            "make",
            2,
            True,
        )


def test_calls_of_a_subagent_are_kept_apart() -> None:
    nested = progress({"type": "agent_progress", "message": use("Read", {"file_path": "/a.py"})})
    text = sites_of(use("Bash", {"command": "make"}), nested, answer("ok"))[0]
    assert (text.tool, text.context.command) == ("Bash", "make")


def test_a_base64_string_knows_its_media_type() -> None:
    site = sites_of(answer([], {"type": "image", "file": {"base64": "A" * 900, "type": "image/png"}}))[0]
    assert site.media == "image/png"


def test_a_day_is_that_of_the_record_or_of_its_snapshot() -> None:
    assert ClaudeCode().day({"timestamp": "2026-01-05T08:00:00.000Z"}) == "2026-01-05"
    assert ClaudeCode().day({"snapshot": {"timestamp": "2026-01-06T08:00:00.000Z"}}) == "2026-01-06"
    assert ClaudeCode().day({"type": "summary"}) == ""
