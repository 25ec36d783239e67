"""Text rule `test-output`: a test run without its passing tests; failures and the summary stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from pipeline.rules.ansi import strip_colours
from pipeline.rules.base import CompactionRule, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise import count, elide_runs, encoded, line_pattern
from pipeline.rules.tool_classes import tool_class

NOUN = "passing test lines"
HEAD_LINES = 12
"""A run opens with its runner's own lines, or consists mostly of them."""

_TIME = r"[ \t]*(?:[(\[]?<?[ ]?[0-9.,]+[ ]?(?:ns|us|µs|μs|ms|s|m|sec|seconds)\.?[)\]]?)?"
# Lines that say only that a test passed. Each stands for a whole line without its end.
_PASSES = (
    # pytest: dots of a file, of -q, and lines of -v, -rA and xdist.
    r"(?:\S+\.py(?:::\S+)?[ ]+)[.sx]+(?:[ ]+\[[ ]*[0-9]+%\])?",
    r"[.sx]+[ ]+\[[ ]*[0-9]+%\]",
    r"[.sx]{16,}",
    r"(?:\[gw[0-9]+\][ ]+)?(?:\[[ ]*[0-9]+%\][ ]+)?PASSED[ ]+\S+::[^\n]+",
    r"\S+::[^\n]*[ ]PASSED(?:[ ]+\[[ ]*[0-9]+%\])?",
    r"PASSED(?:[ ]+\[[ ]*[0-9]+%\])?",
    # unittest, cargo, deno: "name ... ok"
    rf"[ \t]*\S[^\n]*[ ]\.\.\.[ ]ok{_TIME}",
    # jest, vitest, mocha, node, ava, playwright
    # Below a heading, or with a time or a count of tests: other programs tick off, too.
    r"(?:[ ]{2,}|\t)(?:✓|✔|√)[ ]+[^\n]+",
    r"[ ]?(?:✓|✔|√)[ ]+[^\n]*(?:\([0-9.,]+[ ]?m?s\)|[ ][0-9.,]+[ ]?m?s|\([0-9]+[ ]tests?\b[^\n]*)",
    r"[ ]?PASS[ ]+\S+\.[cm]?[jt]sx?(?:[ ][^\n]*)?",
    # bun
    r"\(pass\)[ ][^\n]+",
    # go
    r"ok[ ]+\t[^\n]+",
    r"ok[ ]+\S+/\S+[ \t]+(?:[0-9.]+s|\(cached\))[^\n]*",
    r"\?[ ]+\t[^\n]+\[no test files\]",
    r"[ ]*---[ ]PASS:[ ]\S+[ ]\([0-9.]+s\)",
    r"===[ ](?:PAUSE|NAME)[ ]+\S+",
    # TAP, with the block of times that Node writes under a line
    r"[ ]*ok[ ][0-9]+\b[^\n]*(?:\r?\n[ ]+---(?:\r?\n[ ]+(?:duration_ms|type):[^\n]*)*\r?\n[ ]+\.\.\.)?",
    # GoogleTest, CTest
    r"\[[ ]+OK[ ]\][ ][^\n]+",
    r"\[-{10}\][^\n]*",
    r"[ ]*[0-9]+/[0-9]+[ ]Test[ ]+#[0-9]+:[ ][^\n]+[ ]Passed[ ]+[0-9.]+[ ]sec",
    # Gradle, Maven, dotnet, swift, PHPUnit
    r"\S[^\n]*[ ]>[ ][^\n]+[ ]PASSED",
    r"\[INFO\][ ]Tests[ ]run:[ ][0-9]+,[ ]Failures:[ ]0,[ ]Errors:[ ]0,[ ]Skipped:[ ][0-9]+,[ ]Time[ ]elapsed:[^\n]+",
    r"[ ]+Passed[ ]\S[^\n]*[ ]\[<?[ ]?[0-9][^\n]*\]",
    r"Test[ ]Case[ ]'[^\n]+'[ ]passed[ ]\([0-9.]+[ ]seconds\)\.?",
    r"\.{2,}[ ]+[0-9]+[ ]/[ ][0-9]+[ ]\([ ]*[0-9]+%\)",
)
# Lines that tell which test comes next: noise only when a passing line follows.
_ANNOUNCES = (
    r"===[ ](?:RUN|CONT)[ ]+\S+",
    r"[ ]*#[ ]Subtest:[ ][^\n]+",
    r"\[[ ]RUN[ ]+\][ ][^\n]+",
    r"[ ]+Start[ ]+[0-9]+:[ ][^\n]+",
    r"\[INFO\][ ]Running[ ]\S+",
    r"Test[ ]Case[ ]'[^\n]+'[ ]started[^\n]*",
)
# Lines that only a runner writes: its heading, its failures, its summary.
_SIGNS = (
    r"={3,}[ ](?:test[ ]session[ ]starts|FAILURES|ERRORS|short[ ]test[ ]summary[ ]info|warnings[ ]summary)[ ]={3,}",
    r"(?:={3,}[ ])?[0-9]+[ ](?:passed|failed|errors?|skipped)\b[^\n]*[ ]in[ ][0-9.]+s[^\n]*",
    r"collected[ ][0-9]+[ ]items?[^\n]*",
    r"(?:FAILED|ERROR|XFAIL|SKIPPED)[ ]\S+::[^\n]*",
    r"\S+::[^\n]*[ ](?:FAILED|ERROR|XFAIL|XPASS|SKIPPED)[^\n]*",
    r"(?:\S+\.py[ ]+)?[.sxXEF]+[ ]+\[[ ]*[0-9]+%\]",
    r"Ran[ ][0-9]+[ ]tests?[ ]in[ ][0-9.]+s",
    r"[^\n]+[ ]\.\.\.[ ](?:FAIL|ERROR|FAILED|ignored|skipped[^\n]*)",
    r"(?:Tests|Test[ ]Suites|Snapshots):[ ]+[0-9][^\n]*",
    r"[ ]*(?:Test[ ]Files|Tests)[ ]+[0-9]+[ ](?:passed|failed|skipped)[^\n]*",
    r"[ ]RUN[ ]+v[0-9][^\n]*",
    r"[ ]*(?:FAIL|❯)[ ]+\S+\.[cm]?[jt]sx?\b[^\n]*",
    r"[ \t]*(?:✕|✗|✘|×)[ ]+[^\n]+",
    r"[ ]+[0-9]+[ ](?:passing|failing|pending)\b[^\n]*",
    r"[ ]*---[ ](?:FAIL|SKIP):[ ]\S+[^\n]*",
    r"FAIL\t[^\n]+",
    r"running[ ][0-9]+[ ]tests?",
    r"test[ ]result:[ ][^\n]+",
    r"TAP[ ]version[ ][0-9]+",
    r"[ ]*not[ ]ok[ ][0-9]+\b[^\n]*",
    r"1\.\.[0-9]+",
    r"#[ ](?:tests|pass|fail|suites)[ ][0-9]+",
    r"\[(?:={10}|[ ]+PASSED[ ]+|[ ]+FAILED[ ]+)\][^\n]*",
    r"[0-9]+%[ ]tests[ ]passed,[^\n]*",
    r"\[(?:INFO|ERROR|WARNING)\][ ]+Tests[ ]run:[^\n]*",
    r"\[INFO\][ ]+T[ ]E[ ]S[ ]T[ ]S",
    r"BUILD[ ](?:SUCCESSFUL|FAILED)[^\n]*",
    r"[0-9]+[ ]examples?,[ ][0-9]+[ ]failures?[^\n]*",
    r"(?:Passed|Failed)![ ]+-[ ]Failed:[^\n]*",
    r"OK[ ]\([0-9]+[ ]tests?[^\n]*",
)


_LINE = r"^{}[ \t]*\r?$"
_NOISE = (*_PASSES, *_ANNOUNCES)
# A run, with the blank lines between its lines but not those behind them.
_RUNS = line_pattern(_NOISE, whole=r"^{}[ \t]*(?:\r?\n[ \t\r\n]*^{}[ \t]*)*(?:\r?\n|\z)")
_NOISE_LINES = line_pattern(_NOISE, whole=_LINE)
_RUNNER_LINES = line_pattern((*_NOISE, *_SIGNS), whole=_LINE)
_SIGN_LINES = line_pattern(_SIGNS, whole=_LINE)
_ANNOUNCE_LINE = line_pattern(_ANNOUNCES, whole=r"^{}[ \t]*\r?\n?\z")
_FILLED_LINES = re.compile(r"^[ \t]*[^\s]", re.MULTILINE)

_RUNNERS = frozenset(
    {"pytest", "py.test", "unittest", "nose2", "nosetests", "tox", "nox", "jest", "vitest", "mocha", "ava", "tap"}
    | {"jasmine", "karma", "cypress", "playwright", "rspec", "ctest", "phpunit", "pest", "gotestsum", "behave", "trial"}
    | {"cucumber", "bats", "prove", "nextest", "react-scripts", "ng", "minitest", "busted", "ginkgo", "xctest"}
)
# Programs that run what they are told; one of the next words has to speak of tests.
_TASK_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "rake", "invoke", "inv", "nx", "turbo", "lerna"}
    | {"composer", "ant", "sbt", "lein", "mix", "bazel", "bazelisk", "go", "cargo", "gradle", "gradlew", "mvn", "mvnw"}
    | {"dotnet", "swift", "deno", "zig", "node", "rails", "rush", "moon", "hatch", "poe", "cmake", "ninja", "meson"}
    | {"stack", "cabal", "flutter", "dart", "php", "xcodebuild", "crystal", "nimble", "mage", "earthly", "tsx", "ruby"}
    | {"python", "python3", "bash", "sh", "zsh"}
)
_TEST_WORD = re.compile(r"(?:^|[-_/:.=@])(?:tests?|specs?|check|verify|e2e|nextest)(?:$|[-_/:.0-9])", re.IGNORECASE)
_BUILDS = frozenset({"gradle", "gradlew", "mvn", "mvnw"})


def compact_test_output(text: str, failing: Callable[[str], Collection[int]] = failure_numbers) -> str:
    """Count and drop the passing tests of a run.

    Runs of lines that only say that a test passed become `… [N passing test lines elided] …`. All else stays in
    order: failures with their blocks, output that tests wrote, warnings, the summary of green runs, too.

    Args:
        text: the output of the run.
        failing: gives the 0-based numbers of a text's failure lines.

    Returns:
        The text without colour codes and passing tests; the text itself when it holds no such run.
    """
    plain = strip_colours(text)
    if not count(_NOISE_LINES, encoded(plain), 1):
        return text
    # Names of tests may hold words that count as a failure; such lines stay, whatever they mean.
    short = elide_runs(plain, _RUNS, NOUN, announces=_ANNOUNCE_LINE, keeps=failing(plain))
    return text if short == plain else short


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) with passing tests, in the shape of a test runner.

    Its first lines have to be a runner's own, or most lines: source, reports or search results that hold a check
    mark or a PASS somewhere have neither.
    """
    if tool_class(tool_name) not in ("shell", ""):
        return False
    plain = strip_colours(output)
    data = encoded(plain)
    if count(_NOISE_LINES, data, 2) < 2:
        return False
    head = plain.split("\n", HEAD_LINES)[:HEAD_LINES]
    if "```" not in head and _SIGN_LINES.search(encoded("\n".join(head))):
        return True
    # More than half of all lines are more than half of the filled ones, which are not counted then.
    most = (data.count(b"\n") + 1) // 2 + 1
    found = count(_RUNNER_LINES, data, most)
    return found == most or 2 * found > len(_FILLED_LINES.findall(plain))


def matches_context(context: ToolContext) -> bool:
    """True if the command runs tests, or if no command is known and the tool is no other class than a shell."""
    if not context.command:
        return context.tool_class in ("shell", "")
    return any(runs_tests(words) for words in simple_commands(context.command))


def runs_tests(words: tuple[str, ...]) -> bool:
    """True if a simple command is a test runner, a task called after tests, or a script called after them."""
    program = words[0].removesuffix(".exe").removesuffix(".cmd")
    if program in _RUNNERS:
        return True
    if program in _BUILDS and ("build" in words[1:] or "install" in words[1:] or "package" in words[1:]):
        return True
    if program in ("npm", "pnpm", "yarn", "bun") and "t" in words[1:2]:
        return True
    if program in _TASK_RUNNERS or re.fullmatch(r"(?:python|pypy)[0-9.]*", program):
        return any(_TEST_WORD.search(word) for word in words[1:5])
    return (
        program != "test"
        and ("." in program or "_" in program or "-" in program)
        and _TEST_WORD.search(program) is not None
    )


RULE = CompactionRule("test-output", matches, compact_test_output, matches_context, compact_knowing=compact_test_output)
