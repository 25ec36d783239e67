"""Rules of one's own, as a configuration gives them: which call, which shape, and which lines are noise."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import re2

from pipeline.rules.base import CompactionRule, ToolContext
from pipeline.rules.failures import failure_lines
from pipeline.rules.noise import encoded
from pipeline.settings import RuleSettings, RuleTest


class Problem(NamedTuple):
    """An inline test that did not give what it should: its number, from 1, what was needed and what came."""

    number: int
    need: str
    came: str


def compiled(pattern: str) -> re2._Regexp:
    """A pattern over UTF-8 bytes, in linear time; `^` and `$` are those of a line.

    Raises:
        ValueError: it is no pattern that the engine takes, such as one that looks around or back.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(f"(?m){pattern}".encode(), options)
    except re2.error as error:
        cause = error.args[0] if error.args else ""
        raise ValueError(cause.decode() if isinstance(cause, bytes) else str(cause)) from None


def rule_of(settings: RuleSettings) -> CompactionRule:
    """The rule that a [[rule]] table describes.

    Raises:
        ValueError: a pattern is none.

    Source: README.md, "Rules of your own".
    """
    command = compiled(settings.command) if settings.command else None
    shape = compiled(settings.shape) if settings.shape else None
    lines = _Lines(settings)

    def matches(tool_name: str, output: str) -> bool:
        return _is_one_of(tool_name, settings.tools) and (shape is None or shape.search(encoded(output)) is not None)

    def matches_context(context: ToolContext) -> bool:
        return command is None or command.search(encoded(context.command)) is not None

    return CompactionRule(settings.id, matches, lines.compact, matches_context)


def failed_tests(settings: RuleSettings) -> Iterator[Problem]:
    """The inline tests of a rule that fail. A test's `output` is what the rule makes of its `input`, without limits."""
    rule = rule_of(settings)
    for number, test in enumerate(settings.tests, 1):
        came = _tried(rule, test)
        if came != test.output:
            yield Problem(number, test.output, came)


def _tried(rule: CompactionRule, test: RuleTest) -> str:
    context = ToolContext(command=test.command)
    fits = rule.matches_context is None or rule.matches_context(context)
    return rule.compact(test.input) if fits and rule.matches(test.tool, test.input) else test.input


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


class _Lines:
    """What a rule does to the lines of a text. Failure lines and lines to keep stay as they are."""

    def __init__(self, settings: RuleSettings) -> None:
        self._keep = [compiled(pattern) for pattern in settings.keep]
        self._drop = [compiled(pattern) for pattern in settings.drop]
        self._fold = [compiled(pattern) for pattern in settings.fold]
        self._replace = [(compiled(pattern), encoded(new)) for pattern, new in settings.replace]

    def compact(self, output: str) -> str:
        failing = frozenset(encoded(line) for line in failure_lines(output))
        kept: list[bytes] = []
        dropped: list[bytes] = []
        folded: list[bytes] = []
        for line in encoded(output).split(b"\n"):
            bare = line.rstrip(b"\r")
            stays = line in failing or bare in failing or _finds(self._keep, bare)
            drops = not stays and _finds(self._drop, bare)
            folds = not stays and not drops and _finds(self._fold, bare)
            if not drops:
                kept += _elision(dropped)
                dropped = []
            if not folds:
                kept += _fold(folded)
                folded = []
            if drops:
                dropped.append(line)
            elif folds:
                folded.append(line)
            else:
                kept.append(line if stays else self._replaced(line))
        kept += (*_elision(dropped), *_fold(folded))
        return b"\n".join(kept).decode("utf-8", "surrogatepass")

    def _replaced(self, line: bytes) -> bytes:
        for pattern, new in self._replace:
            line = pattern.sub(new, line)
        return line


def _finds(patterns: list[re2._Regexp], line: bytes) -> bool:
    return any(pattern.search(line) is not None for pattern in patterns)


def _elision(lines: list[bytes]) -> list[bytes]:
    """The line in place of dropped ones, or they themselves where that is not shorter."""
    if not any(lines):
        return lines
    short = f"… [{len(lines)} lines elided] …".encode()
    return [short] if len(short) < sum(map(len, lines)) + len(lines) - 1 else lines


def _fold(lines: list[bytes]) -> list[bytes]:
    """The first of like lines with their count, or all where that is not shorter."""
    if len(lines) < 2:
        return lines
    short = lines[0] + f"  (×{len(lines)})".encode()
    return [short] if len(short) < sum(map(len, lines)) + len(lines) - 1 else lines
