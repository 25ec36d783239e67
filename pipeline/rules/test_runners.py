"""Text rule `test-runners`: passing tests of the runners that `test-output` does not know."""

from __future__ import annotations

from pipeline.rules import packages, test_output
from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise_rule import drop_noise, has_shape, noise_list

NOUN = test_output.NOUN

_TIME = r"[ \t]*(?:[(\[]?<?[ ]?[0-9.,]+ ?(?:ns|us|ms|s|m|sec|secs|seconds|milliseconds?)\.?[)\]]?)?"
NOISE = (
    # cargo nextest, gotestsum, bazel, automake, lit, meson, zig
    r" +PASS \[ *[0-9.]+s\] (?:\([ 0-9/]+\) )?\S[^\n]*",
    r"PASS \S+\.\S+ \([0-9.]+s\)",
    r"∅  \S+[^\n]*",
    r"//\S+ +(?:\(cached\) )?PASSED(?: in [0-9.]+m?s)?",
    r"PASS: \S[^\n]*",
    r" *[0-9]+/[0-9]+ [^\n]+ OK +[0-9.]+ ?s[^\n]*",
    r"[0-9]+/[0-9]+ \S[^\n]*\.\.\. ?OK",
    # prove, twisted's trial, behave with times
    rf"\S+ \.{{2,}} ok{_TIME}",
    r" +test\S* \.{3} +\[OK\]",
    # minitest, JUnit's console, Surefire before 3, Robot, ScalaTest, hspec
    r"[A-Z]\w*(?:::\w+)*#test_\S* = [0-9.]+ s = \.",
    r"[ |'+-]*(?:│|├|└|─| )*[^\n]*\(\) (?:\[OK\]|✔)",
    r"(?:│|├|└|─| )+[^\n]+ ✔",
    r"Tests run: [0-9]+, Failures: 0, Errors: 0, Skipped: [0-9]+, Time elapsed: [^\n]+",
    r"[^\n|]+ \| PASS \|",
    r"\[info\] +[-+] [^\n*!]+\([0-9]+ (?:seconds?(?:, [0-9]+ milliseconds?)?|milliseconds?)\)",
    r" +\S[^\n]* \[✔\]",
    # Flutter and Dart, Karma, pytest-sugar, Swift Testing, Ginkgo, mocha's dots
    r"[0-9:]+ \+[0-9]+(?: ~[0-9]+)?: [^\n]+",
    r"[^\n]+: Executed [0-9]+ of [0-9]+ SUCCESS [^\n]*",
    r" *\S+\.py (?:✓|s|x)+ *[0-9]+% (?:█|▉|▊|▋|▌|▍|▎|▏)*",
    r"(?:◇|􀟈) (?:Test|Suite) [^\n]+ started\.",
    r"(?:•|․|\.|S|,){16,}",
    # Jest's RUNS lines, Playwright's line reporter
    r"RUNS  ?\S+",
    r"\[[0-9]+/[0-9]+\] \[[a-z-]+\] › [^\n]+",
)
_ANNOUNCES = (r"Running [\w.$]+(?:Tests?|IT|Spec)\w*", r"[A-Z]\w*(?:::\w+)*#test_\S* =")
_BUT = (r"[0-9:]+ \+[0-9]+(?: ~[0-9]+)?: (?:All tests passed!|Some tests failed\.)", r"[^\n]*\[E\]")
SIGNS = (
    r" +(?:FAIL|SLOW|START|LEAK|TIMEOUT|SIGABRT) +\[[^\n]+",
    r" +Summary \[[^\n]+",
    r" +Starting [0-9]+ tests? across [^\n]+",
    r"DONE [0-9]+ tests?[^\n]*",
    r"(?:FAIL|XFAIL|SKIP|XPASS|ERROR): \S[^\n]*",
    r"# (?:TOTAL|PASS|SKIP|FAIL|XFAIL|XPASS|ERROR): +[0-9]+",
    r"Executed [0-9]+ out of [0-9]+ tests?[^\n]*",
    r"(?:Ok|Fail|Expected Fail|Skipped|Timeout): +[0-9]+",
    r"All tests successful\.",
    r"Files=[0-9]+, Tests=[0-9]+[^\n]*",
    r"Result: (?:PASS|FAIL)",
    r"[0-9]+ runs, [0-9]+ assertions, [^\n]+",
    r" T E S T S",
    r"Tests run: [0-9][^\n]+",
    r"[0-9]+ tests?, [0-9]+ (?:passed|failures?)[^\n]*",
    r"[^\n|]+ \| (?:FAIL|SKIP) \|",
    r"\[info\] (?:Tests: succeeded|Run completed in|Total number of tests run)[^\n]*",
    r"\[ +[0-9]+ (?:containers|tests) (?:found|started|successful|failed|skipped|aborted) +\]",
    r"Ran [0-9]+ of [0-9]+ Specs in [^\n]+",
    r"TOTAL: [0-9]+ (?:SUCCESS|FAILED)[^\n]*",
)
_NOISES = noise_list(NOUN, NOISE, signs=SIGNS, also=packages.CARGO, announces=_ANNOUNCES, but=_BUT)


def compact_test_run(text: str, failing: Failing = failure_numbers) -> str:
    """Count and drop the passing tests of a run; failures with their blocks, the summary and all else stay in order.

    Returns:
        The text without colour codes and passing tests; the text itself when it holds no such run.
    """
    return drop_noise(text, _NOISES, failing)


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that opens as one of these runners does, or mostly is so."""
    return has_shape(tool_name, output, _NOISES)


def matches_context(context: ToolContext) -> bool:
    """True if the command runs tests, or if no command is known."""
    return test_output.matches_context(context)


RULE = CompactionRule("test-runners", matches, compact_test_run, matches_context, compact_knowing=compact_test_run)
