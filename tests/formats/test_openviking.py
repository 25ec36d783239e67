"""Where OpenViking messages hold inputs, results and prose with calls."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.formats.base import Pairing
from pipeline.formats.openviking import OpenViking
from pipeline.records import Site, Treat

Value = Any


def sites_of(*messages: Value) -> list[Site]:
    """The sites of the last message."""
    pairing = Pairing()
    sites: list[Site] = []
    for message in messages:
        sites = OpenViking().sites(message, pairing)
    return sites


def places(sites: list[Site]) -> list[tuple[str, Treat]]:
    return [(".".join(map(str, site.path)), site.treat) for site in sites]


def message(*parts: Value) -> Value:
    return {"id": "m1", "role": "assistant", "parts": list(parts), "created_at": "2026-01-05T08:00:00.000Z"}


def tool(**more: Value) -> Value:
    return {"type": "tool", "tool_id": "c1", "tool_name": "bash", "tool_status": "completed", **more}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(
            tool(tool_input={"command": "ls"}, tool_output="a"),
            [("parts.0.tool_input", Treat.INPUT), ("parts.0.tool_output", Treat.TEXT)],
            id="call and result",
        ),
        pytest.param(
            {"tool_output": "a", **tool(tool_input={"command": "ls"})},
            [("parts.0.tool_output", Treat.TEXT), ("parts.0.tool_input", Treat.INPUT)],
            id="in the order of keys",
        ),
        pytest.param(tool(tool_input={}, tool_output=""), [], id="empty"),
        pytest.param(tool(tool_output=["a"]), [], id="odd output"),
        pytest.param(
            tool(tool_output="a", tool_output_ref="x"), [("parts.0.tool_output", Treat.STUB)], id="stub by ref"
        ),
        pytest.param(
            tool(tool_output="a", tool_output_truncated=True), [("parts.0.tool_output", Treat.STUB)], id="stub by flag"
        ),
        pytest.param(
            {"type": "text", "text": "[tool: bash]\nls"}, [("parts.0.text", Treat.MARKDOWN)], id="inlined call"
        ),
        pytest.param({"type": "text", "text": "[[tool]] bash"}, [("parts.0.text", Treat.MARKDOWN)], id="block"),
        pytest.param({"type": "text", "text": "prose"}, [], id="prose"),
        pytest.param({"type": "context", "abstract": "[tool: bash]"}, [], id="context"),
        pytest.param({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, [], id="image"),
        pytest.param(7, [], id="no part"),
    ],
)
def test_each_place_has_its_treatment(part: Value, expected: list[tuple[str, Treat]]) -> None:
    assert places(sites_of(message(part))) == expected


def test_the_content_of_old_records_is_prose() -> None:
    assert places(sites_of({"id": "m", "role": "user", "content": "[tool result]\na"})) == [("content", Treat.MARKDOWN)]
    assert sites_of({"id": "m", "role": "user", "content": "hello"}) == []


def test_a_result_in_a_later_message_has_the_command_of_its_call() -> None:
    running = message(tool(tool_status="running", tool_input={"command": "make"}))
    site = sites_of(running, message(tool(tool_status="error", tool_output="no")))[0]
    assert (site.tool, site.context.command, site.context.is_error) == ("bash", "make", True)


def test_a_call_without_input_is_not_taken_for_an_earlier_one_of_its_id() -> None:
    earlier = message(tool(tool_status="running", tool_input={"command": "make"}))
    running = message(tool(tool_status="running"))
    site = sites_of(earlier, running, message(tool(tool_output="ok")))[0]
    assert (site.tool, site.context.command, site.context.tool_class) == ("bash", "", "shell")


def test_a_result_without_a_call_still_has_its_tools_class() -> None:
    assert sites_of(message(tool(tool_name="read", tool_output="ok")))[0].context.tool_class == "read"


def test_the_day_is_that_of_its_creation() -> None:
    assert OpenViking().day(message()) == "2026-01-05"
