"""Prose that holds tool calls and results as text blocks: what is in the blocks is compacted, the prose stays."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.rules.base import CompactOptions
from pipeline.rules.inlined import find_inlined
from pipeline.rules.markdown import Block, ProseCalls, Rewritten, find_blocks, rewrite


def tool_blocks(text: str) -> Sequence[Block]:
    """The tool blocks of a text, whichever of the two styles it has."""
    return find_blocks(text) or find_inlined(text)


def compact_prose(text: str, options: CompactOptions, *, max_chars: int, inputs: bool, calls: ProseCalls) -> Rewritten:
    """Compact the tool blocks of a text.

    Args:
        text: a text part of a message.
        options: limits of the results' compaction.
        max_chars: cap for inputs, in code points; 0 for no cap.
        inputs: False leaves calls as they are.
        calls: the calls of the session's earlier texts; those of this text are added.

    Returns:
        The new text, and where in it the mark of the whole edit belongs; the text itself without a place when
        nothing changed, with a statistic for each block.
    """
    return rewrite(text, tool_blocks(text), options, max_chars=max_chars, inputs=inputs, calls=calls)


def observe_prose(text: str, calls: ProseCalls) -> None:
    """Add the calls of a text that stays as it is to those that later results may belong to."""
    for block in tool_blocks(text):
        calls.meet(block)
