"""Where the here-documents of a shell command have their bodies."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENER = re.compile(
    r"(?<!<)<<(-?)[ \t]{0,80}"
    r"(?:'([A-Za-z0-9_.+:/ -]{1,80})'|\"([A-Za-z0-9_.+:/ -]{1,80})\"|\\?([A-Za-z_][A-Za-z0-9_.+-]{0,79}))"
)
# Each search for a word that closes nothing reads the rest of the command.
_UNCLOSED_AT_MOST = 8


class Body(NamedTuple):
    """The body of a here-document: its span in the command, without the newline before the closing word."""

    start: int
    end: int
    closed: bool
    """False when no line closes it: cut off, or `<<` meant something else. The end is then the command's."""


def heredoc_bodies(command: str) -> list[Body]:
    """The bodies of a command's here-documents, in order of their start; linear in the command's length.

    Words may be quoted, several may start on one line, `<<-` allows tabs before the closing word. Inside a closed
    body nothing starts another one. After eight that nothing closes the rest counts as having none.
    """
    bodies: list[Body] = []
    if "<<" not in command:
        return bodies
    at = unclosed = 0
    opener = _OPENER.search(command)
    while opener is not None:
        line_end = command.find("\n", opener.end())
        if line_end < 0:
            break
        at = line_end + 1
        open_before = unclosed
        while opener is not None and opener.start() < line_end:
            # Where one of a line is not closed its body hides those of the others.
            if unclosed == open_before:
                word = opener[2] or opener[3] or opener[4]
                close = _closing_line(command, at, word, tabs=bool(opener[1]))
                if close < 0:
                    bodies.append(Body(at, len(command), False))
                    unclosed += 1
                else:
                    bodies.append(Body(at, max(at, close - 1), True))
                    after = command.find("\n", close)
                    at = len(command) if after < 0 else after + 1
            opener = _OPENER.search(command, opener.end())
        if unclosed == _UNCLOSED_AT_MOST:
            break
        if opener is not None and opener.start() < at:
            opener = _OPENER.search(command, at)
    return bodies


def _closing_line(command: str, at: int, word: str, *, tabs: bool) -> int:
    """Start of the first line from `at` that is `word`, where `tabs` says so with tabs before it; -1 if none."""
    # A line starts at `at`, so there is a newline before it.
    needle = word if tabs else "\n" + word
    hit = command.find(needle, at if tabs else at - 1)
    while hit >= 0:
        end = hit + len(needle)
        start = end - len(word)
        while tabs and start > at and command[start - 1] == "\t":
            start -= 1
        if command[start - 1] == "\n" and (
            end == len(command) or command[end] == "\n" or command.startswith("\r\n", end)
        ):
            return start
        hit = command.find(needle, end)
    return -1
