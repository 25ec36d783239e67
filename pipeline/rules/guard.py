"""The guard of promise P4: which failures of a text are no longer in what a rule made of it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from pipeline.rules.failures import failure_numbers, find_failures
from pipeline.rules.sameness import bare_line, failure_key

# Text of a page that nobody sees; an element that is not closed hides nothing here.
_UNSEEN = re.compile(r"<!--|<(script|style|template|svg|iframe|noembed|noframes|object|canvas|select)\b", re.IGNORECASE)
# The names of tags within a line, by their first letters: most places are ruled out by one look.
_INLINE_TAG = re.compile(
    r"<(?=[/abcdefiklmqstuvw])/?+(?:a(?:bbr|cronym)?|b(?:d[io]|ig)?|c(?:ite|ode)|d(?:ata|el|fn)|em|font|i(?:ns)?|kbd"
    r"|label|mark|q|s(?:amp|mall|pan|trike|trong|u[bp])?|t(?:ime|t)|u|var|wbr)\b[^<>]*+>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z!?][^<>]*>", re.IGNORECASE)
_JOINT = "\x00"
# How often a piece may stand before the last one found; more is a rearranged page, and that counts as lost.
_BACKWARD_SEARCHES = 20
_FIRST_CHARS = 48


def lost_failures(before: str, after: str) -> list[str]:
    r"""The distinct failures of `before` that have no line of their own in `after`.

    A failure is still there when `after` has, verbatim, one of the lines of `before` with the same `failure_key`.
    Colour codes, a fold count and white space at a line's end make no difference.

    Args:
        before: the text as it was; lines end at "\n".
        after: what a rule made of it.

    Returns:
        The first line of each failure that is lost, in order; empty when all are there.

    Source: README.md, P4.
    """
    if before == after:
        return []
    return lost_lines(find_failures(before).lines, after)


def lost_lines(failures: Sequence[str], after: str) -> list[str]:
    """`lost_failures` for failure lines that are known already."""
    if not failures:
        return []
    lines = set(after.split("\n"))
    distinct = dict.fromkeys(failures)
    missing = [line for line in distinct if line not in lines]
    if not missing:
        return []
    bare = {bare_line(line) for line in lines}
    absent: dict[str, str] = {}
    found: list[str] = []
    for line in missing:
        plain = bare_line(line)
        if plain in bare:
            found.append(line)
        elif plain:
            absent.setdefault(failure_key(line), line)
    if not absent:
        return []
    gone = set(missing)
    for line in distinct:
        if line not in gone:
            absent.pop(failure_key(line), None)
    for line in found:
        absent.pop(failure_key(line), None)
    return list(absent.values())


def lost_from_page(before: str, after: str) -> list[str]:
    """The failures that a reader of the HTML page `before` sees and that its text `after` does not have.

    What stands between tags of blocks is one line; each piece of a failing line between inline tags has to be in
    `after`, in order, white space aside. Scripts, styles, comments and attributes are not seen.

    Returns:
        The first line that is lost, alone: the search ends there. Linear in both texts.
    """
    marked = _TAG.sub("\n", _INLINE_TAG.sub(_JOINT, _visible(before.replace(_JOINT, " "))))
    lines = html.unescape(marked).split("\n")
    numbers = failure_numbers("\n".join(lines).replace(_JOINT, ""))
    haystack = " ".join(html.unescape(after).split())
    at = 0
    backward = 0
    for number in numbers:
        for piece in lines[number].split(_JOINT):
            needle = " ".join(piece.split())
            if not needle:
                continue
            place = _find(haystack, needle, at)
            if place < 0 and backward < _BACKWARD_SEARCHES:
                backward += 1
                place = haystack.find(needle, 0, at + len(needle))
            if place < 0:
                return [lines[number].replace(_JOINT, "")]
            at = max(at, place)
    return []


def _find(haystack: str, needle: str, at: int) -> int:
    """`haystack.find`, which takes its time for a long needle; mostly its start is found just behind `at` only."""
    place = haystack.find(needle[:_FIRST_CHARS], at)
    return place if place < 0 or haystack.startswith(needle, place) else haystack.find(needle, place + 1)


def _visible(page: str) -> str:
    """The page without comments, scripts and styles."""
    kept: list[str] = []
    at = 0
    folded = ""
    for opening in _UNSEEN.finditer(page):
        if opening.start() < at:
            continue
        if opening[1] is None:
            end = page.find("-->", opening.end())
            size = 3
        else:
            folded = folded or page.lower()
            closing = f"</{opening[1].lower()}"
            end = folded.find(closing, opening.end()) if len(folded) == len(page) else -1
            size = len(closing)
        if end < 0:
            # Not closed: all that is left counts as seen.
            break
        kept.append(page[at : opening.start()])
        at = end + size
    kept.append(page[at:])
    return "".join(kept)
