"""Summaries of tool inputs: what was done to what, and a preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.records import Json
from pipeline.rules.marks import cap_text, line_count
from pipeline.rules.tool_classes import BODY_PREVIEW_CHARS, COMMAND_KEYS, PATH_KEYS, is_script_call
from pipeline.rules.tool_layout import (
    CONTENT_KEYS,
    EDITS_KEY,
    FLAG_KEYS,
    NEW_KEYS,
    OLD_KEYS,
    PATCH_KEYS,
    TASK_KEYS,
    WHOLE_KEYS,
    holds_edit_text,
    layout_of,
    text_key,
)
from pipeline.rules.tool_texts import (
    CAP,
    EDIT,
    EDIT_PREVIEW_CHARS,
    HEREDOC,
    SHELL,
    TASK,
    WRITE,
    command_rule,
    is_smaller,
    preview_chars,
    short_command,
    short_patch,
)

# Deeper levels of an inlined text are left out: its encoder works by recursion.
_TEXT_LEVELS = 200


def summary_of(name: str, tool_input: Json, max_chars: int, policies: Mapping[str, str]) -> tuple[Json, str]:
    """The summary of an object or list, and its rule; the input itself when the summary is not smaller."""
    layout = layout_of(name, tool_input, policies)
    rule = CAP
    summary: Json
    if not isinstance(tool_input, dict) or layout in ("full", "generic"):
        summary = shortened(tool_input, max_chars, generic=layout == "generic")
    elif layout == "write":
        summary, rule = _write_summary(tool_input, max_chars), WRITE
    elif layout == "edit":
        summary, rule = _edit_summary(tool_input, max_chars), EDIT
    elif layout == "patch":
        summary, rule = _kept(tool_input, PATH_KEYS + FLAG_KEYS, max_chars), EDIT
        for key in PATCH_KEYS:
            if isinstance(patch := tool_input.get(key), str):
                summary[key] = short_patch(patch, max_chars)
    elif layout == "shell":
        summary, rule = _shell_summary(tool_input, max_chars)
    else:
        summary, rule = _kept(tool_input, TASK_KEYS, max_chars), TASK
    if summary is tool_input or not is_smaller(summary, tool_input):
        return tool_input, rule
    return summary, rule


def _kept(fields: dict[str, Json], keys: tuple[str, ...], max_chars: int) -> dict[str, Json]:
    return {key: shortened(fields[key], max_chars) for key in keys if key in fields}


def _write_summary(fields: dict[str, Json], max_chars: int) -> dict[str, Json]:
    summary = _kept(fields, PATH_KEYS + FLAG_KEYS, max_chars)
    content = fields[text_key(fields, CONTENT_KEYS) or ""]
    if isinstance(content, str):
        summary["content_summary"] = f"{line_count(content)} lines, {len(content)} chars"
        summary["content_preview"] = content[: preview_chars(BODY_PREVIEW_CHARS, max_chars)]
    return summary


def _edit_summary(fields: dict[str, Json], max_chars: int) -> dict[str, Json]:
    summary = _kept(fields, PATH_KEYS + FLAG_KEYS, max_chars)
    summary |= _edit_texts(fields, max_chars)
    edits = fields.get(EDITS_KEY)
    if isinstance(edits, list):
        summary[EDITS_KEY] = [_edit_item(item, max_chars) for item in edits]
    return summary


def _edit_item(item: Json, max_chars: int) -> Json:
    """The summary of one edit of several; the item, long strings capped, where that is not smaller."""
    if isinstance(item, dict):
        summary = _kept(item, PATH_KEYS + FLAG_KEYS, max_chars) | _edit_texts(item, max_chars)
        if holds_edit_text(item) and is_smaller(summary, item):
            return summary
    return shortened(item, max_chars)


def _edit_texts(fields: dict[str, Json], max_chars: int) -> dict[str, Json]:
    texts: dict[str, Json] = {}
    chars = preview_chars(EDIT_PREVIEW_CHARS, max_chars)
    for side, keys in (("old", OLD_KEYS), ("new", NEW_KEYS)):
        text = fields.get(text_key(fields, keys) or "")
        if isinstance(text, str):
            texts[f"{side}_summary"] = f"{len(text)} chars"
            texts[f"{side}_preview"] = text[:chars]
    return texts


def _shell_summary(fields: dict[str, Json], max_chars: int) -> tuple[dict[str, Json], str]:
    summary: dict[str, Json] = {}
    rule = SHELL
    for key in COMMAND_KEYS:
        command = fields.get(key)
        if isinstance(command, str):
            summary[key] = new = short_command(command, max_chars)
            if command_rule(command, new, max_chars) == HEREDOC:
                rule = HEREDOC
        elif isinstance(command, list):
            words: list[Json] = [shortened(word, max_chars) for word in command]
            if is_script_call(command) and isinstance(script := command[2], str):
                words[2] = new = short_command(script, max_chars)
                if command_rule(script, new, max_chars) == HEREDOC:
                    rule = HEREDOC
            summary[key] = words
    return summary, rule


def shortened(value: Json, max_chars: int, *, generic: bool = False) -> Json:
    """A copy with each long string in short form; `value` itself when none is long.

    `generic` cuts to the preview of 200 characters, but for the fields on top that are a path or command.
    """
    chars = preview_chars(BODY_PREVIEW_CHARS, max_chars) if generic else max_chars
    if isinstance(value, str):
        return cap_text(value, chars)
    if not generic or not isinstance(value, dict):
        return with_strings(value, lambda text: cap_text(text, chars))
    new: dict[str, Json] = {
        key: cap_text(item, max_chars)
        if key in WHOLE_KEYS and isinstance(item, str)
        else with_strings(item, lambda text: cap_text(text, chars))
        for key, item in value.items()
    }
    return value if all(new[key] is value[key] for key in value) else new


def with_strings(value: Json, change: Callable[[str], str]) -> Json:
    """A copy with each string changed, whatever its depth; `value` itself when no string did."""
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, dict | list):
        return value
    root = value.copy()
    stack: list[dict[str, Json] | list[Json]] = [root]
    changed = False
    while stack:
        holder = stack.pop()
        # Values of existing keys may be replaced while the items are walked.
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in items:
            if isinstance(item, str):
                new = change(item)
                if new is not item:
                    changed = True
                    holder[key] = new  # type: ignore[index]  # key comes from holder itself
            elif isinstance(item, dict | list) and item:
                below = item.copy()
                holder[key] = below  # type: ignore[index]  # key comes from holder itself
                stack.append(below)
    return root if changed else value


def without_depths(value: Json) -> Json:
    """A copy in which every object or list below 200 levels is "…"; `value` itself when it has none there."""
    if not isinstance(value, dict | list):
        return value
    root = value.copy()
    stack: list[tuple[dict[str, Json] | list[Json], int]] = [(root, 1)]
    cut = False
    while stack:
        holder, level = stack.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in items:
            if not isinstance(item, dict | list) or not item:
                continue
            if level >= _TEXT_LEVELS:
                cut = True
                holder[key] = "…"  # type: ignore[index]  # key comes from holder itself
                continue
            below = item.copy()
            holder[key] = below  # type: ignore[index]  # key comes from holder itself
            stack.append((below, level + 1))
    return root if cut else value
