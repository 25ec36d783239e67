"""Gemini CLI sessions: one document, or lines that tell how a document grew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, Pairing, day_of
from pipeline.formats.blocks import SHORTEST_COPY_CHARS, holds_tool_text
from pipeline.formats.gemini_display import display_sites
from pipeline.formats.repeats import stands_in
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT
from pipeline.rules.tool_classes import context_of

# Near the end of what a shell command gave, with at most a signal and process ids behind it.
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,10})[ \t\r]*$", re.MULTILINE)
_EXIT_CODE_CHARS = 1000
_DAYS = ("timestamp", "lastUpdated", "startTime")


@dataclass(frozen=True, slots=True)
class Gemini:
    """The document: one object with all messages, so one record."""

    name: str = "gemini"
    whole_document: bool = True
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of all messages in document order."""
        return list(_list_sites(document.get("messages"), ("messages",), pairing.own, again=False))

    def day(self, document: dict[str, Json]) -> str:
        """The day the session started."""
        return day_of(document.get("startTime"))


@dataclass(frozen=True, slots=True)
class GeminiLines:
    """The lines of newer versions: a header, messages, and changes to both.

    A message is written anew, whole, when it changes, and readers show its last line alone, so a result in it is a
    visible one each time. The messages of a `$set`, written anew all together, repeat those of the lines before.
    """

    name: str = "gemini-jsonl"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of one line in document order."""
        calls = pairing.own
        settings, patch = document.get("$set"), document.get("$patch")
        if isinstance(settings, dict):
            return list(_list_sites(settings.get("messages"), ("$set", "messages"), calls, again=True))
        if isinstance(patch, dict):
            return [*_patch_sites(patch, ("$patch",), calls)]
        if "messages" in document:
            return list(_list_sites(document["messages"], ("messages",), calls, again=False))
        return list(_message_sites(document, (), calls, again=False))

    def day(self, document: dict[str, Json]) -> str:
        """The day of a message; of a header or a change the last one it tells."""
        settings = document.get("$set")
        owner = settings if isinstance(settings, dict) else document
        return next((day for key in _DAYS if (day := day_of(owner.get(key)))), "")


def _list_sites(messages: Json, path: Path, calls: CallMap, *, again: bool) -> Iterator[Site]:
    if isinstance(messages, list):
        for index, message in enumerate(messages):
            if isinstance(message, dict):
                yield from _message_sites(message, (*path, index), calls, again=again)


def _patch_sites(patch: dict[str, Json], path: Path, calls: CallMap) -> Iterator[Site]:
    """New contents and results of earlier messages: of one, or of a list of `updates`."""
    for key in patch:
        if key == "updates":
            yield from _list_sites(patch[key], (*path, key), calls, again=True)
        else:
            yield from _message_sites({key: patch[key]}, path, calls, again=True)


def _message_sites(message: dict[str, Json], path: Path, calls: CallMap, *, again: bool) -> Iterator[Site]:
    """Sites of one message; `again`: its texts may be copies of earlier ones."""
    for key, value in message.items():
        here = (*path, key)
        if key in ("content", "displayContent"):
            for part, place in _parts(value, here):
                yield from _part_sites(part, place, calls)
        elif key == "toolCalls" and isinstance(value, list):
            for index, record in enumerate(value):
                if isinstance(record, dict):
                    yield from _call_sites(record, (*here, index), calls, again=again)


def _parts(content: Json, path: Path) -> Iterator[tuple[Json, Path]]:
    """The parts of a content, which is one part or a list of them."""
    if isinstance(content, list):
        for index, part in enumerate(content):
            yield part, (*path, index)
    else:
        yield content, path


def _part_sites(part: Json, path: Path, calls: CallMap) -> Iterator[Site]:
    """Sites of a part of what was said: prose stays, but for tool blocks in it; calls and results repeat others."""
    if isinstance(part, str):
        yield from _prose_sites(part, path)
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        here = (*path, key)
        if key == "text" and isinstance(value, str) and part.get("thought") is not True:
            yield from _prose_sites(value, here)
        elif key == "functionCall" and isinstance(value, dict):
            call = _called(value, calls)
            yield from _input_sites(value.get("args"), (*here, "args"), call)
        elif key == "functionResponse" and isinstance(value, dict):
            yield from _response_sites(value, here, Treat.MIRROR, _ended(_asked(value, calls), value))
        elif key == "inlineData":
            yield from _image_sites(value, here, UNKNOWN_CALL)


def _prose_sites(text: str, path: Path) -> Iterator[Site]:
    if holds_tool_text(text):
        yield Site(path, text, Treat.MARKDOWN, "", NO_CONTEXT)


def _call_sites(record: dict[str, Json], path: Path, calls: CallMap, *, again: bool) -> Iterator[Site]:
    """Sites of the record of a call, which holds input, result and what was shown of it."""
    call_id = record.get("id")
    known = isinstance(call_id, str) and calls.peek(call_id) is not UNKNOWN_CALL
    call = _called(record, calls)
    own = [
        response
        for part, _ in _parts(record.get("result"), ())
        if isinstance(part, dict) and isinstance(response := part.get("functionResponse"), dict)
        if response.get("id", call_id) == call_id
    ]
    ended = _ended(call, *own, failed=record.get("status") == "error")
    text = "\n".join(text for response in own for text in _answers(response))
    args = record.get("args")
    for key, value in record.items():
        here = (*path, key)
        if key == "args":
            yield from _input_sites(value, here, call)
        elif key == "result":
            treat = Treat.MIRROR if again and known else Treat.TEXT
            for part, place in _parts(value, here):
                yield from _result_sites(part, place, treat, call_id, ended, calls)
        elif key == "resultDisplay":
            yield from display_sites(value, here, ended, text)
        elif key == "description" and isinstance(value, str) and len(value) > SHORTEST_COPY_CHARS:
            treat = Treat.CONTAINED if _is_argument(value, args) else Treat.COPY_ONLY
            yield Site(here, value, treat, call.tool, call.context)


def _is_argument(text: str, args: Json) -> bool:
    """True if a description says nothing but what an argument says."""
    return isinstance(args, dict) and any(isinstance(value, str) and stands_in(text, value) for value in args.values())


def _called(record: dict[str, Json], calls: CallMap) -> Call:
    """Register a call; a change that only adds a result to one names it by its id alone."""
    name, call_id = record.get("name"), record.get("id")
    key = call_id if isinstance(call_id, str) else ""
    # Taken out first: a call is written again with its result, and is held once.
    before = calls.answer(key)
    call = Call(name, context_of(name, record.get("args"))) if isinstance(name, str) else before
    if call is not UNKNOWN_CALL:
        calls.add(key, call)
    return call


def _asked(response: dict[str, Json], calls: CallMap) -> Call:
    """The call that a result stands apart from; the result's own tool name if there is none."""
    call_id, name = response.get("id"), response.get("name")
    call = calls.peek(call_id) if isinstance(call_id, str) else UNKNOWN_CALL
    return Call(name, context_of(name, None)) if call is UNKNOWN_CALL and isinstance(name, str) else call


def _ended(call: Call, *responses: dict[str, Json], failed: bool = False) -> Call:
    """The call with the error flag and the exit code of its result."""
    code: int | None = None
    for response in responses:
        body = response.get("response")
        failed = failed or (isinstance(body, dict) and "error" in body)
        if call.context.tool_class == "shell":
            for text in _answers(response):
                for found in _EXIT_CODE.finditer(text, max(0, len(text) - _EXIT_CODE_CHARS)):
                    code = int(found[1])
    failed = failed or code not in (None, 0)
    return Call(call.tool, replace(call.context, exit_code=code, is_error=failed))


def _answers(response: dict[str, Json]) -> Iterator[str]:
    """The texts of a result: `output` or `error`, of other programs' tools also under other names."""
    body = response.get("response")
    if isinstance(body, dict):
        yield from (text for text in body.values() if isinstance(text, str))


def _result_sites(part: Json, path: Path, treat: Treat, call_id: Json, ended: Call, calls: CallMap) -> Iterator[Site]:
    """Sites of a part of a call's result; the results of parallel calls may stand beside its own."""
    if isinstance(part, str):
        yield from _text_sites(part, path, treat, ended)
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        here = (*path, key)
        if key == "text" and isinstance(value, str):
            yield from _text_sites(value, here, treat, ended)
        elif key == "inlineData":
            yield from _image_sites(value, here, ended)
        elif key == "functionResponse" and isinstance(value, dict):
            if value.get("id", call_id) == call_id:
                yield from _response_sites(value, here, treat, ended)
            else:
                yield from _response_sites(value, here, Treat.MIRROR, _ended(_asked(value, calls), value))


def _response_sites(response: dict[str, Json], path: Path, treat: Treat, ended: Call) -> Iterator[Site]:
    for key, value in response.items():
        here = (*path, key)
        if key == "response" and isinstance(value, dict):
            for name, text in value.items():
                if isinstance(text, str):
                    yield from _text_sites(text, (*here, name), treat, ended)
        elif key == "parts" and isinstance(value, list):
            for index, part in enumerate(value):
                if isinstance(part, dict):
                    yield from _image_sites(part.get("inlineData"), (*here, index, "inlineData"), ended)


def _input_sites(args: Json, path: Path, call: Call) -> Iterator[Site]:
    if args and isinstance(args, (dict, str)):
        yield Site(path, args, Treat.INPUT, call.tool, call.context)


def _text_sites(text: str, path: Path, treat: Treat, ended: Call) -> Iterator[Site]:
    if len(text) > (0 if treat is Treat.TEXT else SHORTEST_COPY_CHARS):
        yield Site(path, text, treat, ended.tool, ended.context)


def _image_sites(data: Json, path: Path, call: Call) -> Iterator[Site]:
    """The site of an image's base64; sounds and other files stay."""
    if isinstance(data, dict) and isinstance(body := data.get("data"), str) and body:
        media = data.get("mimeType")
        if media is None or (isinstance(media, str) and media.startswith("image/")):
            yield Site((*path, "data"), body, Treat.IMAGE, call.tool, call.context, media=media or "")
