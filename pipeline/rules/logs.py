"""Text rule `log-lines`: what a log says again and again is said once, with its count, and where it was said last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from pipeline.rules.base import CompactionRule, ToolContext
from pipeline.rules.commands import runs
from pipeline.rules.noise import encoded
from pipeline.rules.sameness import FOLD_SUFFIX, failure_key
from pipeline.rules.tool_classes import file_kind, tool_class

MIN_SAME_LINES = 3
"""Fewer lines that say the same stay apart."""
MIN_STAMPED = 8
"""Lines with a time that a log has at least."""
SHAPE_LINES = 100
"""The shape of a text is told by so many of its first lines: most that are not blank have a time."""
MIN_LETTERS = 8
"""Lines with fewer letters besides what changes are measurements, not messages."""
_MAX_LINE_CHARS = 4000

_STAMP = re.compile(
    r"(?:\x1b\[[0-9;]{0,10}m)?+(?:[A-Za-z0-9_.-]{1,40}+ {0,40}+\| {0,4}+)?+[\[(\"]?+"
    r"(?:[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T _,]{1,2}[0-2]?[0-9]:[0-5][0-9]"
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}[0-9]{1,2} "
    r"[0-2]?[0-9]:[0-5][0-9]:|[0-2]?[0-9]:[0-5][0-9]:[0-5][0-9]|[EFWI][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2})"
)
# Lines with one key are equal without these bytes: digits, hex, the signs of times, the letters of their units.
_CHANGING = b"0123456789abcdefABCDEFTZ.,:+-/ \t\rmsnuhi"
_CLASSES = frozenset({"shell", "read", "mcp", ""})
# What these print has its order for a reason, or is no log.
_NO_LOG = ("git", "ls", "find", "tree", "diff")


def fold_logs(text: str) -> str:
    r"""Fold lines of a log that differ in nothing but times, durations, ids and counters.

    Within a block (neighbouring lines that begin with a time) the first of the lines that say the same stays as
    `<line>  (×N)`, and the last one in its own place: both times are there, and what is left has the order of the log.
    N does not count the last one. Where nothing stood between them, one line is left and N counts them all. Lines say
    the same if they have one `failure_key` (README.md, P4). Lines without a time stay, and so does the line above them.

    Args:
        text: body of one tool result; lines end at "\n".

    Returns:
        The shorter text; the text itself when nothing is said so often.
    """
    lines = text.split("\n")
    skeletons = _skeletons(text)
    often = _often(skeletons)
    repeated = (line for line, skeleton in zip(lines, skeletons, strict=True) if skeleton in often)
    if not often or sum(1 for _ in islice(filter(_STAMP.match, repeated), MIN_SAME_LINES)) < MIN_SAME_LINES:
        return text
    stamped = [_STAMP.match(line) is not None for line in lines]
    if sum(stamped) < MIN_STAMPED:
        return text
    out: list[str] = []
    done = 0
    for start, end in _blocks(lines, stamped):
        folded = _folded(lines, skeletons, start, end)
        if folded:
            out += lines[done:start]
            out += folded
            done = end
    return "\n".join(out + lines[done:]) if out else text


def _skeletons(text: str) -> list[bytes]:
    """The lines without what may change from time to time: those with one key have one skeleton."""
    return encoded(text).translate(None, _CHANGING).split(b"\n")


def _often(skeletons: list[bytes]) -> set[bytes]:
    """The skeletons of lines that may say the same often enough."""
    return {line for line, times in Counter(skeletons).items() if times >= MIN_SAME_LINES and line}


def _blocks(lines: list[str], stamped: list[bool]) -> Iterator[tuple[int, int]]:
    """Where neighbouring lines with a time start and end; one with more lines below it is in no block."""
    start = 0
    for at, has_time in enumerate((*stamped, False)):
        if has_time:
            continue
        end = at - 1 if at < len(lines) and lines[at].strip() else at
        if end - start >= MIN_SAME_LINES:
            yield start, end
        start = at + 1


def _folded(lines: list[str], skeletons: list[bytes], start: int, end: int) -> list[str]:
    """The lines of one block, folded; none when there is nothing to fold."""
    often = Counter(skeletons[start:end])
    groups: dict[str, list[int]] = {}
    for number in range(start, end):
        if often[skeletons[number]] >= MIN_SAME_LINES and _is_message(lines[number]):
            groups.setdefault(failure_key(lines[number]), []).append(number)
    new: dict[int, str | None] = {}
    for key, numbers in groups.items():
        if len(numbers) < MIN_SAME_LINES or not _has_letters(key):
            continue
        first, last = numbers[0], numbers[-1]
        is_run = last - first == len(numbers) - 1
        new.update(dict.fromkeys(numbers[1:] if is_run else numbers[1:-1]))
        new[first] = _counted(lines[first], len(numbers) if is_run else len(numbers) - 1)
    if not new:
        return []
    kept = (new.get(number, lines[number]) for number in range(start, end))
    return [line for line in kept if line is not None]


def _is_message(line: str) -> bool:
    return len(line) <= _MAX_LINE_CHARS and not ("  (×" in line and FOLD_SUFFIX.search(line) is not None)


def _has_letters(key: str) -> bool:
    # The names of what was blanked do not count.
    return sum(map(str.isalpha, key)) - 4 * key.count("<") >= MIN_LETTERS


def _counted(line: str, times: int) -> str:
    body = line.rstrip("\r")
    return f"{body}  (×{times}){line[len(body) :]}"


def matches(tool_name: str, output: str) -> bool:
    """True for a log in which something is said often enough."""
    if tool_class(tool_name) not in _CLASSES or not _has_shape(output):
        return False
    return fold_logs(output) is not output


def _has_shape(text: str) -> bool:
    head = [line for line in text.split("\n", SHAPE_LINES)[:SHAPE_LINES] if line and not line.isspace()]
    stamped = sum(_STAMP.match(line) is not None for line in head)
    return stamped >= MIN_STAMPED and 2 * stamped > len(head)


def matches_context(context: ToolContext) -> bool:
    """True unless the command prints no log or a source file is read."""
    if context.tool_class == "read":
        return file_kind(context.path) != "source"
    return not context.command or not runs(context.command, *_NO_LOG)


RULE = CompactionRule("log-lines", matches, fold_logs, matches_context)
"""Source: README.md, P4, "Same lines may be folded"."""
