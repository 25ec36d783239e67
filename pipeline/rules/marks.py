"""The texts left where something was cut: marks of session files, and the short form `…[+N chars]` of a string."""

from __future__ import annotations

import json
import re

import orjson

from pipeline.records import Json, Where

HANDLE_CHARS = 16
MARK_KEY = "[compactd]"
"""Name of the member that carries the mark of a JSON object."""
MARK_MIN_BYTES = 160
"""A value that lost fewer bytes needs no mark; every mark is shorter than this."""

_MARK = re.compile(
    r"\[(?:cut [0-9]{1,20} lines|copy), [0-9]{1,20} bytes: compactd (?:recall|digest) [0-9a-f]{16}\]", re.ASCII
)
_MARK_LITERAL = " bytes: compactd "
_CAPPED = re.compile(r"…\[\+([0-9]{1,20}) chars\]", re.ASCII)
# Bytes that "…" takes more when the source writes it as an escape.
_ELLIPSIS_ESCAPE_BYTES = 3

# Looking up a member of an enumeration is slow, and these are asked for at each edit.
_LAST_LINE, _WHOLE = Where.LAST_LINE, Where.WHOLE

_DIFF_NAMED = re.compile(r"^(?:diff --git |\*\*\* Begin Patch)", re.MULTILINE)
_DIFF_PLAIN = re.compile(r"\s*--- [^\n]*\n\+\+\+ ")
_DIFF_TOP_CHARS = 2000
_FENCE_LINE = re.compile(r" {0,3}(?:`{3,}|~{3,})[ \t\r]*")
_SPACED_MEMBER = re.compile(r'\s*\{\s*"[^"\\]*"\s*: ')
_SPACED_ELEMENT = re.compile(r"\s*\[\s*[^\s,\"\[{]+, ")
_JSON_START = frozenset('{["-0123456789tfnNI')
_JSON_WORDS = frozenset({"true", "false", "null", "NaN", "Infinity"})


def cut_mark(lines: int, lost_bytes: int, handle: str, verb: str = "recall") -> str:
    """The mark of a value that lost so much; `verb` is "recall" or "digest". Source: README.md."""
    return f"[cut {lines} lines, {lost_bytes} bytes: compactd {verb} {handle}]"


def copy_mark(lost_bytes: int, handle: str, verb: str = "recall") -> str:
    """The mark of a copy of `lost_bytes` bytes that stands earlier in the session. Source: README.md."""
    return f"[copy, {lost_bytes} bytes: compactd {verb} {handle}]"


def handle_of(digest: bytes) -> str:
    """The handle of an original: the first 16 hex digits of its SHA-256 digest."""
    return digest[: HANDLE_CHARS // 2].hex()


def holds_mark(text: str) -> bool:
    """Whether a mark stands anywhere in `text`."""
    return _MARK_LITERAL in text and _MARK.search(text) is not None


def holds_mark_value(value: Json) -> bool:
    """Whether a mark stands in `value`, in any of its strings or in a member's name, however deep."""
    if isinstance(value, str):
        return holds_mark(value)
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _MARK_LITERAL in item and _MARK.search(item) is not None:
                return True
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def without_mark(text: str) -> str:
    r"""The text before a mark that was placed as its last line; `text` itself without one."""
    if not text.endswith("]") or _MARK_LITERAL not in text[-MARK_MIN_BYTES:]:
        return text
    start = text.rfind("\n") + 1
    if _MARK.fullmatch(text, start) is None:
        return text
    return text[: max(0, start - 1)]


def cap_text(text: str, max_chars: int) -> str:
    """Shorten a string to its head and the count of what is missing: `head…[+N chars]`.

    Args:
        text: any string.
        max_chars: code points kept; 0 or less keeps all.

    Returns:
        The short form, always fewer UTF-8 bytes than `text`; `text` itself when it is short enough, is a short form
        already, or would not get shorter.

    Source: README.md.
    """
    if max_chars <= 0 or len(text) <= max_chars or _CAPPED.fullmatch(text, max_chars) is not None:
        return text
    note = capped_note(len(text) - max_chars)
    if utf8_bytes(text[max_chars:]) <= utf8_bytes(note) + _ELLIPSIS_ESCAPE_BYTES:
        return text
    return text[:max_chars] + note


def capped_note(missing_chars: int) -> str:
    """What stands behind the head of a short form."""
    return f"…[+{missing_chars} chars]"


def whole_chars(text: str, max_chars: int) -> int:
    """The code points a string had before `cap_text(..., max_chars)`; its length when it is no short form."""
    if len(text) > max_chars > 0:
        found = _CAPPED.fullmatch(text, max_chars)
        if found is not None:
            return max_chars + int(found[1])
    return len(text)


def utf8_bytes(text: str) -> int:
    """UTF-8 bytes of a decoded string; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def line_count(text: str) -> int:
    r"""Lines of a text: "a\nb\n" and "a\nb" have 2, "" has none."""
    lines = text.count("\n")
    return lines if not text or text[-1] == "\n" else lines + 1


def where_for(text: str) -> Where:
    """Where the mark goes in a text so that it stays what it is: a diff, JSON, JSON lines, or plain lines.

    A text of JSON lines has one JSON value on each line that is not blank; a single number is one, too.

    Source: README.md.
    """
    if starts_diff(text):
        return Where.DIFF_HEAD
    body = text.strip(" \t\r\n")
    if not body or body[0] not in _JSON_START:
        return Where.LAST_LINE
    if body[0] == "{" and body[-1] == "}" and _parses(body):
        return Where.JSON_MEMBER
    if body[0] == "[" and body[-1] == "]" and _parses(body):
        return Where.JSON_ELEMENT
    return Where.JSON_LINE if _is_json_lines(body) else Where.LAST_LINE


def place(value: Json, mark: str, where: Where) -> Json:
    """Put a mark into a value.

    Args:
        value: the value after its cut; never changed in place.
        mark: from `cut_mark` or `copy_mark`.
        where: the place; where `value` has no such place (a fence in a text without one, a last line in an object)
            the nearest that keeps its type is taken, and a number or null becomes the mark.

    Returns:
        A new value of the same type that holds the mark; `value` itself for `Where.NONE`.

    Source: README.md.
    """
    if where is _LAST_LINE and isinstance(value, str):
        return f"{value}\n{mark}"
    if where is Where.NONE:
        return value
    if where is _WHOLE:
        return mark
    if isinstance(value, dict):
        return {**{key: item for key, item in value.items() if key != MARK_KEY}, MARK_KEY: mark}
    if isinstance(value, list):
        return [*value, mark]
    if not isinstance(value, str):
        return mark
    if where is Where.DIFF_HEAD:
        start = max(0, _diff_start(value))
        return f"{value[:start]}{mark}\n{value[start:]}"
    if where is Where.JSON_MEMBER:
        return _with_last(value, "{", "}", mark)
    if where is Where.JSON_ELEMENT:
        return _with_last(value, "[", "]", mark)
    if where is Where.JSON_LINE:
        if value.endswith("\n"):
            return f"{value}{json.dumps(mark)}\n"
        return f"{value}\n{json.dumps(mark)}"
    if where is Where.FENCE:
        return _with_last_inner_line(value, mark)
    return f"{value}\n{mark}"


def starts_diff(text: str) -> bool:
    """Whether a text has the first header of a diff at its top."""
    return _diff_start(text) >= 0


def _diff_start(text: str) -> int:
    """Where the first header of a diff starts, at the top of `text`; -1 when that is no diff."""
    # Nearly all texts end here, and a plain search is quick.
    if len(text) <= _DIFF_TOP_CHARS and "---" not in text and "diff --" not in text and "***" not in text:
        return -1
    if text.find("diff --git ", 0, _DIFF_TOP_CHARS) >= 0 or text.find("*** Begin Patch", 0, _DIFF_TOP_CHARS) >= 0:
        found = _DIFF_NAMED.search(text, 0, _DIFF_TOP_CHARS)
        if found is not None:
            return found.start()
    plain = _DIFF_PLAIN.match(text)
    return -1 if plain is None else plain.group().index("---")


def _parses(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        # The slow decoder takes what orjson refuses: NaN, lone surrogates.
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True


def _is_json_lines(body: str) -> bool:
    first = body.partition("\n")[0]
    if first[0] in "tfnNI" and first.strip(" \t\r") not in _JSON_WORDS:
        return False
    # One decode of all lines together; the first line alone ends most texts that are none early.
    if not _parses(first):
        return False
    lines = [line for line in body.split("\n") if line and not line.isspace()]
    return len(lines) == 1 or _parses(f"[{','.join(lines)}]")


def _with_last(text: str, opening: str, closing: str, mark: str) -> str:
    """Insert the mark before the closing bracket of a JSON text, in the style of that text."""
    end = len(text.rstrip())
    if end < 2 or text[end - 1] != closing or text.lstrip()[0] != opening:
        return f"{text}\n{mark}"
    inner = text[: end - 1]
    body = inner.rstrip()
    gap = inner[len(body) :]
    spaced = (_SPACED_MEMBER if opening == "{" else _SPACED_ELEMENT).match(text) is not None
    last = json.dumps(mark)
    if opening == "{":
        space = " " if spaced or "\n" in gap else ""
        last = f'"{MARK_KEY}":{space}{last}'
    if body.endswith(opening) and not body[:-1].strip():
        return f"{body}{last}{closing}{text[end:]}"
    if "\n" in gap:
        return f"{body},{gap}  {last}{gap}{closing}{text[end:]}"
    return f"{body},{' ' if spaced else ''}{last}{gap}{closing}{text[end:]}"


def _with_last_inner_line(text: str, mark: str) -> str:
    """Insert the mark before the line that closes the fence."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    if start == 0 or _FENCE_LINE.fullmatch(text, start, end) is None:
        return f"{text}\n{mark}"
    newline = "\r\n" if text[start - 2 : start] == "\r\n" else "\n"
    return f"{text[:start]}{mark}{newline}{text[start:]}"
