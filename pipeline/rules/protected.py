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
    """A piece of a text; `whole` ones are not to be touched."""

    text: str
    whole: bool


def split_protected(text: str) -> list[Part]:
    """Cut a text where something begins or ends that has to stay whole.

    Joined, the parts are the text. A block without an end protects only its opening tag; a tag that is alone on its
    line takes the line's end along. Linear.

    Source: design, P5; formats.md, section 9.
    """
    header = _HEADER.match(text)
    start = 0 if header is None else header.end()
    spans = [(0, start)] if start else []
    if ("<" in text or "[" in text) and any(word in text for word in _WORDS):
        spans += _marked_spans(text, start)
    if not spans:
        return [Part(text, False)]
    parts: list[Part] = []
    at = 0
    for first, end in spans:
        if first > at:
            parts.append(Part(text[at:first], False))
        parts.append(Part(text[first:end], True))
        at = end
    if at < len(text):
        parts.append(Part(text[at:], False))
    return parts


def splits_line(parts: list[Part]) -> bool:
    r"""Whether a boundary between two parts lies within a line."""
    return any(not part.text.endswith("\n") for part in parts[:-1])


def _marked_spans(text: str, start: int) -> list[tuple[int, int]]:
    tags = list(_TAG.finditer(text, start))
    # For each tag the next closing one of its kind, found from the end.
    closing: dict[str, int] = {}
    ends: list[int] = [0] * len(tags)
    for index in range(len(tags) - 1, -1, -1):
        block = tags[index]["block"]
        if block is None:
            continue
        if tags[index]["close"]:
            closing[block.lower()] = tags[index].end()
        else:
            ends[index] = closing.get(block.lower(), 0)
    spans: list[tuple[int, int]] = []
    at = start
    for tag, block_end in zip(tags, ends, strict=True):
        if tag.start() < at:
            continue
        first, end = tag.start(), max(tag.end(), block_end)
        line = text.rfind("\n", at, first) + 1 or at
        if not text[line:first].strip():
            first = line
        after = text.find("\n", end, end + _SPACE_CHARS)
        if after >= 0 and not text[end:after].strip():
            end = after + 1
            origin = _ORIGIN.match(text, end)
            if origin is not None:
                end = origin.end()
        spans.append((first, end))
        at = end
    return spans
