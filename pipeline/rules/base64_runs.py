"""Text rule `base64`: long runs of base64 and hex, on one line or over many, keep their head and their length."""

from __future__ import annotations

import re

from pipeline.rules.base import CompactionRule, Failing
from pipeline.rules.failure_words import quick_search
from pipeline.rules.failures import failure_numbers
from pipeline.rules.marks import capped_note, utf8_bytes
from pipeline.rules.noise import encoded, line_pattern
from pipeline.rules.tool_classes import tool_class

MIN_RUN_CHARS = 256
KEPT_CHARS = 64
"""A run keeps its head, as a rule its first line."""
MIN_LINE_CHARS = 56
"""Shorter lines are no part of a run over lines."""
MAX_LINE_CHARS = 1024
MIN_LAST_CHARS = 16
"""The last line of a run may be shorter; so short it has to end with "="."""

# Possessive: a run is taken whole, and where it is too short its end is the next place to look.
_RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{MIN_RUN_CHARS},}}+={{0,2}}")
_BLOCK_LINE = re.compile(
    rf"(?P<indent>[ \t]{{0,16}})(?P<data>[A-Za-z0-9+/_-]{{{MIN_LINE_CHARS},{MAX_LINE_CHARS}}}+)(?P<pad>={{0,2}})\r?"
)
_LAST_LINE = re.compile(r"[ \t]{0,16}[A-Za-z0-9+/_-]{1,1024}+={0,2}\r?")
# Whether a text may hold a run: most do not, and this is quick.
_search_any = quick_search(
    line_pattern(
        [
            rf"[A-Za-z0-9+/_-]{{{MIN_RUN_CHARS}}}",
            rf"^[ \t]{{0,16}}[A-Za-z0-9+/_-]{{{MIN_LINE_CHARS}}}[A-Za-z0-9+/_-]*={{0,2}}\r?$",
        ]
    )
)
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
# Lines so long are digests rather than a dump.
_DIGEST_CHARS = frozenset({56, 64, 96, 128})
_URL_CHARS = 4096
_BEFORE_URL = " \t\"'<>()"
_SAMPLE_CHARS = 400


def shorten_base64(text: str, failing: Failing = failure_numbers) -> str:
    r"""Write each run of 256 characters or more of base64 or hex as `head…[+N chars]`.

    A run over several lines of the same length counts as one; N has its line ends. PEM blocks, failure lines and URLs
    other than data URLs stay, and so do runs without the mix of characters that encoded data has.

    Args:
        text: body of one tool result; lines end at "\n".
        failing: finds the failures.

    Returns:
        The shorter text; the text itself when there is no such run.
    """
    if not _may_hold_run(text):
        return text
    whole = frozenset(failing(text))
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    in_pem = False
    while at < len(lines):
        line = lines[at]
        if line.startswith("-----"):
            in_pem = line.startswith("-----BEGIN")
        end = at if in_pem or at in whole else _block_end(lines, at, whole)
        if end > at + 1:
            out.append(_short_block(lines[at:end]))
            at = end
            continue
        out.append(line if in_pem or at in whole or len(line) < MIN_RUN_CHARS else _short_line(line))
        at += 1
    return "\n".join(out)


def _may_hold_run(text: str) -> bool:
    data = encoded(text)
    return len(data) >= MIN_RUN_CHARS and _search_any(data, 0, len(data))[0][0] >= 0


def _short_line(line: str) -> str:
    kept: list[str] = []
    at = 0
    for run in _RUN.finditer(line):
        start, end = run.span()
        if not is_encoded(run[0]) or _is_in_url(line, max(at, start - _URL_CHARS), start):
            continue
        kept += (line[at:start], _short(run[0]))
        at = end
    return "".join((*kept, line[at:])) if kept else line


def _is_in_url(line: str, first: int, start: int) -> bool:
    """Whether what stands at `start` belongs to a URL that begins behind `first`."""
    begins = max(line.rfind(sign, first, start) for sign in _BEFORE_URL)
    return "://" in line[max(begins, first) : start]


def _short(run: str) -> str:
    return run[:KEPT_CHARS] + capped_note(len(run) - KEPT_CHARS)


def _block_end(lines: list[str], start: int, whole: frozenset[int]) -> int:
    """Where the run over lines ends that starts here; `start` when none does."""
    first = _BLOCK_LINE.fullmatch(lines[start])
    if first is None or first["pad"] or not is_encoded(first["data"]):
        return start
    if len(first["data"]) in _DIGEST_CHARS and _HEX.fullmatch(first["data"]) is not None:
        return start
    size = len(lines[start])
    end = start + 1
    while end < len(lines) and len(lines[end]) == size and end not in whole:
        following = _BLOCK_LINE.fullmatch(lines[end])
        if following is None or following["indent"] != first["indent"]:
            break
        end += 1
        if following["pad"]:
            break
    else:
        if end < len(lines) and len(lines[end]) < size and end not in whole and _is_last(lines[end]):
            end += 1
    chars = sum(len(line.strip(" \t\r")) for line in lines[start:end])
    return end if chars >= MIN_RUN_CHARS else start


def _is_last(line: str) -> bool:
    """Whether a line that is shorter than those above it is the end of their run rather than a word."""
    if _LAST_LINE.fullmatch(line) is None:
        return False
    data = line.strip()
    return data.endswith("=") or (len(data) >= MIN_LAST_CHARS and is_encoded(data))


def _short_block(lines: list[str]) -> str:
    """The head of a run over lines, and the line end of its last."""
    whole = "\n".join(lines)
    end = "\r" if whole.endswith("\r") else ""
    first = lines[0].rstrip("\r")
    kept = first[: len(first) - len(first.lstrip()) + KEPT_CHARS]
    short = kept + capped_note(len(whole) - len(end) - len(kept)) + end
    return short if utf8_bytes(short) < len(whole) else whole


def is_encoded(run: str) -> bool:
    """Whether characters stand in a run as they do in base64 or in hex, by its first ones."""
    sample = run[:_SAMPLE_CHARS]
    digits = sum(map(str.isdigit, sample))
    if _HEX.fullmatch(sample) is not None:
        return len(sample) // 10 <= digits < len(sample)
    upper = sum(map(str.isupper, sample))
    lower = sum(map(str.islower, sample))
    return 10 * min(upper, lower, 3 * digits) >= len(sample)


def matches(tool_name: str, output: str) -> bool:
    """True for a text with a run that is long enough, of any tool but those that edit."""
    if tool_class(tool_name) in ("edit", "write", "notebook") or not _may_hold_run(output):
        return False
    return shorten_base64(output) != output


RULE = CompactionRule("base64", matches, shorten_base64, compact_knowing=shorten_base64)
"""Runs of encoded data say nothing to who reads them."""
