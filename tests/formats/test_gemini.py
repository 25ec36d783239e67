"""Where Gemini sessions hold inputs, results and copies, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.gemini import Gemini, GeminiLines
from pipeline.records import Site, Treat

LONG = "a line of a tool\n" * 40
OTHER = "what stands nowhere else\n" * 40
BLOCK = "see\n[[tool-result]] bash (a)\n```text\nx\n```"
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "A" * 4000}}
NAMES = [f"/srv/shed/part{n}.py" for n in range(30)]
MATCHES = [{"filePath": "a.py", "lineNumber": n, "line": f"  hit {n} "} for n in range(30)]
HITS = "\n".join(f"L{n}: hit {n}" for n in range(30))
TODOS = [{"description": "paint the doors", "status": "pending"}] * 9
SCREEN = [[{"text": line + "  ", "bold": False}, {"text": " "}] for line in LONG.split("\n")]
Value = Any


def document(*messages: Value) -> Value:
    return {"sessionId": "s", "projectHash": "0a", "startTime": "2026-01-05T08:00:00.000Z", "messages": list(messages)}


def sites_of(*messages: Value) -> list[Site]:
    return Gemini().sites(document(*messages), Pairing())


def lines_of(*lines: Value) -> list[Site]:
    """The sites of the last line."""
    pairing = Pairing()
    sites: list[Site] = []
    for line in lines:
        sites = GeminiLines().sites(line, pairing)
    return sites


def places(sites: list[Site], prefix: str = "") -> list[tuple[str, Treat]]:
    found = [(".".join(map(str, site.path)), site.treat) for site in sites]
    return [(path.removeprefix(prefix).lstrip("."), treat) for path, treat in found if path.startswith(prefix)]


def response(body: Value, call_id: Value = "t1", name: str = "glob", **more: Value) -> Value:
    return {"functionResponse": {"id": call_id, "name": name, "response": body, **more}}


def used(*calls: Value, content: Value = "") -> Value:
    return {"id": "m1", "timestamp": "2026-01-05T08:00:00.000Z", "type": "gemini", "content": content} | {
        "toolCalls": list(calls)
    }


def call(output: Value = "ok", **more: Value) -> Value:
    record = {"id": "t1", "name": "glob", "args": {}, "result": [response({"output": output})], "status": "success"}
    return record | more


def says(content: Value, kind: str = "user", **more: Value) -> Value:
    return {"id": "m2", "timestamp": "2026-01-05T08:00:00.000Z", "type": kind, "content": content, **more}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            call(args={"pattern": "*"}),
            [("args", Treat.INPUT), ("result.0.functionResponse.response.output", Treat.TEXT)],
            id="call and result",
        ),
        pytest.param(
            {"result": [response({"output": "ok"})], "id": "t1", "name": "glob", "args": {"pattern": "*"}},
            [("result.0.functionResponse.response.output", Treat.TEXT), ("args", Treat.INPUT)],
            id="in the order of keys",
        ),
        pytest.param(
            call(result=[response({"error": LONG})], status="error"),
            [("result.0.functionResponse.response.error", Treat.TEXT)],
            id="error",
        ),
        pytest.param(
            call(result=[response({"output": ""}), response({"output": {"a": LONG}}), 7]), [], id="nothing to see"
        ),
        pytest.param(call(result=None, args={}, description="Glob"), [], id="no result yet"),
        pytest.param(call(result=LONG), [("result", Treat.TEXT)], id="a string"),
        pytest.param(
            call(result=[response({"output": "see"}, parts=[IMAGE]), {"text": LONG}, IMAGE]),
            [
                ("result.0.functionResponse.response.output", Treat.TEXT),
                ("result.0.functionResponse.parts.0.inlineData.data", Treat.IMAGE),
                ("result.1.text", Treat.TEXT),
                ("result.2.inlineData.data", Treat.IMAGE),
            ],
            id="parts",
        ),
        pytest.param(
            call(result=[response({"output": LONG}), response({"output": OTHER}, "t2"), response({"output": LONG}, 7)]),
            [
                ("result.0.functionResponse.response.output", Treat.TEXT),
                ("result.1.functionResponse.response.output", Treat.MIRROR),
                ("result.2.functionResponse.response.output", Treat.MIRROR),
            ],
            id="results of parallel calls",
        ),
        pytest.param(
            call("", args={"command": f"cat {OTHER}"}, description=OTHER),
            [("args", Treat.INPUT), ("description", Treat.CONTAINED)],
            id="description of the input",
        ),
        pytest.param(call("", description=OTHER), [("description", Treat.COPY_ONLY)], id="another description"),
    ],
)
def test_each_place_of_a_call_has_its_treatment(record: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(used(record)), "messages.0.toolCalls.0.") == expected


DISPLAYS = [
    ("a text that repeats the result", "glob", LONG, LONG.strip(), [("", Treat.CONTAINED)]),
    ("a text that differs", "glob", LONG, OTHER, [("", Treat.MIRROR)]),
    ("a short text", "glob", LONG, "Found 1", []),
    (
        "a changed file",
        "replace",
        "done",
        {"fileDiff": LONG, "fileName": OTHER, "filePath": OTHER, "originalContent": OTHER, "newContent": LONG},
        [("fileDiff", Treat.FILE), ("originalContent", Treat.FILE), ("newContent", Treat.FILE)],
    ),
    ("a new file", "write_file", "done", {"originalContent": None, "newContent": LONG}, [("newContent", Treat.FILE)]),
    ("matches in the text", "grep_search", HITS, {"summary": "30", "matches": MATCHES}, [("matches", Treat.CONTAINED)]),
    ("matches alone", "grep_search", "Found 30", {"matches": MATCHES}, [("matches", Treat.LINES)]),
    ("matches of another tool", "x", "ok", {"matches": [{"line": OTHER}]}, [("matches.0.line", Treat.MIRROR)]),
    ("files in the text", "glob", "\n".join(["Found", *NAMES[::-1]]), {"files": NAMES}, [("files", Treat.CONTAINED)]),
    ("files alone", "glob", "Found 30", {"files": NAMES}, [("files", Treat.LINES)]),
    ("names in the text", "glob", "\n".join(NAMES), NAMES, [("", Treat.CONTAINED)]),
    ("names alone", "glob", "Found 30", NAMES, [("", Treat.LINES)]),
    ("a terminal in the text", "run_shell_command", f"Output: {LONG}", SCREEN, [("", Treat.CONTAINED)]),
    ("a terminal alone", "run_shell_command", OTHER, SCREEN, [("", Treat.COPY_ONLY)]),
    ("tasks", "write_todos", "ok", {"todos": TODOS}, [("todos", Treat.COPY_ONLY)]),
    (
        "a subagent",
        "codebase_investigator",
        LONG,
        {"isSubagentProgress": True, "recentActivity": TODOS, "result": LONG, "state": "completed"},
        [("recentActivity", Treat.COPY_ONLY), ("result", Treat.CONTAINED)],
    ),
    ("other lists", "x", "ok", {"a": [{"b": {"c": OTHER}}, LONG]}, [("a.0.b.c", Treat.MIRROR), ("a.1", Treat.MIRROR)]),
    ("nothing", "glob", "ok", {"matches": [], "files": [], "a": None, "b": 7}, []),
    ("no list", "glob", "ok", {"matches": 7, "files": OTHER}, [("files", Treat.MIRROR)]),
]


@pytest.mark.parametrize(
    ("tool", "text", "display", "expected"), [case[1:] for case in DISPLAYS], ids=[case[0] for case in DISPLAYS]
)
def test_what_was_shown_repeats_input_or_text(
    tool: str, text: str, display: Value, expected: list[tuple[str, Treat]]
) -> None:
    sites = sites_of(used(call(text, name=tool, resultDisplay=display)))
    assert places(sites, "messages.0.toolCalls.0.resultDisplay") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(LONG, [], id="prose"),
        pytest.param(BLOCK, [("", Treat.MARKDOWN)], id="prose with a block"),
        pytest.param({"text": BLOCK}, [("text", Treat.MARKDOWN)], id="one part"),
        pytest.param([{"text": LONG}, BLOCK], [("1", Treat.MARKDOWN)], id="parts"),
        pytest.param([{"text": LONG}, IMAGE], [("1.inlineData.data", Treat.IMAGE)], id="an image"),
        pytest.param([{"text": BLOCK, "thought": True, "thoughtSignature": LONG}], [], id="a thought"),
        pytest.param([{"inlineData": {"mimeType": "audio/wav", "data": LONG}}, {"inlineData": 7}], [], id="a sound"),
        pytest.param([{"inlineData": {"data": LONG}}], [("0.inlineData.data", Treat.IMAGE)], id="of no type"),
        pytest.param(
            [{"functionCall": {"name": "glob", "args": {"pattern": "*"}}}, {"functionCall": {"args": {}}}],
            [("0.functionCall.args", Treat.INPUT)],
            id="a call",
        ),
        pytest.param(
            [response({"output": LONG}, parts=[IMAGE, 7]), response({"output": "ok"})],
            [
                ("0.functionResponse.response.output", Treat.MIRROR),
                ("0.functionResponse.parts.0.inlineData.data", Treat.IMAGE),
            ],
            id="a result",
        ),
        pytest.param([7, None, {"functionCall": 7, "functionResponse": [], "text": {}}], [], id="odd parts"),
    ],
)
@pytest.mark.parametrize("key", ["content", "displayContent"])
def test_each_place_of_a_content_has_its_treatment(key: str, content: Value, expected: list[tuple[str, Treat]]) -> None:
    message = {"id": "m1", "type": "user", key: content, "thoughts": [{"description": BLOCK}], "tokens": {"x": LONG}}
    assert places(sites_of(message), f"messages.0.{key}") == expected
    assert places(lines_of(message), key) == expected


@pytest.mark.parametrize(
    "odd", [{}, {"messages": 7}, {"messages": [7, None, {"toolCalls": [7, {}], "content": None}, {"toolCalls": {}}]}]
)
def test_odd_documents_have_no_sites(odd: Value) -> None:
    assert Gemini().sites(odd, Pairing()) == GeminiLines().sites(odd, Pairing()) == []
    assert GeminiLines().sites({"$set": odd}, Pairing()) == GeminiLines().sites({"$patch": odd}, Pairing()) == []


SHELL: dict[str, Value] = {"name": "run_shell_command", "args": {"command": "make"}}


@pytest.mark.parametrize(
    ("record", "code", "failed"),
    [
        pytest.param(call(f"{LONG}\nExit Code: 2\nSignal: (none)", **SHELL), 2, True, id="failed"),
        pytest.param(call("Exit Code: 7\n" + LONG * 2 + "Exit Code: 0\r\n", **SHELL), 0, False, id="the last one"),
        pytest.param(call("Exit Code: 7\n" + LONG * 2, **SHELL), None, False, id="one in the output"),
        pytest.param(call("Exit Code: (none)", **SHELL), None, False, id="none"),
        pytest.param(call("Exit Code: 2", name="read_file"), None, False, id="no command"),
        pytest.param(call("ok", **SHELL, status="error"), None, True, id="status"),
        pytest.param(call(**SHELL, result=[response({"error": "no"})], status="cancelled"), None, True, id="error"),
    ],
)
def test_a_result_tells_exit_code_and_error(record: Value, code: int | None, failed: bool) -> None:
    shown = sites_of(used(record | {"resultDisplay": OTHER}))[-2:]
    assert [(site.context.exit_code, site.context.is_error) for site in shown] == [(code, failed)] * 2


def test_a_result_that_stands_apart_has_tool_and_command_of_its_call() -> None:
    told = response({"output": LONG + "Exit Code: 1"}, name="run_shell_command")
    site = sites_of(used(call(**SHELL)), says([told]))[-1]
    assert (site.tool, site.context.command, site.context.exit_code) == ("run_shell_command", "make", 1)
    alone = sites_of(says([told]))[0]
    assert (alone.tool, alone.context.command, alone.context.tool_class) == ("run_shell_command", "", "shell")


def test_an_image_knows_its_media_type() -> None:
    assert [site.media for site in sites_of(says([IMAGE, {"inlineData": {"data": "A"}}]))] == ["image/png", ""]


def test_a_message_that_is_written_anew_is_no_copy() -> None:
    done = used(call(LONG, **SHELL), content=LONG)
    expected = [
        ("toolCalls.0.args", Treat.INPUT),
        ("toolCalls.0.result.0.functionResponse.response.output", Treat.TEXT),
    ]
    assert places(lines_of(used(call(result=None, **SHELL)), done)) == expected
    assert places(lines_of(done, done)) == expected


def test_results_in_messages_that_are_set_all_together_are_copies_and_prose_stays() -> None:
    done, asked = used(call(LONG, **SHELL)), says([{"text": OTHER}, {"text": BLOCK}, {"text": "hi"}])
    changed = {"$set": {"messages": [done, asked], "lastUpdated": "2026-01-05T08:00:00.000Z"}}
    result = "0.toolCalls.0.result.0.functionResponse.response.output"
    for lines, treat in (([changed], Treat.TEXT), ([done, changed], Treat.MIRROR), ([changed, changed], Treat.MIRROR)):
        assert places(lines_of(*lines), "$set.messages.") == [
            ("0.toolCalls.0.args", Treat.INPUT),
            (result, treat),
            ("1.content.1.text", Treat.MARKDOWN),
        ]


def test_a_patch_names_the_call_of_a_result_by_its_id() -> None:
    update = {"id": "m1", "content": BLOCK, "toolCalls": [{"id": "t1", "result": [response({"output": OTHER})]}]}
    expected = [("content", Treat.MARKDOWN), ("toolCalls.0.result.0.functionResponse.response.output", Treat.MIRROR)]
    for patch, prefix in ((update, "$patch."), ({"updates": [update], "removeIds": ["m2"]}, "$patch.updates.0.")):
        found = lines_of(used(call(**SHELL)), {"$patch": patch})
        assert places(found, prefix) == expected
        assert (found[-1].tool, found[-1].context.command) == ("run_shell_command", "make")


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ({"sessionId": "s", "startTime": "2026-01-05T08:00:00.000Z"}, "2026-01-05"),
        ({"startTime": "2026-01-05T08:00:00.000Z", "lastUpdated": "2026-01-06T08:00:00.000Z"}, "2026-01-06"),
        ({"id": "m", "timestamp": "2026-01-07T08:00:00.000Z"}, "2026-01-07"),
        ({"$set": {"lastUpdated": "2026-01-08T08:00:00.000Z"}}, "2026-01-08"),
        ({"$rewindTo": "m"}, ""),
    ],
)
def test_a_day_is_that_of_the_line(line: Value, day: str) -> None:
    assert GeminiLines().day(line) == day


def test_a_document_has_the_day_it_began() -> None:
    assert Gemini().day(document() | {"lastUpdated": "2026-01-06T08:00:00.000Z"}) == "2026-01-05"
