"""Globs as people type them: `*`, `?` and `[...]` within one name, `**` for any folders; names with a dot are hidden.

A name is hidden from a wildcard, not from a pattern that begins with the dot itself. A path is followed a name at a
time through the states of its glob, which tell for a folder whether anything below it can still fit.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import TypeAlias

_WILD = re.compile(r"[*?\[]")
ANY_FOLDERS = "**"

States: TypeAlias = frozenset[int]
"""Which parts of the glob may come next; all parts were used when its length is among them."""


def is_glob(text: str) -> bool:
    """Is there a wildcard in it?"""
    return _WILD.search(text) is not None


def first_wild(text: str) -> int:
    """Where the first wildcard is; the length of the text if there is none."""
    found = _WILD.search(text)
    return found.start() if found else len(text)


def starts(glob: str) -> States:
    """The states before the first name."""
    return _closed(glob.split("/"), {0})


def follow(glob: str, states: States, names: Iterable[str]) -> States:
    """The states behind some more names of a path; none if no path that begins so fits."""
    parts = glob.split("/")
    for name in names:
        after: set[int] = set()
        for at in states:
            if at == len(parts):
                continue
            if parts[at] == ANY_FOLDERS:
                if not name.startswith("."):
                    after |= {at, len(parts)} if at == len(parts) - 1 else {at}
            elif _fits(name, parts[at]):
                after.add(at + 1)
        states = _closed(parts, after)
        if not states:
            break
    return states


def accepts(glob: str, states: States) -> bool:
    """True if a path that led to these states fits the whole glob."""
    return len(glob.split("/")) in states


def _fits(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, part)


def _closed(parts: list[str], states: set[int]) -> States:
    """With the states that are reached without a name: `**` may stand for no folder at all; at the end for any file."""
    for at in sorted(states):
        while at < len(parts) - 1 and parts[at] == ANY_FOLDERS:
            at += 1
            states.add(at)
    return frozenset(states)
