"""Which lines of a tool output report a failure, and when two of them say the same (design, P4)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import re2

from pipeline.rules.ansi import strip_colours
from pipeline.rules.failure_words import (
    BENIGN_PHRASES,
    CANDIDATE,
    COUNTED,
    DOUBT,
    LISTED,
    NAME_HINT,
    NONE_COUNTED,
    PASSED,
    PATH_TOKEN,
    SHAPE,
    STEM,
    SUFFIXES,
    VOLATILE_HINT,
    WORDS,
)

FAILURE_RE: re2._Regexp = CANDIDATE
"""Finds candidate lines, cheaply and broadly; `failure_lines` decides."""

FOLD_SUFFIX = re.compile(r"  \(×([0-9]{1,12})\)(?=\r*\Z)")
"""The count that folding leaves behind a line."""
_FOLD_SUFFIXES = re.compile(r"  \(×[0-9]{1,12}\)(?=\r*$)", re.MULTILINE)
ELIDED_LINE = re.compile(
    r"^… \[[0-9]{1,12} (?:[a-z -]{1,40} )?lines? elided\](?: \(kept [0-9]{1,12} error line\(s\) below\))? …\r*$", re.MULTILINE
)
"""The line that stands for elided ones."""

_BARE_COLOUR = re.compile(r"\[(?:[0-9]{1,3}(?:;[0-9]{1,3})*+)?m(?![\],])")
_ELIDED_START = "… [".encode()

# How far the lines below a failure can belong to it, in lines.
_WALK_LINES = 60
_BLOCK_LINES = 30
_STATEMENT_LINES = 10

_BLOCK_HEAD = re.compile(rb":\s*$|^\s*not ok\b|--- FAIL|^\s+[0-9]+\) |^\s*\xe2\x97\x8f ")
_PANICKED = re.compile(rb"\bpanicked at .*:\s*$|first differing element", re.IGNORECASE)
_FRAME_FILE = re.compile(rb"^\s*File \"")
_CARET = re.compile(rb"(?:[\s|]+[\^~]|\^)[\s^~|+-]*")
_STATEMENT = re.compile(rb">\s{2,}\S")
_ASSERTION = re.compile(
    rb"assert|expected|received|actual|equal|differ|diff\b|mismatch|\bgot\b|\bwant\b", re.IGNORECASE
)
_DIFF_HEAD = re.compile(rb"^\s*(?:[-+]{1,3} ?(?:expected|received|actual)|diff:|\+ actual)", re.IGNORECASE)
_GO_FRAME = re.compile(rb"\s+\S+\.go:[0-9]")
_BELONGS = re.compile(
    rb"\s*>?\s*[0-9]*\s*(?:\||\xe2\x94\x82|\xe2\x94\x83)"  # code with its line number
    rb"|(?:[\s|]+[\^~]|\^)[\s^~|+-]*$"
    rb"|\s*= (?:note|help)\b|\s*(?:note|help|hint|info|message|details?|reason|status|cause|context)\s*[:=]"
    rb"|\s+(?:at|from|in|by) \S|\s*#[0-9]+\s|\s+[0-9]+: \S|\s+File \"|\s*\xe2\x9d\xaf \S"
    rb"|\S+\(\S*\)\s*$|\s+\S+\.\w+:[0-9]+",
    re.IGNORECASE,
)
_DIFF_LINE = re.compile(rb"\s*(?:[-+?](?![-+]* (?:expected|received|actual))|@@)|\s+\S", re.IGNORECASE)


class Failures(NamedTuple):
    """The failure lines of a text: their 0-based line numbers, ascending, and the lines themselves, verbatim."""

    numbers: list[int]
    lines: list[str]


NO_FAILURES = Failures([], [])


def plain(text: str) -> str:
    """A text without colour codes, those without their ESC byte included; line ends stay where they are."""
    if "\x1b" in text:
        text = strip_colours(text)
    if "[" in text:
        text = _BARE_COLOUR.sub("", text)
    return text


def find_failures(text: str) -> Failures:
    r"""Every line of `text` that reports a failure, or belongs to one: a stack frame, an assertion's two sides.

    Args:
        text: body of one tool result; lines end at "\n" only. Colour codes hide nothing.

    Returns:
        All occurrences in order; for a text without failures two empty lists.

    Source: design, P4.
    """
    bare = plain(text)
    if "  (×" in bare:
        bare = _FOLD_SUFFIXES.sub("", bare)
    data = bare.encode("utf-8", "surrogatepass")
    hit = CANDIDATE.search(data)
    if hit is None:
        return NO_FAILURES
    candidates: list[int] = []
    number = scanned = 0
    end = len(data)
    while hit is not None:
        start = hit.start()
        number += data.count(b"\n", scanned, start)
        candidates.append(number)
        scanned = data.find(b"\n", start)
        if scanned < 0 or scanned + 1 >= end:
            break
        hit = CANDIDATE.search(data, scanned + 1)
    lines = data.split(b"\n")
    known = {line: _reports(line) for line in {lines[number] for number in candidates}}
    strong = [number for number in candidates if known[lines[number]]]
    if not strong:
        return NO_FAILURES
    numbers = _with_neighbours(lines, strong)
    originals = text.split("\n")
    return Failures(numbers, [originals[number] for number in numbers])


def failure_lines(text: str) -> list[str]:
    """The failure lines of `text`, verbatim, in order, each occurrence. Source: design, P4."""
    return find_failures(text).lines


def _reports(line: bytes) -> bool:
    """Whether a candidate line, without colour codes, is a failure by itself."""
    if DOUBT.search(line) is None:
        return True
    if line.startswith(_ELIDED_START) and ELIDED_LINE.match(line.decode("utf-8", "replace")) is not None:
        return False
    if SHAPE.search(line) is not None:
        return True
    text = line.decode("utf-8", "replace")
    if LISTED.search(text) is not None or (PASSED.search(text) is not None and COUNTED.search(line) is None):
        return False
    if NAME_HINT.search(line) is not None:
        line = PATH_TOKEN.sub(_without_names, text).encode("utf-8", "surrogatepass")
    line = NONE_COUNTED.sub(rb"\1 ", line)
    for hint, phrase in BENIGN_PHRASES:
        if hint.search(line) is not None:
            line = phrase.sub(" ", line.decode("utf-8", "replace")).encode("utf-8", "surrogatepass")
    return WORDS.search(line) is not None


def _without_names(token: re.Match[str]) -> str:
    """A token that is a path or file name with a failure's word in it, blanked; any other token as it is."""
    word = token[0]
    if STEM.search(word) is None:
        return word
    last = word.rpartition("/")[2].rpartition("\\")[2]
    suffix = last.rstrip(".").rpartition(".")
    if suffix[0] and suffix[2].lower() in SUFFIXES:
        return " "
    if "/" not in word and "\\" not in word:
        return word
    first = word.partition("/")[0]
    if word[0] in "/\\@~." or word[-1] in "/\\" or ("." in first and first[0] != "."):
        return " "
    return word


def _with_neighbours(lines: list[bytes], strong: list[int]) -> list[int]:
    """The numbers of the failures and of the lines that belong to them, ascending; each line is looked at once."""
    flagged = set(strong)
    count = len(lines)
    for index, number in enumerate(strong):
        limit = strong[index + 1] if index + 1 < len(strong) else count
        line = lines[number]
        if number and number - 1 not in flagged and lines[number - 1].strip():
            # The code above its caret, the function above its place in a Go stack.
            if _CARET.fullmatch(line) is not None or (
                _GO_FRAME.match(line) is not None and not lines[number - 1][:1].isspace()
            ):
                flagged.add(number - 1)
        if number + 1 < limit:
            flagged.update(_below(lines, number, min(limit, number + 1 + _WALK_LINES)))
        if _BLOCK_HEAD.search(line) is not None:
            flagged.update(_block(lines, number))
    return sorted(flagged)


def _below(lines: list[bytes], number: int, limit: int) -> list[int]:
    """The lines after the failure `number` and before `limit` that belong to it."""
    line = lines[number]
    found: list[int] = []
    at = number + 1
    if _FRAME_FILE.match(line) is not None:
        if _indent(lines[at]) > _indent(line):
            found.append(at)
            at += 1
    elif _STATEMENT.match(line) is not None:
        # A statement over several lines, up to what pytest says of it.
        ends = next((k for k in range(at, min(limit, at + _STATEMENT_LINES)) if not lines[k].strip()), None)
        if ends is None and limit - at <= _STATEMENT_LINES:
            return list(range(at, limit))
    if _PANICKED.search(line) is not None:
        more = 2 if b"differing" in line else 1
        found.extend(k for k in range(at, min(limit, at + more)) if lines[k].strip())
        at += more
    diff = _DIFF_HEAD.match(line) is not None
    assertion = diff or _ASSERTION.search(line) is not None
    blanks = 0
    while at < limit:
        below = lines[at]
        if not below.strip():
            blanks += 1
            if blanks > 1:
                break
        elif _BELONGS.match(below) is not None or (assertion and _belongs_to_diff(below, diff)):
            blanks = 0
            found.append(at)
        elif at + 1 < limit and blanks == 0 and _CARET.fullmatch(lines[at + 1]) is not None:
            found.append(at)
        else:
            break
        at += 1
    return found


def _block(lines: list[bytes], number: int) -> range:
    """The lines below a heading that are indented more than it, other failures among them."""
    depth = _indent(lines[number])
    at = number + 1
    stop = min(len(lines), at + _BLOCK_LINES)
    while at < stop and _indent(lines[at]) > depth:
        at += 1
    return range(number + 1, at)


def _belongs_to_diff(line: bytes, in_diff: bool) -> bool:
    """Whether a line is part of what an assertion compares; context lines count only below a diff's heading."""
    return _DIFF_LINE.match(line) is not None and (in_diff or line.lstrip()[:1] in (b"-", b"+", b"?", b"@"))


def _indent(line: bytes) -> int:
    """Leading white space of a line with content; -1 for a blank one."""
    stripped = line.lstrip()
    return len(line) - len(stripped) if stripped else -1


# --- sameness -----------------------------------------------------------------------------------------------------

_TIME = r"[0-2]?[0-9]:[0-5][0-9]:[0-6][0-9](?:[.,][0-9]{1,9}+)?+"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})(?!\w))?(?!\w|:[0-9])"
_DAY = r"[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_COUNTER = r"(?:attempts?|retry|retries|retrying|tries|try|retry_?count|attempt_?(?:number|no)?|retries_?left|backoff)"
_SIZE = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_UNIT = r"(?:ns|nanoseconds?|[µμu]s|microseconds?|ms|msecs?|millis|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?)"
# One pass over the line; the number of the group tells the kind, so that a time never equals a percentage.
_VOLATILE = re.compile(
    # A code says what happened and stays, also in hex; it is matched first and put back.
    rf"((?:code|status|error|hresult|exit|exception|errno|stop)\W{{0,3}}(?:0x)?[0-9a-f]{{8,16}}(?![0-9a-z]))"
    # Timestamps: with a day, syslog and asctime, times alone, days at the start, epochs under their name, dmesg, glog.
    rf"|((?<![\w.-]){_DAY}[T _,]{{1,2}}{_TIME}{_ZONE}"
    rf"|(?<![\w.-]){_DAY}T[0-9]{{2}}:[0-9]{{2}}{_ZONE}"
    rf"|(?<!\w)[0-9]{{1,2}}/{_MONTH}/[0-9]{{4}}:{_TIME}(?: [+-][0-9]{{4}})?"
    rf"|(?<!\w)(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{{0,6}},? )?(?:{_MONTH} {{1,2}}[0-9]{{1,2}}|[0-9]{{1,2}} {_MONTH})"
    rf",?(?: [0-9]{{4}})?,? {_TIME}{_ZONE}(?: [0-9]{{4}})?(?!\w)"
    rf"|(?<![\w.:]){_TIME}{_ZONE}|^\s{{0,8}}[\[(]?{_DAY}(?![\w-])"
    r"|(?<!\w)(?:ts|time|timestamp|@timestamp|asctime|date)[\"']?[:=] {0,2}[\"']?[0-9]{9,13}(?:\.[0-9]{1,9})?(?!\w)"
    r"|^\[ {0,8}[0-9]{1,10}\.[0-9]{3,9}\]|^[EFWI][0-9]{4} [0-9:.]{8,15} {1,8}[0-9]{1,8}(?= ))"
    # UUIDs, then hex.
    r"|((?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z]))"
    r"|((?<![0-9a-z])(?:0x[0-9a-f]{8,}+|(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f]{8,}+)(?![0-9a-z]))"
    # Attempt and retry counters, before and behind their word.
    rf"|((?<![a-z]){_COUNTER}[\"']?(?: (?:count|number|no\.?|left|remaining))?[ :=(#]{{0,3}}[0-9]{{1,9}}"
    r"(?: ?(?:/|of|out of) ?[0-9]{1,9})?(?!\w|\.[0-9]|:[0-9])"
    rf"|(?<![\w.])[0-9]{{1,9}}(?:st|nd|rd|th)? (?:more |failed |unsuccessful )?{_COUNTER}(?![a-z]))"
    # Percentages, then durations with a unit.
    rf"|((?<![\w.]){_SIZE} ?%)"
    rf"|((?<![\w.])(?:[0-9]{{1,6}}h ?)?(?:[0-9]{{1,6}}m ?)?{_SIZE} ?{_UNIT}(?!\w)|(?<![\w.])[0-9]{{1,6}}h ?[0-9]{{1,6}}m(?!\w))"
    # A process id: under its name, behind a program's name, or alone in brackets at the start of a line.
    r"|((?<![a-z])(?:pid|process id|thread id|tid)[ :=#]{1,3}[0-9]{1,10}(?!\w)|(?<=[a-z0-9_-])\[[0-9]{3,10}\](?=: )"
    r"|^\s{0,8}\[[0-9]{3,10}\](?!\w))",
    re.IGNORECASE,
)
# The start of most log lines, so often met that it has its own, quick pattern.
_TIME_FIRST = re.compile(rf"(\s{{0,8}}[\[(\"]?){_DAY}[T _,]{{1,2}}{_TIME}{_ZONE}", re.IGNORECASE)
# From here on a line says what was expected and what came instead; nothing in it is noise.
_COMPARES = re.compile(
    r"\bexpect\w*|\b(?:got|wants?|wanted|received|actual|should|instead|but was|must be|to be|assert\w*)\b|[!=]=|(?:left|right):",
    re.IGNORECASE,
)
_BRACKETS_AT_END = re.compile(r" ?\([^()]{1,80}\)[\s.]{0,8}$")
_BLANKS = ("", "<time>", "<uuid>", "<hex>", "<n>", "<%>", "<dur>", "<pid>")
# A process id alone in brackets behind a line's time; behind one that is not at the start it is not looked for.
_PID_BEHIND_TIME = re.compile(r"([\])]? ?)\[[0-9]{1,10}\](?!\w)")
_NUMBER = re.compile(r"[0-9]+")


def failure_key(line: str) -> str:
    """What two failure lines have in common when they say the same.

    Blanked are timestamps, durations with a unit, UUIDs, hex of 8 or more digits, process ids in brackets, attempt
    and retry counters, percentages; never a place in a file, an exit code, a name, or what was expected and what came.
    Colour codes, a fold count and white space at the end do not count.

    Source: design, P4.
    """
    line = bare_line(line)
    time = _TIME_FIRST.match(line)
    start = ""
    if time is not None:
        start = time[1] + _BLANKS[1]
        line = line[time.end() :]
        pid = _PID_BEHIND_TIME.match(line)
        if pid is not None:
            start = start + pid[1] + _BLANKS[7]
            line = line[pid.end() :]
    if VOLATILE_HINT.search(line.encode("utf-8", "surrogatepass")) is None:
        return start + line
    compares = _COMPARES.search(line)
    if compares is None:
        return start + _VOLATILE.sub(_blank, line)
    cut = compares.start()
    at_end = _BRACKETS_AT_END.search(line, max(cut, len(line) - 100))
    end = len(line)
    # Brackets at the end hold no noise where they are all that is compared.
    if at_end is not None and at_end.start() > compares.end() + 1 and _COMPARES.search(at_end[0]) is None:
        end = at_end.start()
    return start + _VOLATILE.sub(_blank, line[:cut]) + line[cut:end] + _VOLATILE.sub(_blank, line[end:])


def bare_line(line: str) -> str:
    """A line without colour codes, fold count and white space at its end."""
    line = plain(line).rstrip()
    if line.endswith(")"):
        line = FOLD_SUFFIX.sub("", line)
    return line


def failure_keys(lines: Iterable[str]) -> dict[str, str]:
    """Key -> its first line, for each distinct failure, in order."""
    keys: dict[str, str] = {}
    for line in dict.fromkeys(lines):
        keys.setdefault(failure_key(line), line)
    return keys


def _blank(found: re.Match[str]) -> str:
    kind = found.lastindex or 1
    if kind == 1:
        return found[0]
    if kind == 5:
        # The word stays: "retry 2" and "attempt 2" differ.
        return _NUMBER.sub("<n>", found[0])
    return _BLANKS[kind - 1]
