"""Claude Code transcripts: calls, results, `toolUseResult`, progress and attachment records (formats.md, 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, Pairing, day_of
from pipeline.formats.blocks import holds_tool_text, is_image, result_sites, text_of
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT, ToolContext
from pipeline.rules.tool_classes import context_of

_EXIT_CODE = re.compile(r"Exit code (\d{1,3})(?:\n|$)")

# What the fields of a `toolUseResult` object repeat.
_FIELDS = {
    "stdout": Treat.MIRROR,
    "stderr": Treat.MIRROR,
    "result": Treat.MIRROR,
    "originalFile": Treat.FILE,
    "oldString": Treat.FILE,
    "newString": Treat.FILE,
    "prompt": Treat.COPY_ONLY,
    "plan": Treat.COPY_ONLY,
    "lines": Treat.LINES,
    "filenames": Treat.LINES,
    "base64": Treat.IMAGE,
}
# Paths, ids and settings: never a copy worth a look.
_LEFT_ALONE = frozenset({"filePath", "structuredPatch.header", "usage", "agentId", "url", "query", "type", "mode"})


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


def _record_sites(record: dict[str, Json], path: Path, calls: CallMap, inner: CallMap, *, nested: bool) -> list[Site]:
    message = record.get("message")
    found: dict[str, list[Site]] = {}
    answered = UNKNOWN_CALL
    if isinstance(message, dict):
        found["message"], answered = _message_sites(message, (*path, "message"), calls, nested=nested)
    mirror = record.get("toolUseResult")
    if mirror is not None:
        found["toolUseResult"] = _mirror_sites(mirror, (*path, "toolUseResult"), answered)
    kind = record.get("type")
    data = record.get("data")
    if kind == "progress" and isinstance(data, dict):
        parent = record.get("parentToolUseID")
        call_id = parent if isinstance(parent, str) else ""
        found["data"] = _progress_sites(data, (*path, "data"), calls.peek(call_id), call_id, inner)
    attachment = record.get("attachment")
    if isinstance(attachment, dict):
        found["attachment"] = _attachment_sites(attachment, (*path, "attachment"))
    plan = record.get("planContent")
    if isinstance(plan, str):
        found["planContent"] = [Site((*path, "planContent"), plan, Treat.COPY_ONLY, "", NO_CONTEXT)]
    if len(found) == 1:
        return next(iter(found.values()))
    return [site for key in record if key in found for site in found[key]]


def _message_sites(message: dict[str, Json], path: Path, calls: CallMap, *, nested: bool) -> tuple[list[Site], Call]:
    content = message.get("content")
    sites: list[Site] = []
    answered = UNKNOWN_CALL
    if isinstance(content, str):
        if holds_tool_text(content):
            sites.append(Site((*path, "content"), content, Treat.MARKDOWN, "", NO_CONTEXT))
        return sites, answered
    if not isinstance(content, list):
        return sites, answered
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        here = (*path, "content", index)
        if kind == "tool_use":
            sites.extend(_call_site(block, here, calls))
        elif kind == "tool_result":
            call_id = block.get("tool_use_id")
            answered = calls.answer(call_id if isinstance(call_id, str) else "")
            context = _result_context(answered.context, block)
            answered = Call(answered.tool, context)
            treat = Treat.MIRROR if nested else Treat.TEXT
            sites.extend(result_sites(block.get("content"), (*here, "content"), treat, answered.tool, context))
        elif kind == "text" and isinstance(text := block.get("text"), str) and holds_tool_text(text):
            sites.append(Site((*here, "text"), text, Treat.MARKDOWN, "", NO_CONTEXT))
    return sites, answered


def _call_site(block: dict[str, Json], path: Path, calls: CallMap) -> list[Site]:
    name = block.get("name")
    tool = name if isinstance(name, str) else ""
    tool_input = block.get("input")
    context = context_of(tool, tool_input)
    call_id = block.get("id")
    calls.add(call_id if isinstance(call_id, str) else "", Call(tool, context))
    return [Site((*path, "input"), tool_input, Treat.INPUT, tool, context)] if tool_input else []


def _result_context(context: ToolContext, block: dict[str, Json]) -> ToolContext:
    """The call's context with the result's error flag and exit code (formats.md, 2: only failures tell a number)."""
    if block.get("is_error") is not True:
        return context
    match = _EXIT_CODE.match(text_of(block.get("content")))
    return replace(context, is_error=True, exit_code=int(match[1]) if match else None)


def _mirror_sites(mirror: Json, path: Path, call: Call) -> list[Site]:
    """Sites of a `toolUseResult`: a string, a list of blocks, or an object whose fields repeat input and result."""
    if isinstance(mirror, (str, list)):
        return result_sites(mirror, path, Treat.MIRROR, call.tool, call.context)
    sites: list[Site] = []
    if isinstance(mirror, dict):
        _field_sites(mirror, path, call, sites)
    return sites


def _field_sites(value: dict[str, Json], path: Path, call: Call, sites: list[Site]) -> None:
    """Walk an object of a `toolUseResult` (nesting under 12 in real files; the decoder bounds it)."""
    for key, field in value.items():
        if key in _LEFT_ALONE:
            continue
        here = (*path, key)
        if key == "content":
            _content_sites(value, field, here, call, sites)
        elif isinstance(field, str):
            if field:
                sites.append(Site(here, field, _FIELDS.get(key, Treat.MIRROR), call.tool, call.context))
        elif isinstance(field, dict):
            _field_sites(field, here, call, sites)
        elif isinstance(field, list) and field:
            if _FIELDS.get(key) is Treat.LINES and all(isinstance(line, str) for line in field):
                sites.append(Site(here, field, Treat.LINES, call.tool, call.context))
            else:
                _list_sites(field, here, call, sites)


def _list_sites(values: list[Json], path: Path, call: Call, sites: list[Site]) -> None:
    for index, value in enumerate(values):
        if isinstance(value, dict):
            if is_image(value):
                sites.append(Site((*path, index), value, Treat.IMAGE, call.tool, call.context))
            else:
                _field_sites(value, (*path, index), call, sites)


def _content_sites(owner: dict[str, Json], content: Json, path: Path, call: Call, sites: list[Site]) -> None:
    """`content` is a file body (Write, Read), a search text (Grep), or the blocks of a report (Task)."""
    if isinstance(content, str):
        is_file = "filePath" in owner
        treat = Treat.FILE if is_file else Treat.MIRROR
        if content:
            sites.append(Site(path, content, treat, call.tool, call.context))
    elif isinstance(content, list):
        sites.extend(result_sites(content, path, Treat.MIRROR, call.tool, call.context))


def _progress_sites(data: dict[str, Json], path: Path, call: Call, call_id: str, inner: CallMap) -> list[Site]:
    sites: list[Site] = []
    kind = data.get("type")
    for key, value in data.items():
        here = (*path, key)
        if kind == "bash_progress" and key in ("output", "fullOutput") and isinstance(value, str) and value:
            sites.append(_growing_site(data, key, value, here, call, call_id))
        elif key == "message" and isinstance(value, dict):
            sites.extend(_record_sites(value, here, inner, inner, nested=True))
        elif key == "normalizedMessages" and isinstance(value, list):
            for index, record in enumerate(value):
                if isinstance(record, dict):
                    sites.extend(_record_sites(record, (*here, index), inner, inner, nested=True))
        elif key == "prompt" and isinstance(value, str):
            sites.append(Site(here, value, Treat.COPY_ONLY, call.tool, call.context))
    return sites


def _growing_site(data: dict[str, Json], key: str, value: str, path: Path, call: Call, call_id: str) -> Site:
    full = data.get("fullOutput")
    if key == "output" and isinstance(full, str) and value in full:
        return Site(path, value, Treat.CONTAINED, call.tool, call.context, call_id)
    return Site(path, value, Treat.GROWING, call.tool, call.context, f"{call_id}:{key}")


def _attachment_sites(attachment: dict[str, Json], path: Path) -> list[Site]:
    """Hook output and attached files; names and tool lists are left alone."""
    command = attachment.get("command")
    context = ToolContext(command=command if isinstance(command, str) else "", tool_class="shell" if command else "")
    call = Call("", context)
    sites: list[Site] = []
    for key, value in attachment.items():
        here = (*path, key)
        if key in ("stdout", "stderr", "content") and isinstance(value, str) and value:
            sites.append(Site(here, value, Treat.MIRROR, "", context))
        elif key == "content" and isinstance(value, dict):
            _field_sites(value, here, call, sites)
    return sites
