"""Compact the input of a tool call: summaries for people and memory, planned cuts for session files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Literal, TypeVar, cast

from pipeline.records import Json, Path, Where
from pipeline.rules.marks import (
    HANDLE_CHARS,
    MARK_KEY,
    MARK_MIN_BYTES,
    cap_text,
    cut_mark,
    holds_mark,
    holds_mark_value,
    utf8_bytes,
)
from pipeline.rules.tool_classes import BODY_PREVIEW_CHARS
from pipeline.rules.tool_cuts import InputCut, leaf_cuts, text_cut
from pipeline.rules.tool_layout import NO_POLICIES, TOOL_INPUT_POLICIES, layout_of
from pipeline.rules.tool_summary import summary_of, without_depths
from pipeline.rules.tool_texts import (
    CAP,
    EDIT,
    command_rule,
    json_bytes,
    json_lines,
    preview_chars,
    short_command,
    short_patch,
)

__all__ = ["TOOL_INPUT_POLICIES", "InputCut", "compact_tool_input", "compact_tool_input_text", "plan_input"]

Shape = Literal["summary", "in-place"]
T = TypeVar("T")

_INDENT = re.compile(r"\s*[\[{][ \t\r]*\n([ \t]+)")
_SPACED = re.compile(r'\s*(?:\{\s*"[^"\\]*"\s*: |\[\s*"[^"\\]*", |\[\s*[0-9.eE+-]+, )')


def compact_tool_input(tool_name: str, tool_input: T, *, max_chars: int = 2000) -> T:
    """Summarize the input of a tool call.

    Args:
        tool_name: the tool, under the name of any known agent.
        tool_input: the decoded input; a string that is the JSON text of an object or list counts as that value.
        max_chars: each string left is cut to that many code points, `head…[+N chars]`; 0 for no cap.

    Returns:
        A new value of the same type: a summary dict for a dict, JSON text in the style of the input for JSON text.
        The input itself when that is not smaller, or when it holds a mark.

    Source: README.md.
    """
    value = cast("Json", tool_input)
    if holds_mark_value(value):
        return tool_input
    if isinstance(value, str):
        return cast("T", _compacted_text(tool_name, value, max_chars))
    return cast("T", summary_of(tool_name, value, max_chars, NO_POLICIES)[0])


def compact_tool_input_text(tool_name: str, tool_input: Json, *, max_chars: int = 2000) -> str:
    """The summary of a tool input as text to put into a message.

    Args:
        tool_name: the tool, under the name of any known agent.
        tool_input: as for `compact_tool_input`.
        max_chars: caps each string and then the text as a whole, in code points; 0 for no cap.

    Returns:
        A string as it is compacted, anything else as JSON pretty-printed by two spaces. Objects and lists more than
        200 levels deep are left out of it.

    Source: README.md.
    """
    compacted = compact_tool_input(tool_name, tool_input, max_chars=max_chars)
    if not isinstance(compacted, str):
        compacted = json.dumps(without_depths(compacted), indent=2, ensure_ascii=False)
    return cap_text(compacted, max_chars)


def plan_input(
    tool_name: str, tool_input: Json, *, shape: Shape, max_chars: int, policies: Mapping[str, str]
) -> list[InputCut]:
    """Decide what to cut from a tool input in a session file.

    Args:
        tool_name: the tool, under the name of any known agent.
        tool_input: the decoded input; it is not changed.
        shape: "summary" replaces the input as a whole, "in-place" keeps its keys and types and cuts strings.
        max_chars: cap of each string left, in code points; 0 for no cap.
        policies: tool -> "summary" | "full", before the built-in table.

    Returns:
        Cuts in document order that do not overlap, none where the result with its mark would not be smaller, or where
        a mark stands already; planning again on the result gives none. A string input has one cut at most, at ().

    Source: README.md.
    """
    if isinstance(tool_input, str):
        cut = _text_cut(tool_name, tool_input, shape, max_chars, policies)
        return [] if cut is None else [cut]
    if not isinstance(tool_input, dict | list):
        return []
    if shape == "in-place":
        if isinstance(tool_input, dict) and MARK_KEY in tool_input and holds_mark_value(tool_input[MARK_KEY]):
            return []
        return leaf_cuts(tool_name, tool_input, max_chars, policies)
    if holds_mark_value(tool_input):
        return []
    new, rule = summary_of(tool_name, tool_input, max_chars, policies)
    if new is tool_input:
        return []
    lost = json_bytes(tool_input)[0] - json_bytes(new)[0]
    lines = max(0, json_lines(tool_input) - json_lines(new))
    # A mark is shorter than what its value lost.
    where = Where.NONE if lost < MARK_MIN_BYTES else _where_of(new)
    return [InputCut((), tool_input, new, where, lines, lost, rule)]


def _compacted_text(name: str, text: str, max_chars: int) -> str:
    value = _decoded(text)
    if value is None:
        return _short_text(name, text, max_chars, NO_POLICIES)[0]
    summary, _ = summary_of(name, value, max_chars, NO_POLICIES)
    new = text if summary is value else _encoded_like(summary, text)
    # Smaller as a text, and as the JSON string that it is in a session: its escapes take bytes there.
    is_smaller = utf8_bytes(new) < utf8_bytes(text)
    return new if is_smaller and utf8_bytes(encode_basestring(new)) < utf8_bytes(encode_basestring(text)) else text


def _short_text(name: str, text: str, max_chars: int, policies: Mapping[str, str]) -> tuple[str, str]:
    """The short form of a string that is no JSON, and its rule; `text` itself when there is nothing to do."""
    layout = layout_of(name, text, policies)
    if layout == "patch":
        return short_patch(text, max_chars), EDIT
    if layout == "shell":
        command = short_command(text, max_chars)
        return command, command_rule(text, command, max_chars)
    if layout == "generic":
        return cap_text(text, preview_chars(BODY_PREVIEW_CHARS, max_chars)), CAP
    return cap_text(text, max_chars), CAP


def _text_cut(name: str, text: str, shape: Shape, max_chars: int, policies: Mapping[str, str]) -> InputCut | None:
    """The cut of a string input as a whole, if any."""
    if holds_mark(text):
        return None
    value = _decoded(text)
    if value is not None:
        return _json_text_cut(name, text, value, shape, max_chars, policies)
    new, rule = _short_text(name, text, max_chars, policies)
    is_command = layout_of(name, text, policies) == "shell"
    return text_cut((), text, new, rule, is_command=is_command)


def _json_text_cut(
    name: str,
    text: str,
    value: dict[str, Json] | list[Json],
    shape: Shape,
    max_chars: int,
    policies: Mapping[str, str],
) -> InputCut | None:
    """The cut of a string that is the JSON text of `value`; the mark becomes a member or element of that."""
    if shape == "summary":
        short, rule = summary_of(name, value, max_chars, policies)
        lines = json_lines(value) - json_lines(short)
    else:
        short, rule = value, CAP
        lines = 0
        # The value was decoded here, so nobody else sees the change.
        for cut in leaf_cuts(name, value, max_chars, policies):
            _put(value, cut.path, cut.new)
            lines += cut.lost_lines
            rule = cut.rule if rule == CAP else rule
    new = _encoded_like(short, text)
    lost = utf8_bytes(text) - utf8_bytes(new)
    # Quotes and backslashes of the string are escaped once more in the record.
    gain = utf8_bytes(encode_basestring(text)) - utf8_bytes(encode_basestring(new))
    if lost < MARK_MIN_BYTES:
        return InputCut((), text, new, Where.NONE, max(0, lines), lost, rule) if lost > 0 and gain > 0 else None
    # The mark is an ASCII string; its member has four more quotes to escape.
    if gain <= len(cut_mark(lines, lost, "0" * HANDLE_CHARS)) + len(MARK_KEY) + 16:
        return None
    return InputCut((), text, new, _where_of(short), max(0, lines), lost, rule)


def _put(value: Json, path: Path, new: Json) -> None:
    *way, last = path
    for key in way:
        value = value[key]  # type: ignore[index]  # the path was found in this value
    value[last] = new  # type: ignore[index]  # the path was found in this value


def _decoded(text: str) -> dict[str, Json] | list[Json] | None:
    """The object or list that a string is the JSON text of; None for any other string."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _encoded_like(value: Json, text: str) -> str:
    """JSON text of a value in the style of `text`; `text` itself if JSON cannot say the value or it is too deep."""
    indent: str | None = None
    separators = (", ", ": ")
    found = _INDENT.match(text)
    if found is not None:
        indent, separators = found[1], (",", ": ")
    elif _SPACED.match(text) is None:
        separators = (",", ":")
    ascii_only = text.isascii() and "\\u" in text
    try:
        return json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only, allow_nan=False)
    except (ValueError, RecursionError):
        return text


def _where_of(value: Json) -> Where:
    return Where.JSON_MEMBER if isinstance(value, dict) else Where.JSON_ELEMENT
