"""Text rule `web-page`: a fetched page's text without the long lists of links above and below what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import runs
from pipeline.rules.failures import failure_numbers
from pipeline.rules.html_text import looks_like_page
from pipeline.rules.marks import utf8_bytes
from pipeline.rules.noise import encoded, line_pattern
from pipeline.rules.tool_classes import tool_class

MIN_RUN_LINES = 8
"""A shorter list stays."""
KEPT_LINES = 2
"""Lines of a list that stay: they tell whose navigation it is."""
PARAGRAPH_CHARS = 100
"""A line so long that is no list of links is what the page says; lists between two such lines stay."""

_TARGET = r"\([^()\s]*(?:\([^()\s]*\))?[^()\s]*(?: \"[^\"\n]*\")?\)"
_IMAGE = rf"!\[[^\[\]\n]*\]{_TARGET}"
_LINK = (
    rf"(?:{_IMAGE}|\[(?:[^\[\]\n]|{_IMAGE})*\]{_TARGET}|<https?://[^<>\s]+>"
    # As `html-to-text` writes it.
    r"|[^()\[\]\n|.;!?]{1,60} \((?:https?://|/)[^()\s]*\))"
)
_BETWEEN = r"[ \t|,/>-]*(?:\xc2\xb7|\xe2\x80\xa2|\xc2\xbb|\xe2\x80\xba)?[ \t|,/>-]*"
_BANNER = (
    r"(?i:skip to (?:main )?(?:content|navigation)|(?:accept|allow|reject|decline) (?:all|cookies|all cookies)"
    r"|(?:cookie|privacy) (?:settings|preferences)|manage (?:cookies|preferences)"
    r"|(?:we|this (?:web)?site) uses? cookies[^\n]{0,200}|share on [a-z]{1,20})"
)
# Blank lines are told apart later: a list may have them between its lines.
_FURNITURE = line_pattern(
    (rf"{_LINK}(?:{_BETWEEN}{_LINK})*{_BETWEEN}", _BANNER),
    whole=r"^[ \t>#]*(?:[-*+|]|\xe2\x80\xa2|[0-9]{1,3}[.)])?[ \t]*{}[ \t]*\r?$",
)
_ELIDED = re.compile(r"^… \[[0-9]{1,12} navigation links elided\] …\r?$", re.MULTILINE)
_FETCHERS = ("curl", "wget", "http", "https", "xh", "lynx", "w3m", "links")


def drop_navigation(text: str, failing: Failing = failure_numbers) -> str:
    r"""Count the links of long lists above the first paragraph of a page and below its last.

    A list is a run of eight lines or more that hold nothing but links, or the buttons of a cookie banner; blank lines
    may stand between. Its first two lines stay, then comes `… [N navigation links elided] …`. A page that is mostly
    links stays: there they are what was fetched.

    Args:
        text: a page in markdown, or as `html-to-text` gives it; lines end at "\n".
        failing: finds the failures, which stay.

    Returns:
        The shorter text; the text itself when it has no such list, or had.
    """
    if holds_own_elision(text):
        return text
    lines = text.split("\n")
    furniture = _furniture(text, len(lines))
    filled = sum(1 for line in lines if line and not line.isspace())
    if sum(furniture) < MIN_RUN_LINES or 2 * sum(furniture) > filled:
        return text
    said = [at for at, line in enumerate(lines) if not furniture[at] and len(line) >= PARAGRAPH_CHARS]
    if not said:
        return text
    whole = frozenset(failing(text))
    out: list[str] = []
    done = 0
    for start, end in _runs(lines, furniture, whole):
        first = start + KEPT_LINES
        if end > said[0] and start < said[-1]:
            continue
        line_end = "\r" if lines[start].endswith("\r") else ""
        note = f"… [{sum(furniture[first:end])} navigation links elided] …{line_end}"
        if utf8_bytes(note) < sum(utf8_bytes(line) + 1 for line in lines[first:end]) - 1:
            out += (*lines[done:first], note)
            done = end
    return "\n".join(out + lines[done:]) if out else text


def holds_own_elision(text: str) -> bool:
    """Whether links of this page were counted before."""
    return " navigation links " in text and _ELIDED.search(text) is not None


def _furniture(text: str, count: int) -> bytearray:
    """For each line whether it holds nothing but links."""
    flags = bytearray(count)
    data = encoded(text)
    at = number = 0
    for match in _FURNITURE.finditer(data):
        number += data.count(b"\n", at, match.start())
        at = match.start()
        flags[number] = 1
    return flags


def _runs(lines: list[str], furniture: bytearray, whole: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Where lists of links start and end, without blank lines behind them."""
    start = end = count = 0
    for at in range(len(lines) + 1):
        if at < len(lines) and furniture[at] and at not in whole:
            if not count:
                start = at
            count += 1
            end = at + 1
        elif at == len(lines) or lines[at].strip():
            if count >= MIN_RUN_LINES:
                yield start, end
            count = 0


def matches(tool_name: str, output: str) -> bool:
    """True for the text of a page with a list of links that can be counted."""
    if tool_class(tool_name) not in ("fetch", "shell", "") or "(" not in output or looks_like_page(output):
        return False
    return drop_navigation(output) is not output


def matches_context(context: ToolContext) -> bool:
    """True for tools that fetch pages, and commands that do."""
    return context.tool_class == "fetch" or (bool(context.command) and runs(context.command, *_FETCHERS))


RULE = CompactionRule("web-page", matches, drop_navigation, matches_context, compact_knowing=drop_navigation)
"""Source: README.md, P5."""
