"""Cuts that keep the keys and types of a tool input (design, 5.2, "In session files")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.records import Json, Path, Where
from pipeline.rules.marks import MARK_MIN_BYTES, cap_text, holds_mark, line_count, utf8_bytes, where_for
from pipeline.rules.tool_classes import BODY_PREVIEW_CHARS, COMMAND_KEYS, is_script_call
from pipeline.rules.tool_layout import (
    CONTENT_KEYS,
    EDIT_TEXT_KEYS,
    EDITS_KEY,
    KEPT_KEYS,
    PATCH_KEYS,
    TASK_KEYS,
    WHOLE_KEYS,
    layout_of,
)
from pipeline.rules.tool_texts import (
    CAP,
    EDIT,
    EDIT_PREVIEW_CHARS,
    SHELL,
    TASK,
    WRITE,
    command_rule,
    preview_chars,
    short_command,
    short_patch,
)


@dataclass(frozen=True, slots=True)
class InputCut:
    """One value of a tool input to replace.

    `path` leads from the input to the value; () is the input itself. `new` is the value without its mark, which
    belongs at `where`. `lost_lines` and `lost_bytes` (UTF-8) are what the mark tells.
    """

    path: Path
    old: Json
    new: Json
    where: Where
    lost_lines: int
    lost_bytes: int
    rule: str


def leaf_cuts(
    name: str, tool_input: dict[str, Json] | list[Json], max_chars: int, policies: Mapping[str, str]
) -> Iterator[InputCut]:
    """The cuts that keep keys and types, in document order."""
    layout = layout_of(name, tool_input, policies)
    if not isinstance(tool_input, dict) or layout in ("full", "generic"):
        yield from _long_leaves(tool_input, max_chars, generic=layout == "generic")
        return
    for key, item in tool_input.items():
        if layout == "shell":
            yield from _shell_field(key, item, max_chars)
        elif layout == "task":
            yield from _plain_field(key, item, max_chars, TASK, kept=key in TASK_KEYS)
        elif layout == "edit" and key == EDITS_KEY and isinstance(item, list):
            yield from _edit_items(item, max_chars)
        elif layout == "write" and key in CONTENT_KEYS and isinstance(item, str):
            yield from _preview((key,), item, preview_chars(BODY_PREVIEW_CHARS, max_chars), WRITE)
        elif layout == "edit" and key in EDIT_TEXT_KEYS and isinstance(item, str):
            yield from _preview((key,), item, preview_chars(EDIT_PREVIEW_CHARS, max_chars), EDIT)
        elif layout == "patch" and key in PATCH_KEYS and isinstance(item, str):
            yield from text_cut((key,), item, short_patch(item, max_chars), EDIT)
        else:
            rule = WRITE if layout == "write" else EDIT
            yield from _plain_field(key, item, max_chars, rule, kept=key in KEPT_KEYS)


def _plain_field(key: str, item: Json, max_chars: int, rule: str, *, kept: bool) -> Iterator[InputCut]:
    """A field that is kept up to the cap, or a string that is dropped; other dropped values stay."""
    if kept:
        yield from _long_leaves(item, max_chars, at=(key,))
    elif isinstance(item, str) and item and not holds_mark(item):
        lost = utf8_bytes(item)
        where = Where.NONE if lost < MARK_MIN_BYTES else Where.WHOLE
        yield InputCut((key,), item, "", where, line_count(item), lost, rule)


def _shell_field(key: str, item: Json, max_chars: int) -> Iterator[InputCut]:
    if key not in COMMAND_KEYS:
        yield from _plain_field(key, item, max_chars, SHELL, kept=False)
    elif isinstance(item, str):
        yield from _command((key,), item, max_chars)
    elif isinstance(item, list) and is_script_call(item):
        for index, word in enumerate(item):
            if isinstance(word, str):
                yield from _command((key, index), word, max_chars)
    else:
        yield from _long_leaves(item, max_chars, at=(key,))


def _edit_items(edits: list[Json], max_chars: int) -> Iterator[InputCut]:
    chars = preview_chars(EDIT_PREVIEW_CHARS, max_chars)
    for index, edit in enumerate(edits):
        if not isinstance(edit, dict):
            yield from _long_leaves(edit, max_chars, at=(EDITS_KEY, index))
            continue
        for key, item in edit.items():
            if key in EDIT_TEXT_KEYS and isinstance(item, str):
                yield from _preview((EDITS_KEY, index, key), item, chars, EDIT)
            else:
                yield from _long_leaves(item, max_chars, at=(EDITS_KEY, index, key))


def _command(path: Path, old: str, max_chars: int) -> Iterator[InputCut]:
    new = short_command(old, max_chars)
    if new is not old:
        yield from text_cut(path, old, new, command_rule(old, new, max_chars), is_command=True)


def _preview(path: Path, old: str, chars: int, rule: str) -> Iterator[InputCut]:
    """The head alone where a mark says that more was there, else the short form."""
    if len(old) <= chars:
        return
    if len(old) - chars >= MARK_MIN_BYTES or utf8_bytes(old[chars:]) >= MARK_MIN_BYTES:
        yield from text_cut(path, old, old[:chars], rule)
    else:
        yield from text_cut(path, old, cap_text(old, chars), rule)


def text_cut(path: Path, old: str, new: str, rule: str, *, is_command: bool = False) -> Iterator[InputCut]:
    """The cut of one string; none when `new` is equal, or when a mark stands in it.

    Every short form is smaller than its original, and every mark shorter than the 160 bytes that call for one. A
    patch inside a command is no diff: the mark of a command is its last line, where a context looks for it.
    """
    if new == old or holds_mark(old):
        return
    lost = utf8_bytes(old) - utf8_bytes(new)
    where = Where.NONE
    if lost >= MARK_MIN_BYTES:
        where = Where.LAST_LINE if is_command else _where_of_text(new)
    yield InputCut(path, old, new, where, max(0, line_count(old) - line_count(new)), lost, rule)


def _long_leaves(value: Json, max_chars: int, *, at: Path = (), generic: bool = False) -> Iterator[InputCut]:
    """A cut for each string that is too long, in document order, whatever the depth."""
    chars = preview_chars(BODY_PREVIEW_CHARS, max_chars) if generic else max_chars
    if chars <= 0:
        return
    if isinstance(value, str):
        yield from text_cut(at, value, cap_text(value, chars), CAP)
        return
    if not isinstance(value, dict | list):
        return
    keys: list[str | int] = [""]
    stack: list[Iterator[tuple[str | int, Json]]] = [_items(value)]
    while stack:
        for key, item in stack[-1]:
            if isinstance(item, str):
                # The path is built for long strings only: it is as long as the value is deep.
                if len(item) > chars:
                    whole = generic and len(stack) == 1 and key in WHOLE_KEYS
                    keys[-1] = key
                    yield from text_cut((*at, *keys), item, cap_text(item, max_chars if whole else chars), CAP)
            elif isinstance(item, dict | list) and item:
                keys[-1] = key
                keys.append("")
                stack.append(_items(item))
                break
        else:
            stack.pop()
            keys.pop()


def _items(holder: dict[str, Json] | list[Json]) -> Iterator[tuple[str | int, Json]]:
    return iter(holder.items()) if isinstance(holder, dict) else iter(enumerate(holder))


def _where_of_text(text: str) -> Where:
    """Patches keep their shape; any other cut string is plain lines, as its head alone is no JSON."""
    return Where.DIFF_HEAD if where_for(text[:BODY_PREVIEW_CHARS]) is Where.DIFF_HEAD else Where.LAST_LINE
