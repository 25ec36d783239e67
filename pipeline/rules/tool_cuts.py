"""Cuts that keep the keys and types of a tool input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipeline.records import Json, Path, Where
from pipeline.rules.marks import MARK_MIN_BYTES, cap_text, holds_mark, line_count, starts_diff, utf8_bytes
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

# Looking up a member of an enumeration is slow, and these are asked for at each cut.
_NONE, _LAST_LINE = Where.NONE, Where.LAST_LINE
# Layout -> the fields of which a preview stays, its length, and the rule.
_PREVIEWED = {
    "write": (frozenset(CONTENT_KEYS), BODY_PREVIEW_CHARS, WRITE),
    "edit": (EDIT_TEXT_KEYS, EDIT_PREVIEW_CHARS, EDIT),
}
_NOTHING: tuple[frozenset[str], int, str] = (frozenset(), 0, EDIT)


class InputCut(NamedTuple):
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
) -> list[InputCut]:
    """The cuts that keep keys and types, in document order."""
    cuts: list[InputCut] = []
    layout = layout_of(name, tool_input, policies)
    if layout == "full" or layout == "generic" or not isinstance(tool_input, dict):
        _long_leaves(cuts, (), tool_input, max_chars, generic=layout == "generic")
        return cuts
    keys, chars, rule = _PREVIEWED.get(layout, _NOTHING)
    chars = preview_chars(chars, max_chars)
    for key, item in tool_input.items():
        if type(item) is str and key in keys:
            if len(item) > chars:
                _preview(cuts, (key,), item, chars, rule)
        elif layout == "shell":
            _shell_field(cuts, key, item, max_chars)
        elif layout == "task":
            _plain_field(cuts, key, item, max_chars, TASK, kept=key in TASK_KEYS)
        elif layout == "edit" and key == EDITS_KEY and isinstance(item, list):
            _edit_items(cuts, item, max_chars)
        elif layout == "patch" and key in PATCH_KEYS and isinstance(item, str):
            _text(cuts, (key,), item, short_patch(item, max_chars), EDIT)
        else:
            _plain_field(cuts, key, item, max_chars, rule, kept=key in KEPT_KEYS)
    return cuts


def _plain_field(cuts: list[InputCut], key: str, item: Json, max_chars: int, rule: str, *, kept: bool) -> None:
    """A field that is kept up to the cap, or a string that is dropped; other dropped values stay."""
    if kept:
        # Most kept fields are short strings.
        if type(item) is not str or len(item) > max_chars:
            _long_leaves(cuts, (key,), item, max_chars)
    elif isinstance(item, str) and item and not holds_mark(item):
        lost = utf8_bytes(item)
        where = Where.NONE if lost < MARK_MIN_BYTES else Where.WHOLE
        cuts.append(InputCut((key,), item, "", where, line_count(item), lost, rule))


def _shell_field(cuts: list[InputCut], key: str, item: Json, max_chars: int) -> None:
    if key not in COMMAND_KEYS:
        _plain_field(cuts, key, item, max_chars, SHELL, kept=False)
    elif isinstance(item, str):
        _command(cuts, (key,), item, max_chars)
    elif isinstance(item, list) and is_script_call(item):
        for index, word in enumerate(item):
            if isinstance(word, str):
                _command(cuts, (key, index), word, max_chars)
    else:
        _long_leaves(cuts, (key,), item, max_chars)


def _edit_items(cuts: list[InputCut], edits: list[Json], max_chars: int) -> None:
    chars = preview_chars(EDIT_PREVIEW_CHARS, max_chars)
    for index, edit in enumerate(edits):
        if not isinstance(edit, dict):
            _long_leaves(cuts, (EDITS_KEY, index), edit, max_chars)
            continue
        for key, item in edit.items():
            if key in EDIT_TEXT_KEYS and isinstance(item, str):
                _preview(cuts, (EDITS_KEY, index, key), item, chars, EDIT)
            else:
                _long_leaves(cuts, (EDITS_KEY, index, key), item, max_chars)


def _command(cuts: list[InputCut], path: Path, old: str, max_chars: int) -> None:
    new = short_command(old, max_chars)
    if new is not old:
        _text(cuts, path, old, new, command_rule(old, new, max_chars), is_command=True)


def _preview(cuts: list[InputCut], path: Path, old: str, chars: int, rule: str) -> None:
    """The head alone where a mark says that more was there, else the short form."""
    if len(old) <= chars:
        return
    if len(old) - chars >= MARK_MIN_BYTES or utf8_bytes(old[chars:]) >= MARK_MIN_BYTES:
        cut = text_cut(path, old, old[:chars], rule)
    else:
        cut = text_cut(path, old, cap_text(old, chars), rule)
    if cut is not None:
        cuts.append(cut)


def _text(cuts: list[InputCut], path: Path, old: str, new: str, rule: str, *, is_command: bool = False) -> None:
    cut = text_cut(path, old, new, rule, is_command=is_command)
    if cut is not None:
        cuts.append(cut)


def text_cut(path: Path, old: str, new: str, rule: str, *, is_command: bool = False) -> InputCut | None:
    """The cut of one string; None when `new` is equal, or when a mark stands in it.

    Every short form is smaller than its original, and every mark shorter than the 160 bytes that call for one. A
    patch inside a command is no diff: the mark of a command is its last line, where a context looks for it.
    """
    if new == old or holds_mark(old):
        return None
    lost = utf8_bytes(old) - utf8_bytes(new)
    if lost < MARK_MIN_BYTES:
        where = _NONE
    else:
        where = _LAST_LINE if is_command else _where_of_text(new)
    lines = line_count(old) - line_count(new)
    return InputCut(path, old, new, where, lines if lines > 0 else 0, lost, rule)


def _long_leaves(cuts: list[InputCut], at: Path, value: Json, max_chars: int, *, generic: bool = False) -> None:
    """A cut for each string that is too long, in document order, whatever the depth."""
    chars = preview_chars(BODY_PREVIEW_CHARS, max_chars) if generic else max_chars
    if chars <= 0:
        return
    if isinstance(value, str):
        if len(value) > chars:
            _text(cuts, at, value, cap_text(value, chars), CAP)
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
                    _text(cuts, (*at, *keys), item, cap_text(item, max_chars if whole else chars), CAP)
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
    return Where.DIFF_HEAD if starts_diff(text[:BODY_PREVIEW_CHARS]) else _LAST_LINE
