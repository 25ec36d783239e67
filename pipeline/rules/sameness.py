"""When two failure lines say the same: what of a line changes from one time to the next (README.md, P4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.rules.ansi import strip_colours
from pipeline.rules.failure_words import COMPARES_HINT, VOLATILE_HINT, compiled, quick_search, sub_found

FOLD_SUFFIX = re.compile(r"  \(×([0-9]{1,12})\)(?=\r*\Z)")
"""The count that folding leaves behind a line."""
_BARE_COLOUR = re.compile(r"\[(?:[0-9]{1,3}(?:;[0-9]{1,3})*+)?m(?![\],])")
_TIME = r"[0-2]?[0-9]:[0-5][0-9]:[0-6][0-9](?:[.,][0-9]{1,9}+)?+"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})(?!\w))?(?!\w|:[0-9])"
_DAY = r"[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_COUNTER = r"(?:attempts?|retry|retries|retrying|tries|try|retry_?count|attempt_?(?:number|no)?|retries_?left|backoff)"
_YEAR = r"(?: [0-9]{4})?"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])"
_HEX = r"(?:0x[0-9a-f]{8,}+|(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f]{8,}+)(?![0-9a-z])"
_SIZE = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_UNIT = (
    r"(?:ns|nanoseconds?|[µμu]s|microseconds?|ms|msecs?|millis|milliseconds?|s|secs?|seconds?|mins?|minutes?"
    r"|h|hrs?|hours?)"
)
# One pass over the line; which group matches tells the kind, so that a time never equals a percentage. Nothing starts
# within a word, which is tested first: it rules out most places.
_WITHIN = (
    r"(?=[0-9])(?:"
    # Timestamps: with a day, of web servers, a time alone.
    rf"((?<![_.-]){_DAY}(?:[T _,]{{1,2}}{_TIME}|T[0-9]{{2}}:[0-9]{{2}}){_ZONE}"
    rf"|[0-9]{{1,2}}/{_MONTH}/[0-9]{{4}}:{_TIME}(?: [+-][0-9]{{4}})?|[0-9]{{1,2}} {_MONTH}{_YEAR},? {_TIME}{_ZONE}"
    rf"|(?<![_.:]){_TIME}{_ZONE})"
    rf"|({_UUID})|({_HEX})"
    # Counters before their word, percentages, durations.
    rf"|((?<![_.])[0-9]{{1,9}}(?:st|nd|rd|th)? (?:more |failed |unsuccessful )?{_COUNTER}(?![a-z]))"
    rf"|((?<![_.]){_SIZE} ?%)"
    rf"|((?<![_.])(?:(?:[0-9]{{1,6}}h ?)?(?:[0-9]{{1,6}}m ?)?{_SIZE} ?{_UNIT}|[0-9]{{1,6}}h ?[0-9]{{1,6}}m)(?!\w))"
    r")|(?=[a-z])(?:"
    # A code says what happened and stays, also in hex: it is matched first and put back.
    r"((?:(?:code|hresult|exit|errno)\W{0,3}(?:0x)?|(?:status|error|exception|stop)\W{0,3}0x)[0-9a-f]{8,16}(?![0-9a-z-]))"
    # Timestamps of syslog and asctime, epochs under their name.
    rf"|((?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{{0,6}},? )?(?:{_MONTH} {{1,2}}[0-9]{{1,2}}|[0-9]{{1,2}} {_MONTH}),?"
    rf"{_YEAR},? {_TIME}{_ZONE}(?: [0-9]{{4}})?(?!\w)"
    r"|(?:ts|time|timestamp|asctime|date)[\"']?[:=] {0,2}[\"']?[0-9]{9,13}(?:\.[0-9]{1,9})?(?!\w))"
    rf"|({_UUID})|({_HEX})"
    # Counters behind their word, process ids behind theirs.
    rf"|({_COUNTER}[\"']?(?: (?:count|number|no\.?|left|remaining))?[ :=(#]{{0,3}}[0-9]{{1,9}}"
    r"(?: ?(?:/|of|out of) ?[0-9]{1,9})?(?!\w|\.[0-9]|:[0-9]))"
    r"|((?:pid|process id|thread id|tid)[ :=#]{1,3}[0-9]{1,10}(?!\w))"
    r")"
)
# What stands at the start only: a day, the seconds of a kernel, a level with its time, a process id.
_AT_START = (
    rf"^(?:(\s{{0,8}}[\[(]?{_DAY}(?![\w-])|\[ {{0,8}}[0-9]{{1,10}}\.[0-9]{{3,9}}\]"
    r"|[EFWI][0-9]{4} [0-9:.]{8,15} {1,8}[0-9]{1,8}(?= ))|(\s{0,8}\[[0-9]{3,10}\](?!\w)))"
)
# A process id behind a program's name.
_BEHIND_NAME = r"(?<=[a-z0-9_-])(\[[0-9]{3,10}\])(?=: )"
_VOLATILE = re.compile(rf"(?<![0-9a-z])(?:{_WITHIN})|{_AT_START}|{_BEHIND_NAME}", re.IGNORECASE)


def _relaxed(pattern: str) -> str:
    """A pattern for re2 that matches at least where `pattern` does: no looking around, nothing possessive."""
    pattern = re.sub(r"\(\?<?[=!][^()]*\)", "", pattern)
    return re.sub(r"([*+?}])\+", r"\1", pattern).replace(r"\s", r"[\x00- ?\x80-\xff]")


# Where in a line one can start, or the "_" before it: `_VOLATILE` alone takes several times as long. Each
# character is a byte, "?" beyond Latin-1; those that are an ASCII letter or a unit in another case are left to it.
_search_volatile = quick_search(
    compiled(rf"(?:\b|_)(?:{_relaxed(_WITHIN)})|{_relaxed(_AT_START)}|{_relaxed(_BEHIND_NAME)}")
)
# What takes the place of each group; "" puts it back, and of a counter only the number goes.
_BLANKS = (
    *("", "<time>", "<uuid>", "<hex>", "<n>", "<%>", "<dur>"),
    *("", "<time>", "<uuid>", "<hex>", "<n>", "<pid>", "<time>", "<pid>", "<pid>"),
)
# The start of most log lines, so often met that it has its own, quick pattern.
_TIME_FIRST = re.compile(rf"(\s{{0,8}}[\[(\"]?){_DAY}[T _,]{{1,2}}{_TIME}{_ZONE}", re.IGNORECASE)
# From here on a line says what was expected and what came instead; nothing in it is noise.
_COMPARES_TEXT = (
    r"\bexpect\w*|\b(?:got|wants?|wanted|received|actual|should|instead|but was|must be|to be|assert\w*)\b"
    r"|[!=]=|(?:left|right):"
)
_COMPARES = re.compile(_COMPARES_TEXT, re.IGNORECASE)
_search_compares = quick_search(compiled(_COMPARES_TEXT))
_search_volatile_hint = quick_search(VOLATILE_HINT)
_search_compares_hint = quick_search(COMPARES_HINT)
_FOLDS_TO_ASCII = re.compile("[\u017f\u212a\u0130\u0131\u00b5\u03bc\u039c]")
_BRACKETS_AT_END = re.compile(r" ?\([^()]{1,80}\)[\s.]{0,8}$")
# A process id alone in brackets behind a line's time; behind one that is not at the start it is not looked for.
_PID_BEHIND_TIME = re.compile(r"([\])]? ?)\[[0-9]{1,10}\](?!\w)")
_NUMBER = re.compile(r"[0-9]+")


def plain(text: str) -> str:
    """A text without colour codes, those without their ESC byte included; line ends stay where they are."""
    if "\x1b" in text:
        text = strip_colours(text)
    if "[" in text:
        text = _BARE_COLOUR.sub("", text)
    return text


def failure_key(line: str) -> str:
    """What two failure lines have in common when they say the same.

    Blanked are timestamps, durations with a unit, UUIDs, hex of 8 or more digits, process ids in brackets, attempt
    and retry counters, percentages; never a place in a file, an exit code, a name, or what was expected and what came.
    Colour codes, a fold count and white space at the end do not count.

    Source: README.md, P4.
    """
    line = bare_line(line)
    time = _TIME_FIRST.match(line)
    start = ""
    if time is not None:
        start = time[1] + "<time>"
        line = line[time.end() :]
        pid = _PID_BEHIND_TIME.match(line)
        if pid is not None:
            start = start + pid[1] + "<pid>"
            line = line[pid.end() :]
    data = line.encode("utf-8", "surrogatepass")
    size = len(data)
    if _search_volatile_hint(data, 0, size)[0][0] < 0:
        return start + line
    if line.isascii():
        cut, cut_end = _search_compares(data, 0, size)[0]
        if cut < 0:
            return start + sub_found(_VOLATILE, _search_volatile, _blank, line, data)
    else:
        found = _COMPARES.search(line) if _search_compares_hint(data, 0, size)[0][0] >= 0 else None
        if found is None:
            return start + _blanked(line)
        cut, cut_end = found.span()
    at_end = _BRACKETS_AT_END.search(line, max(cut, len(line) - 100))
    end = len(line)
    # Brackets at the end hold no noise where they are all that is compared.
    if at_end is not None and at_end.start() > cut_end + 1 and _COMPARES.search(at_end[0]) is None:
        end = at_end.start()
    return start + _blanked(line[:cut]) + line[cut:end] + _blanked(line[end:])


def _blanked(line: str) -> str:
    """A line with its volatile parts blanked."""
    if not line.isascii() and _FOLDS_TO_ASCII.search(line) is not None:
        return _VOLATILE.sub(_blank, line)
    return sub_found(_VOLATILE, _search_volatile, _blank, line)


def bare_line(line: str) -> str:
    """A line without colour codes, fold count and white space at its end."""
    if "[" in line or "\x1b" in line:
        line = plain(line)
    line = line.rstrip()
    if line.endswith(")"):
        line = FOLD_SUFFIX.sub("", line).rstrip()
    return line


def failure_keys(lines: Iterable[str]) -> dict[str, str]:
    """Key -> its first line, for each distinct failure, in order."""
    keys: dict[str, str] = {}
    for line in dict.fromkeys(lines):
        keys.setdefault(failure_key(line), line)
    return keys


def _blank(found: re.Match[str]) -> str:
    blank = _BLANKS[found.lastindex or 0]
    if blank == "<n>":
        # The word stays: "retry 2" and "attempt 2" differ.
        return _NUMBER.sub(blank, found[0])
    return blank or found[0]
