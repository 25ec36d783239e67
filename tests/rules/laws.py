"""What is true of every text rule, whatever its text: README.md, P4 to P6."""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline.rules.guard import lost_failures


def check_laws(compact: Callable[[str], str], text: str) -> str:
    """The rule makes nothing larger, is done after one pass, and loses no failure; gives the compacted text."""
    short = compact(text)
    assert size(short) <= size(text)
    assert compact(short) == short
    assert lost_failures(text, short) == []
    return short


def size(text: str) -> int:
    """UTF-8 bytes, lone surrogates included."""
    return len(text.encode("utf-8", "surrogatepass"))


def is_linear(compact: Callable[[str], object], hostile: Callable[[int], str]) -> bool:
    """Whether four times the text takes no more than about four times as long; some slack for a busy machine."""

    def seconds(chars: int) -> float:
        text = hostile(chars)
        start = time.process_time()
        compact(text)
        return time.process_time() - start

    return min(seconds(200_000) for _ in range(3)) <= 8 * min(seconds(50_000) for _ in range(3)) + 0.05


def is_subsequence(wanted: list[str], lines: list[str]) -> bool:
    """Whether all of `wanted` are in `lines`, in order."""
    left = iter(lines)
    return all(one in left for one in wanted)
