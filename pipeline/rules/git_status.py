"""Text rule `git-status`: the status report without git's hints, long file lists grouped by folder."""

from __future__ import annotations

import re

from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import CompactionRule, ToolContext
from pipeline.rules.commands import runs
from pipeline.rules.tool_classes import tool_class

LONG_LIST = 12
"""Files with one label and section; a longer list is grouped by folder."""
MIN_GROUP = 3
HEAD_LINES = 5
"""A report starts in the first lines of an output, or is most of it."""

_HEADER = re.compile(r"On branch \S+$|HEAD detached (?:at|from) \S+$|Not currently on any branch\.$|## \S.*$")
_HEADER_STARTS = ("O", "H", "N", "#")
_ANY_HEADER = re.compile(r"^(?:On branch |HEAD detached |Not currently |## )", re.MULTILINE)
_SHORT_HEADER = "## "
_HINT = re.compile(
    r"""[ ]{2,}\((?:use[ ]"git[ ][^\n]*|commit[ ]or[ ]discard[ ]the[ ]untracked[^\n]*)\)$
      |(?:no[ ]changes|nothing)[ ]added[ ]to[ ]commit[ ][^\n]*\)$
      |It[ ]took[ ][0-9.,]+[ ]seconds[ ]to[ ]enumerate[ ]untracked[ ]files\.[^\n]*$
      |'status[ ]-uno'[ ]may[ ]speed[ ]it[ ]up[^\n]*$
      |new[ ]files[ ]yourself[ ]\(see[ ]'git[ ]help[ ]status'\)\.$
      |See[ ]'git[ ]help[ ]status'[ ]for[ ]information[ ]on[ ]how[ ]to[ ]improve[ ]this\.$""",
    re.VERBOSE,
)
_SECTION = re.compile(
    r"(?:Changes to be committed|Changes not staged for commit|Changed but not updated|Untracked files|Ignored files"
    r"|Unmerged paths|Submodules changed but not updated|Submodule changes to be committed):$"
)
_CLEAN = re.compile(r"nothing to commit")
_SENTENCE = re.compile(
    r"""Your[ ](?:branch|stash)[ ]|You[ ](?:have|are)[ ]|All[ ]conflicts[ ]fixed|No[ ]commits[ ]yet|Initial[ ]commit
      |and[ ]have[ ][0-9]+[ ]and[ ][0-9]+[ ]different|interactive[ ]rebase[ ]in[ ]progress|Last[ ]commands?[ ]done
      |Next[ ]commands?[ ]to[ ]do|No[ ]commands[ ](?:done|remaining)|[ ]{3}(?:pick|edit|reword|squash|fixup|drop)[ ]
      |[ ]{2}\((?:fix|all)[ ]conflicts|Revert[ ]currently|Cherry-pick[ ]currently|Untracked[ ]files[ ]not[ ]listed
      |Splitting[ ]a[ ]commit""",
    re.VERBOSE,
)
_ENTRY = re.compile(r"(\t| {8})(?:([a-z][a-z ]{2,20}:[ ]+))?(\S.*)$")
_SHORT_ENTRY = re.compile(r"()([ MADRCTU?!]{2} )(\S.*)$")
_UNMERGED = re.compile(r"both |added by |deleted by |unmerged|[DAU]U |U[DA] |AA |DD ")
_GROUPED = re.compile(r".*… \([0-9]+ files\)$")


def compact_git_status(text: str) -> str:
    """Drop hints and blank lines of `git status` reports and group long file lists by folder.

    Lines about conflicts, a diverged branch, a merge or rebase in progress stay, and so does every unmerged file and
    everything outside of a report, byte for byte.

    Returns:
        The shorter text; the text itself when it holds no report.
    """
    raw, lines, reports = _reports(text)
    if not reports:
        return text
    out: list[str] = []
    done = 0
    for start, end in reports:
        out += raw[done:start]
        out += _short_report(raw, lines, start, end)
        done = end
    out += raw[done:]
    return "".join(out)


def _reports(text: str) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """The lines with their ends, without them and colours, and where reports start and end in them."""
    if not _may_hold_report(text):
        return [], [], []
    lines = text.split("\n")
    raw = [line + "\n" for line in lines]
    raw[-1] = lines[-1]
    if not raw[-1]:
        raw.pop()
        lines.pop()
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
    if "\x1b" in text or "[" in text:
        lines = [strip_colours(line) if "[" in line or "\x1b" in line else line for line in lines]
    reports: list[tuple[int, int]] = []
    at = 0
    while at < len(raw):
        end = _report_end(lines, at) if lines[at][:1] in _HEADER_STARTS and _HEADER.match(lines[at]) else at
        if end > at:
            reports.append((at, end))
        at = max(end, at + 1)
    return raw, lines, reports


def _may_hold_report(text: str) -> bool:
    """Whether a line may be the header of a report; colours can hide where it starts."""
    if "On branch " not in text and "HEAD detached" not in text and "## " not in text and "Not currently" not in text:
        return False
    return "\x1b" in text or "[" in text or _ANY_HEADER.search(text) is not None


def _report_end(lines: list[str], start: int) -> int:
    """The end of the report that starts here; `start` when it is none."""
    short = lines[start].startswith(_SHORT_HEADER)
    at, signs = start + 1, 0
    last = at
    while at < len(lines):
        line = lines[at]
        if signs and not short and line[:1] == "\t" and _ENTRY.match(line):
            pass
        elif short:
            if not _SHORT_ENTRY.match(line):
                break
            signs += 1
        elif _SECTION.match(line) or _CLEAN.match(line) or (_HINT.match(line) and not line.startswith(" ")):
            signs += 1
        elif line and not (_HINT.match(line) or _SENTENCE.match(line) or (signs and _ENTRY.match(line))):
            break
        at += 1
        if line:
            last = at
    return last if signs else start


def _short_report(raw: list[str], lines: list[str], start: int, end: int) -> list[str]:
    out: list[str] = []
    short = lines[start].startswith(_SHORT_HEADER)
    pattern = _SHORT_ENTRY if short else _ENTRY
    at = start
    while at < end:
        line = lines[at]
        entry = pattern.match(line) if at > start else None
        if entry is None:
            if at == start or (line and not _HINT.match(line)):
                out.append(line + _line_end(raw[at]))
            at += 1
            continue
        label = entry[2] or ""
        entries = [entry]
        stop = at + 1
        while stop < end and (other := pattern.match(lines[stop])) and (other[2] or "") == label:
            entries.append(other)
            stop += 1
        if stop - at > LONG_LIST and not _UNMERGED.match(label):
            out += _grouped(raw[at:stop], entries)
        else:
            out += [kept.string + _line_end(whole) for kept, whole in zip(entries, raw[at:stop], strict=True)]
        at = stop
    return out


def _grouped(raw: list[str], entries: list[re.Match[str]]) -> list[str]:
    """Entries of one label: folders with several of them become one line."""
    folders: list[str] = []
    count: dict[str, int] = {}
    for entry in entries:
        path = entry[3]
        folder = path.rstrip("/").rpartition("/")[0]
        # Renames name two paths, quotes hide a space or an odd character: such lines stay.
        if folder and (" -> " in path or '"' in path or _aside(path) or ("…" in path and _GROUPED.match(path))):
            folder = ""
        folders.append(folder)
        if folder:
            count[folder] = count.get(folder, 0) + 1
    out: list[str] = []
    told: set[str] = set()
    for whole, entry, folder in zip(raw, entries, folders, strict=True):
        if count.get(folder, 0) < MIN_GROUP:
            out.append(entry.string + _line_end(whole))
        elif folder not in told:
            told.add(folder)
            out.append(f"{entry[1]}{entry[2] or ''}{folder}/… ({count[folder]} files){_line_end(whole)}")
    return out


def _aside(path: str) -> bool:
    """True for entries with a note behind the path, such as a changed submodule."""
    return path.endswith(")") and " (" in path


def _line_end(raw: str) -> str:
    return "\r\n" if raw.endswith("\r\n") else "\n" if raw.endswith("\n") else ""


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that opens with a status report, or mostly is one."""
    if tool_class(tool_name) not in ("shell", ""):
        return False
    _, lines, reports = _reports(output)
    inside = sum(1 for start, end in reports for line in lines[start:end] if line)
    if inside < 2:
        return False
    return reports[0][0] <= HEAD_LINES or 2 * inside > sum(1 for line in lines if line)


def matches_context(context: ToolContext) -> bool:
    """True if the command runs `git status`, or if no command is known."""
    return not context.command or runs(context.command, "git status")


RULE = CompactionRule("git-status", matches, compact_git_status, matches_context)
