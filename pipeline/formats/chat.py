"""OpenAI chat messages: one a line, or one conversation a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, Pairing, day_of
from pipeline.formats.blocks import SHORTEST_COPY_CHARS, holds_tool_text, is_image, text_of
from pipeline.formats.inner import inner_object
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT
from pipeline.rules.tool_classes import context_of

# There is neither error flag nor exit code: some tools begin their output with one.
_EXIT_CODE = re.compile(r"Exit code:? (-?\d{1,10})\s*(?:\n|$)", re.IGNORECASE)
_RESULT_ROLES = ("tool", "function")
# What holds the name and the input of a call; without any the call itself does.
_CALL_KINDS = ("function", "custom")
_DAYS = ("created_at", "timestamp")
# What is kept of a call or result to know it when a later line repeats it.
_HELD = Call("", NO_CONTEXT)


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages of the chat completions interface, with the older `function_call`."""

    name: str = "chat"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of one message, or of all messages of one conversation, in document order."""
        messages = document.get("messages")
        if isinstance(messages, list):
            return _conversation_sites(messages, ("messages",), pairing.own)
        return list(_message_sites(document, (), pairing.own, again=False))

    def day(self, document: dict[str, Json]) -> str:
        """The day of `created_at` or `timestamp`; the interface itself has no time."""
        return next((day for key in _DAYS if (day := day_of(document.get(key)))), "")


def _conversation_sites(messages: list[Json], path: Path, known: CallMap) -> list[Site]:
    """Sites of a conversation, which may begin with the messages of an earlier line.

    Calls and results pair within the conversation; `known` holds the marks of the lines before.
    """
    calls = CallMap()
    repeated = _repeated(messages, known)
    sites: list[Site] = []
    for index, message in enumerate(messages):
        if isinstance(message, dict):
            sites += _message_sites(message, (*path, index), calls, again=index < repeated)
    for message in messages:
        for mark in _marks(message):
            # Taken out first, so that each is held once, however many lines repeat it.
            known.answer(mark)
            known.add(mark, _HELD)
    return sites


def _repeated(messages: list[Json], known: CallMap) -> int:
    """How many messages at the start an earlier line had: up to the last one with a mark of that line."""
    for index in range(len(messages) - 1, -1, -1):
        if any(known.peek(mark) is not UNKNOWN_CALL for mark in _marks(messages[index])):
            return index + 1
    return 0


def _marks(message: Json) -> Iterator[str]:
    """What tells a message from others: the ids of the calls that it makes, and of the call that it answers."""
    if not isinstance(message, dict):
        return
    answered, calls = message.get("tool_call_id"), message.get("tool_calls")
    if isinstance(answered, str) and answered:
        yield f"result:{answered}"
    if isinstance(calls, list):
        for call in calls:
            if isinstance(call, dict) and isinstance(call_id := call.get("id"), str) and call_id:
                yield f"call:{call_id}"


def _message_sites(message: dict[str, Json], path: Path, calls: CallMap, *, again: bool) -> Iterator[Site]:
    """Sites of one message; `again`: an earlier line held it, so its results are copies."""
    is_result = message.get("role") in _RESULT_ROLES
    answer = _answer(message, calls) if is_result else UNKNOWN_CALL
    for key, value in message.items():
        here = (*path, key)
        if key == "content":
            if is_result:
                yield from _result_sites(value, here, Treat.MIRROR if again else Treat.TEXT, answer)
            else:
                yield from _prose_sites(value, here)
        elif key == "tool_calls" and isinstance(value, list):
            for index, call in enumerate(value):
                if isinstance(call, dict):
                    yield from _call_sites(call, (*here, index), calls)
        elif key == "function_call" and isinstance(value, dict):
            yield from _input_sites(value, here, calls, _function_id(value.get("name")))


def _call_sites(call: dict[str, Json], path: Path, calls: CallMap) -> Iterator[Site]:
    call_id = call.get("id")
    own, here = call, path
    for kind in _CALL_KINDS:
        inner = call.get(kind)
        if isinstance(inner, dict):
            own, here = inner, (*path, kind)
            break
    return _input_sites(own, here, calls, call_id if isinstance(call_id, str) else "")


def _input_sites(own: dict[str, Json], path: Path, calls: CallMap, call_id: str) -> Iterator[Site]:
    """Register a call; the site of its input: an object in a string, an object, or a plain string."""
    name = own.get("name")
    tool = name if isinstance(name, str) else ""
    key = "arguments" if "arguments" in own else "input"
    value = own.get(key)
    # Only `arguments` are JSON: a custom tool takes its input as it is.
    decoded = inner_object(value) if key == "arguments" and isinstance(value, str) else None
    tool_input = value if decoded is None else decoded
    context = context_of(tool, tool_input)
    calls.add(call_id, Call(tool, context))
    if tool_input and isinstance(tool_input, (dict, str)):
        yield Site((*path, key), tool_input, Treat.INPUT, tool, context, inside=None if decoded is None else ())


def _function_id(name: Json) -> str:
    """What pairs the older calls and results, which have no id but the function's name."""
    return f"function:{name}" if isinstance(name, str) and name else ""


def _answer(message: dict[str, Json], calls: CallMap) -> Call:
    """The call that a result answers, with exit code; the result's own tool name if there is none."""
    call_id, name = message.get("tool_call_id"), message.get("name")
    call = calls.answer(call_id if isinstance(call_id, str) else _function_id(name))
    if not call.tool and isinstance(name, str):
        call = Call(name, context_of(name, None))
    ended = _EXIT_CODE.match(text_of(message.get("content")))
    if ended is None:
        return call
    code = int(ended[1])
    return Call(call.tool, replace(call.context, exit_code=code, is_error=code != 0))


def _result_sites(content: Json, path: Path, treat: Treat, answer: Call) -> Iterator[Site]:
    shortest = 0 if treat is Treat.TEXT else SHORTEST_COPY_CHARS
    for site in _part_sites(content, path, treat):
        if site.treat is Treat.IMAGE or (isinstance(site.value, str) and len(site.value) > shortest):
            site.tool, site.context = answer.tool, answer.context
            yield site


def _prose_sites(content: Json, path: Path) -> Iterator[Site]:
    """What is said stays, also where a later line says it again, but for tool blocks in it and images."""
    for site in _part_sites(content, path, Treat.MARKDOWN):
        if site.treat is Treat.IMAGE or (isinstance(site.value, str) and holds_tool_text(site.value)):
            yield site


def _part_sites(content: Json, path: Path, treat: Treat) -> Iterator[Site]:
    """All texts, as sites of this treatment, and images of a content that is a string or a list of parts."""
    if isinstance(content, str):
        yield Site(path, content, treat, "", NO_CONTEXT)
    if not isinstance(content, list):
        return
    for index, part in enumerate(content):
        here: Path = (*path, index)
        if isinstance(part, str):
            yield Site(here, part, treat, "", NO_CONTEXT)
        elif isinstance(part, dict):
            text, kind = part.get("text"), part.get("type")
            if kind == "text" and isinstance(text, str):
                yield Site((*here, "text"), text, treat, "", NO_CONTEXT)
            elif kind == "image_url":
                yield from _image_sites(part.get("image_url"), (*here, "image_url"))
            elif is_image(part):
                yield Site(here, part, Treat.IMAGE, "", NO_CONTEXT)


def _image_sites(url: Json, path: Path) -> Iterator[Site]:
    """The site of an image whose bytes are in its URL; others are only named."""
    if isinstance(url, dict):
        url, path = url.get("url"), (*path, "url")
    if isinstance(url, str) and url.startswith("data:"):
        yield Site(path, url, Treat.IMAGE, "", NO_CONTEXT)
