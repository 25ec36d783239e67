"""Short forms of the long texts in tool inputs, and sizes of JSON values."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

from pipeline.records import Json
from pipeline.rules.heredocs import heredoc_bodies
from pipeline.rules.marks import cap_text, capped_note, line_count, utf8_bytes, whole_chars
from pipeline.rules.tool_classes import BODY_PREVIEW_CHARS

EDIT_PREVIEW_CHARS = 150
"""What is left of the old and the new text of an edit."""

WRITE = "write-summary"
EDIT = "edit-summary"
SHELL = "shell-command"
TASK = "task-fields"
CAP = "cap"
HEREDOC = "heredoc"

_PATCH_HEADER = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |diff --git )[^\n]*", re.MULTILINE)
_PATCH_REST = re.compile(
    r"…\[\+[0-9]{1,20} chars\](?:\n(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |diff --git )[^\n]*)*\n?"
)


def preview_chars(chars: int, max_chars: int) -> int:
    return min(chars, max_chars) if max_chars > 0 else chars


def short_command(command: str, max_chars: int) -> str:
    """A command line with the bodies of its here-documents in short form, then capped as a whole."""
    chars = preview_chars(BODY_PREVIEW_CHARS, max_chars)
    pieces: list[str] = []
    at = 0
    for start, end, closed in heredoc_bodies(command):
        if closed and end - start > chars:
            pieces += (command[at:start], cap_text(command[start:end], chars))
            at = end
    if pieces:
        shorter = "".join((*pieces, command[at:]))
        command = shorter if len(shorter) < len(command) else command
    return cap_text(command, max_chars)


def command_rule(old: str, new: str, max_chars: int) -> str:
    """HEREDOC when more than the cap was at work."""
    return CAP if new == cap_text(old, max_chars) else HEREDOC


def short_patch(patch: str, max_chars: int) -> str:
    """A patch cut to its first lines, with the headers of all further files behind them."""
    chars = preview_chars(BODY_PREVIEW_CHARS, max_chars)
    if len(patch) <= chars or whole_chars(patch, max_chars) > len(patch) or _is_short_patch(patch, chars):
        return cap_text(patch, max_chars)
    # Whole lines, so that no header is cut in two and none gets the note behind it.
    end = patch.rfind("\n", 0, chars) + 1
    if end == 0 and _PATCH_HEADER.match(patch) is None:
        end = chars
    headers = [found.group() for found in _PATCH_HEADER.finditer(patch, end)]
    short = "\n".join((patch[:end] + capped_note(len(patch) - end), *headers))
    # The margin: "…" may take 3 bytes more in the source's spelling.
    if utf8_bytes(short) + 3 >= utf8_bytes(patch):
        short = patch
    return cap_text(short, max_chars)


def _is_short_patch(patch: str, chars: int) -> bool:
    at = patch.find("…[+", 0, chars + 3)
    while at >= 0:
        if _PATCH_REST.fullmatch(patch, at) is not None:
            return True
        at = patch.find("…[+", at + 1, chars + 3)
    return False


def is_smaller(new: Json, old: Json) -> bool:
    """Whether a value takes fewer encoded bytes, with and without spaces between its parts."""
    new_bytes, new_gaps = json_bytes(new)
    old_bytes, old_gaps = json_bytes(old)
    return new_bytes < old_bytes and new_bytes + new_gaps < old_bytes + old_gaps


def json_bytes(value: Json) -> tuple[int, int]:
    """UTF-8 bytes of the compact JSON text of a value, and how many commas and colons it has."""
    total = gaps = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            total += utf8_bytes(encode_basestring(item))
        elif isinstance(item, dict):
            members = len(item)
            gaps += 2 * members - 1 if members else 0
            total += 2 + (2 * members - 1 if members else 0)
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            gaps += max(0, len(item) - 1)
            total += 2 + max(0, len(item) - 1)
            stack.extend(item)
        elif isinstance(item, bool) or item is None:
            total += 5 if item is False else 4
        else:
            total += len(repr(item))
    return total, gaps


def json_lines(value: Json) -> int:
    """Lines of all strings of a value together."""
    total = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            total += line_count(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return total
