"""The parts of a text that stay whole: a harness's own blocks, markers around outside text, the header of a result."""

from __future__ import annotations

import re
from typing import NamedTuple

# What a harness puts before the output of a command: its exit code, the time it took.
_HEADER = re.compile(
    r"(?:(?:Exit code|Chunk ID|Wall time|Process exited with code|Process running with|Original token count"
    r"|Total output lines)[: ][^\n]{0,200}\n){1,8}(?:Output:\r?\n)?"
)
# Blocks that stay whole with all they hold, and marks of which only the mark itself has to stay.
_TAG = re.compile(
    r"<(?P<close>/?)(?P<block>system-reminder|tool_use_error|persisted-output)\b[^<>\n]{0,200}>"
    r"|</?[a-z_:-]{0,40}untrusted[^<>\n]{0,200}>|(?<!<)<{2,5}[^<>\n]{0,40}untrusted[^<>\n]{0,200}>{2,5}"
    r"|\[/?[a-z_ -]{0,40}untrusted[^\[\]\n]{0,100}\]",
    re.IGNORECASE,
)
_WORDS = ("system-reminder", "tool_use_error", "persisted-output", "ntrusted", "NTRUSTED")
# What the writer of a mark around outside text says of its source, up to a ruler.
_ORIGIN = re.compile(r"(?:[A-Z][A-Za-z -]{0,40}: [^\n]{0,500}\r?\n){1,8}---\r?\n")
# White space that may stand between a mark and the end of its line.
_SPACE_CHARS = 8


class Part(NamedTuple):
    """A piece of a text; `whole` ones are not to be touched.

    What touches is one part: `pieces` tells of how many, `joins_line` whether two of them meet within a line.
    """

    text: str
    whole: bool
    pieces: int = 1
    joins_line: bool = False


def behind_header(text: str) -> int:
    """Where the output itself begins behind what a harness puts before it; 0 without such a header."""
    header = _HEADER.match(text)
    return 0 if header is None else header.end()


def split_protected(text: str) -> list[Part]:
    """Cut a text where something begins or ends that has to stay whole.

    Joined, the parts are the text. A block without an end protects only its opening tag; a tag that is alone on its
    line takes the line's end along. Linear.

    Source: README.md, P5.
    """
    start = behind_header(text)
    spans = [(0, start, 1, False)] if start else []
    if ("<" in text or "[" in text) and any(word in text for word in _WORDS):
        spans += _marked_spans(text, start)
    if not spans:
        return [Part(text, False)]
    parts: list[Part] = []
    at = 0
    for first, end, pieces, joins_line in spans:
        if first > at:
            parts.append(Part(text[at:first], False))
        parts.append(Part(text[first:end], True, pieces, joins_line))
        at = end
    if at < len(text):
        parts.append(Part(text[at:], False))
    return parts


def splits_line(parts: list[Part]) -> bool:
    r"""Whether a boundary between two parts, or within one, lies within a line."""
    return any(not part.text.endswith("\n") for part in parts[:-1]) or any(part.joins_line for part in parts)


def _marked_spans(text: str, start: int) -> list[tuple[int, int, int, bool]]:
    """Where something that stays whole begins and ends, with `pieces` and `joins_line` of its part."""
    starts, ends, blocks = _tags(text, start)
    spans: list[tuple[int, int, int, bool]] = []
    at = start
    open_first = -1
    pieces, joins_line = 1, False
    for first, end, block_end in zip(starts, ends, _block_ends(ends, blocks), strict=True):
        if first < at:
            continue
        line = text.rfind("\n", at, first) + 1 or at
        if not text[line:first].strip():
            first = line
        end = _line_end(text, max(end, block_end))
        if open_first < 0:
            open_first = first
        elif first > at:
            spans.append((open_first, at, pieces, joins_line))
            open_first, pieces, joins_line = first, 1, False
        else:
            # Very many that touch would be very many parts.
            pieces += 1
            joins_line = joins_line or text[at - 1] != "\n"
        at = end
    if open_first >= 0:
        spans.append((open_first, at, pieces, joins_line))
    return spans


def _tags(text: str, start: int) -> tuple[list[int], list[int], list[str]]:
    """Where the tags start and end, and what each opens; "/" and its name for one that closes a block, "" for none."""
    starts: list[int] = []
    ends: list[int] = []
    blocks: list[str] = []
    for tag in _TAG.finditer(text, start):
        starts.append(tag.start())
        ends.append(tag.end())
        block = tag["block"]
        blocks.append("" if block is None else tag["close"] + block.lower())
    return starts, ends, blocks


def _block_ends(ends: list[int], blocks: list[str]) -> list[int]:
    """For each tag the end of the next that closes its block, 0 if none does; found from the end."""
    closing: dict[str, int] = {}
    found = [0] * len(ends)
    for index in range(len(ends) - 1, -1, -1):
        block = blocks[index]
        if block.startswith("/"):
            closing[block[1:]] = ends[index]
        elif block:
            found[index] = closing.get(block, 0)
    return found


def _line_end(text: str, end: int) -> int:
    """The end of what stays whole: with the end of its line where only blanks follow, and with its origin."""
    after = text.find("\n", end, end + _SPACE_CHARS)
    if after < 0 or text[end:after].strip():
        return end
    origin = _ORIGIN.match(text, after + 1)
    return after + 1 if origin is None else origin.end()
