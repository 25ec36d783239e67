"""What a reader looks for in a session: prose, paths, commands, failure lines, numbers, URLs.

These extractors share no code with the rules on purpose: they measure them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

KINDS = ("paths", "commands", "failures", "numbers", "urls")
"""Kinds of items that `items_of` finds, in the order of its sets."""

Items = tuple[set[int], set[int], set[int], set[int], set[int]]
"""A set of 64-bit hashes for each of `KINDS`: the distinct items."""

_URL = re.compile(r"https?://[^\s\"'<>\\)\]}|`]+")
_PATH = re.compile(r"(?<![\w/:.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\]?(?:[\w@.+-]+[/\\]){1,30}[\w@.+-]*[\w]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_FAILURE = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception)|error|failed|failure|fatal|panic(?:ked)?|denied|not found|cannot|abort(?:ed)?|"
    r"segmentation fault|undefined reference|out of memory|timed out|no such file|traceback)\b|^(?:FAIL|E  )\b",
    re.IGNORECASE | re.MULTILINE,
)
_NO_FAILURE = re.compile(r"\b(?:0|no|without) (?:\w+ )?(?:errors?|failures?|failed)\b", re.IGNORECASE)
_LONGEST_LINE_CHARS = 2_000
_COMMAND_KEYS = frozenset({"command", "cmd", "script"})
_PROSE_KINDS = frozenset({"text", "input_text", "output_text"})
_ROLES = frozenset({"user", "assistant", "model", "gemini"})
# What is below these keys is a tool's, not a person's or a model's.
_TOOL_KEYS = frozenset(
    {
        *("toolUseResult", "tool_input", "tool_output", "input", "arguments", "tool_calls", "toolCalls", "details"),
        *("result", "output", "partialArgs", "partialJson", "functionResponse", "resultDisplay", "data", "attachment"),
    }
)
_TOOL_KINDS = frozenset({"tool_result", "tool_use", "toolCall", "tool", "functionResponse"})
_TOOL_ROLES = frozenset({"tool", "toolResult", "bashExecution"})
_BLOCK = re.compile(r"^\[\[?tool", re.MULTILINE)
_FENCE = "```"


def decoded(data: bytes) -> Any:
    """A record or token as a value; its text where it is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def no_items() -> Items:
    """Nothing found yet."""
    return (set(), set(), set(), set(), set())


def add_items(value: Any, found: Items) -> None:
    """Add the distinct items of all strings in a decoded value; keys do not count."""
    paths, commands, failures, numbers, urls = found
    for key, text in _strings(value):
        if "://" in text:
            urls.update(map(hash, _URL.findall(text)))
        if "/" in text or "\\" in text:
            paths.update(map(hash, _PATH.findall(_URL.sub(" ", text) if "://" in text else text)))
        numbers.update(map(hash, _NUMBER.findall(text)))
        if key in _COMMAND_KEYS:
            commands.update(hash(line) for line in text.split("\n") if line.strip())
        failures.update(map(hash, failure_lines(text)))


def failure_lines(text: str) -> Iterator[str]:
    """Lines that tell of a failure, without what is around them."""
    if _FAILURE.search(text) is None:
        return
    for line in text.split("\n"):
        short = line[:_LONGEST_LINE_CHARS]
        if _FAILURE.search(short) is not None and _NO_FAILURE.search(short) is None:
            yield line.strip()


def prose_of(value: Any) -> Iterator[str]:
    """The lines that users and assistants wrote, in order; not what tools got or gave, also not in blocks of text."""
    for text in _prose_texts(value, inside=False):
        for line in _without_blocks(text).split("\n"):
            if line.strip():
                yield line


def _prose_texts(value: Any, *, inside: bool) -> Iterator[str]:
    """`inside`: a message of a user or an assistant is around the value."""
    if isinstance(value, list):
        for item in value:
            yield from _prose_texts(item, inside=inside)
        return
    if not isinstance(value, dict):
        return
    role, kind = value.get("role"), value.get("type")
    if role in _TOOL_ROLES or kind in _TOOL_KINDS:
        return
    inside = inside or role in _ROLES or kind in _ROLES or kind in ("user_message", "agent_message")
    for key, item in value.items():
        if key in _TOOL_KEYS:
            continue
        if isinstance(item, str):
            spoken = key in ("content", "message", "thinking") or (key == "text" and kind in (*_PROSE_KINDS, None))
            if inside and spoken:
                yield item
        else:
            yield from _prose_texts(item, inside=inside)


def _without_blocks(text: str) -> str:
    """Prose without the calls and results that stand in it as text."""
    kept: list[str] = []
    while (match := _BLOCK.search(text)) is not None:
        kept.append(text[: match.start()])
        opening = text.find(_FENCE, match.end())
        closing = text.find("\n" + _FENCE, opening + 1) if opening >= 0 else -1
        text = text[closing + 4 :] if closing >= 0 else ""
    kept.append(text)
    return "\n".join(kept)


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """All strings of a value, each with the nearest key above it; JSON in a string is looked into."""
    todo = [("", value)]
    while todo:
        key, item = todo.pop()
        if isinstance(item, str):
            inner = decoded(item.encode("utf-8", "replace")) if item[:1] in ("{", "[") else item
            if isinstance(inner, str):
                yield key, inner
            else:
                todo.append((key, inner))
        elif isinstance(item, dict):
            todo.extend(item.items())
        elif isinstance(item, list):
            todo.extend((key, child) for child in item)
