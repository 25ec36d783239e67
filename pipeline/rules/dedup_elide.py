"""The rule for every text without a rule of its own: fold what repeats, elide the middle, keep the failures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import compress, count, islice
from operator import eq

from pipeline.rules.failures import ELIDED_LINE, find_failures
from pipeline.rules.json_text import is_json
from pipeline.rules.sameness import FOLD_SUFFIX, failure_key
from pipeline.rules.urls import MAX_URL_CHARS, holds_long_url, shorten_line

FALLBACK_RULE_ID = "dedup-elide"

SLACK_LINES = 3
"""A text is elided only if its middle has more lines than this."""
LONG_LINE_CHARS = 4000
"""A longer line is elided inside."""
_LINE_HEAD_CHARS = 1500
_LINE_TAIL_CHARS = 500
# The line for elided ones is never longer, with up to nine digits for each of its numbers.
_MARK_BYTES = 80

_ELIDED_WORDS = " elided]"
# Lines that differ in nothing but these bytes may have one key.
_CHANGING = b"0123456789abcdefABCDEFTZ.,:+-/ \t\r\nmsnuhi"
_CHANGING_IN_LINE = _CHANGING.replace(b"\n", b"")
# So many lines have to be equal up to times and counters before they are folded, and so many letters have to be equal
# in them: two measurements, or a list of ids, are no noise.
_SIMILAR_LINES = 3
_SIMILAR_LETTERS = 8


def holds_elision(text: str) -> bool:
    """Whether a line of `text` stands for elided ones: it was elided before, and is left alone."""
    return _ELIDED_WORDS in text and ELIDED_LINE.search(text) is not None


def dedup_and_elide(output: str, *, head_lines: int = 40, tail_lines: int = 20) -> str:
    r"""Fold repeated lines and elide the middle of a long text, but none of its failures.

    A line overwritten by carriage returns keeps its last state; URLs of more than 80 characters and lines of more than
    4,000 are shortened where they are no failure; a run of blank lines becomes one; a run of equal lines becomes
    `<line>  (×N)`, also when only times, durations, counters or percentages differ. If more than head, tail and three
    lines are left, the middle becomes `… [N lines elided] (kept K error line(s) below) …` and its distinct failures.

    Args:
        output: body of one tool result; lines end at "\n", a "\r" before it stays.
        head_lines: lines kept at the start.
        tail_lines: lines kept at the end.

    Returns:
        The shorter text, or `output` itself; never a larger one. Doing it twice changes nothing.

    Source: README.md, P4.
    """
    if holds_elision(output):
        return output
    failing = find_failures(output).numbers
    return fold_and_elide(output, failing, head_lines=head_lines, tail_lines=tail_lines)


def fold_and_elide(
    text: str,
    failing: Collection[int],
    *,
    head_lines: int,
    tail_lines: int,
    shorten_urls: bool = True,
    lines: list[str] | None = None,
) -> str:
    """`dedup_and_elide` where the failures are known: `failing` holds the 0-based numbers of the lines to keep.

    `lines` are those of the text, if they are known, too; the list is used up.
    """
    if holds_elision(text):
        return text
    if lines is None:
        lines = text.split("\n")
    ends_with_newline = len(lines) > 1 and not lines[-1]
    if ends_with_newline:
        lines.pop()
    whole = set(failing)
    _shorten_lines(lines, text, whole, shorten_urls)
    lines, counts, keep = _fold(lines, whole)
    head = max(0, head_lines)
    tail = max(0, tail_lines)
    if len(lines) > head + tail + SLACK_LINES:
        lines = _elide(lines, counts, keep, head, tail)
    if ends_with_newline:
        lines.append("")
    result = "\n".join(lines)
    return result if result != text else text


def _shorten_lines(lines: list[str], text: str, whole: Collection[int], shorten_urls: bool) -> None:
    """Shorten single lines in place: overwritten states, URLs, and what is longer than a line should be."""
    if "\r" in text and text.count("\r") > text.count("\r\n"):
        for number, line in enumerate(lines):
            if "\r" in line and number not in whole:
                lines[number] = _last_state(line)
    if shorten_urls and holds_long_url(text):
        for number, line in enumerate(lines):
            if len(line) > MAX_URL_CHARS and "://" in line and number not in whole:
                lines[number] = shorten_line(line)
    if _holds_long_line(text):
        for number, line in enumerate(lines):
            if len(line) > LONG_LINE_CHARS and number not in whole and not is_json(line):
                cut = len(line) - _LINE_HEAD_CHARS - _LINE_TAIL_CHARS
                lines[number] = f"{line[:_LINE_HEAD_CHARS]}…[+{cut} chars]…{line[-_LINE_TAIL_CHARS:]}"


def _holds_long_line(text: str) -> bool:
    """Whether a line of `text` is longer than one should be; looks at few places of a text of usual lines."""
    start, end = 0, len(text)
    while end - start > LONG_LINE_CHARS:
        start = text.rfind("\n", start, start + LONG_LINE_CHARS + 1) + 1
        if not start:
            return True
    return False


def _last_state(line: str) -> str:
    """What a terminal shows of a line that was overwritten: the last state with something in it."""
    body = line.rstrip("\r")
    shown = body.rstrip()
    if "\r" not in body or not shown:
        return line
    end = body.find("\r", len(shown))
    return body[shown.rfind("\r") + 1 : end if end >= 0 else len(body)] + line[len(body) :]


def _fold(lines: list[str], failing: Collection[int]) -> tuple[list[str], list[int], bytearray]:
    """Fold blank runs and equal lines.

    Returns:
        The lines left, how many lines each stands for, and whether one of these was a failure.
    """
    skeletons = "\n".join(lines).encode("utf-8", "surrogatepass").translate(None, _CHANGING_IN_LINE).split(b"\n")
    pairs = list(compress(count(), map(eq, skeletons, islice(skeletons, 1, None))))
    del skeletons
    flags = bytearray(len(lines))
    for number in failing:
        if number < len(lines):
            flags[number] = 1
    if not pairs:
        return lines, [1] * len(lines), flags
    folded: list[str] = []
    counts: list[int] = []
    keep = bytearray()
    done = 0
    for start, stop in _runs(pairs):
        for first, end, new in _groups(lines, start, stop):
            if new is None:
                continue
            folded += lines[done:first]
            counts += [1] * (first - done)
            keep += flags[done:first]
            folded.append(new)
            counts.append(end - first)
            keep.append(1 in flags[first:end])
            done = end
    folded += lines[done:]
    counts += [1] * (len(lines) - done)
    keep += flags[done:]
    return folded, counts, keep


def _runs(pairs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Spans of lines from the numbers of those that resemble their next one."""
    start = previous = pairs[0]
    for number in islice(pairs, 1, None):
        if number != previous + 1:
            yield start, previous + 2
            start = number
        previous = number
    yield start, previous + 2


def _groups(lines: list[str], start: int, stop: int) -> Iterator[tuple[int, int, str | None]]:
    """Cut a span of similar lines into groups of the same; with each group its one line, or None to leave it."""
    keys: dict[int, str] = {}
    first = start
    while first < stop:
        line = lines[first]
        end = first + 1
        if not line.strip():
            while end < stop and not lines[end].strip():
                end += 1
            yield first, end, line if end > first + 1 else None
        elif _is_counted(line):
            # A count is never counted again.
            yield first, end, None
        else:
            while end < stop and lines[end] == line:
                end += 1
            if end < stop:
                end = _similar_end(lines, keys, first, end, stop)
            yield first, end, _folded(lines, first, end)
        first = end


def _similar_end(lines: list[str], keys: dict[int, str], first: int, equal: int, stop: int) -> int:
    """Where the lines end that differ from line `first` only in what changes from time to time.

    `equal` is where the equal ones end, and the answer when there are too few others or too little text in them;
    `keys` holds the keys that are known already.
    """
    key = keys.pop(first, None) or failure_key(lines[first])
    # The names of what was blanked do not count as letters. Asked first: a run that is not folded is not searched.
    letters = sum(map(str.isalpha, islice(key, LONG_LINE_CHARS))) - 4 * key.count("<")
    if letters < _SIMILAR_LETTERS:
        return equal
    end = equal
    while end < stop:
        keys[end] = failure_key(lines[end])
        if keys[end] != key or _is_counted(lines[end]):
            break
        del keys[end]
        end += 1
    return equal if end == equal or end - first < _SIMILAR_LINES else end


def _is_counted(line: str) -> bool:
    return "  (×" in line and FOLD_SUFFIX.search(line) is not None


def _folded(lines: list[str], first: int, end: int) -> str | None:
    """The one line for a group, or None when it would not be shorter than the group."""
    times = end - first
    if times < 2:
        return None
    suffix = f"  (×{times})"
    saved = sum(map(len, islice(lines, first + 1, end))) + times - 1
    # "×" has two bytes.
    return _with_suffix(lines[first], suffix) if saved > len(suffix) + 1 else None


def _with_suffix(line: str, suffix: str) -> str:
    body = line.rstrip("\r")
    return body + suffix + line[len(body) :]


def _elide(lines: list[str], counts: list[int], keep: bytearray, head: int, tail: int) -> list[str]:
    """The head, the line for what is elided, the distinct failures of the middle, the tail; or all when not smaller."""
    stop = len(lines) - tail
    kept: dict[str, tuple[str, int]] = {}
    for number in compress(range(head, stop), islice(keep, head, stop)):
        line = lines[number]
        times = counts[number]
        mark = FOLD_SUFFIX.search(line) if "  (×" in line else None
        if mark is not None:
            line = line[: mark.start()] + line[mark.end() :]
            times = max(times, int(mark[1]))
        key = failure_key(line)
        same = kept.get(key)
        kept[key] = (line, times) if same is None else (same[0], same[1] + times)
    failures = [line if times == 1 else _with_suffix(line, f"  (×{times})") for line, times in kept.values()]
    hidden = sum(islice(counts, head, stop)) - len(failures)
    # What decides must not depend on counts that a second pass would not know.
    if stop - head - len(failures) <= SLACK_LINES:
        return lines
    below = f" (kept {len(failures)} error line(s) below)" if failures else ""
    end = "\r" if lines[0].endswith("\r") else ""
    middle = [f"… [{hidden} lines elided]{below} …{end}", *failures]
    after = _MARK_BYTES + _utf8_bytes("\n".join(failures))
    # Characters are enough to see that most texts get smaller.
    if sum(map(len, islice(lines, head, stop))) <= after and _utf8_bytes("\n".join(lines[head:stop])) <= after:
        return lines
    return lines[:head] + middle + lines[stop:]


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
