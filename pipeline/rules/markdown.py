"""Tool calls and results that stand in text as `[[tool]]` and `[[tool-result]]` blocks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.rules.base import LOW_SAVINGS, NO_CONTEXT, SMALL, STUB, CompactionStats, CompactOptions, ToolContext
from pipeline.rules.marks import utf8_bytes
from pipeline.rules.output import compact_tool_output
from pipeline.rules.tool_classes import context_of, tool_class
from pipeline.rules.tool_input import compact_tool_input, compact_tool_input_text

INPUT_RULE = "tool-input"
UNKNOWN_TOOL = "tool"
DEFAULT_OPTIONS = CompactOptions()
STUB_START = "[OpenViking tool result externalized]"
"""A result that stands for an output kept elsewhere; it stays whole."""
MAX_FENCE = 16
"""A longer fence makes a block ambiguous."""
CALLS_KEPT = 1000
"""Calls in prose, and tools, that a session remembers for results in later texts."""

_HEADER_LINE = re.compile(r"^\[\[tool(?:-result)?\]\] ", re.MULTILINE)
_HEADER = re.compile(r"\[\[(tool|tool-result)\]\] (\S+)(?: \(([^()\r\n]*)\))?[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(r"^( {0,3})(`{3,})[ \t]*([^`\s]*)[ \t]*\r?$", re.MULTILINE)
_EXIT = re.compile(r"exit (-?[0-9]{1,9})")

Kind = Literal["call", "result"]
Style = Literal["markdown", "inlined"]


@dataclass(frozen=True, slots=True)
class Block:
    """A call or result in prose.

    `start` and `end` are the char offsets of the body in the text; the line breaks around it lie outside. A call
    whose body is not clear has `end` = `start` and only tells its tool. `fence` is the number of backticks that would
    close the block, 0 for the inlined style.
    """

    kind: Kind
    tool: str
    call_id: str
    start: int
    end: int
    body: str
    style: Style = "markdown"
    exit_code: int | None = None
    is_error: bool = False
    fence: int = 0


@dataclass(frozen=True, slots=True)
class ProseCall:
    """What stays known of a call in prose."""

    tool: str
    context: ToolContext


class ProseCalls:
    """The calls in a session's prose that results may belong to, in the same text or a later one."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, ProseCall] = OrderedDict()
        self._by_tool: OrderedDict[str, ProseCall] = OrderedDict()
        self._latest: ProseCall | None = None

    def meet(self, block: Block) -> ProseCall | None:
        """Remember a call; for a result the call with its id, else the nearest one before it of the same tool."""
        if block.kind == "call":
            call = ProseCall(block.tool, context_of(block.tool, block.body or None))
            if block.call_id:
                _keep(self._by_id, block.call_id, call)
            _keep(self._by_tool, block.tool, call)
            self._latest = call
            return None
        found = self._by_id.get(block.call_id) if block.call_id else None
        if found is not None:
            return found
        return self._latest if block.tool in ("", UNKNOWN_TOOL) else self._by_tool.get(block.tool)


def _keep(calls: OrderedDict[str, ProseCall], key: str, call: ProseCall) -> None:
    calls[key] = call
    calls.move_to_end(key)
    if len(calls) > CALLS_KEPT:
        calls.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Prose with compacted blocks.

    `mark_at` is the char offset in `text` behind the last line of one rewritten body, where the mark of the whole
    edit belongs (results before calls); -1 when no body changed. `tool` and `rule` are what made and shrank that body.
    """

    text: str
    stats: list[CompactionStats]
    mark_at: int
    tool: str
    rule: str


def compact_tool_result_markdown(
    text: str, options: CompactOptions = DEFAULT_OPTIONS, *, max_chars: int = 2000
) -> tuple[str, list[CompactionStats]]:
    """Compact the tool calls and results in a text, leaving the prose around them byte for byte.

    Blocks that are not clear stay as they are. No marks are written.

    Args:
        text: prose with `[[tool]]`/`[[tool-result]]` blocks.
        options: limits of the results' compaction.
        max_chars: cap of each string in a call's input, in code points; 0 for no cap.

    Returns:
        The new text and one statistic for each clear block, in order.

    Source: README.md.
    """
    done = rewrite(text, find_blocks(text), options, max_chars=max_chars)
    return done.text, done.stats


def find_blocks(text: str) -> list[Block]:
    """The clear blocks of a text in order, and the calls whose body is not clear (with an empty body).

    A block is clear when its fence opens right behind the header (one line of meta may stand between), and exactly
    one line that closes it follows before the next header or the end. A header before that line belongs to the body
    if no fence opens behind it.

    Source: sessions as their writers leave them.
    """
    if "[[tool" not in text:
        return []
    headers = [match.start() for match in _HEADER_LINE.finditer(text)]
    fences = _Fences(text)
    blocks: list[Block] = []
    done = 0
    for start in headers:
        if start < done:
            continue
        match = _HEADER.match(text, start)
        if match is None:
            continue
        kind: Kind = "call" if match[1] == "tool" else "result"
        found = _body(text, match.end(), headers, fences)
        if found is None:
            if kind == "call":
                blocks.append(Block(kind, match[2], match[3] or "", match.end(), match.end(), ""))
            continue
        meta, body_start, body_end, fence, done = found
        exit_code, is_error = _meta(meta)
        blocks.append(
            Block(
                kind,
                match[2],
                match[3] or "",
                body_start,
                body_end,
                text[body_start:body_end],
                "markdown",
                exit_code,
                is_error,
                fence,
            )
        )
    return blocks


def rewrite(
    text: str,
    blocks: Sequence[Block],
    options: CompactOptions,
    *,
    max_chars: int = 2000,
    inputs: bool = True,
    calls: ProseCalls | None = None,
) -> Rewritten:
    """Compact the bodies of blocks, of either style, in their text.

    Args:
        text: the text that `blocks` were found in.
        blocks: in order, not overlapping.
        options: limits of the results' compaction.
        max_chars: cap for inputs, in code points; 0 for no cap.
        inputs: False leaves calls as they are.
        calls: the calls of the texts before this one; those of this text are added.

    Returns:
        The new text; its statistics have an entry for each block with a body.
    """
    out: list[str] = []
    stats: list[CompactionStats] = []
    calls = ProseCalls() if calls is None else calls
    at = length = 0
    mark_at, mark_tool, mark_rule, marked_result = -1, "", "", False
    for block in blocks:
        call = calls.meet(block)
        if block.end == block.start:
            continue
        if block.kind == "call" and not inputs:
            continue
        new, stat = compact_block(block, call, options, max_chars=max_chars)
        stats.append(stat)
        if new is None:
            continue
        out += (text[at : block.start], new)
        length += block.start - at + len(new)
        at = block.end
        if block.kind == "result" or not marked_result:
            mark_at, mark_tool, mark_rule = length, _tool(block, call), stat.rule
            marked_result = block.kind == "result"
    return Rewritten("".join((*out, text[at:])), stats, mark_at, mark_tool, mark_rule)


def compact_block(
    block: Block, call: ProseCall | None, options: CompactOptions, *, max_chars: int = 2000
) -> tuple[str | None, CompactionStats]:
    """The new body of one block, or None when it stays; and the statistic.

    `call` is the call that a result answers, if known: it gives tool and command for the rules.
    """
    crlf = "\r\n" in block.body and block.body.count("\r\n") == block.body.count("\n")
    body = block.body.replace("\r\n", "\n") if crlf else block.body
    if body.startswith(STUB_START):
        new, rule = body, STUB
    elif block.kind == "call":
        new, rule = _short_input(block, body, max_chars), INPUT_RULE
    else:
        result = compact_tool_output(_tool(block, call), body, options, context=context_for(block, call))
        new, rule = result.text, result.stats.rule
    if crlf:
        new = new.replace("\n", "\r\n")
    before = utf8_bytes(block.body)
    after = utf8_bytes(new)
    if after >= before or _ends_early(block, new):
        if block.kind == "call":
            rule = SMALL if before < options.min_bytes else LOW_SAVINGS
        return None, CompactionStats(rule, before, before, False)
    return new, CompactionStats(rule, before, after, True)


def context_for(block: Block, call: ProseCall | None) -> ToolContext:
    """What is known about a result in prose: the call's input, and what its meta line says."""
    known = NO_CONTEXT if call is None else call.context
    return replace(known, tool_class=tool_class(_tool(block, call)), exit_code=block.exit_code, is_error=block.is_error)


def _short_input(block: Block, body: str, max_chars: int) -> str:
    if block.style == "inlined":
        return compact_tool_input_text(block.tool, body, max_chars=max_chars)
    return compact_tool_input(block.tool, body, max_chars=max_chars)


def _tool(block: Block, call: ProseCall | None) -> str:
    known = block.tool and block.tool != UNKNOWN_TOOL
    return block.tool if known or call is None else call.tool


def _ends_early(block: Block, body: str) -> bool:
    """True if a body would end its block before its end."""
    if block.style == "inlined":
        return any(line.startswith(("[tool: ", "[tool result]")) for line in body.split("\n")[1:])
    return any(not match[3] and len(match[2]) >= block.fence for match in _FENCE.finditer(body))


class _Fences:
    """Fence lines of a text, found once."""

    def __init__(self, text: str) -> None:
        self.matches = list(_FENCE.finditer(text))
        self.starts = [match.start() for match in self.matches]
        self.closers: dict[int, list[int]] = {}
        self.openers: dict[int, list[int]] = {}

    def at(self, offset: int) -> re.Match[str] | None:
        """The fence line that starts at an offset."""
        place = bisect_left(self.starts, offset)
        return self.matches[place] if place < len(self.starts) and self.starts[place] == offset else None

    def closing(self, length: int) -> list[int]:
        """Offsets of the lines that close a fence of this many backticks."""
        return self._kept(self.closers, length, lambda match: not match[3])

    def opening(self, length: int) -> list[int]:
        """Offsets of the lines with an info string that open a fence of at least this many backticks."""
        return self._kept(self.openers, length, lambda match: bool(match[3]))

    def _kept(self, cache: dict[int, list[int]], length: int, good: Callable[[re.Match[str]], bool]) -> list[int]:
        if length not in cache:
            cache[length] = [m.start() for m in self.matches if len(m[2]) >= length and good(m)]
        return cache[length]


def _body(text: str, at: int, headers: list[int], fences: _Fences) -> tuple[str, int, int, int, int] | None:
    """Meta line, start and end of the body, fence length and the end of the block; None when it is not clear."""
    line = _next_line(text, at)
    if line < 0:
        return None
    opener = fences.at(line)
    meta = ""
    if opener is None:
        end = text.find("\n", line)
        if end < 0 or text.startswith("[[tool", line):
            return None
        meta = text[line:end].rstrip("\r")
        opener = fences.at(end + 1) if meta.strip() else None
    if opener is None or not opener[3] or opener[1] or len(opener[2]) > MAX_FENCE:
        return None
    length = len(opener[2])
    start = _next_line(text, opener.end())
    if start < 0:
        return None
    closing = fences.closing(length)
    place = bisect_left(closing, start)
    if place == len(closing):
        return None
    close = closing[place]
    inner = bisect_left(headers, start)
    after = bisect_right(headers, close)
    if inner < after:
        # A header in the body: it is one of the body's own lines unless a block of its own starts there.
        opening = fences.opening(length)
        if bisect_left(opening, headers[inner]) < bisect_left(opening, close):
            return None
    limit = headers[after] if after < len(headers) else len(text)
    if place + 1 < len(closing) and closing[place + 1] < limit:
        return None
    end = close
    if end > start:
        end -= 2 if text.endswith("\r\n", start, end) else 1
    match = fences.at(close)
    return meta, start, max(start, end), length, match.end() if match is not None else close


def _next_line(text: str, at: int) -> int:
    """Start of the line behind the one that `at` is in; -1 if there is none."""
    end = text.find("\n", at)
    return -1 if end < 0 else end + 1


def _meta(line: str) -> tuple[int | None, bool]:
    """Exit code and error flag of a meta line: `failed · exit 1 · 12ms · /srv · error`."""
    if not line:
        return None, False
    parts = [part.strip() for part in line.split(" · ")]
    code = next((int(match[1]) for part in parts if (match := _EXIT.fullmatch(part))), None)
    return code, "error" in parts or "failed" in parts
