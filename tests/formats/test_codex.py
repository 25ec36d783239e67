"""Where Codex rollouts hold inputs, results and copies, and what is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.codex import Codex
from pipeline.records import Path, Site, Treat

LONG = "a line of a tool\n" * 40
OTHER = "what stands nowhere else\n" * 40
SECRET = "c2VjcmV0" * 90
URL = "data:image/png;base64," + "A" * 4000
IMAGE = {"type": "input_image", "image_url": URL}
PATCH = "*** Begin Patch\n*** Update File: src/shed.py\n@@\n-a\n+b\n*** End Patch"
DIFF = "@@ -1,40 +1,40 @@\n" + "-a\n+b\n" * 40
Value = Any


def sites_of(*records: Value) -> list[Site]:
    """The sites of the last record."""
    pairing = Pairing()
    sites: list[Site] = []
    for record in records:
        sites = Codex().sites(record, pairing)
    return sites


def places(sites: list[Site]) -> list[tuple[str, Treat]]:
    """Paths below the payload."""
    assert all(site.path[0] == "payload" for site in sites)
    return [(".".join(map(str, site.path[1:])), site.treat) for site in sites]


def record(kind: Value, payload: Value) -> Value:
    return {"timestamp": "2026-01-05T08:00:00.000Z", "type": kind, "payload": payload}


def item(kind: Value, **fields: Value) -> Value:
    return record("response_item", {"type": kind, **fields})


def event(kind: str, **fields: Value) -> Value:
    return record("event_msg", {"type": kind, **fields})


def call(name: str, arguments: str, call_id: str = "c1") -> Value:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def answer(output: Value, call_id: str = "c1") -> Value:
    return item("function_call_output", call_id=call_id, output=output)


def history(*items: Value) -> Value:
    return record("compacted", {"message": LONG, "replacement_history": [found["payload"] for found in items]})


MAKE = call("shell", '{"command":["bash","-lc","make"]}')
MESSAGE = item("message", role="user", content=[{"type": "input_text", "text": LONG}, IMAGE])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(MAKE, [("arguments", Treat.INPUT)], id="function call"),
        pytest.param(call("shell", "{}"), [], id="function call without input"),
        pytest.param(call("shell", ""), [], id="function call with an empty string"),
        pytest.param(
            item("custom_tool_call", name="apply_patch", call_id="c1", input=PATCH, status="completed"),
            [("input", Treat.INPUT)],
            id="custom tool call",
        ),
        pytest.param(
            item("web_search_call", status="completed", action={"type": "search", "query": "sheds"}),
            [("action", Treat.INPUT)],
            id="web search",
        ),
        pytest.param(
            item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["make"]}),
            [("action", Treat.INPUT)],
            id="local shell call",
        ),
        pytest.param(answer("ok"), [("output", Treat.TEXT)], id="output"),
        pytest.param(answer(""), [], id="empty output"),
        pytest.param(answer('{"output":"","metadata":{}}'), [], id="empty output in JSON"),
        pytest.param(item("custom_tool_call_output", call_id="c1", output="ok"), [("output", Treat.TEXT)], id="custom"),
        pytest.param(
            answer([{"type": "input_text", "text": "a"}, IMAGE, {"type": "input_image", "image_url": "https://a"}]),
            [("output.0.text", Treat.TEXT), ("output.1", Treat.IMAGE)],
            id="output of parts",
        ),
        pytest.param(MESSAGE, [("content.1", Treat.IMAGE)], id="message"),
        pytest.param(
            item("reasoning", summary=[{"type": "summary_text", "text": LONG}], encrypted_content=SECRET),
            [],
            id="reasoning",
        ),
        pytest.param(
            event(
                "exec_command_end",
                call_id="c1",
                command=["/bin/bash", "-lc", LONG],
                cwd="/" + "a" * 90,
                parsed_cmd=[{"type": "unknown", "cmd": LONG}, {"type": "read", "name": "a"}],
                stdout=LONG,
                stderr="",
                aggregated_output=OTHER + LONG,
                exit_code=0,
                formatted_output="Output:\n" + OTHER,
            ),
            [
                ("command.2", Treat.COPY_ONLY),
                ("parsed_cmd.0.cmd", Treat.COPY_ONLY),
                ("stdout", Treat.CONTAINED),
                ("aggregated_output", Treat.MIRROR),
                ("formatted_output", Treat.MIRROR),
            ],
            id="command event",
        ),
        pytest.param(
            event("exec_command_end", stdout="", aggregated_output="x" * 72, stderr="x" * 73),
            [("stderr", Treat.MIRROR)],
            id="command event, short",
        ),
        pytest.param(
            event(
                "mcp_tool_call_end",
                call_id="c1",
                invocation={"server": "tracker", "tool": "list", "arguments": {"team": "shed"}},
                result={"Ok": {"content": [{"type": "text", "text": LONG}, {"type": "image", "data": "A" * 900}]}},
            ),
            [
                ("invocation.arguments", Treat.INPUT),
                ("result.Ok.content.0.text", Treat.MIRROR),
                ("result.Ok.content.1", Treat.IMAGE),
            ],
            id="MCP event",
        ),
        pytest.param(
            event("mcp_tool_call_end", invocation={"arguments": {}}, result={"Err": OTHER}),
            [("result.Err", Treat.MIRROR)],
            id="MCP event of a failure",
        ),
        pytest.param(
            event(
                "patch_apply_end",
                call_id="c1",
                stdout="Success. Updated\n",
                stderr=OTHER,
                success=False,
                changes={
                    "src/a.py": {"type": "update", "unified_diff": DIFF, "move_path": None},
                    "src/b.py": {"type": "add", "content": LONG},
                    "src/c.py": {"delete": {"content": OTHER}},
                    "src/d.py": None,
                },
            ),
            [
                ("stderr", Treat.MIRROR),
                ("changes.src/a.py.unified_diff", Treat.COPY_ONLY),
                ("changes.src/b.py.content", Treat.FILE),
                ("changes.src/c.py.delete.content", Treat.FILE),
            ],
            id="patch event",
        ),
        pytest.param(
            event("user_message", message=LONG, images=[URL, "https://a", 7], local_images=[URL]),
            [("images.0", Treat.IMAGE)],
            id="user event",
        ),
        pytest.param(event("agent_message", message=LONG), [], id="agent event"),
        pytest.param(event("agent_reasoning", text=LONG), [], id="reasoning event"),
        pytest.param(event("task_complete", last_agent_message=LONG), [], id="task event"),
        pytest.param(event("token_count", info=None, rate_limits={"primary": {"used_percent": 100.0}}), [], id="count"),
        pytest.param(
            record("turn_context", {"cwd": "/" + "a" * 90, "model": "m", "user_instructions": LONG, "summary": "auto"}),
            [("user_instructions", Treat.COPY_ONLY)],
            id="turn context",
        ),
        pytest.param(
            record("session_meta", {"id": "s1", "base_instructions": {"text": LONG}, "user_instructions": LONG}),
            [],
            id="session meta",
        ),
        pytest.param(
            history(
                MESSAGE,
                MAKE,
                answer(json.dumps({"output": LONG, "metadata": {"exit_code": 0}})),
                item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c2"),
                item("custom_tool_call_output", output="x" * 72, call_id="c2"),
                item("compaction", encrypted_content=SECRET),
            ),
            [
                ("replacement_history.0.content.1", Treat.IMAGE),
                ("replacement_history.1.arguments", Treat.INPUT),
                ("replacement_history.2.output", Treat.MIRROR),
                ("replacement_history.3.input", Treat.INPUT),
            ],
            id="history",
        ),
        pytest.param(record("compacted", {"message": LONG}), [], id="compacted without a history"),
        pytest.param({"type": "response_item", "payload": 7}, [], id="odd payload"),
        pytest.param(record(["event_msg"], {"type": "user_message"}), [], id="odd kind"),
        pytest.param(item(["message"], content=[]), [], id="odd item"),
        pytest.param(item("message", content=[7, {"type": ["input_text"], "text": LONG}]), [], id="odd parts"),
        pytest.param(item("function_call_output", call_id=7, output=7), [], id="odd output"),
        pytest.param(event("patch_apply_end", changes=[LONG], stdout=7), [], id="odd changes"),
        pytest.param(event("mcp_tool_call_end", invocation=7, result={"Ok": [LONG]}), [], id="odd result"),
    ],
)
def test_each_place_has_its_treatment(value: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(value)) == expected


INNER = [
    ("arguments, compact", call("x", '{"a":[1]}'), {"a": [1]}, ()),
    ("arguments, spaced", call("x", '{ "a": "b"}\n'), {"a": "b"}, ()),
    ("arguments, no JSON", call("x", "make it so"), "make it so", None),
    ("arguments, a list", call("x", '["a"]'), '["a"]', None),
    ("arguments, cut off", call("x", '{"a":'), '{"a":', None),
    (
        "arguments, too deep",
        call("x", '{"a":' + "[" * 900 + "]" * 900 + "}"),
        '{"a":' + "[" * 900 + "]" * 900 + "}",
        None,
    ),
    ("input of a custom tool", item("custom_tool_call", name="x", input='{"a":1}'), '{"a":1}', None),
    ("output with metadata", answer('{"output":"ok\\n","metadata":{"exit_code":0}}'), "ok\n", ("output",)),
    ("output, JSON of a tool", answer('{"output":"ok"}'), '{"output":"ok"}', None),
    ("output, other metadata", answer('{"output":[],"metadata":{}}'), '{"output":[],"metadata":{}}', None),
    ("output, plain", answer("Exit code: 0\nok"), "Exit code: 0\nok", None),
    ("output, a list in a string", answer('[{"type":"text"}]'), '[{"type":"text"}]', None),
]


@pytest.mark.parametrize(("value", "expected", "inside"), [case[1:] for case in INNER], ids=[x[0] for x in INNER])
def test_a_string_that_holds_json_is_looked_into(value: Value, expected: Value, inside: Path | None) -> None:
    assert [(site.value, site.inside) for site in sites_of(value)] == [(expected, inside)]


CHUNK = "Chunk ID: 7d75e2\nWall time: 0.8 seconds\nProcess exited with code {}\nOriginal token count: 9\nOutput:\nok"
ENDS = [
    ("in the metadata", json.dumps({"output": "no", "metadata": {"exit_code": 2}}), 2, True),
    ("success in the metadata", json.dumps({"output": "Exit code: 1", "metadata": {"exit_code": 0}}), 0, False),
    ("not in the metadata", json.dumps({"output": "Exit code: 1", "metadata": {"exit_code": None}}), None, False),
    ("in the first line", "Exit code: 101\nWall time: 2 seconds\nOutput:\nno", 101, True),
    ("alone", "Exit code: -9", -9, True),
    ("in the third line", CHUNK.format(2), 2, True),
    ("success in the third line", CHUNK.format(0), 0, False),
    ("still running", "Chunk ID: 7d\nWall time: 1 seconds\nProcess running with session ID 5\nOutput:\n", None, False),
    ("in a later line", "ok\nExit code: 1", None, False),
    ("in the first part", [{"type": "input_text", "text": "Exit code: 3\nOutput:\nno"}], 3, True),
]


@pytest.mark.parametrize(("output", "code", "failed"), [case[1:] for case in ENDS], ids=[x[0] for x in ENDS])
def test_an_output_tells_how_its_call_ended(output: Value, code: int | None, failed: bool) -> None:
    site = sites_of(MAKE, answer(output))[0]
    assert (site.tool, site.context.command) == ("shell", "make")
    assert (site.context.exit_code, site.context.is_error) == (code, failed)


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("shell", '{"command":["bash","-lc","make a"]}', "make a"),
        ("shell_command", '{"command":"make b"}', "make b"),
        ("exec_command", '{"cmd":"make c"}', "make c"),
        ("shell", "make d", "make d"),
    ],
)
def test_commands_stand_under_the_keys_of_their_tools(name: str, arguments: str, command: str) -> None:
    assert sites_of(call(name, arguments), answer("ok"))[0].context.command == command


def test_a_patch_tells_its_path() -> None:
    records = [item("custom_tool_call", name="apply_patch", call_id="c1", input=PATCH), answer("ok")]
    context = sites_of(*records)[0].context
    assert (context.path, context.tool_class) == ("src/shed.py", "edit")


@pytest.mark.parametrize("event_first", [True, False])
def test_an_event_has_the_context_of_its_call_before_and_after_the_output(event_first: bool) -> None:
    end = event("exec_command_end", call_id="c1", aggregated_output=LONG, exit_code=2)
    told = sites_of(MAKE, end)[0] if event_first else sites_of(MAKE, answer("no"), end)[0]
    assert (told.tool, told.context.command, told.context.exit_code, told.context.is_error) == (
        "shell",
        "make",
        2,
        True,
    )
    shown = sites_of(MAKE, end, answer("ok"))[0]
    assert (shown.tool, shown.context.command) == ("shell", "make")


def test_events_without_a_call_tell_what_was_called() -> None:
    end = event("exec_command_end", command=["/bin/bash", "-lc", "make"], aggregated_output=LONG, exit_code=0)
    assert (sites_of(end)[0].tool, sites_of(end)[0].context.command) == ("exec_command", "make")
    done = event("mcp_tool_call_end", invocation={"server": "a", "tool": "b", "arguments": {"x": 1}}, result={})
    assert (sites_of(done)[0].tool, sites_of(done)[0].context.tool_class) == ("mcp__a__b", "mcp")
    patched = event("patch_apply_end", stdout=LONG, success=False)
    assert (sites_of(patched)[0].context.tool_class, sites_of(patched)[0].context.is_error) == ("edit", True)


def test_a_failed_mcp_call_is_an_error_but_its_input_is_none() -> None:
    content = [{"type": "text", "text": LONG}]
    invocation = {"server": "a", "tool": "b", "arguments": {"x": 1}}
    end = event("mcp_tool_call_end", invocation=invocation, result={"Ok": {"content": content, "isError": True}})
    assert [site.context.is_error for site in sites_of(end)] == [False, True]


def test_calls_of_a_history_are_kept_apart_but_it_may_begin_between_call_and_output() -> None:
    inner = call("exec_command", '{"cmd":"other"}')
    assert sites_of(MAKE, history(inner), answer("ok"))[0].context.command == "make"
    assert sites_of(MAKE, history(inner, answer(LONG)))[-1].context.command == "other"
    assert sites_of(MAKE, history(answer(LONG)))[0].context.command == "make"


def test_the_day_is_that_of_the_envelope() -> None:
    assert Codex().day(MAKE) == "2026-01-05"
    assert Codex().day({"payload": {"timestamp": "2026-01-05T08:00:00.000Z"}}) == ""
