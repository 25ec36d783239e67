"""Which lines of a tool output report a failure, and when two of them say the same (design, P4)."""

from __future__ import annotations

import re
from typing import NamedTuple

import re2

from pipeline.rules.failure_words import (
    BENIGN_PHRASES,
    CANDIDATE,
    COUNTED_HINT,
    HINTS,
    LINE_HINT,
    LISTED,
    NAME_HINT,
    NONE_COUNTED,
    PASSED,
    PATH_TOKEN,
    SHAPE_HINT,
    STEM,
    SUFFIXES,
    WORDS,
    ZERO_HINT,
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
    bare = plain(text)
    if "  (×" in bare:
        bare = _FOLD_SUFFIXES.sub("", bare)
    data = bare.encode("utf-8", "surrogatepass")
    hit = CANDIDATE.search(data)
    if hit is None:
        return NO_FAILURES
    candidates: list[int] = []
    number = scanned = 0
    end = len(data)
    while hit is not None:
        start = hit.start()
        number += data.count(b"\n", scanned, start)
        candidates.append(number)
        scanned = data.find(b"\n", start)
        if scanned < 0 or scanned + 1 >= end:
            break
        hit = CANDIDATE.search(data, scanned + 1)
    lines = data.split(b"\n")
    known = {line: _reports(line) for line in {lines[number] for number in candidates}}
    strong = [number for number in candidates if known[lines[number]]]
    if not strong:
        return NO_FAILURES
    numbers = _with_neighbours(lines, strong)
    originals = text.split("\n")
    return Failures(numbers, [originals[number] for number in numbers])


def failure_lines(text: str) -> list[str]:
    """The failure lines of `text`, verbatim, in order, each occurrence. Source: design, P4."""
    return find_failures(text).lines


def _reports(line: bytes) -> bool:
    """Whether a candidate line, without colour codes, is a failure by itself."""
    hints = HINTS.Match(line) or ()
    if SHAPE_HINT in hints or min(hints, default=SHAPE_HINT) >= SHAPE_HINT:
        return True
    text = line.decode("utf-8", "replace")
    if LINE_HINT in hints and (
        LISTED.search(text) is not None
        or ELIDED_LINE.match(text) is not None
        or (COUNTED_HINT not in hints and PASSED.search(text) is not None)
    ):
        return False
    if NAME_HINT in hints:
        line = PATH_TOKEN.sub(_without_names, text).encode("utf-8", "surrogatepass")
    if ZERO_HINT in hints:
        line = NONE_COUNTED.sub(rb"\1 ", line)
    for hint, phrase in BENIGN_PHRASES:
        if hint in hints:
            line = phrase.sub(" ", line.decode("utf-8", "replace")).encode("utf-8", "surrogatepass")
    return WORDS.search(line) is not None


def _without_names(token: re.Match[str]) -> str:
    """A token that is a path or file name with a failure's word in it, blanked; any other token as it is."""
    word = token[0]
    if STEM.search(word) is None:
        return word
    last = word.rpartition("/")[2].rpartition("\\")[2]
    suffix = last.rstrip(".").rpartition(".")
    if suffix[0] and suffix[2].lower() in SUFFIXES:
        return " "
    if "/" not in word and "\\" not in word:
        return word
    first = word.partition("/")[0]
    if word[0] in "/\\@~." or word[-1] in "/\\" or ("." in first and first[0] != "."):
        return " "
    return word


def _with_neighbours(lines: list[bytes], strong: list[int]) -> list[int]:
    """The numbers of the failures and of the lines that belong to them, ascending; each line is looked at once."""
    flagged = set(strong)
    count = len(lines)
    for index, number in enumerate(strong):
        limit = strong[index + 1] if index + 1 < len(strong) else count
        line = lines[number]
        if number and lines[number - 1].strip() and _explains(line, lines[number - 1]):
            flagged.add(number - 1)
        if number + 1 < limit:
            flagged.update(_below(lines, number, min(limit, number + 1 + _WALK_LINES)))
        if number + 1 < count and lines[number + 1][:1].isspace() and _BLOCK_HEAD.search(line) is not None:
            flagged.update(_block(lines, number))
    return sorted(flagged)


def _explains(line: bytes, above: bytes) -> bool:
    """Whether `line` is nothing without the one above it: a caret under code, a place under a Go function."""
    return _CARET.fullmatch(line) is not None or (_GO_FRAME.match(line) is not None and not above[:1].isspace())


def _below(lines: list[bytes], number: int, limit: int) -> list[int]:
    """The lines after the failure `number` and before `limit` that belong to it."""
    line = lines[number]
    found: list[int] = []
    at = number + 1
    if _FRAME_FILE.match(line) is not None:
        if _indent(lines[at]) > _indent(line):
            found.append(at)
            at += 1
    elif _STATEMENT.match(line) is not None:
        # A statement over several lines, up to what pytest says of it.
        ends = next((k for k in range(at, min(limit, at + _STATEMENT_LINES)) if not lines[k].strip()), None)
        if ends is None and limit - at <= _STATEMENT_LINES:
            return list(range(at, limit))
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
    return found


def _message_lines(line: bytes) -> int:
    """How many lines below a failure are its message, without a sign of their own."""
    if b"panicked at " in line and line.rstrip().endswith(b":"):
        return 1
    return 2 if b"First differing element" in line else 0


def _is_call(line: bytes) -> bool:
    """Whether a line is a function with its arguments alone, as in the stacks of Go."""
    return _CALL.match(line) is not None and line.rstrip().endswith(b")")


def _block(lines: list[bytes], number: int) -> range:
    """The lines below a heading that are indented more than it, other failures among them."""
    depth = _indent(lines[number])
    at = number + 1
    stop = min(len(lines), at + _BLOCK_LINES)
    while at < stop and _indent(lines[at]) > depth:
        at += 1
    return range(number + 1, at)


def _belongs_to_diff(line: bytes, in_diff: bool) -> bool:
    """Whether a line is part of what an assertion compares; context lines count only below a diff's heading."""
    return _DIFF_LINE.match(line) is not None and (in_diff or line.lstrip()[:1] in (b"-", b"+", b"?", b"@"))


def _indent(line: bytes) -> int:
    """Leading white space of a line with content; -1 for a blank one."""
    stripped = line.lstrip()
    return len(line) - len(stripped) if stripped else -1
