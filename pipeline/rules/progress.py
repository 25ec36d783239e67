"""Text rule `progress`: bars, counters and spinners show their last state only."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_lines, failure_numbers
from pipeline.rules.noise import count, encoded, line_pattern
from pipeline.rules.overwritten import holds_overwritten, last_state, last_states
from pipeline.rules.tool_classes import tool_class

MIN_STATES = 3
"""So many states of one bar, on lines of their own, are a run."""

_SIZE = r"[0-9][0-9.,]* ?(?:[kKMGT]i?)?[bB]?"
_RATE = r"[0-9.]+[kMGTP]?"
_PART = rf"[0-9]{{1,3}} +{_RATE}"
_SPINNER = r"\xe2[\xa0-\xa3][\x80-\xbf]"
_BLOCK = r"(?:█|▉|▊|▋|▌|▍|▎|▏|▓|▒|░|■|□|━|╸|╺|─|●|○)"
# One state each, a whole line without its end.
_STATES = (
    # tqdm: 12%|███▌      | 12/100 [00:01<00:09,  9.81it/s]; without a total 12it [00:01, 9.8it/s]
    r"(?:[^|\n]{1,80}:? )? *[0-9]{1,3}(?:\.[0-9]+)?%\|[^|\n]*\|"
    r" *[0-9.,]+[kMGT]?i?B?/[0-9.,]+[kMGT]?i?B? *\[[^\n]*\][^\n]*",
    r"(?:[^|\n]{1,80}: )?[0-9.,]+[kMGT]?(?:it|B|ex|examples|files|rows) \[[0-9:]+, *[^\]\n]*/s[^\]\n]*\]",
    # wget: dots, and its bar
    r" *[0-9]+[KM]? (?:[.,]{10} ?| ){1,5} *(?:[0-9]{1,3}% *)?[0-9.,]*[KMG]?(?: [0-9dhms]+| *=[0-9.dhms]+)?",
    r"\S+ +[0-9]{1,3}%\[[=> +-]*\] *[0-9.,]+[KMG]?[^\n]*",
    # curl: the two lines of its heading, its meter, its bar
    r"  % Total    % Received % Xferd  Average Speed[^\n]*",
    r" {20,}Dload  Upload [^\n]*Speed",
    rf" *{_PART} +{_PART} +{_PART} +{_RATE} +{_RATE}(?: +[0-9dhm:-]+){{3}} +{_RATE}",
    r"[#=O -]{3,} *[0-9]{1,3}(?:\.[0-9])?%",
    # rsync, scp
    r" +[0-9][0-9,.]*[KMGT]? +[0-9]{1,3}% +[0-9.,]+[kKMG]?B/s +[0-9:]+(?: \([^()\n]*\))?",
    r"\S[^\n]* [0-9]{1,3}% +[0-9]+[KMG]?B? +[0-9.]+[KMG]?B/s +[0-9:-]+(?: ETA)?",
    # ffmpeg
    r"(?:frame= *[0-9]+ fps=[^\n]*|size= *[0-9]+[kKM]i?B time=[^\n]*) bitrate=[^\n]*",
    # keras
    rf" *[0-9]+/[0-9]+ (?:\[[=>.]+\]|{_BLOCK}+)[^\n]*",
    # bars of pip, rich and the like: with a share, or a part of a size or number
    rf"(?:[^\[\]\n]{{1,60}} )? *(?:{_BLOCK}){{4,}} *[^\n]*[0-9](?:%|/[0-9]|B/s)[^\n]*",
    rf"(?:[^\[\]\n]{{1,60}} )? *(?:\[|\|)(?:[=>#*. _-]|{_BLOCK}){{4,}}(?:\]|\|) *(?:[0-9.]+ ?%"
    rf"|[0-9.,]+ ?/ ?[0-9.,]+)[^\n]*",
    rf"(?:[^\[\]\n]{{1,60}} )? *(?:[0-9.]{{1,5}} ?%|[0-9]+/[0-9]+) *(?:\[|\|)(?:[=>#*. _-]|{_BLOCK}){{4,}}(?:\]"
    rf"|\|)[^\n]*",
    # a share of what is done; one alone may be an answer
    r" *[0-9]{1,3}(?:\.[0-9]+)? ?% (?:complete|completed|done|finished)\.?",
    r"(?i:(?:[a-z]+ ){0,3}(?:(?:down|up)load(?:ing|ed)?|progress|extracting|unpacking|copying|processing|fetching"
    r"|installing"
    rf"|receiving|sending|syncing|loading|indexing|encoding|uploading|exporting|importing|verifying|epoch)[^\n%/]{{0,60}}?"
    rf"(?:[0-9]{{1,3}}(?:\.[0-9]+)? ?%|{_SIZE} ?(?:/|of) ?{_SIZE}(?: \([0-9.]+ ?%\))?)\.*)",
    # spinners
    rf"{_SPINNER}(?: [^\n]*)?",
    r"[|/\\-]",
)
_LINE = r"^{}[ \t]*\r?$"
_STATE = line_pattern(_STATES, whole=_LINE)
_RUN = line_pattern(_STATES, whole=r"(?:^{}[ \t]*\r?\n){2,}(?:^{}[ \t]*\r?\z)?")
_SHARE = re.compile(r"[0-9] ?%")
_NAME_CHARS = 120

# Programs that print what is in files: a saved bar is content there.
_READERS = frozenset(
    {"cat", "head", "tail", "less", "more", "sed", "awk", "gawk", "grep", "egrep", "fgrep", "rg", "ag", "zcat", "zgrep"}
    | {
        "xxd",
        "hexdump",
        "od",
        "strings",
        "jq",
        "yq",
        "cut",
        "sort",
        "uniq",
        "wc",
        "tr",
        "find",
        "fd",
        "ls",
        "tree",
        "nl",
    }
    | {"bat", "column", "diff", "cmp", "echo", "printf", "tee", "stat", "file", "du", "df", "git", "journalctl", "tac"}
    | {"cd", "pushd", "popd", "export", "set", "test", "[", "true", "false", "sleep", "pwd", "mkdir", "read", "type"}
)
_GIT_TRANSFERS = frozenset({"clone", "fetch", "pull", "push", "submodule", "gc", "repack", "lfs", "checkout", "remote"})


def compact_progress(text: str, failing: Failing = failure_numbers) -> str:
    r"""Leave of each bar its last state.

    Of a line overwritten by carriage returns its last state stays, of a run of `MIN_STATES` and more states of one bar
    on lines of their own the last one, with their number: `<line>  (×N)`. All else, and every failure, stays as it is.

    Args:
        text: a tool output; lines end at "\n", a "\r" before it stays.
        failing: finds the failures.

    Returns:
        The shorter text; the text itself when no bar was overwritten.
    """
    if not _may_hold(text):
        return text
    whole = frozenset(failing(text))
    short = _last_of_runs(last_states(text, whole), whole)
    return short if len(short) < len(text) else text


def _may_hold(text: str) -> bool:
    if holds_overwritten(text):
        return True
    return count(_STATE, encoded(strip_colours(text)), MIN_STATES) == MIN_STATES


def _last_of_runs(text: str, whole: Collection[int]) -> str:
    """Each run of states on lines of their own as its last line with a count."""
    plain = strip_colours(text)
    data = encoded(plain)
    lines: list[str] = []
    bare: list[str] = []
    drop: set[int] = set()
    at = number = 0
    for match in _RUN.finditer(data):
        start, end = match.span()
        number += data.count(b"\n", at, start)
        at = start
        if not lines:
            lines, bare = text.split("\n"), plain.split("\n")
        stop = number + data.count(b"\n", start, end) + (0 if data[end - 1 : end] == b"\n" else 1)
        _fold_run(lines, bare, range(number, stop), whole, drop)
    if not drop:
        return text
    return "\n".join(line for number, line in enumerate(lines) if number not in drop)


def _fold_run(lines: list[str], bare: list[str], run: range, whole: Collection[int], drop: set[int]) -> None:
    """Mark the states to drop in one run, bar by bar, and count them behind the last one of each."""
    start = run.start
    for number, following in pairwise((*run, run.stop)):
        if number in whole:
            start = following
        elif following == run.stop or following in whole or _bar(bare[following]) != _bar(bare[number]):
            _fold_bar(lines, range(start, following), drop)
            start = following


def _fold_bar(lines: list[str], states: range, drop: set[int]) -> None:
    suffix = _suffix([lines[number] for number in states])
    if suffix:
        last = lines[states.stop - 1]
        body = last.rstrip("\r")
        lines[states.stop - 1] = body + suffix + last[len(body) :]
        drop.update(states[:-1])


def _suffix(states: list[str]) -> str:
    """The count for the states of one bar; "" when they are too few, or no longer than their count."""
    suffix = f"  (×{len(states)})"
    # "×" has two bytes.
    worth = sum(map(len, states[:-1])) + len(states) - 1 > len(suffix) + 1
    return suffix if len(states) >= MIN_STATES and worth else ""


def _bar(line: str) -> str:
    """What is the same in all states of one bar: its words, and a number with a colon before the share (`1/10:`)."""
    share = _SHARE.search(line)
    behind = line.find(" ", share.start()) if share is not None else 0
    words = line[:_NAME_CHARS].split()
    before = len(line[: max(0, behind)].split())
    return " ".join(
        word.partition("=")[0]
        for at, word in enumerate(words)
        if word[0].isalpha() or (at < before and word[-1] == ":")
    )


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell in which a bar was overwritten, or stands on lines of its own."""
    if tool_class(tool_name) != "shell":
        return False
    if holds_overwritten(output) and any(
        "\r" in line and len(last_state(line)) < len(line) and not failure_lines(line) for line in output.split("\n")
    ):
        return True
    plain = strip_colours(output)
    for match in _RUN.finditer(encoded(plain)):
        states = match[0].decode("utf-8", "replace").rstrip("\n").split("\n")
        bar = _bar(states[0])
        same = next((at for at, state in enumerate(states) if _bar(state) != bar), len(states))
        if _suffix(states[:same]):
            return True
    return False


def matches_context(context: ToolContext) -> bool:
    """True if the tool is a shell and the command, as far as it is known, does more than to print files."""
    if context.tool_class not in ("shell", ""):
        return False
    if not context.command:
        return True
    return any(_works(words) for words in simple_commands(context.command))


def _works(words: tuple[str, ...]) -> bool:
    if words[0] == "git":
        return not _GIT_TRANSFERS.isdisjoint(words[1:2])
    return words[0] not in _READERS


RULE = CompactionRule("progress", matches, compact_progress, matches_context, compact_knowing=compact_progress)
