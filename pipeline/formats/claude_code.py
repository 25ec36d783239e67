"""Claude Code transcripts: calls, results, `toolUseResult`, progress and attachment records."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, Pairing, day_of
from pipeline.formats.blocks import SHORTEST_COPY_CHARS, holds_tool_text, is_image, result_sites, text_of
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT, ToolContext
from pipeline.rules.tool_classes import context_of

_EXIT_CODE = re.compile(r"Exit code (\d{1,3})(?:\n|$)")

# Where a record keeps more than its message.
_BESIDE = frozenset({"toolUseResult", "data", "attachment", "planContent"})
# One part in so many of the visible text: a record of many strings that each searched all of it would take for ever.
SMALLEST_PART = 64
# What the fields of a `toolUseResult` object repeat; fields that are not named repeat the result.
_FIELDS = {
    "originalFile": Treat.FILE,
    "oldString": Treat.FILE,
    "newString": Treat.FILE,
    "old_string": Treat.FILE,
    "new_string": Treat.FILE,
    "old_source": Treat.FILE,
    "new_source": Treat.FILE,
    "original_file": Treat.FILE,
    "updated_file": Treat.FILE,
    "prompt": Treat.COPY_ONLY,
    "plan": Treat.COPY_ONLY,
    "newTodos": Treat.COPY_ONLY,
    "oldTodos": Treat.COPY_ONLY,
    "questions": Treat.COPY_ONLY,
    "lines": Treat.LINES,
    "filenames": Treat.LINES,
    "base64": Treat.IMAGE,
}
# Looking up a member of an enumeration is slow, and these are asked for at each result.
_TEXT, _MIRROR = Treat.TEXT, Treat.MIRROR
# Paths, ids and settings: never a copy worth a look.
_LEFT_ALONE = frozenset({"filePath", "usage", "agentId", "url", "query", "type", "mode"})


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """Claude Code 1.x to 2.1, main and subagent files."""

    name: str = "claude-code"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of one record in document order."""
        return _record_sites(document, (), pairing.own, pairing.nested, nested=False)

    def day(self, document: dict[str, Json]) -> str:
        """The day of `timestamp`; snapshots keep theirs one level down."""
        day = day_of(document.get("timestamp"))
        if not day and isinstance(snapshot := document.get("snapshot"), dict):
            day = day_of(snapshot.get("timestamp"))
        return day


class _Answer(NamedTuple):
    """What a message answers: the call, and the visible text, which hidden fields of the record may repeat."""

    call: Call
    text: str = ""


_NO_ANSWER = _Answer(UNKNOWN_CALL)


def _record_sites(record: dict[str, Json], path: Path, calls: CallMap, inner: CallMap, *, nested: bool) -> list[Site]:
    """Sites of a record, or of a message of a subagent that is `nested` in a progress record."""
    message = record.get("message")
    sites: list[Site] = []
    answer = _NO_ANSWER
    if isinstance(message, dict):
        sites, answer = _message_sites(message, path, calls, nested=nested, mirrored="toolUseResult" in record)
    if record.keys().isdisjoint(_BESIDE):
        return sites
    found = {"message": sites}
    for key in _BESIDE & record.keys():
        value = record[key]
        here = (*path, key)
        if key == "toolUseResult":
            found[key] = _mirror_sites(value, here, answer)
        elif isinstance(value, str):
            if key == "planContent" and len(value) > SHORTEST_COPY_CHARS:
                found[key] = [Site(here, value, Treat.COPY_ONLY, "", NO_CONTEXT)]
        elif not isinstance(value, dict):
            continue
        elif key == "attachment":
            found[key] = _attachment_sites(value, here)
        elif key == "data" and record.get("type") == "progress":
            parent = record.get("parentToolUseID")
            call_id = parent if isinstance(parent, str) else ""
            found[key] = _progress_sites(value, here, calls.peek(call_id), call_id, inner)
    return [site for key in record if key in found for site in found[key]]


def _message_sites(
    message: dict[str, Json], path: Path, calls: CallMap, *, nested: bool, mirrored: bool
) -> tuple[list[Site], _Answer]:
    """Sites of the `message` of the record at `path`; the answer has a text if the record `mirrored` it."""
    content = message.get("content")
    sites: list[Site] = []
    answer = _NO_ANSWER
    if isinstance(content, str):
        if holds_tool_text(content):
            sites.append(Site((*path, "message", "content"), content, Treat.MARKDOWN, "", NO_CONTEXT))
        return sites, answer
    if not isinstance(content, list):
        return sites, answer
    for index, block in enumerate(content):
        if type(block) is not dict:
            continue
        kind = block.get("type")
        if kind == "tool_use":
            _call_site(block, (*path, "message", "content", index, "input"), calls, sites)
        elif kind == "tool_result":
            answer = _answer(block, calls, mirrored=mirrored)
            tool, context = answer.call
            here = (*path, "message", "content", index, "content")
            sites += result_sites(block.get("content"), here, _MIRROR if nested else _TEXT, tool, context)
        elif kind == "image" and is_image(block):
            sites.append(Site((*path, "message", "content", index), block, Treat.IMAGE, "", NO_CONTEXT))
        elif kind == "text" and isinstance(text := block.get("text"), str):
            treat = _text_treat(text, nested=nested)
            if treat is not None:
                sites.append(Site((*path, "message", "content", index, "text"), text, treat, "", NO_CONTEXT))
    return sites, answer


def _text_treat(text: str, *, nested: bool) -> Treat | None:
    """What prose is: it may hold tool blocks, or be part of a subagent's history, which is written again and again."""
    if nested:
        return Treat.COPY_ONLY if len(text) > SHORTEST_COPY_CHARS else None
    return Treat.MARKDOWN if holds_tool_text(text) else None


def _call_site(block: dict[str, Json], path: Path, calls: CallMap, sites: list[Site]) -> None:
    """Register a call; the site of its input, which lies at `path`."""
    name, call_id, tool_input = block.get("name"), block.get("id"), block.get("input")
    tool = name if isinstance(name, str) else ""
    context = context_of(tool, tool_input)
    if isinstance(call_id, str):
        calls.add(call_id, Call(tool, context))
    if tool_input:
        sites.append(Site(path, tool_input, Treat.INPUT, tool, context))


def _answer(block: dict[str, Json], calls: CallMap, *, mirrored: bool) -> _Answer:
    """The call that a result answers, with the result's error flag and exit code; and the text, if it is `mirrored`."""
    call_id = block.get("tool_use_id")
    call = calls.answer(call_id) if isinstance(call_id, str) else UNKNOWN_CALL
    failed = block.get("is_error") is True
    if not (mirrored or failed):
        return _Answer(call)
    text = text_of(block.get("content"))
    if failed:
        # Only failures tell a number.
        match = _EXIT_CODE.match(text)
        call = Call(call.tool, replace(call.context, is_error=True, exit_code=int(match[1]) if match else None))
    return _Answer(call, text)


def _mirror_sites(mirror: Json, path: Path, answer: _Answer) -> list[Site]:
    """Sites of a `toolUseResult`: a string, a list of blocks, or an object whose fields repeat input and result."""
    sites: list[Site] = []
    if isinstance(mirror, str):
        _text_site(mirror, path, Treat.MIRROR, answer, sites)
    elif isinstance(mirror, list):
        _list_sites(mirror, path, answer, sites)
    elif isinstance(mirror, dict):
        _field_sites(mirror, path, answer, sites)
    return sites


def _field_sites(value: dict[str, Json], path: Path, answer: _Answer, sites: list[Site]) -> None:
    """Walk an object of a `toolUseResult` (nesting under 12 in real files; the decoder bounds it)."""
    if is_image(value):
        sites.append(Site(path, value, Treat.IMAGE, answer.call.tool, answer.call.context))
        return
    for key, field in value.items():
        if not field or key in _LEFT_ALONE:
            continue
        if isinstance(field, str):
            if len(field) > SHORTEST_COPY_CHARS:
                _text_site(field, (*path, key), _treat_of(key, field, value), answer, sites)
                if sites[-1].treat is Treat.IMAGE:
                    sites[-1].media = _media_of(value)
        elif isinstance(field, dict):
            _field_sites(field, (*path, key), answer, sites)
        elif isinstance(field, list):
            treat = _FIELDS.get(key)
            if treat is Treat.LINES and all(isinstance(line, str) for line in field):
                repeats = bool(answer.text) and _stands_in("\n".join(map(str, field)), answer.text)
                treat = Treat.CONTAINED if repeats else treat
            if treat is None:
                _list_sites(field, (*path, key), answer, sites)
            else:
                sites.append(Site((*path, key), field, treat, answer.call.tool, answer.call.context))


def _treat_of(key: str, text: str, owner: dict[str, Json]) -> Treat:
    """What a text field of a `toolUseResult` repeats; `content` is a file body (Write, Read) or a text (Grep)."""
    if key == "content" and "filePath" in owner:
        return Treat.FILE
    if key == "stdout" and owner.get("isImage") is True and text.startswith("data:"):
        return Treat.IMAGE
    return _FIELDS.get(key, Treat.MIRROR)


def _media_of(owner: dict[str, Json]) -> str:
    """The media type beside a base64 string, "" if there is none."""
    media = owner.get("type")
    return media if isinstance(media, str) and "/" in media else ""


def _text_site(text: str, path: Path, treat: Treat, answer: _Answer, sites: list[Site]) -> None:
    """The site of a hidden text; what stands in the visible text of the record needs no search further back."""
    if len(text) <= SHORTEST_COPY_CHARS:
        return
    if treat is Treat.MIRROR and answer.text and _stands_in(text.strip(), answer.text):
        treat = Treat.CONTAINED
    sites.append(Site(path, text, treat, answer.call.tool, answer.call.context))


def _stands_in(part: str, whole: str) -> bool:
    """True if a hidden text is a part of the visible one; small parts of long texts are not looked for."""
    return len(part) * SMALLEST_PART >= len(whole) and part in whole


def _list_sites(values: list[Json], path: Path, answer: _Answer, sites: list[Site]) -> None:
    for index, value in enumerate(values):
        if isinstance(value, str):
            _text_site(value, (*path, index), Treat.MIRROR, answer, sites)
        elif isinstance(value, dict):
            _field_sites(value, (*path, index), answer, sites)


def _progress_sites(data: dict[str, Json], path: Path, call: Call, call_id: str, inner: CallMap) -> list[Site]:
    sites: list[Site] = []
    kind = data.get("type")
    for key, value in data.items():
        here = (*path, key)
        if key == "message" and isinstance(value, dict):
            sites += _record_sites(value, here, inner, inner, nested=True)
        elif key == "normalizedMessages" and isinstance(value, list):
            for index, record in enumerate(value):
                if isinstance(record, dict):
                    sites += _record_sites(record, (*here, index), inner, inner, nested=True)
        elif not isinstance(value, str) or len(value) <= SHORTEST_COPY_CHARS:
            continue
        elif kind == "bash_progress" and key in ("output", "fullOutput"):
            sites.append(_growing_site(data, key, value, here, call, call_id))
        elif key == "prompt":
            sites.append(Site(here, value, Treat.COPY_ONLY, call.tool, call.context))
    return sites


def _growing_site(data: dict[str, Json], key: str, value: str, path: Path, call: Call, call_id: str) -> Site:
    full = data.get("fullOutput")
    if key == "output" and isinstance(full, str) and value in full:
        return Site(path, value, Treat.CONTAINED, call.tool, call.context, call_id)
    return Site(path, value, Treat.GROWING, call.tool, call.context, f"{call_id}:{key}")


def _attachment_sites(attachment: dict[str, Json], path: Path) -> list[Site]:
    """Hook output, attached files, and the lists of tools that are written again and again."""
    command, name = attachment.get("command"), attachment.get("filename")
    if isinstance(command, str) and command:
        call = Call("", ToolContext(command=command, tool_class="shell"))
    elif isinstance(name, str) and name:
        call = Call("", ToolContext(path=name, tool_class="read"))
    else:
        call = UNKNOWN_CALL
    sites: list[Site] = []
    for key, value in attachment.items():
        here = (*path, key)
        if key in ("stdout", "stderr", "content") and isinstance(value, str):
            _text_site(value, here, Treat.MIRROR, _Answer(call), sites)
        elif key == "content" and isinstance(value, dict):
            _field_sites(value, here, _Answer(call), sites)
        elif key in ("addedLines", "addedNames") and isinstance(value, list) and value:
            sites.append(Site(here, value, Treat.COPY_ONLY, "", NO_CONTEXT))
    return sites
