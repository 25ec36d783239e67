"""What Gemini CLI showed of a result: its text, a changed file, matches, or lines of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.formats.base import Call
from pipeline.formats.blocks import SHORTEST_COPY_CHARS
from pipeline.formats.repeats import stands_in
from pipeline.records import Json, Path, Site, Treat

# What fields hold that repeat no text of a result.
_FIELDS = {
    "originalContent": Treat.FILE,
    "newContent": Treat.FILE,
    # A new file is in its diff once more, line by line.
    "fileDiff": Treat.FILE,
    "todos": Treat.COPY_ONLY,
    "recentActivity": Treat.COPY_ONLY,
}
# Names and sizes: never a copy worth a look.
_LEFT_ALONE = frozenset({"fileName", "filePath", "diffStat", "agentName"})
# Lists that the text of a search or listing repeats line by line.
_LISTS = frozenset({"matches", "files"})
_LIST_CLASSES = frozenset({"search", "list", "read"})
# How the text of a search numbers a line.
_LINE_NUMBER = re.compile(r"^L\d{1,10}: ?")


def display_sites(display: Json, path: Path, call: Call, text: str) -> Iterator[Site]:
    """Sites of a `resultDisplay`, in document order.

    Args:
        display: its value, a string, an object, or a list.
        path: where it lies.
        call: the call, with error flag and exit code of its result.
        text: the visible text of the result.
    """
    if isinstance(display, str):
        yield from _text_sites("", display, path, call, text)
    elif isinstance(display, list):
        yield from _list_sites("", display, path, call, text)
    elif isinstance(display, dict):
        for key, value in display.items():
            here = (*path, key)
            if key in _LISTS and isinstance(value, list) and value and _repeats_lines(value, text):
                yield Site(here, value, Treat.CONTAINED, call.tool, call.context)
            else:
                yield from _field_sites(key, value, here, call, text)


def _field_sites(key: str, value: Json, path: Path, call: Call, text: str) -> Iterator[Site]:
    """Walk one field (the decoder bounds the depth)."""
    if key in _LEFT_ALONE:
        return
    if isinstance(value, str):
        yield from _text_sites(key, value, path, call, text)
    elif isinstance(value, list):
        yield from _list_sites(key, value, path, call, text)
    elif isinstance(value, dict):
        for name, field in value.items():
            yield from _field_sites(name, field, (*path, name), call, text)


def _text_sites(key: str, value: str, path: Path, call: Call, text: str) -> Iterator[Site]:
    if len(value) > SHORTEST_COPY_CHARS:
        treat = _FIELDS.get(key, Treat.MIRROR)
        if treat is Treat.MIRROR and stands_in(value, text):
            treat = Treat.CONTAINED
        yield Site(path, value, treat, call.tool, call.context)


def _list_sites(key: str, values: list[Json], path: Path, call: Call, text: str) -> Iterator[Site]:
    """A list as a whole where it is one thing; else its elements."""
    if not values:
        return
    treat = _FIELDS.get(key)
    if treat is not Treat.COPY_ONLY:
        treat = _treat_of_list(key, values, call, text)
    if treat is not None:
        yield Site(path, values, treat, call.tool, call.context)
        return
    for index, value in enumerate(values):
        yield from _field_sites("", value, (*path, index), call, text)


def _treat_of_list(key: str, values: list[Json], call: Call, text: str) -> Treat | None:
    """The treatment of a list of strings, of matches, or of a terminal's lines; None for any other."""
    if all(isinstance(value, str) for value in values):
        return Treat.CONTAINED if stands_in("\n".join(map(str, values)), text) else Treat.LINES
    if all(isinstance(value, list) for value in values):
        return Treat.CONTAINED if stands_in(_terminal_text(values), text) else Treat.COPY_ONLY
    return Treat.LINES if key in _LISTS and call.context.tool_class in _LIST_CLASSES else None


def _terminal_text(lines: list[Json]) -> str:
    """The text of lines that are lists of tokens with text and colours."""
    shown: list[str] = []
    for line in lines:
        tokens = line if isinstance(line, list) else []
        texts = (token.get("text") for token in tokens if isinstance(token, dict))
        shown.append("".join(part for part in texts if isinstance(part, str)).rstrip())
    return "\n".join(shown)


def _repeats_lines(values: list[Json], text: str) -> bool:
    """True if the line of each match, or each name, is a line of the text, blanks around it and its number aside."""
    lines = {_LINE_NUMBER.sub("", line.strip()).strip() for line in text.split("\n")}
    for value in values:
        line = value.get("line") if isinstance(value, dict) else value
        if not isinstance(line, str) or line.strip() not in lines:
            return False
    return True
