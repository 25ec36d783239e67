"""The failures inside JSON, where one line may hold a whole document and an escaped line end hides a line's start."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Sequence

from pipeline.rules.base import Failing
from pipeline.rules.failures import failure_numbers
from pipeline.rules.guard import lost_lines

Span = tuple[int, int]
TOKEN = re.compile(r'("(?:[^"\\]++|\\.)*+"?+)([ \t\r\n]*+:)?+|[\[\]{},]', re.DOTALL)
"""A string, with the colon if it is a key, or a sign. What stands between is a number, a word or white space.

A string without an end runs to the end of the text, so that the time is linear on any text.
"""
# Two blank lines: what stands in one piece says nothing of the next.
_APART = ["", ""]


def failing_spans(text: str, failing: Failing = failure_numbers) -> list[Span]:
    r"""Where failures stand in JSON or JSON lines.

    A failing line counts whole where the text has several. In a document on one line the failing pieces count: what
    stands between two of the signs `[]{},`. A string with escapes is looked at decoded, its "\n" are line ends.

    Args:
        text: valid JSON or JSON lines.
        failing: finds the failures of plain text.

    Returns:
        Places in `text`, ascending; they may touch but do not overlap.
    """
    one_line = "\n" not in text.strip()
    numbers = failing(text)
    spans = [] if one_line else _line_spans(text, numbers)
    if numbers if one_line else "\\" in text:
        spans += _piece_spans(text, failing, escaped_only=not one_line)
    elif one_line and "\\" in text:
        spans += _piece_spans(text, failing, escaped_only=True)
    return _merged(spans)


def overlaps(spans: Sequence[Span], start: int, end: int) -> bool:
    """Whether one of the spans, ascending and apart, has a character of `start` to `end`."""
    at = bisect_left(spans, (start, start))
    return (at < len(spans) and spans[at][0] < end) or (at > 0 and spans[at - 1][1] > start)


def lost_from_json(before: str, after: str) -> list[str]:
    """The distinct failures of the JSON text `before` that are no longer in `after`.

    Where whole lines are gone the pieces between the signs decide, strings with escapes decoded: a document on one
    line may lose other parts of it.

    Returns:
        The first line of each failure that is lost, in order.
    """
    lines = before.split("\n")
    lost = lost_lines([lines[number] for number in failure_numbers(before)], after)
    if lost and "\n" in before.strip():
        return lost
    spread = [line for _, _, piece in _pieces(before, escaped_only=False) for line in (*piece.split("\n"), *_APART)]
    left = "\n".join(piece for _, _, piece in _pieces(after, escaped_only=False))
    return lost_lines([spread[number] for number in failure_numbers("\n".join(spread))], left)


def _line_spans(text: str, numbers: Collection[int]) -> list[Span]:
    spans: list[Span] = []
    if not numbers:
        return spans
    wanted = frozenset(numbers)
    at = 0
    for number, line in enumerate(text.split("\n")):
        if number in wanted:
            spans.append((at, at + len(line)))
        at += len(line) + 1
    return spans


def _piece_spans(text: str, failing: Failing, *, escaped_only: bool) -> list[Span]:
    owners: list[Span] = []
    lines: list[str] = []
    for start, end, piece in _pieces(text, escaped_only=escaped_only):
        found = [*piece.split("\n"), *_APART]
        lines += found
        owners += [(start, end)] * len(found)
    return [owners[number] for number in failing("\n".join(lines))] if lines else []


def _pieces(text: str, *, escaped_only: bool) -> list[tuple[int, int, str]]:
    """The pieces between signs: start, end, and their text with decoded strings; blank ones are left out."""
    found: list[tuple[int, int, str]] = []
    at = 0
    parts: list[str] = []
    escaped = False
    for token in TOKEN.finditer(text):
        start, end = token.span()
        if text[start] != '"':
            parts.append(text[at:start])
            _add_piece(found, parts, start, escaped or not escaped_only)
            parts, escaped = [], False
        elif "\\" in token[1]:
            parts += (text[at:start], decoded(token[1]), token[2] or "")
            escaped = True
        else:
            parts.append(text[at:end])
        at = end
    parts.append(text[at:])
    _add_piece(found, parts, len(text), escaped or not escaped_only)
    return found


def _add_piece(found: list[tuple[int, int, str]], parts: list[str], end: int, wanted: bool) -> None:
    if not wanted:
        return
    piece = "".join(parts)
    if piece and not piece.isspace():
        # Decoded text is shorter than its spelling; the span may start too late by escapes, never outside of the piece.
        found.append((end - len(piece), end, piece))


def decoded(token: str) -> str:
    """The text of a string token; without its quotes as it stands when it is none."""
    try:
        text = json.loads(token, strict=False)
    except ValueError:
        return token.strip('"')
    return text if isinstance(text, str) else token


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(set(spans)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
