"""OpenClaw, clawdbot and pi sessions: calls with their raw stream, results with their details."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, Pairing, day_of
from pipeline.formats.blocks import SHORTEST_COPY_CHARS, result_sites, text_of
from pipeline.formats.inner import inner_value
from pipeline.formats.repeats import stands_in
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT
from pipeline.rules.tool_classes import context_of

# What a command that failed leaves behind its output.
_EXIT_CODE = re.compile(r"(?:^|\n)Command exited with code (-?\d{1,10})\s*\Z")
_EXIT_CODE_CHARS = 80
# What a command of the user counts as: its record names no tool.
_USER_SHELL = "bash"
# The raw stream of `arguments`, under the names of two services.
_STREAMS = ("partialArgs", "partialJson")
# What fields of `details` hold that repeat neither the text nor a part of it; others count as a result text.
_FIELDS = {"diff": Treat.FILE, "plan": Treat.COPY_ONLY}
# Places, questions and counters: never a copy worth a look.
_LEFT_ALONE = frozenset({"cwd", "path", "url", "finalUrl", "query", "usage"})
# Length of the path of a field: message, details, its name.
_FIELD_DEPTH = 3
# Opaque to all but the service, which checks them.
_OPAQUE_ENDS = ("ignature", "encrypted_content")


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """All versions, and pi, whose sessions have the same form."""

    name: str = "openclaw"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of one record in document order; only messages have any."""
        message = document.get("message")
        if document.get("type") != "message" or not isinstance(message, dict):
            return []
        path: Path = ("message",)
        role = message.get("role")
        if role == "assistant":
            return _call_sites(message.get("content"), (*path, "content"), pairing.own)
        if role == "toolResult":
            return _result_sites(message, path, pairing.own)
        if role == "user":
            return _image_sites(message.get("content"), (*path, "content"))
        return _user_command_sites(message, path) if role == "bashExecution" else []

    def day(self, document: dict[str, Json]) -> str:
        """The day of the record's `timestamp`; that of its message is another clock."""
        return day_of(document.get("timestamp"))


def _image_sites(content: Json, path: Path) -> list[Site]:
    """The images of what a user said; the texts are prose."""
    if not isinstance(content, list):
        return []
    return [
        Site((*path, index), block, Treat.IMAGE, "", NO_CONTEXT)
        for index, block in enumerate(content)
        if isinstance(block, dict) and _is_image(block)
    ]


class _Answer(NamedTuple):
    """What a result answers, and its visible text, which its details may repeat."""

    call: Call
    text: str


def _call_sites(content: Json, path: Path, calls: CallMap) -> list[Site]:
    sites: list[Site] = []
    if isinstance(content, list):
        for index, block in enumerate(content):
            if isinstance(block, dict) and block.get("type") == "toolCall":
                sites += _one_call_sites(block, (*path, index), calls)
    return sites


def _one_call_sites(block: dict[str, Json], path: Path, calls: CallMap) -> list[Site]:
    """Register a call; its input, and the stream that the input was decoded from."""
    name, call_id, arguments = block.get("name"), block.get("id"), block.get("arguments")
    tool = name if isinstance(name, str) else ""
    context = context_of(tool, arguments)
    if isinstance(call_id, str):
        calls.add(call_id, Call(tool, context))
    sites: list[Site] = []
    for key, value in block.items():
        if key == "arguments" and value and isinstance(value, (dict, str)):
            sites.append(Site((*path, key), value, Treat.INPUT, tool, context))
        elif key in _STREAMS and isinstance(value, str) and len(value) > SHORTEST_COPY_CHARS:
            # A stream that was cut off, or mended while it was decoded, may be the only copy of what it holds.
            repeats = isinstance(arguments, dict) and inner_value(value) == arguments
            treat = Treat.CONTAINED if repeats else Treat.COPY_ONLY
            sites.append(Site((*path, key), value, treat, tool, context))
    return sites


def _result_sites(message: dict[str, Json], path: Path, calls: CallMap) -> list[Site]:
    answer = _answer(message, calls)
    sites: list[Site] = []
    for key, value in message.items():
        if key == "content":
            sites += _content_sites(value, (*path, key), answer.call)
        elif key == "details" and isinstance(value, dict):
            # Results of fetches and searches are these details as JSON.
            twin = inner_value(answer.text)
            for name, field in value.items():
                _detail_sites(name, field, (*path, key, name), _member(twin, name), answer, sites)
    return sites


def _answer(message: dict[str, Json], calls: CallMap) -> _Answer:
    """The call that a result answers, with exit code and error flag; the result's own tool name if there is none."""
    call_id, name, details = message.get("toolCallId"), message.get("toolName"), message.get("details")
    call = calls.answer(call_id) if isinstance(call_id, str) else UNKNOWN_CALL
    if call is UNKNOWN_CALL and isinstance(name, str):
        call = Call(name, context_of(name, None))
    text = text_of(message.get("content"))
    code = _number(details.get("exitCode")) if isinstance(details, dict) else None
    if code is None:
        found = _EXIT_CODE.search(text, max(0, len(text) - _EXIT_CODE_CHARS))
        code = int(found[1]) if found else None
    # The error flag is false for commands that ended with a non-zero code.
    failed = message.get("isError") is True or code not in (None, 0)
    return _Answer(Call(call.tool, replace(call.context, exit_code=code, is_error=failed)), text)


def _content_sites(content: Json, path: Path, call: Call) -> list[Site]:
    """The visible texts and images of a result."""
    if not isinstance(content, list):
        return result_sites(content, path, Treat.TEXT, call.tool, call.context)
    sites: list[Site] = []
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            continue
        text = block.get("text")
        if _is_image(block):
            sites.append(Site((*path, index), block, Treat.IMAGE, call.tool, call.context))
        elif block.get("type") == "text" and isinstance(text, str) and text:
            sites.append(Site((*path, index, "text"), text, Treat.TEXT, call.tool, call.context))
    return sites


def _detail_sites(key: str, value: Json, path: Path, twin: Json, answer: _Answer, sites: list[Site]) -> None:
    """Walk one field of the details; `twin` is what the visible text, decoded, has in the same place."""
    if not value or key in _LEFT_ALONE or key.endswith(_OPAQUE_ENDS):
        return
    call = answer.call
    if isinstance(value, str):
        if len(value) > SHORTEST_COPY_CHARS:
            repeats = value == twin or stands_in(value, answer.text)
            treat = Treat.CONTAINED if repeats else _FIELDS.get(key, Treat.MIRROR)
            sites.append(Site(path, value, treat, call.tool, call.context))
    elif isinstance(value, list):
        # Compared as a whole at the top only: at each of many levels it would take for ever.
        treat_all = _list_treat(key, value, twin) if len(path) == _FIELD_DEPTH else None
        if treat_all is not None:
            sites.append(Site(path, value, treat_all, call.tool, call.context))
            return
        for index, item in enumerate(value):
            _detail_sites("", item, (*path, index), _element(twin, index), answer, sites)
    elif isinstance(value, dict):
        if _is_image(value):
            sites.append(Site(path, value, Treat.IMAGE, call.tool, call.context))
            return
        for name, item in value.items():
            _detail_sites(name, item, (*path, name), _member(twin, name), answer, sites)


def _list_treat(key: str, value: list[Json], twin: Json) -> Treat | None:
    """How a list of the details is taken as a whole; None: element by element."""
    if value == twin:
        return Treat.CONTAINED
    return Treat.COPY_ONLY if _FIELDS.get(key) is Treat.COPY_ONLY else None


def _user_command_sites(message: dict[str, Json], path: Path) -> list[Site]:
    """A command that the user ran: call and result in one record."""
    command, code = message.get("command"), _number(message.get("exitCode"))
    called = context_of(_USER_SHELL, command)
    ended = replace(called, exit_code=code, is_error=code not in (None, 0))
    sites: list[Site] = []
    for key, value in message.items():
        if not isinstance(value, str) or not value:
            continue
        if key == "command":
            sites.append(Site((*path, key), value, Treat.INPUT, _USER_SHELL, called))
        elif key == "output":
            sites.append(Site((*path, key), value, Treat.TEXT, _USER_SHELL, ended))
    return sites


def _is_image(block: dict[str, Json]) -> bool:
    """True for a block whose base64 lies in it, without a `source` in between."""
    return block.get("type") == "image" and isinstance(block.get("data"), str)


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _element(value: Json, index: int) -> Json:
    return value[index] if isinstance(value, list) and index < len(value) else None
