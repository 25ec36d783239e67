"""Where OpenClaw records hold inputs, results and copies, and what is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.openclaw import OpenClaw
from pipeline.records import Site, Treat

LONG = "a line of a tool\n" * 40
OTHER = "what stands nowhere else\n" * 40
SECRET = "c2lnbmF0dXJl" * 90
IMAGE = {"type": "image", "data": "A" * 4000, "mimeType": "image/png"}
STEPS = [{"step": "paint the doors of the shed", "status": "pending"}] * 20
FOUND = [{"path": "notes/shed.md", "snippet": OTHER, "score": 0.000005}, {"path": "a.md", "snippet": LONG}]
Value = Any


def sites_of(*records: Value) -> list[Site]:
    """The sites of the last record."""
    pairing = Pairing()
    sites: list[Site] = []
    for record in records:
        sites = OpenClaw().sites(record, pairing)
    return sites


def places(sites: list[Site]) -> list[tuple[str, Treat]]:
    return [(".".join(map(str, site.path)), site.treat) for site in sites]


def record(message: Value) -> Value:
    return {
        "type": "message",
        "id": "a1",
        "parentId": None,
        "timestamp": "2026-01-05T08:00:00.000Z",
        "message": message,
    }


def call(name: str, arguments: Value, call_id: str = "c1", **more: Value) -> Value:
    block = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments, **more}
    return record({"role": "assistant", "content": [block], "usage": {"input": 1, "note": LONG}})


def answer(content: Value, details: Value = None, *, tool: str = "exec", call_id: str = "c1", **more: Value) -> Value:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    message: Value = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": tool,
        "content": blocks,
        "isError": False,
    }
    return record({**message, **({} if details is None else {"details": details}), **more})


def pretty(value: Value) -> str:
    return json.dumps(value, indent=2)


PAGE = {"url": "https://example.org/" + "a" * 90, "status": 200, "text": OTHER + '"quoted"', "tookMs": 5}
MEMORY = {"results": FOUND, "provider": "local"}
SESSIONS = {"count": 2, "sessions": [{"key": "main", "displayName": OTHER}, {"key": "side"}]}
HISTORY = [{"role": "assistant", "content": [{"type": "thinking", "thinking": LONG, "thinkingSignature": SECRET}]}]

DETAILS = [
    (
        "output as shown",
        LONG,
        {"exitCode": 0, "aggregated": LONG, "cwd": "/" + "a" * 90},
        [("aggregated", Treat.CONTAINED)],
    ),
    (
        "output shown with a note",
        LONG + "\n\nCommand exited with code 2",
        {"aggregated": LONG},
        [("aggregated", Treat.CONTAINED)],
    ),
    ("output shown trimmed", LONG.strip(), {"aggregated": "\n" + LONG + "\n"}, [("aggregated", Treat.CONTAINED)]),
    ("output shown in part", LONG, {"aggregated": OTHER + LONG}, [("aggregated", Treat.MIRROR)]),
    ("output not shown", [], {"aggregated": OTHER}, [("aggregated", Treat.MIRROR)]),
    ("short output", "ok", {"aggregated": "x" * 72, "tail": "x" * 73}, [("tail", Treat.MIRROR)]),
    ("end of an output", LONG, {"status": "running", "tail": LONG[-100:]}, [("tail", Treat.CONTAINED)]),
    ("a part too small to look for", "b" * 6000 + LONG[:80], {"tail": LONG[:80]}, [("tail", Treat.MIRROR)]),
    ("a diff", "done", {"diff": OTHER, "firstChangedLine": 5}, [("diff", Treat.FILE)]),
    ("a diff that is shown", LONG, {"diff": LONG}, [("diff", Treat.CONTAINED)]),
    ("an error", "failed", {"status": "error", "error": OTHER}, [("error", Treat.MIRROR)]),
    ("an error shown as JSON", pretty({"error": OTHER}), {"error": OTHER}, [("error", Treat.CONTAINED)]),
    (
        "a truncated output",
        LONG + "\n[Showing lines 1-40]",
        {"truncation": {"content": LONG, "truncated": True}, "fullOutputPath": "/tmp/a"},
        [("truncation.content", Treat.CONTAINED)],
    ),
    ("a page shown as JSON", pretty(PAGE), PAGE, [("text", Treat.CONTAINED)]),
    ("a page shown otherwise", LONG, PAGE, [("text", Treat.MIRROR)]),
    ("search results shown as JSON", pretty(MEMORY), MEMORY, [("results", Treat.CONTAINED)]),
    (
        "search results, one shown as JSON",
        pretty({"results": [FOUND[0], {"snippet": "cut"}]}),
        MEMORY,
        [("results.0.snippet", Treat.CONTAINED), ("results.1.snippet", Treat.MIRROR)],
    ),
    (
        "search results not shown",
        "2 results",
        MEMORY,
        [("results.0.snippet", Treat.MIRROR), ("results.1.snippet", Treat.MIRROR)],
    ),
    ("sessions shown as JSON", pretty(SESSIONS), SESSIONS, [("sessions", Treat.CONTAINED)]),
    ("sessions not shown", "2", SESSIONS, [("sessions.0.displayName", Treat.MIRROR)]),
    ("a plan", [], {"status": "updated", "plan": STEPS}, [("plan", Treat.COPY_ONLY)]),
    ("messages of another session", "1", {"messages": HISTORY}, [("messages.0.content.0.thinking", Treat.MIRROR)]),
    ("an image", [IMAGE], {"images": [IMAGE]}, [("images.0", Treat.IMAGE)]),
    ("nothing", "ok", {}, []),
    ("no object", "ok", [LONG], []),
]


@pytest.mark.parametrize(("text", "details", "expected"), [case[1:] for case in DETAILS], ids=[x[0] for x in DETAILS])
def test_details_repeat_the_text(text: Value, details: Value, expected: list[tuple[str, Treat]]) -> None:
    found = [(path, treat) for path, treat in places(sites_of(answer(text, details))) if "details" in path]
    assert [(path.removeprefix("message.details."), treat) for path, treat in found] == expected


WRITE = {"path": "a.md", "content": OTHER}
STREAMS = [
    ("same spacing", json.dumps(WRITE), Treat.CONTAINED),
    ("other spacing and order", json.dumps(dict(reversed(WRITE.items())), indent=1), Treat.CONTAINED),
    ("cut off", json.dumps(WRITE)[:-30], Treat.COPY_ONLY),
    ("another value", json.dumps({**WRITE, "content": LONG}), Treat.COPY_ONLY),
    ("no JSON", OTHER, Treat.COPY_ONLY),
    ("too deep", '{"path":' + "[" * 1000 + "]" * 1000 + "}", Treat.COPY_ONLY),
    ("a lone surrogate", json.dumps(WRITE)[:-1] + ', "x": "\ud800"}', Treat.COPY_ONLY),
]


@pytest.mark.parametrize("key", ["partialArgs", "partialJson"])
@pytest.mark.parametrize(("stream", "treat"), [case[1:] for case in STREAMS], ids=[x[0] for x in STREAMS])
def test_a_stream_is_a_copy_if_it_decodes_to_the_arguments(key: str, stream: str, treat: Treat) -> None:
    assert places(sites_of(call("write", WRITE, **{key: stream}))) == [
        ("message.content.0.arguments", Treat.INPUT),
        (f"message.content.0.{key}", treat),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(call("exec", {}), [], id="call without input"),
        pytest.param(
            call("exec", {"command": "ls"}, partialArgs='{"command": "ls"}', thoughtSignature=SECRET),
            [("message.content.0.arguments", Treat.INPUT)],
            id="call with a short stream",
        ),
        pytest.param(
            record(
                {
                    "role": "assistant",
                    "content": [{"partialJson": json.dumps(WRITE), **call("write", WRITE)["message"]["content"][0]}],
                }
            ),
            [("message.content.0.partialJson", Treat.CONTAINED), ("message.content.0.arguments", Treat.INPUT)],
            id="in the order of keys",
        ),
        pytest.param(answer("ok"), [("message.content.0.text", Treat.TEXT)], id="result"),
        pytest.param(answer(""), [], id="empty result"),
        pytest.param(answer([]), [], id="result without blocks"),
        pytest.param(
            answer([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}, {"type": "image"}, 7]),
            [
                ("message.content.0.text", Treat.TEXT),
                ("message.content.1", Treat.IMAGE),
                ("message.content.2.text", Treat.TEXT),
            ],
            id="result of blocks",
        ),
        pytest.param(
            record({"role": "toolResult", "details": {"tail": OTHER}, "content": "ok"}),
            [("message.details.tail", Treat.MIRROR), ("message.content", Treat.TEXT)],
            id="details first, content a string",
        ),
        pytest.param(
            record({"role": "bashExecution", "command": "make", "output": LONG, "exitCode": 2, "cancelled": False}),
            [("message.command", Treat.INPUT), ("message.output", Treat.TEXT)],
            id="command of the user",
        ),
        pytest.param(
            record({"role": "bashExecution", "command": "true", "output": "", "exitCode": None}),
            [("message.command", Treat.INPUT)],
            id="command without output",
        ),
        pytest.param(
            record({"role": "user", "content": [{"type": "text", "text": LONG}, IMAGE]}),
            [("message.content.1", Treat.IMAGE)],
            id="an image of the user",
        ),
        pytest.param(
            record(
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": LONG, "thinkingSignature": SECRET},
                        {"type": "text", "text": LONG, "textSignature": SECRET},
                    ],
                }
            ),
            [],
            id="prose",
        ),
        pytest.param(
            {"type": "compaction", "summary": LONG, "firstKeptEntryId": "a1", "details": {"readFiles": [LONG]}},
            [],
            id="compaction",
        ),
        pytest.param({"type": "session", "version": 3, "id": "s1", "cwd": LONG}, [], id="header"),
        pytest.param({"type": "custom", "customType": "x", "data": {"text": LONG}}, [], id="custom"),
        pytest.param({"type": "message", "message": 7}, [], id="odd message"),
        pytest.param(record({"role": ["assistant"], "content": LONG}), [], id="odd role"),
        pytest.param(record({"role": "assistant", "content": [7, None, {"type": "toolCall"}]}), [], id="odd blocks"),
    ],
)
def test_each_place_has_its_treatment(value: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(value)) == expected


ENDS = [
    ("in the details", "no", {"exitCode": 2}, False, 2, True),
    ("success in the details", "ok", {"exitCode": 0}, False, 0, False),
    ("in the last line", "no\n\nCommand exited with code 127", None, True, 127, True),
    ("in the last line, details without one", "no\n\nCommand exited with code 1\n", {"exitCode": None}, False, 1, True),
    ("details before the last line", "Command exited with code 1", {"exitCode": 3}, False, 3, True),
    ("in a line that is not the last", "Command exited with code 1\nnext", {}, False, None, False),
    ("within the last line", "it said: Command exited with code 1", {}, False, None, False),
    ("by the flag alone", "no", {"exitCode": True}, True, None, True),
]


@pytest.mark.parametrize(
    ("text", "details", "flag", "code", "failed"), [case[1:] for case in ENDS], ids=[x[0] for x in ENDS]
)
def test_a_result_tells_how_its_call_ended(
    text: str, details: Value, flag: bool, code: int | None, failed: bool
) -> None:
    site = sites_of(call("exec", {"command": "make"}), answer(text, details, isError=flag))[0]
    assert (site.context.exit_code, site.context.is_error, site.context.command) == (code, failed, "make")


def test_text_and_details_have_the_tool_and_path_of_their_call() -> None:
    text, diff = sites_of(call("edit", {"path": "/srv/a.py"}), answer("done", {"diff": OTHER}, tool="other"))
    for site in (text, diff):
        assert (site.tool, site.context.path, site.context.tool_class) == ("edit", "/srv/a.py", "edit")


def test_a_result_without_a_call_names_its_tool_itself() -> None:
    site = sites_of(answer("ok", tool="read", call_id="lost"))[0]
    assert (site.tool, site.context.tool_class, site.context.command) == ("read", "read", "")


def test_results_of_one_id_belong_to_the_nearest_call_before() -> None:
    records = [call("exec", {"command": "one"}), answer("ok"), call("exec", {"command": "two"}), answer("ok")]
    assert sites_of(*records)[0].context.command == "two"


def test_a_command_of_the_user_is_its_own_call() -> None:
    command, output = sites_of(record({"role": "bashExecution", "command": "make x", "output": "no", "exitCode": 2}))
    assert (command.tool, command.value, command.context.command) == ("bash", "make x", "make x")
    assert (output.context.command, output.context.exit_code, output.context.is_error) == ("make x", 2, True)


def test_an_image_is_its_whole_block() -> None:
    assert [(site.path, site.value) for site in sites_of(answer([IMAGE]))] == [(("message", "content", 0), IMAGE)]


def test_the_day_is_that_of_the_record() -> None:
    assert OpenClaw().day(record({"role": "user", "timestamp": 1})) == "2026-01-05"
    assert OpenClaw().day({"type": "session"}) == ""
