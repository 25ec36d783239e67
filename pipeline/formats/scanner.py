"""The exact way to find value tokens by path: a tokenizer that knows every spelling JSON allows. Small and slow."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.records import Path

# Possessive, and a string without an end runs to the end of the text: linear on any bytes.
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(")?', re.DOTALL)
NESTING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
SPACE = re.compile(rb"[ \t\r\n]*")
SCALAR = re.compile(rb"[^ \t\r\n,\]}]+")


def scan_spans(raw: bytes, start: int, end: int, paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Find the value tokens at `paths` in the JSON document `raw[start:end]`.

    Of a key that an object has twice the last one counts, as for decoders; keys are compared decoded. Any white
    space, escapes and depth; the time is linear in the document plus the paths. Paths may contain one another.

    Returns:
        Spans in `raw`, in the order of `paths`.

    Raises:
        ValueError: a path leads nowhere, or the text is no JSON document.
    """
    root = _Node(None)
    leaves = [root.leaf(path) for path in paths]
    _walk(raw, start, end, root)
    for leaf, path in zip(leaves, paths, strict=True):
        if not leaf.is_current():
            raise ValueError(f"no value at {path!r}")
    return [(leaf.start, leaf.end) for leaf in leaves]


def skip_space(raw: bytes, at: int, end: int) -> int:
    """The first place from `at` on that holds no JSON white space."""
    match = SPACE.match(raw, at, end)
    return match.end() if match else at


def skip_value(raw: bytes, at: int, end: int) -> int:
    """The end of the value that starts at `at`.

    Raises:
        ValueError: `end` comes first.
    """
    first = raw[at : at + 1]
    if first == b'"':
        return skip_string(raw, at, end)
    if first not in (b"{", b"["):
        match = SCALAR.match(raw, at, end)
        if match is None:
            raise ValueError(f"need a value at byte {at}")
        return match.end()
    depth = 0
    for match in NESTING.finditer(raw, at, end):
        if match.lastindex == 1:
            depth += 1
        elif match.lastindex == 2:
            depth -= 1
            if depth == 0:
                return match.end()
    raise ValueError(f"the value at byte {at} has no end")


def skip_string(raw: bytes, at: int, end: int) -> int:
    """The end of the string token that starts at `at`.

    Raises:
        ValueError: there is none, or `end` comes first.
    """
    match = STRING.match(raw, at, end)
    if match is None or match.lastindex is None:
        raise ValueError(f"need a whole string at byte {at}")
    return match.end()


def decode_string(token: bytes) -> str:
    """The text of a string token, lone surrogates included.

    Raises:
        ValueError: the token is malformed.
    """
    if b"\\" not in token:
        return token[1:-1].decode()
    text = json.loads(token.decode())
    if not isinstance(text, str):
        raise ValueError("need a string token")
    return text


def skip_key(raw: bytes, at: int, end: int) -> tuple[str, int]:
    """The key that starts at `at`, and the start of its value.

    Raises:
        ValueError: there is no key, or no colon behind it.
    """
    stop = skip_string(raw, at, end)
    return decode_string(raw[at:stop]), _skip_sign(raw, skip_space(raw, stop, end), end, b":")


@dataclass(slots=True, eq=False)
class _Node:
    """A step of a wanted path: where its value was seen last, and at which visit of its parent's value."""

    parent: _Node | None
    children: dict[str | int, _Node] = field(default_factory=dict)
    visit: int = 0
    parent_visit: int = 0
    start: int = 0
    end: int = 0

    def leaf(self, path: Path) -> _Node:
        node = self
        for step in path:
            if step not in node.children:
                node.children[step] = _Node(node)
            node = node.children[step]
        return node

    def opens(self, at: int) -> None:
        """A value of this path starts; what was seen below an earlier one of the same key counts no more."""
        self.visit += 1
        self.parent_visit = self.parent.visit if self.parent else 0
        self.start = at

    def is_current(self) -> bool:
        node = self
        while node.parent:
            if node.visit == 0 or node.parent_visit != node.parent.visit:
                return False
            node = node.parent
        return True


def _walk(raw: bytes, at: int, end: int, root: _Node) -> None:
    """Read the document once; containers on a wanted path are entered, all other values skipped."""
    # The open containers, and for each the index of its next element; -1 in an object.
    open_ones: list[tuple[_Node, int]] = []
    node: _Node | None = root
    at = skip_space(raw, at, end)
    while True:
        if node is not None:
            node.opens(at)
        enters = node is not None and bool(node.children) and raw[at : at + 1] in (b"{", b"[")
        if node is not None and enters:
            open_ones.append((node, -1 if raw[at : at + 1] == b"{" else 0))
            at += 1
        else:
            at = skip_value(raw, at, end)
            if node is not None:
                node.end = at
        at = skip_space(raw, at, end)
        while open_ones and raw[at : at + 1] in (b"}", b"]"):
            enters = False
            at += 1
            open_ones.pop()[0].end = at
            at = skip_space(raw, at, end)
        if not open_ones:
            return
        if not enters:
            at = _skip_sign(raw, at, end, b",")
        owner, index = open_ones[-1]
        if index < 0:
            key, at = skip_key(raw, at, end)
            node = owner.children.get(key)
        else:
            node = owner.children.get(index)
            open_ones[-1] = (owner, index + 1)


def _skip_sign(raw: bytes, at: int, end: int, sign: bytes) -> int:
    if raw[at : at + 1] != sign or at >= end:
        raise ValueError(f"need {sign.decode()} at byte {at}")
    return skip_space(raw, at + 1, end)
