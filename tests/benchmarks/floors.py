"""The floors that `compactd compact` is measured against: what reading and writing a session takes without any rule.

`null`: read, prefilter by bytes, orjson.loads, drop the bulk, dumps, write. The bulk is what needs no look at its text:
long strings of inputs, hidden copies in `toolUseResult`, both of them also in messages that progress records nest.
Visible results stay. `null-lines`: the same, and every result text is encoded and split into its lines.

`python tests/benchmarks/floors.py null SOURCE TARGET`
"""

from __future__ import annotations

import sys
from typing import Any

import orjson

KINDS = ("null", "null-lines")
BUFFER_BYTES = 1 << 20
KEPT_CHARS = 200
# A record without any of these has nothing to drop.
NEEDLES = (b'"tool_use"', b'"tool_result"', b'"toolUseResult"', b'"progress"', b'"tool"')


def rewrite(source: str, target: str, *, lines: bool) -> int:
    """Write the session again without its bulk; the count of lines in results, 0 unless `lines`."""
    seen = 0
    with open(source, "rb", buffering=BUFFER_BYTES) as reading, open(target, "wb", buffering=BUFFER_BYTES) as writing:
        for line in reading:
            if not any(needle in line for needle in NEEDLES):
                writing.write(line)
                continue
            record = orjson.loads(line)
            if lines:
                seen += _count_lines(record)
            _drop_bulk(record)
            writing.write(orjson.dumps(record))
            writing.write(b"\n")
    return seen


def _drop_bulk(record: dict[str, Any]) -> None:
    for block in _blocks(record):
        tool_input = block.get("input") or block.get("tool_input")
        if isinstance(tool_input, dict):
            _shorten(tool_input, KEPT_CHARS)
    mirror = record.get("toolUseResult")
    if isinstance(mirror, dict):
        _shorten(mirror, 0)
    data = record.get("data")
    if isinstance(data, dict):
        for nested in _nested(data):
            _drop_bulk(nested)


def _count_lines(record: dict[str, Any]) -> int:
    count = 0
    for block in _blocks(record):
        for text in _result_texts(block):
            count += len(text.encode().split(b"\n"))
    data = record.get("data")
    if isinstance(data, dict):
        for nested in _nested(data):
            count += _count_lines(nested)
    return count


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Content blocks of a Claude Code message, or parts of an OpenViking one."""
    message = record.get("message")
    blocks = message.get("content") if isinstance(message, dict) else record.get("parts")
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def _result_texts(block: dict[str, Any]) -> list[str]:
    if block.get("type") == "tool_result":
        content = block.get("content")
        if isinstance(content, list):
            return [part["text"] for part in content if isinstance(part, dict) and "text" in part]
    else:
        content = block.get("tool_output")
    return [content] if isinstance(content, str) else []


def _nested(data: dict[str, Any]) -> list[dict[str, Any]]:
    messages = data.get("normalizedMessages")
    return [*([data["message"]] if "message" in data else []), *(messages if isinstance(messages, list) else [])]


def _shorten(value: dict[str, Any], kept: int) -> None:
    for key, field in value.items():
        if isinstance(field, str):
            if len(field) > KEPT_CHARS:
                value[key] = field[:kept]
        elif isinstance(field, dict):
            _shorten(field, kept)


if __name__ == "__main__":
    rewrite(sys.argv[2], sys.argv[3], lines=KINDS.index(sys.argv[1]) == 1)
