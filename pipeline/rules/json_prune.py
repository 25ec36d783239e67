"""Text rule `json-prune`: JSON and JSON lines with long arrays, strings and base64 shortened; it stays JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.failures import failure_numbers
from pipeline.rules.json_pieces import TOKEN, Span, decoded, failing_spans, overlaps
from pipeline.rules.json_text import is_json_or_lines
from pipeline.rules.marks import capped_note, utf8_bytes
from pipeline.rules.tool_classes import file_kind, tool_class

ENDS_OF_ARRAY = (5, 3)
"""Objects and arrays that stay at the head and the tail of a long array."""
ENDS_OF_SCALARS = (20, 10)
"""Numbers, words and strings that stay at the head and the tail of a long array."""
ENDS_OF_LINES = (10, 5)
"""Lines that stay of a run of JSON lines."""
MIN_SPARE = 4
"""So many more than head and tail make an array or a run of lines long."""
MIN_ELIDED = 2
MAX_STRING_CHARS = 4000
"""A longer string keeps its first `KEPT_STRING_CHARS`."""
KEPT_STRING_CHARS = 2000
MIN_BASE64_CHARS = 256

_ELIDED = re.compile(r'"… \[[0-9]{1,12} (?:items|lines) elided\] …"')
_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(r"[^ \t\r\n,\]}]++")
_UNIT = r"(?:[^\\]|\\u[0-9a-fA-F]{4}|\\.)"
_LONGEST = re.compile(rf"{_UNIT}{{0,{MAX_STRING_CHARS}}}+", re.DOTALL)
_HEAD = re.compile(rf"{_UNIT}{{0,{KEPT_STRING_CHARS}}}+", re.DOTALL)
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_BASE64 = re.compile(rf"(data:[A-Za-z0-9/+.;=-]{{1,100}},)?+([A-Za-z0-9+/_-]{{{MIN_BASE64_CHARS},}}+)={{0,2}}")
_BASE64_HEAD_CHARS = 400
_STRING, _ARRAY, _SCALARS = frozenset({'"'}), frozenset({"["}), frozenset({"0"})


@dataclass(slots=True)
class _Element:
    """An element of an array, or a line: where it is, and what kind (the keys of an object, or a sign)."""

    start: int
    end: int
    kind: frozenset[str]


@dataclass(slots=True)
class _Open:
    """A container that is read: what was seen of its current element."""

    is_array: bool
    at: int
    elements: list[_Element] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    start: int = 0
    end: int = 0
    kind: frozenset[str] | None = None


def prune_json(text: str, failing: Failing = failure_numbers) -> str:
    """Shorten long arrays of like elements, long runs of like JSON lines, long strings and base64.

    An array keeps head and tail with the string `"… [N items elided] …"` between, lines with `"… [N lines elided] …"`;
    a string becomes `head…[+N chars]`, base64 `[base64, N bytes]`, behind what a data URL has before it. All else
    stays, byte for byte. What holds a failure stays, and so does an array with something elided in it.

    Args:
        text: body of one tool result.
        failing: finds the failures of plain text.

    Returns:
        The shorter text, of the same kind; the text itself when it is no JSON or nothing is long.
    """
    documents = _documents(text)
    if not documents:
        return text
    edits: list[tuple[int, int, str]] = []
    lines: list[_Element] = []
    protected = failing_spans(text, failing)
    for start, end in documents:
        lines.append(_Element(start, end, _prune(text, start, end, protected, edits)))
    if len(lines) > 1:
        _elide(text, lines, protected, edits, ENDS_OF_LINES, "lines")
    if not edits:
        return text
    return _spliced(text, edits)


def _documents(text: str) -> list[Span]:
    """Where the document, or the line of each document, is; empty for what is no JSON."""
    body = text.strip(" \t\r\n")
    if body[:1] not in ("{", "[") or body[-1:] not in ("}", "]"):
        return []
    start = text.index(body[0])
    if _parses(body):
        return [(start, start + len(body))]
    spans: list[Span] = []
    at = start
    for line in body.split("\n"):
        bare = line.strip(" \t\r")
        if bare:
            if not (bare[0] in "{[" or _ELIDED.fullmatch(bare)) or not _parses(bare):
                return []
            first = at + line.index(bare[0])
            spans.append((first, first + len(bare)))
        at += len(line) + 1
    return spans if len(spans) > 1 else []


def _parses(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def _prune(
    text: str, start: int, end: int, protected: Sequence[Span], edits: list[tuple[int, int, str]]
) -> frozenset[str]:
    """Plan the edits within one document; gives its kind."""
    top = _Open(is_array=False, at=start)
    stack = [top]
    for token in TOKEN.finditer(text, start, end):
        inner = stack[-1]
        at, stop = token.span()
        sign = text[at]
        if sign == '"':
            if token[2] is not None:
                inner.keys.append(token[1])
                continue
            if stop - at > MIN_BASE64_CHARS and not overlaps(protected, at, stop):
                short = _short_string(token[1])
                if short is not None:
                    edits.append((at, stop, short))
            if inner.kind is None:
                inner.start, inner.end, inner.kind = at, stop, _STRING
        elif sign == ",":
            if inner.is_array:
                _end_element(text, inner)
            inner.at = stop
        elif sign in "[{":
            inner.start = at
            stack.append(_Open(is_array=sign == "[", at=stop))
        else:
            stack.pop()
            if inner.is_array:
                _end_element(text, inner)
                _elide_array(text, inner.elements, protected, edits)
            owner = stack[-1]
            owner.end, owner.kind = stop, _ARRAY if inner.is_array else frozenset(inner.keys)
    return top.kind or _SCALARS


def _end_element(text: str, array: _Open) -> None:
    if array.kind is None:
        space = _SPACE.match(text, array.at)
        scalar = _SCALAR.match(text, space.end() if space else array.at)
        if scalar is None:
            return
        array.start, array.end, array.kind = scalar.start(), scalar.end(), _SCALARS
    array.elements.append(_Element(array.start, array.end, array.kind))
    array.kind = None


def _elide_array(
    text: str, elements: list[_Element], protected: Sequence[Span], edits: list[tuple[int, int, str]]
) -> None:
    if len(elements) >= sum(ENDS_OF_ARRAY) + MIN_SPARE:
        _elide(text, elements, protected, edits, ENDS_OF_ARRAY, "items")


def _elide(
    text: str,
    elements: list[_Element],
    protected: Sequence[Span],
    edits: list[tuple[int, int, str]],
    ends: tuple[int, int],
    noun: str,
) -> None:
    """Plan the edits that take the middle out of each long run of like elements."""
    if any(one.kind == _STRING and _ELIDED.fullmatch(text, one.start, one.end) for one in elements):
        return
    first = 0
    for at in range(1, len(elements) + 1):
        if at < len(elements) and _alike(elements[first].kind, elements[at].kind):
            continue
        head, tail = ends if elements[first].kind not in (_STRING, _SCALARS) else ENDS_OF_SCALARS
        if at - first >= head + tail + MIN_SPARE:
            _elide_run(elements[first + head : at - tail], protected, edits, noun)
        first = at


def _elide_run(middle: list[_Element], protected: Sequence[Span], edits: list[tuple[int, int, str]], noun: str) -> None:
    """Plan the edits that take a run's middle out, but none of its elements with a failure."""
    run: list[_Element] = []
    for number, one in enumerate(middle):
        # Up to the next element, so that no failing line is cut at its end.
        stop = middle[number + 1].start if number + 1 < len(middle) else one.end
        if not overlaps(protected, one.start, stop):
            run.append(one)
            if number + 1 < len(middle):
                continue
        if len(run) >= MIN_ELIDED:
            short = f'"… [{len(run)} {noun} elided] …"'
            if utf8_bytes(short) < run[-1].end - run[0].start:
                edits.append((run[0].start, run[-1].end, short))
        run = []


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two kinds are the same, or objects with half of their keys in common."""
    return one == other or 2 * len(one & other) >= max(len(one), len(other)) > 0


def _short_string(token: str) -> str | None:
    """The short form of a string token; None when it stays."""
    inner = token[1:-1]
    bare = inner.replace("\\/", "/").replace("\\n", "").replace("\\r", "") if "\\" in inner else inner
    blob = _BASE64.fullmatch(bare)
    if blob is not None and (blob[1] or _is_mixed(blob[2][:_BASE64_HEAD_CHARS])):
        return f'"{blob[1] or ""}[base64, {len(blob[2]) * 3 // 4} bytes]"'
    longest = _LONGEST.match(inner) if len(inner) > MAX_STRING_CHARS else None
    head = _HEAD.match(inner)
    if longest is None or longest.end() == len(inner) or head is None:
        return None
    kept = _HALF.sub("", head[0])
    note = capped_note(len(decoded(f'"{inner[len(kept) :]}"')))
    if len(inner) - len(kept) <= utf8_bytes(note):
        return None
    return f'"{kept}{note}"'


def _is_mixed(text: str) -> bool:
    """Whether letters of both cases and digits stand in a text as often as in base64."""
    upper = sum(map(str.isupper, text))
    lower = sum(map(str.islower, text))
    digits = sum(map(str.isdigit, text))
    return min(upper, lower, 3 * digits) * 10 >= len(text)


def _spliced(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with its edits; of two that overlap the outer one counts."""
    out: list[str] = []
    at = 0
    for start, end, short in sorted(edits, key=_outer_first):
        if start >= at:
            out += (text[at:start], short)
            at = end
    return "".join((*out, text[at:]))


def _outer_first(edit: tuple[int, int, str]) -> Span:
    return edit[0], -edit[1]


def matches(tool_name: str, output: str) -> bool:
    """True for JSON and JSON lines of any tool but those that edit."""
    return tool_class(tool_name) not in ("edit", "write", "notebook") and is_json_or_lines(output)


def matches_context(context: ToolContext) -> bool:
    """True unless a source file is read."""
    return context.tool_class != "read" or file_kind(context.path) != "source"


RULE = CompactionRule("json-prune", matches, prune_json, matches_context, compact_knowing=prune_json)
"""Source: README.md, P5; a result stays JSON."""
