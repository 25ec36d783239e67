"""A rule made of a list of noise lines: what it drops, and which texts have its shape."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import re2

from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import Failing
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise import MIN_RUN_LINES, count, encoded, line_pattern
from pipeline.rules.overwritten import last_states
from pipeline.rules.tool_classes import tool_class

MIN_NOISE_LINES = 3
"""Fewer noise lines make no shape."""
HEAD_LINES = 12
HEAD_SIGNS = 2
"""An output with so many known lines among its first `HEAD_LINES` was written by the program; else most have to be."""

_LINE = r"^{}[ \t]*\r?$"
_FILLED_LINE = re.compile(r"^[ \t]*[^\s]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NoiseList:
    """The noise of some programs, compiled; made by `noise_list`."""

    noun: str
    own: re2._Regexp
    also: re2._Regexp | None
    signs: re2._Regexp | None
    prefix: re2._Regexp | None
    announces: re2._Regexp | None
    but: re2._Regexp | None
    elided: re.Pattern[str]


def noise_list(
    noun: str,
    noise: Sequence[str],
    *,
    signs: Sequence[str] = (),
    also: Sequence[str] = (),
    announces: Sequence[str] = (),
    but: Sequence[str] = (),
    prefix: str = "",
) -> NoiseList:
    """Compile a list; each pattern stands for a whole line without its end (see `pipeline.rules.noise`).

    Args:
        noun: what the lines are, such as "git progress lines"; a to z, spaces and "-" only.
        noise: lines that say nothing, which also tell the shape.
        signs: lines that stay and that only these programs write.
        also: noise of other programs that may stand between; it tells no shape.
        announces: lines that tell what comes next: noise only when more noise follows.
        but: lines that stay although a pattern of `noise` fits.
        prefix: what may stand before a line of `also`.
    """
    # Several patterns, as one of all lines would outgrow the memory of a fast search.
    return NoiseList(
        noun,
        line_pattern((*noise, *announces), whole=_LINE),
        line_pattern(also, whole=_LINE) if also else None,
        line_pattern(signs, whole=_LINE) if signs else None,
        line_pattern((prefix,), whole=r"^{}") if prefix else None,
        line_pattern(announces, whole=_LINE) if announces else None,
        line_pattern(but, whole=_LINE) if but else None,
        re.compile(rf"^… \[[0-9]{{1,12}} {re.escape(noun)} elided\] …\r*$", re.MULTILINE),
    )


def drop_noise(text: str, noises: NoiseList, failing: Failing = failure_numbers) -> str:
    r"""Replace each run of noise lines by `… [N <noun> elided] …`.

    All other lines stay in order, and so do every failure and the line that the output ends with, which tells how far
    the program came. Of a line overwritten by carriage returns its last state counts, and stays.

    Args:
        text: a tool output; lines end at "\n", a "\r" before it stays.
        noises: what to drop.
        failing: finds the failures.

    Returns:
        The text without noise and colour codes; the text itself when nothing was dropped, or dropped before.
    """
    if holds_own_elision(text, noises):
        return text
    plain = strip_colours(text)
    data = encoded(plain)
    if not any(pattern.search(data) for pattern in (noises.own, noises.also, noises.prefix) if pattern is not None):
        return text
    kept = frozenset(failing(text))
    plain = last_states(plain, kept)
    short = _elide(plain, noises, kept)
    return text if len(short) >= len(plain) else short


def holds_own_elision(text: str, noises: NoiseList) -> bool:
    """Whether noise of this list was dropped from `text` before."""
    return noises.noun in text and noises.elided.search(text) is not None


def has_shape(tool_name: str, output: str, noises: NoiseList) -> bool:
    """True for an output of a shell (or an unknown tool) with noise of the list that opens so, or mostly is so."""
    if tool_class(tool_name) not in ("shell", ""):
        return False
    plain = last_states(strip_colours(output), ())
    data = encoded(plain)
    if count(noises.own, data, MIN_NOISE_LINES) < MIN_NOISE_LINES:
        return False
    head = plain.split("\n", HEAD_LINES)[:HEAD_LINES]
    if "```" not in head and len(_known(encoded("\n".join(head)), noises)) >= HEAD_SIGNS:
        return True
    return 2 * len(_known(data, noises)) > len(_FILLED_LINE.findall(plain))


def _known(data: bytes, noises: NoiseList) -> set[int]:
    """The numbers of the lines that the programs write, noise or not."""
    return _noise(data, noises) | set(_numbers(noises.signs, data))


def _noise(data: bytes, noises: NoiseList) -> set[int]:
    found = {*_numbers(noises.own, data), *_numbers(noises.also, data)}
    if noises.prefix is not None and noises.prefix.search(data) is not None:
        found.update(_numbers(noises.also, noises.prefix.sub(b"", data)))
    return found


def _elide(plain: str, noises: NoiseList, kept: Collection[int]) -> str:
    """The text with each run of noise counted; neither what is in `kept`, nor exceptions, nor the last line."""
    data = encoded(plain)
    lines = plain.split("\n")
    keep = {*kept, *_numbers(noises.but, data), plain.count("\n", 0, len(plain.rstrip()))}
    headings = frozenset(_numbers(noises.announces, data))
    out: list[str] = []
    done = 0
    for run in _runs(lines, sorted(_noise(data, noises) - keep)):
        if run[-1] in headings:
            run.pop()
        if len(run) < MIN_RUN_LINES:
            continue
        whole = lines[run[0] : run[-1] + 1]
        short = f"… [{len(run)} {noises.noun} elided] …" + ("\r" if whole[-1].endswith("\r") else "")
        # Both "…" have three bytes.
        if len(short) + 4 < sum(map(len, whole)) + len(whole) - 1:
            out += lines[done : run[0]]
            out.append(short)
            done = run[-1] + 1
    return "\n".join((*out, *lines[done:])) if done else plain


def _numbers(pattern: re2._Regexp | None, data: bytes) -> Iterator[int]:
    """The numbers of the lines that a pattern of whole lines matches, ascending."""
    at = number = 0
    for match in () if pattern is None else pattern.finditer(data):
        start = match.start()
        number += data.count(b"\n", at, start)
        at = start
        yield number


def _runs(lines: list[str], numbers: list[int]) -> Iterator[list[int]]:
    """Noise lines with nothing but blank lines between them."""
    run: list[int] = []
    for number in numbers:
        if run and any(line.strip() for line in lines[run[-1] + 1 : number]):
            yield run
            run = []
        run.append(number)
    if run:
        yield run
