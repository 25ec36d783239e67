"""Finds the session files of roots, folders, globs and single files."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.disk.globs import States, accepts, first_wild, follow, is_glob, starts
from pipeline.disk.packed import SUFFIXES, content_name
from pipeline.disk.sources import what_is
from pipeline.errors import UsageError
from pipeline.settings import RootSettings

OUT_LOCK = ".compactd.lock"
"""Lies in each output folder."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder (absolute, links resolved) with include patterns.

    Instead of those, `only` names single files below it, or `glob` is the part of a glob from its first wildcard on;
    files that appear later and fit it count, too.
    """

    path: str
    include: tuple[str, ...]
    format: str = "auto"
    only: frozenset[str] = frozenset()
    glob: str = ""

    @property
    def is_deep(self) -> bool:
        """Files may lie in folders below it."""
        return not self.only and (not self.glob or "/" in self.glob or "**" in self.glob)


@dataclass(frozen=True, slots=True)
class Found:
    """A source file: its root, its path below it, its full path and what `stat` said."""

    root: Root
    rel: str
    path: str
    size: int
    mtime_ns: int
    dev: int
    inode: int

    @property
    def is_packed(self) -> bool:
        """By its name it is compressed, so its size is not that of its content."""
        return self.rel.endswith(SUFFIXES)

    @property
    def named(self) -> bool:
        """Asked for by name or glob: it is processed even if its format is unknown."""
        return bool(self.root.only or self.root.glob)


def roots_of(targets: Sequence[RootSettings | str]) -> list[Root]:
    """The roots that targets stand for: a folder is one, a file's is its parent, a glob's the part without wildcard.

    Raises:
        UsageError: a PATH that is missing, or a glob that matches nothing.
    """
    include = RootSettings("").include
    roots: list[Root] = []
    for target in targets:
        if isinstance(target, RootSettings):
            path = os.path.expanduser(target.path)
            if not os.path.isdir(path):
                raise UsageError(f"root {target.path}: need a folder, it is {what_is(path)}")
            roots.append(Root(os.path.realpath(path), target.include, target.format))
        elif os.path.isdir(target):
            roots.append(Root(os.path.realpath(target), include))
        elif os.path.lexists(target):
            if not os.path.isfile(target):
                raise UsageError(f"{target}: need a file or folder, it is {what_is(target)}")
            folder, name = os.path.split(os.path.abspath(target))
            roots.append(Root(os.path.realpath(folder), include, only=frozenset({name})))
        elif is_glob(target):
            roots.append(_glob_root(target))
        else:
            raise UsageError(f"{target}: need a file, folder or glob, it is missing")
    return _merged(roots)


def scan(roots: Sequence[Root], *, skip: Iterable[str] = ()) -> Iterator[Found]:
    """Every candidate file of the roots, once each; where two roots hold it the longest root wins.

    `skip`: folders that are never entered (output and state). Folders that cannot be listed are passed over: what
    is not seen is unknown, not deleted.
    """
    hidden = inside(skip)
    taken: set[str] = set()
    for root in by_length(roots):
        for found in _scan_root(root, hidden):
            real = os.path.realpath(found.path)
            # A link or a named file may lead into a folder that no walk would enter.
            if real not in taken and not real.startswith(hidden) and not _has_plainer(found.path):
                taken.add(real)
                yield found


def by_length(roots: Iterable[Root]) -> list[Root]:
    """The roots in the order in which they may claim a file: the longest path first."""
    return sorted(roots, key=lambda root: (-len(root.path), root.path))


def scan_folder(root: Root, folder: str, *, skip: Iterable[str] = ()) -> list[Found]:
    """The candidate files in one folder of a root and below it; see `scan`."""
    if root.only:
        return []
    hidden = inside(skip)
    return [
        file
        for file in _scan_root(root, hidden, folder)
        if not os.path.realpath(file.path).startswith(hidden) and not _has_plainer(file.path)
    ]


def look_at(root: Root, rel: str) -> Found | None:
    """The file at a path below a root as it is now; None if it is no regular file (or gone)."""
    path = os.path.join(root.path, rel)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(root, rel, path, status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)


def wanted(root: Root, rel: str) -> bool:
    """Does the root's choice of files take this path?"""
    return _chooser(root)(rel) and not _has_plainer(os.path.join(root.path, rel))


def _has_plainer(path: str) -> bool:
    """A compressed file does not count beside the plain one, nor one kind of compression beside the one before it."""
    suffix = next((suffix for suffix in SUFFIXES if path.endswith(suffix)), None)
    if suffix is None:
        return False
    plain = content_name(path)
    return any(os.path.lexists(plain + other) for other in ("", *SUFFIXES[: SUFFIXES.index(suffix)]))


def _chooser(root: Root) -> Callable[[str], bool]:
    if root.only:
        return root.only.__contains__
    if root.glob:
        return lambda rel: accepts(root.glob, follow(root.glob, starts(root.glob), rel.split("/")))
    patterns = [_pattern(pattern) for pattern in root.include]
    return lambda rel: any(pattern.fullmatch(content_name(rel)) or pattern.fullmatch(rel) for pattern in patterns)


def inside(folders: Iterable[str]) -> tuple[str, ...]:
    """What the real paths of everything in these folders begin with."""
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)


def _scan_root(root: Root, hidden: tuple[str, ...], start: str = "") -> Iterator[Found]:
    if root.only:
        for rel in sorted(root.only):
            if (found := look_at(root, rel)) is not None:
                yield found
        return
    takes = _chooser(root)
    seen: set[tuple[int, int, States]] = set()
    folders = [start or root.path]
    # Links are followed last, so that what has a path of its own is found by it.
    links: deque[str] = deque()
    while folders or links:
        path = folders.pop() if folders else links.popleft()
        files = [path]
        if os.path.isdir(path):
            states = _states(root, path)
            below = path != (start or root.path)
            inner: list[str] = []
            files = []
            if states is not None:
                files, inner = _listed(path, hidden, states, seen, links, below=below)
            folders += reversed(inner)
        for file in files:
            rel = os.path.relpath(file, root.path)
            if takes(rel) and (found := look_at(root, rel)) is not None:
                yield found


def _states(root: Root, folder: str) -> States | None:
    """How far the root's glob leads in a folder; None if no file below can fit."""
    if not root.glob or folder == root.path:
        return starts(root.glob)
    return follow(root.glob, starts(root.glob), os.path.relpath(folder, root.path).split("/")) or None


def _listed(
    folder: str,
    hidden: tuple[str, ...],
    states: States,
    seen: set[tuple[int, int, States]],
    links: deque[str],
    *,
    below: bool,
) -> tuple[list[str], list[str]]:
    """The files and folders in a folder, sorted; none if it cannot be listed, is hidden, or was listed before.

    `below`: it was come upon, and not asked for.
    """
    try:
        status = os.stat(folder)
        key = (status.st_dev, status.st_ino, states)
        # A folder that was entered before in the same state is not entered again, so loops of links end.
        if key in seen or os.path.join(os.path.realpath(folder), "").startswith(hidden):
            return [], []
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        if below and any(entry.name == OUT_LOCK for entry in entries):
            # Another output folder: what it holds was compacted from elsewhere.
            return [], []
        seen.add(key)
        links += [entry.path for entry in entries if entry.is_symlink()]
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        files = [entry.path for entry in entries if not entry.is_symlink() and not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return [], []
    return files, folders


def _glob_root(target: str) -> Root:
    full = os.path.abspath(target)
    folder = full[: first_wild(full)].rpartition(os.sep)[0] or os.sep
    root = Root(os.path.realpath(folder), (), glob=full[len(folder.rstrip(os.sep)) + 1 :])
    if next(_scan_root(root, ()), None) is None:
        raise UsageError(f"{target}: need a glob that matches files, it matches none")
    return root


def _merged(roots: list[Root]) -> list[Root]:
    """Single files of one folder share a root; folders are one if they are searched for the same."""
    merged: dict[tuple[str, bool, str, tuple[str, ...], str], Root] = {}
    for root in roots:
        key = (root.path, bool(root.only), root.glob, root.include, root.format)
        known = merged.get(key)
        if known is None:
            merged[key] = root
        else:
            merged[key] = replace(known, only=known.only | root.only)
    return list(merged.values())


def _pattern(glob_pattern: str) -> re.Pattern[str]:
    """`**/` is any folders or none, `*` any characters but the separator, `?` one of them."""
    parts: list[str] = []
    at = 0
    while at < len(glob_pattern):
        if glob_pattern.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob_pattern[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif glob_pattern[at] == "?":
            parts.append("[^/]")
            at += 1
        else:
            parts.append(re.escape(glob_pattern[at]))
            at += 1
    return re.compile("".join(parts), re.DOTALL)
