"""Text rule `listing`: long listings of files keep their folders; of the files in one folder the first ones stay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.marks import utf8_bytes
from pipeline.rules.tool_classes import tool_class

LONG_LISTING = 40
"""A shorter listing stays, in entries."""
LONG_FOLDER = 12
"""More files in one folder are counted, in entries."""
KEPT_FILES = 6
"""Files of a long folder that stay."""
MAX_PATH_CHARS = 1000
BULK_FOLDERS = frozenset(
    {"node_modules", "bower_components", ".next", ".nuxt", ".yarn", ".pnpm", ".git", ".hg", ".svn", ".gradle", ".cache"}
    | {"__pycache__", "site-packages", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
"""Folders of which nobody reads the files; what is below one is counted together."""
_SUFFIXES_TOLD = 4

_ELIDED = re.compile(
    r"^[ \t\xa0│|`+├└─-]*… \[[0-9]{1,12} entries in [^\n]{1,1000} elided(?:: [^\n]{1,200})?\] …\r?$", re.MULTILINE
)
# `ls -l`, also of `find -ls`; its last field, a name, may hold spaces.
_LONG_ENTRY = re.compile(
    r"(?:[ \t]*[0-9]+[ \t]+[0-9.]+[KMG]?[ \t]+)?(?P<kind>[-bcdlps])[-rwxsStT]{9}[.+@]?[ \t]+[0-9]+"
    r"[ \t]+\S+[ \t]+\S+[ \t]+"
    r"[0-9.,]+[KMGTP]?[ \t]+(?:[A-Z][a-z]{2}[ \t]+[0-9]{1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[ \t]+[A-Z][a-z]{2})"
    r"[ \t]+(?:[0-9]{1,2}:[0-9]{2}(?::[0-9.]+)?(?:[ \t]+[+-][0-9]{4})?|[0-9]{4})[ \t]+(?P<path>\S[^\n]*?)/?\r?$"
)
_SIZED = re.compile(r"[0-9.]+[KMGTPB]?\t(?P<path>[^\t\n]+)$")
_TREE = re.compile(r"(?P<lead>(?:[│|`]?[ \xa0]{1,4}+)*+)(?P<branch>(?:├|└)─{1,2} |[|`+\\]-{2,3} )(?P<path>\S[^\n]*)$")
_HEADING = re.compile(r"(?P<path>[^\s:][^:\n]{0,400}):\r?$")
_PATH = re.compile(r"(?:[A-Za-z]:)?[^\s:*?\"<>|,;(){}\[\]=][^\t:*?\"<>|;{}=…]{0,400}$")
_SENTENCE = re.compile(r"(?<![^\s/])[^\s/]++ [^\s/]++ [^\s/]++ |[.!?] ")

_LISTERS = frozenset({"ls", "find", "fd", "fdfind", "tree", "du", "dir", "exa", "eza", "lsd"})
_FILTERS = frozenset(
    {"cd", "pwd", "head", "tail", "sort", "uniq", "cat", "echo", "true", "wc", "less", "more", "column"}
)
_PRINTING = ("-exec", "-ok", "-printf", "-x")
_LISTING_WORDS = (("git", "ls-files"), ("git", "ls-tree"), ("rg", "--files"), ("ag", "-g"))


@dataclass(slots=True)
class _Entry:
    """A line that names a file or folder: its number, where it is, its name, what stands before it in a tree."""

    number: int
    folder: str
    name: str
    is_folder: bool = False
    lead: str = ""
    is_long: bool = False


@dataclass(slots=True)
class _Listing:
    """What is known of a text that lists files."""

    entries: list[_Entry] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)
    headings: int = 0
    is_tree: bool = False


def fold_listing(text: str, failing: Failing = failure_numbers) -> str:
    r"""Count the files of long folders instead of naming them all.

    Understood are a path or name a line (`find`, `ls`, globs), `ls -l`, `ls -R`, `tree` and `du`. Of a folder with
    more than twelve files the first six stay and the rest becomes `… [N entries in FOLDER elided: N .suffix, ...] …`;
    what is below a folder such as node_modules becomes one such line. Other folders stay, and so does every line that
    is no entry.

    Args:
        text: output of a program that lists files; lines end at "\n".
        failing: finds the failures, which stay.

    Returns:
        The shorter text; the text itself when it is short, or folded before.
    """
    if text.count("\n") < LONG_LISTING or holds_own_elision(text):
        return text
    lines = text.split("\n")
    listing = _read(lines)
    if len(listing.entries) < LONG_LISTING or not _has_shape(lines, listing):
        return text
    whole = frozenset(failing(text))
    groups = _groups(listing, whole)
    new: dict[int, str | None] = {}
    for folder, entries in groups:
        first = entries[0]
        note = _note(folder, entries) + ("\r" if lines[first.number].endswith("\r") else "")
        if utf8_bytes(first.lead + note) >= sum(utf8_bytes(lines[entry.number]) + 1 for entry in entries) - 1:
            continue
        new.update(dict.fromkeys(entry.number for entry in entries))
        new[first.number] = first.lead + note
    if not new:
        return text
    kept = (new.get(number, line) for number, line in enumerate(lines))
    return "\n".join(line for line in kept if line is not None)


def _has_shape(lines: list[str], listing: _Listing) -> bool:
    """Whether most lines are entries, and names without a folder are sorted, as programs print them."""
    entries = listing.entries
    filled = sum(1 for line in lines if line and not line.isspace())
    if 5 * (len(entries) + listing.headings) < 4 * filled:
        return False
    if (
        listing.is_tree
        or listing.headings
        or any(entry.folder or entry.is_folder or entry.is_long for entry in entries)
    ):
        return True
    names = [entry.name.casefold().lstrip("._-[") for entry in entries]
    in_order = sum(one <= other for one, other in pairwise(names))
    return 20 * in_order >= 19 * (len(names) - 1) and len(set(names)) > 1


def holds_own_elision(text: str) -> bool:
    """Whether a listing was folded before."""
    return " elided" in text and _ELIDED.search(text) is not None


def _read(lines: list[str]) -> _Listing:
    """The entries of a listing; of its other lines nothing is known."""
    if any(_TREE.match(line) for line in lines[:LONG_LISTING]):
        return _read_tree(lines)
    listing = _Listing()
    section = ""
    for number, raw in enumerate(lines):
        line = raw.rstrip("\r")
        if not line:
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None and _is_path(heading["path"]):
            section = heading["path"].rstrip("/")
            listing.folders.add(section)
            listing.headings += 1
            continue
        entry = _entry(number, line, section)
        if entry is not None:
            listing.entries.append(entry)
            if entry.folder:
                listing.folders.add(entry.folder)
    return listing


def _read_tree(lines: list[str]) -> _Listing:
    """The entries of what `tree` printed: the length of what stands before a name tells how deep it is."""
    listing = _Listing(is_tree=True)
    # The folders above the next line, each with its depth.
    above: list[tuple[int, str]] = []
    for number, raw in enumerate(lines):
        line = raw.rstrip("\r")
        branch = _TREE.match(line)
        if branch is None:
            if line:
                above = [(-1, line.rstrip("/"))]
            continue
        depth = len(branch["lead"])
        while above and above[-1][0] >= depth:
            above.pop()
        folder = above[-1][1] if above else ""
        name = branch["path"].rstrip("/")
        if folder:
            listing.folders.add(folder)
        above.append((depth, f"{folder}/{name}" if folder else name))
        # A long path takes the place of what is above it, so that a deep tree costs no more than a flat one.
        if len(above[-1][1]) > MAX_PATH_CHARS:
            above[-1] = (depth, name)
        lead = branch["lead"] + branch["branch"]
        listing.entries.append(_Entry(number, folder, name, branch["path"].endswith("/"), lead))
    return listing


def _entry(number: int, line: str, section: str) -> _Entry | None:
    long = _LONG_ENTRY.match(line)
    if long is not None:
        is_folder = long["kind"] == "d"
        path = long["path"]
        if long["kind"] == "l" and " -> " in path:
            path = path.partition(" -> ")[0]
    else:
        sized = _SIZED.fullmatch(line)
        path = sized["path"] if sized is not None else line
        if not _is_path(path):
            return None
        is_folder = path.endswith("/")
    path = path.replace("\\", "/").rstrip("/")
    folder, slash, name = path.rpartition("/")
    if section:
        folder = f"{section}/{folder}" if slash else section
    elif slash and not folder:
        folder = "/"
    is_folder = is_folder or name in (".", "..")
    return _Entry(number, folder, name or path, is_folder, is_long=long is not None)


def _is_path(text: str) -> bool:
    """Whether a line is a path or a name rather than a sentence; a space is in a path only."""
    if _PATH.fullmatch(text) is None:
        return False
    return " " not in text or ("/" in text and _SENTENCE.search(text) is None)


def _groups(listing: _Listing, whole: frozenset[int]) -> Iterator[tuple[str, list[_Entry]]]:
    """The entries that are counted together, by the folder they are in."""
    bulk: dict[str, list[_Entry]] = {}
    plain: dict[str, list[_Entry]] = {}
    bulk_of: dict[str, str] = {}
    parents = {_ancestor for folder in listing.folders for _ancestor in _ancestors(folder)}
    for folder in {entry.folder for entry in listing.entries}:
        bulk_of[folder] = _bulk_folder(folder)
    below_each = Counter(bulk_of[entry.folder] for entry in listing.entries)
    for entry in listing.entries:
        if entry.number in whole:
            continue
        below = bulk_of[entry.folder]
        if 2 * below_each[below] > len(listing.entries):
            # It is what was asked for.
            below = ""
        path = f"{entry.folder.rstrip('/')}/{entry.name}" if entry.folder else entry.name
        if below:
            bulk.setdefault(below, []).append(entry)
        elif not entry.is_folder and path not in parents:
            plain.setdefault(entry.folder, []).append(entry)
    for folder, entries in bulk.items():
        if len(entries) > 1:
            yield folder, entries
    for folder, entries in plain.items():
        if len(entries) > LONG_FOLDER:
            yield folder, entries[KEPT_FILES:]


def _ancestors(folder: str) -> Iterable[str]:
    yield folder
    at = folder.rfind("/")
    while at > 0:
        yield folder[:at]
        at = folder.rfind("/", 0, at)


def _bulk_folder(folder: str) -> str:
    """The topmost folder of a path of which nobody reads the files; "" if it is in none."""
    steps = folder.split("/")
    at = next((at for at, step in enumerate(steps) if step in BULK_FOLDERS), -1)
    return "/".join(steps[: at + 1]) if at >= 0 else ""


def _note(folder: str, entries: list[_Entry]) -> str:
    counted = Counter(_suffix(entry.name) for entry in entries)
    told = [f"{times} {suffix}" for suffix, times in counted.most_common() if suffix][:_SUFFIXES_TOLD]
    kinds = f": {', '.join(told)}" if told else ""
    return f"… [{len(entries)} entries in {(folder or '.').rstrip('/')}/ elided{kinds}] …"


def _suffix(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return f".{suffix}" if stem and dot and suffix.isalnum() and len(suffix) <= 10 else ""


def matches(tool_name: str, output: str) -> bool:
    """True for a long listing that can be folded, or was folded before."""
    if tool_class(tool_name) not in ("list", "shell", "") or output.count("\n") < KEPT_FILES:
        return False
    return holds_own_elision(output) or fold_listing(output) is not output


def matches_context(context: ToolContext) -> bool:
    """True for tools that list, and if the last command of a line (or of a pipe into `head`, `sort`) lists files."""
    if context.tool_class == "list":
        return True
    commands = [words for words in simple_commands(context.command) if words[0] not in _FILTERS]
    return bool(commands) and all(_lists(words) for words in commands)


def _lists(words: tuple[str, ...]) -> bool:
    if words[0] in _LISTERS:
        # What `find` runs for each file prints what it likes.
        return words[0] not in ("find", "fd") or not any(word.startswith(_PRINTING) for word in words)
    return any(words[0] == program and word in words for program, word in _LISTING_WORDS)


RULE = CompactionRule("listing", matches, fold_listing, matches_context, compact_knowing=fold_listing)
"""Source: README.md, P5."""
