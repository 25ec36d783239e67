"""Which lines of a tool output report a failure, and when two of them say the same (README.md, P4)."""

from __future__ import annotations

import re
from typing import NamedTuple

import re2

from pipeline.rules.failure_neighbours import add_neighbours, is_alone
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

    Source: README.md, P4.
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
    last = start_of_last = end_of_last = -1
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
            if last >= 0 and not is_alone(data, start_of_last, end_of_last, start):
                add_neighbours(flagged, data, (start_of_last, end_of_last), last, number)
            flagged.append(number)
            last, start_of_last, end_of_last = number, start, stop
        at = stop + 1
        number += 1
    if last < 0:
        return []
    add_neighbours(flagged, data, (start_of_last, end_of_last), last, None)
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
    """The failure lines of `text`, verbatim, in order, each occurrence. Source: README.md, P4."""
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
