"""Text rule `search-results`: every file that a search found stays, with its first hits; further ones are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.marks import capped_note, utf8_bytes
from pipeline.rules.tool_classes import tool_class

KEPT_HITS = (5, 3, 1)
"""Hits that stay of each file: the most with which the result has at most `LONG_RESULT` lines, else the last."""
LONG_RESULT = 100
MIN_ELIDED = 2
MIN_HITS = 8
"""A result with fewer hits stays."""
MAX_HIT_CHARS = 600
"""A longer line keeps its first `KEPT_HIT_CHARS`."""
KEPT_HIT_CHARS = 300

# The time at the start of a log's line is no path and line.
_HIT = re.compile(r"(?P<path>(?:[A-Za-z]:)?(?:[^\s:0-9]|[0-9][^\s:/.]{0,100}[/.])[^\s:]{0,300}):[0-9]{1,9}:")
# Without line numbers a path has to look like one.
_BARE_HIT = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:]{0,200}[^\s:/]\.[A-Za-z0-9]{1,10}|[^\s:]{0,150}/[^\s:]{1,150}):(?!//)"
)
_AROUND = re.compile(r"-[0-9]{1,9}-")
_AROUND_CHARS = 320
_NUMBERED = re.compile(r"[0-9]{1,9}(?P<sign>[:-])")
_HEADING = re.compile(r"(?:[A-Za-z]:)?[^\s:]{0,300}[./][^\s:]{1,100}\r?")
_ELIDED = re.compile(r"^… \[[0-9]{1,12} more hits in [^\n]{1,400} elided\] …\r?$", re.MULTILINE)
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"})
_FILTERS = frozenset({"cd", "head", "tail", "sort", "uniq", "cat", "echo", "true", "grep", "sed"})


@dataclass(slots=True)
class _File:
    """The lines of a result that belong to one file: the numbers of its hits, and of these and what is around them."""

    hits: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def fold_hits(text: str, failing: Failing = failure_numbers) -> str:
    r"""Keep the first hits of each file and count the others.

    Understood are `path:line:text`, `path:text`, and a path with `line:text` below it, each with the lines around the
    hits. Of each file the first five hits stay, fewer in a long result, and the others become
    `… [N more hits in PATH elided] …`; hits of more than 600 characters are cut to `head…[+N chars]`. Each file and
    every line that is no hit stay.

    Args:
        text: what a search printed; lines end at "\n".
        failing: finds the lines that stay although they are hits; failures, or nothing where searches are exempt.

    Returns:
        The shorter text; the text itself when there is little to fold, or when it was folded before.
    """
    if holds_own_elision(text):
        return text
    lines = text.split("\n")
    files = _read(lines)
    if sum(len(found.hits) for found in files.values()) < MIN_HITS:
        return text
    most = max(len(found.hits) for found in files.values())
    if most < KEPT_HITS[-1] + MIN_ELIDED and max(map(len, lines)) <= MAX_HIT_CHARS:
        return text
    whole = frozenset(failing(text))
    new: dict[int, str | None] = {}
    for kept in KEPT_HITS:
        new = _folded(lines, files, kept, whole)
        if len(lines) - sum(line is None for line in new.values()) <= LONG_RESULT:
            break
    for found in files.values():
        for number in found.lines:
            line = new.get(number, lines[number])
            if line is not None and len(line) > MAX_HIT_CHARS and number not in whole:
                new[number] = line[:KEPT_HIT_CHARS] + capped_note(len(line) - KEPT_HIT_CHARS)
    if not new:
        return text
    left = (new.get(number, line) for number, line in enumerate(lines))
    short = "\n".join(line for line in left if line is not None)
    return short if utf8_bytes(short) < utf8_bytes(text) else text


def holds_own_elision(text: str) -> bool:
    """Whether hits were counted before."""
    return " more hits in " in text and _ELIDED.search(text) is not None


def _read(lines: list[str]) -> dict[str, _File]:
    """The files of a result in order, with their lines."""
    files: dict[str, _File] = {}
    loose: list[tuple[int, str]] = []
    heading = ""
    for number, line in enumerate(lines):
        hit = _HIT.match(line)
        if hit is not None:
            heading = ""
            _add(files, hit["path"], number, is_hit=True)
            continue
        numbered = _NUMBERED.match(line)
        if numbered is not None and heading:
            _add(files, heading, number, is_hit=numbered["sign"] == ":")
        elif not line.strip() or (line[0] == "-" and line.rstrip() == "--"):
            pass
        elif _HEADING.fullmatch(line) is not None and any(map(_NUMBERED.match, lines[number + 1 : number + 2])):
            heading = line.rstrip("\r")
        else:
            heading = ""
            loose.append((number, line))
    _add_loose(files, loose)
    return {path: found for path, found in files.items() if found.hits}


def _add(files: dict[str, _File], path: str, number: int, *, is_hit: bool) -> None:
    found = files.get(path)
    if found is None:
        found = files[path] = _File()
    found.lines.append(number)
    if is_hit:
        found.hits.append(number)


def _add_loose(files: dict[str, _File], loose: list[tuple[int, str]]) -> None:
    """Lines around hits, by the path of a hit; where no hit has a number, hits without one."""
    if files:
        for number, line in loose:
            for sign in _AROUND.finditer(line, 0, _AROUND_CHARS):
                if line[: sign.start()] in files:
                    files[line[: sign.start()]].lines.append(number)
                    break
        for found in files.values():
            found.lines.sort()
        return
    for number, line in loose:
        hit = _BARE_HIT.match(line)
        if hit is not None:
            _add(files, hit["path"], number, is_hit=True)


def _folded(lines: list[str], files: dict[str, _File], kept: int, whole: frozenset[int]) -> dict[int, str | None]:
    """What becomes of lines when so many hits of each file stay: None for what goes."""
    new: dict[int, str | None] = {}
    for path, found in files.items():
        if len(found.hits) < kept + MIN_ELIDED:
            continue
        first = found.hits[kept]
        gone = [number for number in found.lines if number >= first and number not in whole]
        hits = len([number for number in found.hits[kept:] if number not in whole])
        if hits < MIN_ELIDED:
            continue
        note = f"… [{hits} more hits in {path} elided] …" + ("\r" if lines[gone[0]].endswith("\r") else "")
        if utf8_bytes(note) >= sum(utf8_bytes(lines[number]) for number in gone):
            continue
        new.update(dict.fromkeys(gone))
        # The rulers between groups of lines go with the groups.
        new.update(dict.fromkeys(n for one in gone if (n := one - 1) > first and lines[n].rstrip() == "--"))
        new[gone[0]] = note
    return new


def matches(tool_name: str, output: str) -> bool:
    """True for a result with many hits that can be folded, or was folded before."""
    if tool_class(tool_name) not in ("search", "shell", ""):
        return False
    return holds_own_elision(output) or fold_hits(output) is not output


def matches_context(context: ToolContext) -> bool:
    """True for tools that search, and if a shell line does nothing but search and filter."""
    if context.tool_class == "search":
        return True
    commands = simple_commands(context.command)
    return any(map(_searches, commands)) and all(_searches(words) or words[0] in _FILTERS for words in commands)


def _searches(words: tuple[str, ...]) -> bool:
    return words[0] in _SEARCHERS or words[:2] == ("git", "grep")


RULE = CompactionRule("search-results", matches, fold_hits, matches_context, compact_knowing=fold_hits)
"""Source: README.md, P5."""
