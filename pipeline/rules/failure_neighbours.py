"""Which lines around a failure belong to it: stack frames, code with its caret, an assertion's two sides, blocks."""

from __future__ import annotations

import re

from pipeline.rules.failure_words import compiled, quick_search

# How far the lines below a failure can belong to it, in lines.
_WALK_LINES = 60
_FEW_LINES = 5
_BLOCK_LINES = 30
_STATEMENT_LINES = 10

_BLOCK_START = re.compile(rb"\s*+not ok\b|\s++[0-9]++\) |\s*+\xe2\x97\x8f ")
_FRAME_FILE = re.compile(rb"^\s*File \"")
_CARET = re.compile(rb"(?:[\s|]++[\^~]|\^)[\s^~|+-]*+")
_CALL = re.compile(rb"[^\s(]++\(")
_STATEMENT = re.compile(rb">\s{2,}\S")
_search_assertion = quick_search(
    compiled(r"assert|expected|received|actual|equal|differ|diff\b|mismatch|\bgot\b|\bwant\b")
)
_DIFF_HEAD = re.compile(rb"^\s*(?:[-+]{1,3} ?(?:expected|received|actual)|diff:|\+ actual)", re.IGNORECASE)
_GO_FRAME = re.compile(rb"\s+\S+\.go:[0-9]")
_BELONGS = re.compile(
    rb"\s*+>?\s*+[0-9]*+\s*+(?:\||\xe2\x94\x82|\xe2\x94\x83)"  # code with its line number
    rb"|(?:[\s|]++[\^~]|\^)[\s^~|+-]*+$"
    rb"|\s*+(?:= (?:note|help)\b|(?:note|help|hint|info|message|details?|reason|status|cause|context)\s*+[:=])"
    rb"|\s++(?:at|from|in|by) \S|\s*+#[0-9]++\s|\s++[0-9]++: \S|\s++File \"|\s*+\xe2\x9d\xaf \S|\s++\S+\.\w+:[0-9]",
    re.IGNORECASE,
)
# What stands below most failures: a line that `_below` would not take, for one quick look. Before it a blank line may
# stand, behind it no caret; or two lines are blank.
_APART = re.compile(
    rb"(?:[ \t\r\v\f]*+\n)?+"
    rb"(?!\s|>?+\s*+[0-9]*+\s*+(?:\||\xe2\x94\x82|\xe2\x94\x83)|[\^=#@+?-]|\xe2\x9d\xaf|[^\s(]++\("
    rb"|(?:note|help|hint|info|message|details?|reason|status|cause|context)\s*+[:=])"
    rb"[^\n]++(?:\n(?![ \t\r\v\f|^])|\Z)"
    rb"|[ \t\r\v\f]*+\n[ \t\r\v\f]*+(?:\n|\Z)",
    re.IGNORECASE,
)
# Lines of failures that take others along whatever these hold.
_MORE_BELOW = re.compile(rb"\s*(?:File \"|>)")
_FILE = b'File "'
_PANIC = b"panicked at "
_DIFFERING = b"First differing element"
# The first bytes of a line that says something of the one above.
_EXPLAINING = b" \t\r\v\f|^"
_SPACES = b" \t\n\r\v\f"
# The first bytes of lines that neither say something of the one above nor take others along, `_FILE` aside.
_PLAIN_STARTS = bytes(set(range(256)) - set(_EXPLAINING + _SPACES + b">"))
_DIFF_LINE = re.compile(rb"\s*(?:[-+?](?![-+]* (?:expected|received|actual))|@@)|\s+\S", re.IGNORECASE)


def is_alone(data: bytes, start: int, stop: int, following: int) -> bool:
    """Whether it takes one look to see that no line belongs to the failure at `start`; the next starts at `following`.

    Most are, so that all this is decided by the first bytes of this line and the next, and by one pattern.
    """
    return (
        data[start] in _PLAIN_STARTS
        and data[stop + 1] not in _SPACES
        and (following == stop + 1 or _APART.match(data, stop + 1) is not None)
        and not data.startswith(_FILE, start)
        and data.find(_PANIC, start, stop) < 0
        and data.find(_DIFFERING, start, stop) < 0
    )


def add_neighbours(flagged: list[int], data: bytes, span: tuple[int, int], number: int, following: int | None) -> None:
    """Add the numbers of the lines that belong to a failure.

    Args:
        flagged: where they go.
        data: the whole text.
        span: where the failure is in it, without its line end.
        number: its line number.
        following: the line number of the next failure, if there is one.
    """
    start, stop = span
    line = data[start:stop]
    if start and line and line[0] in _EXPLAINING:
        above = data[data.rfind(b"\n", 0, start - 1) + 1 : start - 1]
        if above.strip() and _explains(line, above):
            flagged.append(number - 1)
    if stop >= len(data):
        return
    if following != number + 1 and (
        _APART.match(data, stop + 1) is None or _MORE_BELOW.match(line) is not None or _message_lines(line)
    ):
        most = _WALK_LINES if following is None else min(_WALK_LINES, following - number - 1)
        # Mostly the first lines decide.
        places, at = _below(line, _lines_below(data, stop, min(most, _FEW_LINES)))
        if most > _FEW_LINES and (at >= _FEW_LINES - 1 or _STATEMENT.match(line) is not None):
            places, at = _below(line, _lines_below(data, stop, most))
        flagged += [number + 1 + place for place in places]
    if data[stop + 1 : stop + 2].isspace() and _heads_block(line):
        flagged += range(number + 1, number + 1 + _block(line, _lines_below(data, stop, _BLOCK_LINES)))


def _explains(line: bytes, above: bytes) -> bool:
    """Whether `line` is nothing without the one above it: a caret under code, a place under a Go function."""
    return _CARET.fullmatch(line) is not None or (_GO_FRAME.match(line) is not None and not above[:1].isspace())


def _lines_below(data: bytes, stop: int, most: int) -> list[bytes]:
    """At most so many lines behind the line end at `stop`."""
    end = stop
    for _ in range(most):
        end = data.find(b"\n", end + 1)
        if end < 0:
            end = len(data)
            break
    return data[stop + 1 : end].split(b"\n")


def _below(line: bytes, lines: list[bytes]) -> tuple[list[int], int]:
    """Which of the lines below the failure `line` belong to it, and how far it had to look."""
    limit = len(lines)
    found: list[int] = []
    at = 0
    if _FRAME_FILE.match(line) is not None:
        if _indent(lines[at]) > _indent(line):
            found.append(at)
            at += 1
    elif _STATEMENT.match(line) is not None:
        # A statement over several lines, up to what pytest says of it.
        ends = next((k for k in range(at, min(limit, at + _STATEMENT_LINES)) if not lines[k].strip()), None)
        if ends is None and limit - at <= _STATEMENT_LINES:
            return list(range(at, limit)), limit
    more = _message_lines(line)
    if more:
        found.extend(k for k in range(at, min(limit, at + more)) if lines[k].strip())
        at += more
    diff = _DIFF_HEAD.match(line) is not None
    blanks = 0
    while at < limit:
        below = lines[at]
        if not below.strip():
            blanks += 1
            if blanks > 1:
                break
        elif (
            _BELONGS.match(below) is not None
            or _is_call(below)
            or (_belongs_to_diff(below, diff) and (diff or _search_assertion(line, 0, len(line))[0][0] >= 0))
        ):
            blanks = 0
            found.append(at)
        elif at + 1 < limit and blanks == 0 and _CARET.fullmatch(lines[at + 1]) is not None:
            found.append(at)
        else:
            break
        at += 1
    return found, at


def _message_lines(line: bytes) -> int:
    """How many lines below a failure are its message, without a sign of their own."""
    if _PANIC in line and line.rstrip().endswith(b":"):
        return 1
    return 2 if _DIFFERING in line else 0


def _is_call(line: bytes) -> bool:
    """Whether a line is a function with its arguments alone, as in the stacks of Go."""
    return _CALL.match(line) is not None and line.rstrip().endswith(b")")


def _heads_block(line: bytes) -> bool:
    """Whether a failure is the heading of the lines indented below it."""
    return line.rstrip().endswith(b":") or b"--- FAIL" in line or _BLOCK_START.match(line) is not None


def _block(line: bytes, lines: list[bytes]) -> int:
    """How many lines below a heading are indented more than it, other failures among them."""
    depth = _indent(line)
    return next((at for at, below in enumerate(lines) if _indent(below) <= depth), len(lines))


def _belongs_to_diff(line: bytes, in_diff: bool) -> bool:
    """Whether a line is part of what an assertion compares; context lines count only below a diff's heading."""
    return _DIFF_LINE.match(line) is not None and (in_diff or line.lstrip()[:1] in (b"-", b"+", b"?", b"@"))


def _indent(line: bytes) -> int:
    """Leading white space of a line with content; -1 for a blank one."""
    stripped = line.lstrip()
    return len(line) - len(stripped) if stripped else -1
