"""Prose that holds tool calls and results as text blocks: what is in the blocks is compacted, the prose stays."""

from __future__ import annotations

from pipeline.rules.base import CompactOptions
from pipeline.rules.inlined import find_inlined
from pipeline.rules.markdown import find_blocks, rewrite


def compact_prose(text: str, options: CompactOptions, *, max_chars: int, inputs: bool) -> tuple[str, str, str] | None:
    """Compact the tool blocks of a text, whichever of the two styles it has.

    Args:
        text: a text part of a message.
        options: limits of the results' compaction.
        max_chars: cap for inputs, in code points; 0 for no cap.
        inputs: False leaves calls as they are.

    Returns:
        The new text up to and behind the place for the mark of the whole edit, and the rule that shrank the block
        before it; None when nothing changed. A mark that is put between has a line of its own inside that block.
    """
    blocks = find_blocks(text) or find_inlined(text)
    if not blocks:
        return None
    done = rewrite(text, blocks, options, max_chars=max_chars, inputs=inputs)
    if done.mark_at < 0:
        return None
    return done.text[: done.mark_at] + "\n", done.text[done.mark_at :], done.rule
