"""Text rule `git-log`: logs without blank lines and trailers, transfers without their counters."""

from __future__ import annotations

import re
from collections.abc import Collection

from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import runs
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise_rule import drop_noise, has_shape, noise_list
from pipeline.rules.tool_classes import tool_class

NOUN = "git progress lines"
MIN_COMMITS = 2
"""A log has so many commits."""

_REMOTE = r"(?:remote: )?"
_SHARE = r" *[0-9]{1,3}% \([0-9]+/[0-9]+\)[^\n]*"
_NOISES = noise_list(
    NOUN,
    (
        rf"{_REMOTE}(?:Counting objects|Compressing objects|Receiving objects|Resolving deltas|Writing objects"
        rf"|Unpacking objects|Updating files|Checking out files|Finding sources|Getting sizes"
        rf"|Expanding reachable commits"
        rf" in commit graph|Filtering content|Removing duplicate objects|Refresh index|Checking objects):{_SHARE}",
        rf"{_REMOTE}(?:Enumerating|Counting) objects: [0-9]+(?:, done\.)?",
        rf"{_REMOTE}Total [0-9]+ \(delta [0-9]+\), reused [0-9]+ \(delta [0-9]+\)[^\n]*",
        r"Delta compression using up to [0-9]+ threads?\.?",
        r"remote:",
    ),
    signs=(
        r"Cloning into '[^\n]+'\.\.\.",
        r"(?:From|To) \S+[:/]\S+",
        r" [ *+!=-] (?:\[[a-z ]+\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}) +\S+ +-> \S+[^\n]*",
        r"   [0-9a-f]{7,40}\.\.[0-9a-f]{7,40} +\S+ +-> \S+",
        r"Updating [0-9a-f]{7,40}\.\.[0-9a-f]{7,40}",
        r"remote: [^\n]+",
    ),
)

_COMMIT = re.compile(r"commit [0-9a-f]{7,64}(?: \([^\n]*\))?$")
_ANY_COMMIT = re.compile(r"^commit [0-9a-f]{7,64}(?: \([^\n]*\))?\r*$", re.MULTILINE)
_HEADER = re.compile(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge|Reflog|Reflog message|Tag|Tagger): ")
_INDENT = "    "
# Who looked at a commit or wrote it along; what it fixes, or where it was discussed, says more and stays.
_TRAILER = re.compile(
    r" {4}(?:(?:signed-off|co-authored|reviewed|acked|tested|approved|reported|suggested|co-developed|committed)-by|cc"
    r"|change-id|signed-by|tested|approved): (?:[^\n]*@|I[0-9a-f]{40}$)",
    re.IGNORECASE,
)

_LOGS = ("git log", "git show", "git whatchanged", "git reflog", "git rev-list")
_TRANSFERS = (
    *("git clone", "git fetch", "git pull", "git push", "git submodule", "git checkout", "git switch", "git merge"),
    *(
        "git rebase",
        "git gc",
        "git repack",
        "git remote",
        "git lfs",
        "git reset",
        "git worktree",
        "git bundle",
        "git fsck",
    ),
    *("gh repo", "gh pr", "hub clone", "repo sync"),
)


def compact_git_log(text: str, failing: Failing = failure_numbers) -> str:
    """Drop what a log or a transfer says without need.

    From `git log` in its medium and full formats go blank lines and trailers such as `Signed-off-by:`; hashes stay
    whole, as they are what a commit is called by. Diffs and lists of files below a message stay byte for byte: also
    their `index` lines, which `git apply --3way` and binary patches need. Counters of transfers become one line.

    Returns:
        The shorter text, without colour codes where a log was shortened; the text itself when it holds neither.
    """
    short = drop_noise(text, _NOISES, failing)
    plain = strip_colours(short)
    if len(_ANY_COMMIT.findall(plain)) < MIN_COMMITS:
        return short
    log = _without_blanks(plain, frozenset(failing(short)))
    return log if len(log) < len(plain) else short


def _without_blanks(plain: str, whole: Collection[int]) -> str:
    """Drop blank lines and trailers between a commit's first line and what follows its message."""
    kept: list[str] = []
    in_message = False
    lines = plain.split("\n")
    last = len(lines) - 1
    for number, line in enumerate(lines):
        bare = line.rstrip()
        if _COMMIT.match(bare) is not None:
            in_message = True
        elif in_message and number < last:
            if not bare or (number not in whole and _TRAILER.match(bare) is not None):
                continue
            in_message = line.startswith(_INDENT) or _HEADER.match(line) is not None
        kept.append(line)
    return "\n".join(kept)


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that starts as a log with blanks, or as a transfer."""
    if tool_class(tool_name) not in ("shell", ""):
        return False
    return _is_log(strip_colours(output)) or has_shape(tool_name, output, _NOISES)


def _is_log(plain: str) -> bool:
    first = next((line.rstrip() for line in plain.split("\n", 4)[:4] if line.strip()), "")
    if _COMMIT.match(first) is None or len(_ANY_COMMIT.findall(plain)) < MIN_COMMITS:
        return False
    return _without_blanks(plain, ()) != plain


def matches_context(context: ToolContext) -> bool:
    """True if the command shows a log or moves objects, or if no command is known."""
    return not context.command or runs(context.command, *_LOGS, *_TRANSFERS)


RULE = CompactionRule("git-log", matches, compact_git_log, matches_context, compact_knowing=compact_git_log)
