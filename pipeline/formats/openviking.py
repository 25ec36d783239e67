"""OpenViking `messages.jsonl`: tool parts, text parts with inlined calls, stubs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.formats.base import UNKNOWN_CALL, Call, Pairing, day_of
from pipeline.formats.blocks import holds_tool_text
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT
from pipeline.rules.tool_classes import context_of


@dataclass(frozen=True, slots=True)
class OpenViking:
    """Live files and archives alike."""

    name: str = "openviking"
    whole_document: bool = False
    compacts: bool = True
    summary_inputs: bool = True

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """Sites of the message's parts; `content` of old records is prose."""
        sites: list[Site] = []
        parts = document.get("parts")
        if isinstance(parts, list):
            for index, part in enumerate(parts):
                if isinstance(part, dict):
                    sites.extend(_part_sites(part, ("parts", index), pairing))
        content = document.get("content")
        if isinstance(content, str) and holds_tool_text(content):
            sites.append(Site(("content",), content, Treat.MARKDOWN, "", NO_CONTEXT))
        return sites

    def day(self, document: dict[str, Json]) -> str:
        """The day of `created_at`."""
        return day_of(document.get("created_at"))


def _part_sites(part: dict[str, Json], path: Path, pairing: Pairing) -> list[Site]:
    if part.get("type") == "tool":
        return _tool_sites(part, path, pairing)
    text = part.get("text")
    if part.get("type") == "text" and isinstance(text, str) and holds_tool_text(text):
        return [Site((*path, "text"), text, Treat.MARKDOWN, "", NO_CONTEXT)]
    return []


def _tool_sites(part: dict[str, Json], path: Path, pairing: Pairing) -> list[Site]:
    """A call, a result, or both in one part; a result without input belongs to the nearest earlier call of its id."""
    name, call_id = part.get("tool_name"), part.get("tool_id")
    tool = name if isinstance(name, str) else ""
    key = call_id if isinstance(call_id, str) else ""
    tool_input, output = part.get("tool_input"), part.get("tool_output")
    call = UNKNOWN_CALL
    if not tool_input and isinstance(output, str):
        call = pairing.own.answer(key)
    if call is UNKNOWN_CALL:
        call = Call(tool, context_of(tool, tool_input))
        if not isinstance(output, str):
            pairing.own.add(key, call)
    context = replace(call.context, is_error=True) if part.get("tool_status") == "error" else call.context
    sites: list[Site] = []
    # In the order of the part's own keys, as the splicer's cursor only moves forward.
    for field in part:
        if field == "tool_input" and tool_input:
            sites.append(Site((*path, field), tool_input, Treat.INPUT, tool, call.context))
        elif field == "tool_output" and isinstance(output, str) and output:
            treat = Treat.STUB if part.get("tool_output_truncated") or part.get("tool_output_ref") else Treat.TEXT
            sites.append(Site((*path, field), output, treat, tool or call.tool, context))
    return sites
