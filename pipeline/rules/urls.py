"""Long URLs: their host stays, what follows becomes its length."""

from __future__ import annotations

import re
from collections.abc import Collection

from pipeline.rules.failures import find_failures

MAX_URL_CHARS = 80
"""A URL longer than this is shortened."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,15}\Z", re.IGNORECASE)
_SCHEME_CHARS = 17
# A URL ends at white space, quotes, brackets, and at the sign of what was shortened before.
_URL_CHAR = r"[^\s\"'`<>()\[\]{}|\\^…\x00-\x1f\x7f]"
_REST = re.compile(rf"{_URL_CHAR}*+")
_LONG_REST = re.compile(rf"://{_URL_CHAR}{{{MAX_URL_CHARS - _SCHEME_CHARS - 1}}}")
_SENTENCE_END = ".,;:!?*_~"


def shorten_urls(text: str) -> str:
    r"""Write each URL of more than 80 characters as `<scheme://host>/…[+N chars]`.

    URLs in failure lines stay whole, so that the line is still verbatim (README.md, P4), and so do `file:` paths.

    Args:
        text: body of one tool result; lines end at "\n".

    Returns:
        The shorter text, or `text` itself. Doing it twice changes nothing.

    Source: README.md.
    """
    if "://" not in text or shorten_line(text) == text:
        return text
    return shorten_urls_outside(text, find_failures(text).numbers)


def shorten_urls_outside(text: str, failing: Collection[int]) -> str:
    """`shorten_urls` where the failures are known: `failing` holds the 0-based numbers of the lines to leave."""
    if "://" not in text:
        return text
    whole = set(failing)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(line) > MAX_URL_CHARS and number not in whole:
            lines[number] = shorten_line(line)
    return "\n".join(lines)


def holds_long_url(text: str) -> bool:
    """Whether `shorten_line` may shorten a URL in a text, or in a part of it."""
    return "://" in text and _LONG_REST.search(text) is not None


def shorten_line(line: str) -> str:
    """Shorten the URLs of a text without regard to failures; the text itself when none is long."""
    kept: list[str] = []
    done = 0
    at = line.find("://")
    while at >= 0:
        rest = _REST.match(line, at + 3)
        end = rest.end() if rest is not None else at + 3
        scheme = _SCHEME.search(line[max(done, at - _SCHEME_CHARS) : at])
        if scheme is not None and end - at > MAX_URL_CHARS - _SCHEME_CHARS:
            start = at - len(scheme[0])
            short = _short(scheme[0], line[at + 3 : end].rstrip(_SENTENCE_END))
            if short is not None:
                new, chars = short
                kept += (line[done:start], new)
                done = start + chars
        at = line.find("://", max(end, at + 3))
    if not kept:
        return line
    kept.append(line[done:])
    return "".join(kept)


def _short(scheme: str, rest: str) -> tuple[str, int] | None:
    """The short form of `scheme://rest` and the length of the long one; None when it stays."""
    chars = len(scheme) + 3 + len(rest)
    if chars <= MAX_URL_CHARS or scheme.lower() == "file":
        return None
    host_end = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    host = rest[:host_end].rpartition("@")[2]
    if not host:
        return None
    # The slash behind the host is shown, so it is not among what was cut.
    cut = len(rest) - len(host) - (1 if rest[host_end : host_end + 1] == "/" else 0)
    new = f"{scheme}://{host}/…[+{cut} chars]"
    # "…" has three bytes: a short form has to be shorter in any encoding.
    return (new, chars) if len(new) + 2 < chars else None
