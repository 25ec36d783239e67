"""Where chat messages hold inputs, results and prose with calls, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.chat import Chat
from pipeline.records import Path, Site, Treat

LONG = "a line of a tool\n" * 40
OTHER = "what stands nowhere else\n" * 40
BLOCK = "see\n[[tool-result]] bash (a)\n```text\nx\n```"
URL = "data:image/png;base64," + "A" * 4000
IMAGE = {"type": "image_url", "image_url": {"url": URL}}
Value = Any


def sites_of(*records: Value) -> list[Site]:
    """The sites of the last record."""
    pairing = Pairing()
    sites: list[Site] = []
    for record in records:
        sites = Chat().sites(record, pairing)
    return sites


def places(sites: list[Site]) -> list[tuple[str, Treat]]:
    return [(".".join(map(str, site.path)), site.treat) for site in sites]


def function(name: str, arguments: Value, call_id: str = "c1") -> Value:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def use(*calls: Value) -> Value:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answer(content: Value, call_id: str = "c1", **more: Value) -> Value:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def says(role: str, content: Value) -> Value:
    return {"role": role, "content": content}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            use(function("bash", '{"command": "ls"}'), function("bash", "{}"), function("bash", "")),
            [("tool_calls.0.function.arguments", Treat.INPUT)],
            id="calls",
        ),
        pytest.param(
            use({"id": "c1", "name": "bash", "arguments": {"command": "ls"}}),
            [("tool_calls.0.arguments", Treat.INPUT)],
            id="name and object right on the call",
        ),
        pytest.param(
            use({"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": LONG}}),
            [("tool_calls.0.custom.input", Treat.INPUT)],
            id="custom tool",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": '{"command":"ls"}'}},
            [("function_call.arguments", Treat.INPUT)],
            id="older call",
        ),
        pytest.param(answer("ok"), [("content", Treat.TEXT)], id="result"),
        pytest.param(answer(BLOCK), [("content", Treat.TEXT)], id="result with a block"),
        pytest.param(says("function", "ok"), [("content", Treat.TEXT)], id="older result"),
        pytest.param(
            answer([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": ""}, "b", {"type": "refusal"}]),
            [("content.0.text", Treat.TEXT), ("content.1.image_url.url", Treat.IMAGE), ("content.3", Treat.TEXT)],
            id="result of parts",
        ),
        pytest.param(
            answer([{"type": "image_url", "image_url": URL}, {"type": "image", "source": {"data": "A" * 900}}]),
            [("content.0.image_url", Treat.IMAGE), ("content.1", Treat.IMAGE)],
            id="other forms of images",
        ),
        pytest.param(answer(""), [], id="empty result"),
        pytest.param(answer([{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]), [], id="a link"),
        pytest.param(says("system", LONG), [], id="prose"),
        pytest.param(says("user", BLOCK), [("content", Treat.MARKDOWN)], id="prose with a block"),
        pytest.param(
            says("user", [{"type": "text", "text": LONG}, {"type": "text", "text": BLOCK}, IMAGE]),
            [("content.1.text", Treat.MARKDOWN), ("content.2.image_url.url", Treat.IMAGE)],
            id="prose of parts",
        ),
        pytest.param(
            {"tool_calls": [function("bash", '{"a": 1}')], "content": BLOCK, "role": "assistant"},
            [("tool_calls.0.function.arguments", Treat.INPUT), ("content", Treat.MARKDOWN)],
            id="in the order of keys",
        ),
        pytest.param(
            {"messages": [says("system", LONG), use(function("bash", '{"a": 1}')), answer(LONG), says("user", BLOCK)]},
            [
                ("messages.1.tool_calls.0.function.arguments", Treat.INPUT),
                ("messages.2.content", Treat.TEXT),
                ("messages.3.content", Treat.MARKDOWN),
            ],
            id="conversation",
        ),
        pytest.param(
            {**says("assistant", LONG), "reasoning_content": LONG, "usage": {"x": LONG}, "id": LONG}, [], id="others"
        ),
        pytest.param({"role": "tool", "content": 7, "tool_calls": ["a", {"id": 7}], "function_call": 7}, [], id="odd"),
        pytest.param({"messages": [7, None, {"role": ["tool"][0], "content": {}}, {"tool_calls": {}}]}, [], id="odd"),
    ],
)
def test_each_place_has_its_treatment(record: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(record)) == expected


@pytest.mark.parametrize(
    ("arguments", "value", "inside"),
    [
        pytest.param('{"command": "ls"}', {"command": "ls"}, (), id="an object in a string"),
        pytest.param({"command": "ls"}, {"command": "ls"}, None, id="an object"),
        pytest.param('{"command": "ls', '{"command": "ls', None, id="an object cut off"),
        pytest.param("ls -l", "ls -l", None, id="no JSON"),
        pytest.param('["ls"]', '["ls"]', None, id="a list in a string"),
    ],
)
def test_arguments_are_decoded_if_they_are_an_object(arguments: Value, value: Value, inside: Path | None) -> None:
    (site,) = sites_of(use(function("bash", arguments)))
    assert (site.value, site.inside, site.tool) == (value, inside, "bash")


def test_parallel_results_find_their_calls_in_any_order() -> None:
    calls = use(function("bash", '{"command": "make"}', "c1"), function("read", '{"path": "/a.py"}', "c2"))
    pairing = Pairing()
    Chat().sites(calls, pairing)
    (second,) = Chat().sites(answer("x", "c2"), pairing)
    (first,) = Chat().sites(answer("x", "c1"), pairing)
    assert (second.tool, second.context.path) == ("read", "/a.py")
    assert (first.tool, first.context.command) == ("bash", "make")


def test_a_result_belongs_to_the_latest_call_of_its_id_without_one() -> None:
    (site,) = sites_of(
        use(function("bash", '{"command": "one"}')),
        answer("x"),
        use(function("bash", '{"command": "two"}')),
        answer("x", name="bash"),
    )
    assert site.context.command == "two"


def test_an_older_result_finds_its_call_by_name() -> None:
    called = {"role": "assistant", "function_call": {"name": "bash", "arguments": '{"command": "make"}'}}
    (site,) = sites_of(called, {**says("function", LONG), "name": "bash"})
    assert (site.tool, site.context.command) == ("bash", "make")


def test_a_result_without_call_has_the_tool_it_names() -> None:
    (site,) = sites_of(answer(LONG, name="read"))
    assert (site.tool, site.context.tool_class) == ("read", "read")
    assert sites_of(answer(LONG))[0].tool == ""


@pytest.mark.parametrize(
    ("content", "code", "failed"),
    [
        ("Exit code 2\nno", 2, True),
        ("Exit code: 0\r\nyes", 0, False),
        ([{"type": "text", "text": "exit code: -1"}], -1, True),
        ("see\nExit code 2", None, False),
        ("Exit code 2 is what it gave", None, False),
    ],
)
def test_the_first_line_of_a_result_may_tell_the_exit_code(content: Value, code: int | None, failed: bool) -> None:
    site = sites_of(use(function("bash", '{"command": "make"}')), answer(content))[0]
    assert (site.context.exit_code, site.context.is_error, site.context.command) == (code, failed, "make")


FIRST = [says("system", LONG), says("user", OTHER), use(function("bash", '{"command": "make"}'))]
LATER = [answer(LONG), use(function("bash", '{"command": "ls"}', "c2")), answer(OTHER, "c2"), says("assistant", LONG)]


def test_results_that_an_earlier_line_held_are_copies_and_prose_stays() -> None:
    assert places(sites_of({"messages": FIRST}, {"messages": FIRST + LATER})) == [
        ("messages.2.tool_calls.0.function.arguments", Treat.INPUT),
        ("messages.3.content", Treat.TEXT),
        ("messages.4.tool_calls.0.function.arguments", Treat.INPUT),
        ("messages.5.content", Treat.TEXT),
    ]
    again = places(sites_of({"messages": FIRST}, {"messages": FIRST + LATER}, {"messages": FIRST + LATER}))
    assert again[1:] == [
        ("messages.3.content", Treat.MIRROR),
        ("messages.4.tool_calls.0.function.arguments", Treat.INPUT),
        ("messages.5.content", Treat.MIRROR),
    ]


def test_another_conversation_holds_no_copies() -> None:
    other = [says("system", LONG), use(function("bash", '{"command": "ls"}', "c9")), answer("x", "c9")]
    found = sites_of({"messages": FIRST + LATER}, {"messages": other})
    assert [site.treat for site in found] == [Treat.INPUT, Treat.TEXT]


def test_a_conversation_answers_its_own_calls() -> None:
    (_, site) = sites_of(
        {"messages": [use(function("bash", '{"command": "one"}')), use(function("bash", '{"command": "two"}'))]},
        {"messages": [use(function("bash", '{"command": "three"}')), answer(LONG)]},
    )
    assert site.context.command == "three"


@pytest.mark.parametrize(
    ("record", "day"),
    [
        ({"created_at": "2026-01-05T08:00:00Z"}, "2026-01-05"),
        ({"created_at": 7, "timestamp": "2026-01-06T08:00:00.000Z"}, "2026-01-06"),
        ({"role": "user", "content": "hi"}, ""),
    ],
)
def test_a_day_is_that_of_the_record_if_it_has_one(record: Value, day: str) -> None:
    assert Chat().day(record) == day
