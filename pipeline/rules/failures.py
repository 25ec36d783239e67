"""Which lines of a tool output report a failure, and when two of them say the same (design, P4)."""

from __future__ import annotations

import re
from typing import NamedTuple

import re2

from pipeline.rules.failure_words import (
    BENIGN_PHRASES,
    CANDIDATE,
    COUNTED_HINT,
    LINE_HINT,
    LISTED,
    NAME_HINT,
    NONE_COUNTED,
    PASSED,
    PATH_TOKEN,
    SHAPE_HINT,
    STEM,
    SUFFIXES,
    VALUE_HINT,
    ZERO_HINT,
    match_hints,
    search_candidate,
    search_stem_word,
    search_valued,
    search_words,
    sub_found,
)
from pipeline.rules.sameness import bare_line as bare_line
from pipeline.rules.sameness import failure_key as failure_key
from pipeline.rules.sameness import failure_keys as failure_keys
from pipeline.rules.sameness import plain

FAILURE_RE: re2._Regexp = CANDIDATE
"""Finds candidate lines, cheaply and broadly; `failure_lines` decides."""

_FOLD_SUFFIXES = re.compile(r"  \(×[0-9]{1,12}\)(?=\r*$)", re.MULTILINE)
ELIDED_LINE = re.compile(
    r"^… \[[0-9]{1,12} (?:[a-z -]{1,40} )?lines? elided\](?: \(kept [0-9]{1,12} error line\(s\) below\))? …\r*$",
    re.MULTILINE,
)
"""The line that stands for elided ones."""


# How far the lines below a failure can belong to it, in lines.
_WALK_LINES = 60
_FEW_LINES = 5
_BLOCK_LINES = 30
_STATEMENT_LINES = 10

_BLOCK_HEAD = re.compile(rb":\s*$|^\s*not ok\b|--- FAIL|^\s+[0-9]+\) |^\s*\xe2\x97\x8f ")
_FRAME_FILE = re.compile(rb"^\s*File \"")
_CARET = re.compile(rb"(?:[\s|]++[\^~]|\^)[\s^~|+-]*+")
_CALL = re.compile(rb"[^\s(]++\(")
_STATEMENT = re.compile(rb">\s{2,}\S")
_ASSERTION = re.compile(
    rb"assert|expected|received|actual|equal|differ|diff\b|mismatch|\bgot\b|\bwant\b", re.IGNORECASE
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
# The first bytes of a line that says something of the one above.
_EXPLAINING = b" \t\r\v\f|^"
_DIFF_LINE = re.compile(rb"\s*(?:[-+?](?![-+]* (?:expected|received|actual))|@@)|\s+\S", re.IGNORECASE)


class Failures(NamedTuple):
    """The failure lines of a text: their 0-based line numbers, ascending, and the lines themselves, verbatim."""

    numbers: list[int]
    lines: list[str]


NO_FAILURES = Failures([], [])


def find_failures(text: str) -> Failures:
    r"""Every line of `text` that reports a failure, or belongs to one: a stack frame, an assertion's two sides.

    Args:
        text: body of one tool result; lines end at "\n" only. Colour codes hide nothing.

    Returns:
        All occurrences in order; for a text without failures two empty lists.

    Source: design, P4.
    """
    numbers = failure_numbers(text)
    if not numbers:
        return NO_FAILURES
    originals = text.split("\n")
    return Failures(numbers, [originals[number] for number in numbers])


def failure_numbers(text: str) -> list[int]:
    """The 0-based numbers of the lines that `find_failures` finds, for who has the lines already. Linear."""
    bare = plain(text)
    if "  (×" in bare:
        bare = _FOLD_SUFFIXES.sub("", bare)
    data = bare.encode("utf-8", "surrogatepass")
    end = len(data)
    known: dict[bytes, bool] = {}
    flagged: list[int] = []
    number = at = 0
    # The failure before, whose neighbours are looked for when it is known how far they can reach.
    last = -1
    last_span = (0, 0)
    while at < end:
        found = search_candidate(data, at, end)[0][0]
        if found < 0:
            break
        start = data.rfind(b"\n", at, found) + 1 or at
        stop = data.find(b"\n", found)
        if stop < 0:
            stop = end
        line = data[start:stop]
        reports = known.get(line)
        if reports is None:
            reports = known[line] = _reports(line)
        if start > at:
            number += data.count(b"\n", at, start)
        if reports:
            if last >= 0:
                _add_neighbours(flagged, data, last_span, last, number)
            flagged.append(number)
            last, last_span = number, (start, stop)
        at = stop + 1
        number += 1
    if last < 0:
        return []
    _add_neighbours(flagged, data, last_span, last, None)
    return sorted(set(flagged))


class LastScan:
    """The failures of the text that was asked for last: a rule, the guard and the fallback all ask for them."""

    __slots__ = ("_numbers", "_text")

    def __init__(self) -> None:
        self._text: str | None = None
        self._numbers: list[int] = []

    def numbers(self, text: str) -> list[int]:
        """`failure_numbers`, found once as long as the very same text is asked for."""
        if text is not self._text:
            self._numbers = failure_numbers(text)
            self._text = text
        return self._numbers


def failure_lines(text: str) -> list[str]:
    """The failure lines of `text`, verbatim, in order, each occurrence. Source: design, P4."""
    return find_failures(text).lines


def _reports(line: bytes) -> bool:
    """Whether a candidate line, without colour codes, is a failure by itself."""
    hints = match_hints(line)
    if not hints or SHAPE_HINT in hints or min(hints) >= SHAPE_HINT:
        return True
    text = line.decode("utf-8", "replace")
    if LINE_HINT in hints and (
        LISTED.match(text) is not None
        or ELIDED_LINE.match(text) is not None
        or (COUNTED_HINT not in hints and PASSED.match(text) is not None)
    ):
        return False
    if NAME_HINT in hints:
        line = _nameless(line) if line.isascii() else _nameless_text(text).encode("utf-8", "surrogatepass")
    if ZERO_HINT in hints:
        line = NONE_COUNTED.sub(rb"\1 ", line)
    for hint, phrase in BENIGN_PHRASES:
        if hint not in hints:
            continue
        if hint == VALUE_HINT and line.isascii():
            line = sub_found(phrase, search_valued, _space, line.decode()).encode()
        else:
            line = phrase.sub(" ", line.decode("utf-8", "replace")).encode("utf-8", "surrogatepass")
    if search_candidate(line, 0, len(line))[0][0] < 0:
        return False
    # A candidate is a word or a shape: where it has no shape, the words need not be looked for.
    return SHAPE_HINT not in match_hints(line) or search_words(line, 0, len(line))[0][0] >= 0


def _space(_found: re.Match[str]) -> str:
    return " "


def _nameless(line: bytes) -> bytes:
    """An ASCII line without paths and file names that have a failure's word in them."""
    kept: list[bytes] = []
    at = 0
    size = len(line)
    while True:
        start, end = search_stem_word(line, at, size)[0]
        if start < 0:
            break
        word = line[start:end]
        named = (b"/" in word or b"." in word or b"\\" in word) and _is_name(word.decode())
        kept += (line[at:start], b" " if named else word)
        at = end
    kept.append(line[at:])
    return b"".join(kept)


def _nameless_text(text: str) -> str:
    return PATH_TOKEN.sub(
        lambda token: " " if STEM.search(token[0]) is not None and _is_name(token[0]) else token[0], text
    )


def _is_name(word: str) -> bool:
    """Whether a word with a slash or a dot in it is a path or a file name."""
    last = word.rpartition("/")[2].rpartition("\\")[2]
    suffix = last.rstrip(".").rpartition(".")
    if suffix[0] and suffix[2].lower() in SUFFIXES:
        return True
    if "/" not in word and "\\" not in word:
        return False
    first = word.partition("/")[0]
    return word[0] in "/\\@~." or word[-1] in "/\\" or ("." in first and first[0] != ".")


def _add_neighbours(flagged: list[int], data: bytes, span: tuple[int, int], number: int, following: int | None) -> None:
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
    if data[stop + 1 : stop + 2].isspace() and _BLOCK_HEAD.search(line) is not None:
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
            or (_belongs_to_diff(below, diff) and (diff or _ASSERTION.search(line) is not None))
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
    if b"panicked at " in line and line.rstrip().endswith(b":"):
        return 1
    return 2 if b"First differing element" in line else 0


def _is_call(line: bytes) -> bool:
    """Whether a line is a function with its arguments alone, as in the stacks of Go."""
    return _CALL.match(line) is not None and line.rstrip().endswith(b")")


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
