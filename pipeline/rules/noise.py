"""Runs of lines that are known noise become one line that counts them."""

from __future__ import annotations

from collections.abc import Iterable

import re2

from pipeline.rules.failure_words import quick_search

MIN_RUN_LINES = 2


def line_pattern(lines: Iterable[str], *, whole: str = "{}") -> re2._Regexp:
    """Compile alternatives for whole lines; `whole` places them, as "^{}$" by default within lines.

    The pattern works on UTF-8 bytes, one byte a character, so that lone surrogates do no harm: a character outside of
    ASCII must not stand in a class.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    return re2.compile(("(?m)" + whole.replace("{}", f"(?:{'|'.join(lines)})")).encode(), options)


def encoded(text: str) -> bytes:
    """A text's UTF-8 bytes, lone surrogates included: what the patterns above search."""
    return text.encode("utf-8", "surrogatepass")


def count(pattern: re2._Regexp, data: bytes, enough: int = -1) -> int:
    """Matches in a text's bytes, counted up to `enough`; below 0 all of them."""
    # Lines are many, and the layers of the module take longer than the search.
    search = quick_search(pattern)
    end = len(data)
    found = at = 0
    while found != enough and at <= end:
        stop = search(data, at, end)[0][1]
        if stop < 0:
            break
        found += 1
        at = stop if stop > at else at + 1
    return found


def elide_runs(text: str, runs: re2._Regexp, noun: str, *, announces: re2._Regexp | None, keeps: Iterable[int]) -> str:
    """Replace runs of noise lines by `… [N <noun> elided] …`.

    Args:
        text: a tool output, "\\n" or "\\r\\n" line ends.
        runs: matches a whole run of noise lines, each with its line end; blank lines may stand between them.
        noun: what the lines are, such as "passing test lines".
        announces: lines that tell what comes next, such as `=== RUN TestX`; they stay at the end of a run.
        keeps: 0-based numbers of lines that must stay (failures).

    Returns:
        The shorter text. Runs of one line, and runs no longer than what takes their place, stay.
    """
    data = encoded(text)
    kept = frozenset(keeps)
    out: list[bytes] = []
    at = number = 0
    for match in runs.finditer(data):
        start, end = match.span()
        out.append(data[at:start])
        number += data.count(b"\n", at, start)
        out.append(_short(data[start:end], number, noun.encode(), announces, kept))
        number += data.count(b"\n", start, end)
        at = end
    if not at:
        return text
    out.append(data[at:])
    return b"".join(out).decode("utf-8", "surrogatepass")


def _short(run: bytes, first: int, noun: bytes, announces: re2._Regexp | None, kept: frozenset[int]) -> bytes:
    """One run, whose first line has the number `first`, in its short form; lines that must stay split it."""
    lines = [line + b"\n" for line in run.split(b"\n")]
    last = lines.pop()[:-1]
    if last:
        lines.append(last)
    if len(lines) < MIN_RUN_LINES:
        return run
    tail = len(lines)
    if announces is not None:
        while tail and (not lines[tail - 1].strip() or announces.match(lines[tail - 1])):
            tail -= 1
        if not any(line.strip() for line in lines[tail:]):
            tail = len(lines)
    if not kept or kept.isdisjoint(range(first, first + tail)):
        return _elided(lines[:tail], noun) + b"".join(lines[tail:])
    out: list[bytes] = []
    start = 0
    for at in range(tail):
        if first + at in kept:
            out.append(_elided(lines[start:at], noun))
            out.append(lines[at])
            start = at + 1
    return b"".join((*out, _elided(lines[start:tail], noun), *lines[tail:]))


def _elided(lines: list[bytes], noun: bytes) -> bytes:
    """The line in place of a run, or the run itself where that is not longer."""
    whole = b"".join(lines)
    number = sum(map(bool, map(bytes.strip, lines)))
    if number < MIN_RUN_LINES:
        return whole
    end = b"\r\n" if whole.endswith(b"\r\n") else b"\n" if whole.endswith(b"\n") else b""
    short = "… [%d ".encode() % number + noun + " elided] …".encode() + end
    return short if len(short) < len(whole) else whole
