"""Text rule `linters`: findings without progress and repeated links; the same finding in one file is counted."""

from __future__ import annotations

import re
from collections.abc import Collection

from pipeline.rules import packages
from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise import count, encoded, line_pattern
from pipeline.rules.noise_rule import drop_noise, holds_own_elision, noise_list
from pipeline.rules.sameness import FOLD_SUFFIX
from pipeline.rules.task_names import names_task, program_of, task_word
from pipeline.rules.tool_classes import tool_class

NOUN = "lint progress lines"
MIN_SAME = 3
"""So many findings that say the same of one file are counted instead."""
MIN_FINDINGS = 3
WORTH = 0.05
"""A gain below this fraction is none: the findings stay as they are, so that no other rule shortens them."""

NOISE = (
    # pre-commit, lint-staged
    r"\S[^\n]*\.{3,}(?:\([^()\n]*\))?(?:Passed|Skipped)",
    r"\[INFO\] (?:Initializing environment for|Installing environment for|Once installed this|This may take) ?[^\n]*",
    r" *(?:\[(?:STARTED|COMPLETED|SKIPPED|SUCCESS)\]|❯|✔|↓) (?:Preparing|Running tasks|Applying modifications"
    r"|Cleaning up"
    r"|Backed up|Updating|lint-staged|\S+ — [0-9]+ files?|\*)[^\n]*",
    # prettier, black, mypy, golangci-lint, rubocop -d
    r"\S+\.[a-z]{1,6} [0-9]+ms \(unchanged\)(?: \(cached\))?",
    r"\S+ (?:already well formatted|wasn't modified on disk since last run)[^\n]*",
    r"(?:LOG|TRACE):  [^\n]+",
    r"INFO \[[a-z_/]+\] [^\n]+",
    r"level=(?:info|debug) msg=[^\n]*",
    r"Inspecting [0-9]+ files?|Scanning \S+",
)
# Between steps only: alone they part what stays.
_SEPARATORS = (r"(?:-|=|_|\*|~|━|─|═){10,}",)
_NOISES = noise_list(NOUN, NOISE, also=(*_SEPARATORS, *packages.NOISE))

# A path has a suffix or a folder: `2026-01-12 09:40:00` is none.
_PATH = r"(?:[A-Za-z]:)?[^\s:]*(?:\.[A-Za-z]\w{0,9}|[/\\][^\s:]+)"
_AT = rf"{_PATH}:[0-9]+"
_FINDING = (
    rf"{_AT}:[0-9]+(?:-[0-9]+)?:? +(?:-|\[?[A-Za-z]+[0-9]*\]?:?|\S)[^\n]*",
    rf"{_AT}: (?:(?:error|warning|note|info|style):|[A-Z]+[0-9]+:?) [^\n]*",
    # Python and TypeScript with their places in brackets
    r"\S+\([0-9]+(?:,[0-9]+)?\): (?:error|warning|info)[: ][^\n]*",
    rf"{_AT}: \[?[A-Z]+[0-9]*[\]:][^\n]*",
    r" +[0-9]+:[0-9]+ +(?:warning|error|info|✖|⚠|×|[A-Z]+[0-9]+) +[^\n]+",
    r"(?:error|warning)(?:\[[A-Za-z0-9_:-]+\])?: [^\n]+",
    r"[A-Z]+[0-9]{3,4} (?:\[\*\] )?[^\n]+",
    rf" *--> {_AT}(?::[0-9]+)?",
)
_AROUND = (
    r"[~./\w-]+\.[a-z]{1,6}:?",
    r" *[0-9]* *\|[^\n]*",
    r"(?:\t| {2,})[ \t~^]*\^[~^ \t-]*",
    r" *= (?:help|note): [^\n]+",
    r"help: [^\n]+",
    r"\*{5,} Module [^\n]+",
    r"Found [0-9]+ (?:errors?|fixable)[^\n]*",
    r"✖ [0-9]+ problems?[^\n]*",
)
_LINE = r"^{}[ \t]*\r?$"
_FINDINGS = line_pattern(_FINDING, whole=_LINE)
_NOISE_LINES = line_pattern(NOISE, whole=_LINE)
_KNOWN = line_pattern((*_FINDING, *_AROUND, *NOISE, *packages.CARGO), whole=_LINE)
_FILLED_LINE = re.compile(r"^[ \t]*[^\s]", re.MULTILINE)

_PLACED = re.compile(r"((?:[A-Za-z]:)?[^\s:]++):[0-9]+(?::[0-9]+(?:-[0-9]+)?)?:? (.+)")
_STYLISH = re.compile(r"\s+[0-9]+:[0-9]+\s+((?:warning|error|info|✖|⚠|×|[A-Z]+[0-9]+)\s.+)")
_LINK = re.compile(r"https?://\S+")
_NOTE = re.compile(r"\s*(?:= )?(?:help|note|hint|info|see|for more|for further|docs?)\b", re.IGNORECASE)
# A number alone; one in quotes or joined to a word may be a name.
_NUMBER = re.compile(r"(?<![\w.'\"`])[0-9]+(?![\w.'\"`])")

_PROGRAM_NAMES = (
    "eslint ruff flake8 mypy dmypy pylint golangci-lint pyright basedpyright biome oxlint stylelint prettier"
    " black isort pre-commit prek lint-staged shellcheck rubocop standardrb staticcheck revive ktlint detekt"
    " swiftlint hadolint yamllint markdownlint markdownlint-cli2 vale bandit tslint jshint standard xo tsc vue-tsc"
    " pyflakes pycodestyle pydocstyle ty actionlint clang-tidy cppcheck cpplint phpstan psalm phpcs luacheck"
    " sqlfluff ansible-lint semgrep codespell typos vulture checkov tflint buf knip"
)
_PROGRAMS = frozenset(_PROGRAM_NAMES.split())
_SUBCOMMANDS = frozenset({("cargo", "clippy"), ("cargo", "check"), ("cargo", "fmt"), ("go", "vet"), ("ng", "lint")})
_TASK = task_word("lint", "lints", "linters?", "fmt", "format", "style", "typecheck", "types?", "type-check", "eslint")
_CHECK = task_word("check", "checks", "clippy", "ruff", "mypy", "tsc", "analyze", "validate", "precommit", "pre-commit")


def compact_lint_output(text: str, failing: Failing = failure_numbers) -> str:
    """Shorten the output of linters and type checkers; no finding is lost.

    Findings that say the same of one file, and are no failures (README.md, P4), become the first of them with their
    number, `<line>  (×N)`, as do notes with the same link; steps without findings go.

    Returns:
        The shorter text; the text itself when it would not be shorter by `WORTH`.
    """
    if holds_own_elision(text, _NOISES):
        return text
    short = _fold(strip_colours(text), frozenset(failing(text)))
    short = drop_noise(short, _NOISES, failing)
    return short if len(short) <= (1 - WORTH) * len(text) else text


def _fold(text: str, whole: Collection[int]) -> str:
    lines = text.split("\n")
    groups: dict[tuple[str, str], list[int]] = {}
    drop: set[int] = set()
    place = ""
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if line[:1].strip():
            place = line
        key = _key(line.rstrip(), place)
        if key is None:
            continue
        if FOLD_SUFFIX.search(line) is not None:
            # Counted before: a second count would stand for less than there was.
            return text
        if number in whole or (key[0] != _ANYWHERE and number < last and _is_explained(lines[number + 1])):
            # Failures are one only when they are equal.
            key = (_EQUAL, line)
            if _LINK.search(line) is None:
                continue
        groups.setdefault(key, []).append(number)
    for (kind, _), numbers in groups.items():
        _count(lines, numbers, 2 if kind in (_EQUAL, _ANYWHERE) else MIN_SAME, drop)
    return "\n".join(line for number, line in enumerate(lines) if number not in drop) if drop else text


_ANYWHERE = "\n"
_EQUAL = "\n\n"


def _key(line: str, place: str) -> tuple[str, str] | None:
    """Where a finding or a note is, and what it says; None for other lines."""
    found = _PLACED.match(line)
    if found is not None and not any(sign in found[1] for sign in "./\\"):
        found = None
    path, message = (found[1], found[2]) if found is not None else (place, line)
    if _NOTE.match(message) is not None and _LINK.search(message) is not None:
        return _ANYWHERE, message
    if found is None:
        stylish = _STYLISH.match(line)
        if stylish is None:
            return None
        message = stylish[1]
    return path, _NUMBER.sub("0", message)


def _is_explained(following: str) -> bool:
    """Whether the line below a finding shows its code."""
    return following[:1] in (" ", "\t") and _STYLISH.match(following) is None


def _count(lines: list[str], numbers: list[int], least: int, drop: set[int]) -> None:
    """Put the count behind the first line of a group and drop the others, if that is shorter."""
    if len(numbers) < least:
        return
    first = lines[numbers[0]]
    suffix = f"  (×{len(numbers)})"
    if sum(len(lines[number]) + 1 for number in numbers[1:]) > len(suffix) + 1:
        body = first.rstrip("\r")
        lines[numbers[0]] = body + suffix + first[len(body) :]
        drop.update(numbers[1:])


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that mostly consists of findings with what belongs to them."""
    if tool_class(tool_name) not in ("shell", ""):
        return False
    plain = strip_colours(output)
    data = encoded(plain)
    if count(_FINDINGS, data, MIN_FINDINGS) + count(_NOISE_LINES, data, MIN_FINDINGS) < MIN_FINDINGS:
        return False
    return 2 * count(_KNOWN, data) > len(_FILLED_LINE.findall(plain))


def matches_context(context: ToolContext) -> bool:
    """True if the command runs a linter, a task or script called after one, or if no command is known."""
    if not context.command:
        return context.tool_class in ("shell", "")
    return any(_lints(words) for words in simple_commands(context.command))


def _lints(words: tuple[str, ...]) -> bool:
    if program_of(words) in _PROGRAMS or words[:2] in _SUBCOMMANDS:
        return True
    return names_task(words, _TASK) or names_task(words, _CHECK)


RULE = CompactionRule("linters", matches, compact_lint_output, matches_context, compact_knowing=compact_lint_output)
