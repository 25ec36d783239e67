"""Terminal colours and other escape sequences: how to take them out of a text."""

from __future__ import annotations

import re

# CSI, OSC (closed by BEL or ST), two-character escapes, charset choices; last a lone ESC, so that none is left.
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[()*+#%][0-9A-Za-z]|[@-Z\\^_=>78c])?"
)

_ATTRIBUTE = (
    r"(?:0|[1-9]|2[1-9]|[34][0-9]|9[0-7]|10[0-7]|[345]8;5;[0-9]{1,3}|[345]8;2;[0-9]{1,3};[0-9]{1,3};[0-9]{1,3})"
)
# A code that lost its ESC byte; not before "]" (`rate(x[5m])`), and not an interval (`[5m, 10m]`).
_INNOCENT = r"(?!\]|, ?[0-9]+m\b)"
_BARE = re.compile(rf"\[(?:{_ATTRIBUTE}(?:;{_ATTRIBUTE}){{0,3}})?m{_INNOCENT}")
# What a coloured text has at least: a colour or weight that starts, and one that ends.
_BARE_START = re.compile(
    rf"\[(?:[0-9]{{1,2}};){{0,3}}(?:[1-9]|3[0-7]|4[0-7]|9[0-7]|10[0-7]|38;[0-9;]{{1,20}})m{_INNOCENT}"
)
_BARE_END = re.compile(rf"\[(?:0|2[1-9]|39|49|)m{_INNOCENT}")
_LONGEST_BARE = 80


def strip_colours(text: str) -> str:
    """Take terminal escape sequences out of a text, also colour codes whose ESC byte is already gone.

    Codes without ESC (`[32m53 passed[0m`) go only where a text holds one that starts and one that ends; brackets
    such as `items[1m]` stay.

    Returns:
        The plain text; the text itself when it holds no sequence. Doing it twice changes nothing.
    """
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if "[" in text and "m" in text and _BARE_END.search(text) and _BARE_START.search(text):
        text = _BARE.sub("", text)
        # Codes inside of codes ("[3[0m1m") leave a new code behind.
        if _BARE.search(text):
            text = _strip_nested(text)
    return text


def _strip_nested(text: str) -> str:
    """Take codes out at each "m" as the text is put together, so that no removal can make a new code."""
    kept: list[str] = []
    for at, char in enumerate(text):
        kept.append(char)
        if char == "m":
            tail = "".join(kept[-_LONGEST_BARE:])
            start = tail.rfind("[")
            # The lookahead has to see what follows in the source.
            if start >= 0 and _BARE.match(tail[start:] + text[at + 1 : at + 32]):
                del kept[len(kept) - (len(tail) - start) :]
    return "".join(kept)
