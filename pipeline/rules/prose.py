"""Prose that holds tool calls and results as text blocks: what is in the blocks is compacted, the prose stays."""

from __future__ import annotations

from pipeline.rules.base import CompactOptions


def compact_prose(
    text: str, options: CompactOptions, *, max_chars: int, inputs: bool
) -> tuple[str, str, str] | None:
    return None
