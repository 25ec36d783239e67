"""Codex CLI rollouts: response items, the events that repeat them, compacted histories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.formats.base import UNKNOWN_CALL, Call, Pairing, day_of
from pipeline.formats.blocks import SHORTEST_COPY_CHARS, text_of
from pipeline.formats.codex_events import event_sites
from pipeline.formats.inner import inner_object
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT, ToolContext
from pipeline.rules.tool_classes import context_of

# The header that the shell tools put before an output; the second form has two lines before the code.
_EXIT_CODE = re.compile(
    r"(?:Exit code: |Chunk ID: [^\n]{0,200}\n[^\n]{0,200}\nProcess exited with code )(-?\d{1,10})(?:\r?\n|$)"
)
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TEXT_PARTS = frozenset({"input_text", "output_text", "text"})
# Which field of a call is its input.
_INPUTS = ("arguments", "input", "action")
# Kinds of calls that do not name their tool.
_UNNAMED = {"local_shell_call": "local_shell", "web_search_call": "web_search_call"}
# What each turn says again in the same words.
_INSTRUCTIONS = frozenset({"user_instructions", "developer_instructions", "base_instructions"})


@dataclass(frozen=True, slots=True)
class Codex:
    """Rollouts, live and archived."""

    name: str = "codex"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of one record in document order."""
        payload, kind = document.get("payload"), document.get("type")
        if not isinstance(payload, dict):
            return []
        path: Path = ("payload",)
        if kind == "response_item":
            return _item_sites(payload, path, pairing, nested=False)
        if kind == "event_msg":
            return event_sites(payload, path, pairing.own)
        if kind == "turn_context":
            return list(_instruction_sites(payload, path))
        history = payload.get("replacement_history")
        if kind != "compacted" or not isinstance(history, list):
            return []
        return [
            site
            for index, item in enumerate(history)
            if isinstance(item, dict)
            for site in _item_sites(item, (*path, "replacement_history", index), pairing, nested=True)
        ]

    def day(self, document: dict[str, Json]) -> str:
        """The day of the envelope's `timestamp`."""
        return day_of(document.get("timestamp"))


def _item_sites(item: dict[str, Json], path: Path, pairing: Pairing, *, nested: bool) -> list[Site]:
    """Sites of a response item, or of one that is `nested` in a history, where it stands again."""
    kind = item.get("type")
    if not isinstance(kind, str):
        return []
    if kind in _CALLS:
        return _call_sites(item, kind, path, pairing, nested=nested)
    if kind in _OUTPUTS:
        return _output_sites(item, path, pairing, nested=nested)
    return list(_message_sites(item.get("content"), (*path, "content"))) if kind == "message" else []


def _call_sites(item: dict[str, Json], kind: str, path: Path, pairing: Pairing, *, nested: bool) -> list[Site]:
    """Register a call; the site of its input: an object in a string, a plain string, or an object."""
    name, call_id = item.get("name"), item.get("call_id")
    tool = name if isinstance(name, str) else _UNNAMED.get(kind, "")
    key = next((key for key in _INPUTS if key in item), "")
    value = item.get(key)
    # Only `arguments` are JSON: a custom tool takes its input as it is.
    decoded = inner_object(value) if key == "arguments" and isinstance(value, str) else None
    tool_input = value if decoded is None else decoded
    context = context_of(tool, tool_input)
    if isinstance(call_id, str):
        (pairing.nested if nested else pairing.own).add(call_id, Call(tool, context))
    if not tool_input or not isinstance(tool_input, (dict, str)):
        return []
    inside = None if decoded is None else ()
    return [Site((*path, key), tool_input, Treat.INPUT, tool, context, inside=inside)]


def _output_sites(item: dict[str, Json], path: Path, pairing: Pairing, *, nested: bool) -> list[Site]:
    call_id, output = item.get("call_id"), item.get("output")
    call = _answered(call_id, pairing, nested=nested) if isinstance(call_id, str) else UNKNOWN_CALL
    treat = Treat.MIRROR if nested else Treat.TEXT
    here = (*path, "output")
    if isinstance(output, list):
        return list(_part_sites(output, here, treat, call.tool, _ended(call.context, _code_of(text_of(output)))))
    if not isinstance(output, str):
        return []
    text, inside, code = output, None, _code_of(output)
    wrapped = inner_object(output)
    if wrapped is not None:
        body, metadata = wrapped.get("output"), wrapped.get("metadata")
        # Without its metadata it is an output that is JSON itself.
        if isinstance(body, str) and isinstance(metadata, dict):
            number = metadata.get("exit_code")
            code = number if isinstance(number, int) and not isinstance(number, bool) else None
            text, inside = body, ("output",)
    if len(text) <= _shortest(treat):
        return []
    return [Site(here, text, treat, call.tool, _ended(call.context, code), inside=inside)]


def _answered(call_id: str, pairing: Pairing, *, nested: bool) -> Call:
    """The call that an output answers; a history may begin between the two."""
    if not nested:
        return pairing.own.answer(call_id)
    call = pairing.nested.answer(call_id)
    return pairing.own.peek(call_id) if call is UNKNOWN_CALL else call


def _message_sites(content: Json, path: Path) -> Iterator[Site]:
    """The images of a message; its texts are prose, also in a history: a resumed session reads it from there."""
    if isinstance(content, list):
        for index, part in enumerate(content):
            if isinstance(part, dict) and _is_image(part):
                yield Site((*path, index), part, Treat.IMAGE, "", NO_CONTEXT)


def _part_sites(parts: list[Json], path: Path, treat: Treat, tool: str, context: ToolContext) -> Iterator[Site]:
    """Texts and images of a list of parts."""
    for index, part in enumerate(parts):
        if not isinstance(part, dict):
            continue
        text, kind = part.get("text"), part.get("type")
        if isinstance(text, str) and isinstance(kind, str) and kind in _TEXT_PARTS and len(text) > _shortest(treat):
            yield Site((*path, index, "text"), text, treat, tool, context)
        elif _is_image(part):
            yield Site((*path, index), part, Treat.IMAGE, tool, context)


def _instruction_sites(payload: dict[str, Json], path: Path) -> Iterator[Site]:
    for key, value in payload.items():
        if key in _INSTRUCTIONS and isinstance(value, str) and len(value) > SHORTEST_COPY_CHARS:
            yield Site((*path, key), value, Treat.COPY_ONLY, "", NO_CONTEXT)


def _is_image(part: dict[str, Json]) -> bool:
    """True for an image whose bytes are in its URL; others are only named."""
    url = part.get("image_url")
    return part.get("type") == "input_image" and isinstance(url, str) and url.startswith("data:")


def _shortest(treat: Treat) -> int:
    return 0 if treat is Treat.TEXT else SHORTEST_COPY_CHARS


def _code_of(text: str) -> int | None:
    found = _EXIT_CODE.match(text)
    return int(found[1]) if found else None


def _ended(context: ToolContext, code: int | None) -> ToolContext:
    """There is no error flag: a non-zero exit code stands for it."""
    return context if code is None else replace(context, exit_code=code, is_error=code != 0)
