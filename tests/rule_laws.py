"""What holds for every text rule, whatever the text: checks that the tests of the rules share."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from pipeline.rules.ansi import strip_colours
from pipeline.rules.failures import failure_lines
from pipeline.rules.guard import lost_failures
from pipeline.rules.sameness import bare_line

Compact = Callable[[str], str]


def check_laws(compact: Compact, text: str, kept: Collection[str]) -> None:
    """Never larger, idempotent, no failure lost, and the lines of `kept` stay verbatim and in order."""
    short = compact(text)
    assert len(short.encode("utf-8", "surrogatepass")) <= len(text.encode("utf-8", "surrogatepass"))
    assert compact(short) == short
    assert not lost_failures(text, short)
    lines = {bare_line(line) for line in short.split("\n")}
    assert [line for line in failure_lines(text) if bare_line(line) not in lines] == []
    bare = frozenset(strip_colours(line) for line in kept)
    assert [x for x in strip_colours(short).split("\n") if x in bare] == [
        x for x in strip_colours(text).split("\n") if x in bare
    ]


def check_linear(work: Callable[[str], object], unit: str, *, size_chars: int = 150_000) -> None:
    """Twice the text takes about twice the CPU time; a quadratic rule would take four times as long."""
    repeats = max(1, size_chars // len(unit))
    once, twice = unit * repeats, unit * (2 * repeats)
    first = min(_cpu_seconds(work, once) for _ in range(3))
    second = min(_cpu_seconds(work, twice) for _ in range(3))
    assert second < 3.3 * first + 0.05, (first, second)


def _cpu_seconds(work: Callable[[str], object], text: str) -> float:
    # A string of its own: nothing known of the one before helps.
    copy = "".join((text, " "))
    start = time.process_time()
    work(copy)
    return time.process_time() - start
