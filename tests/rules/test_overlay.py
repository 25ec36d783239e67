"""Rules of one's own: which calls and shapes they are for, and what they do to lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.base import CompactOptions, ToolContext
from pipeline.rules.failures import failure_lines
from pipeline.rules.output import compact_tool_output
from pipeline.rules.overlay import Problem, compiled, failed_tests, rule_of
from pipeline.settings import RuleSettings, RuleTest

UPLOADS = "\n".join(f"uploading part {number} of the plan" for number in range(40)) + "\ndone\n"


def shortened(text: str, **settings: object) -> str:
    return rule_of(RuleSettings("own", **settings)).compact(text)  # type: ignore[arg-type]  # fields by name


def test_dropped_lines_leave_their_count() -> None:
    assert shortened(UPLOADS, drop=("^uploading ",)) == "… [40 lines elided] …\ndone\n"


def test_a_count_never_takes_more_room_than_what_it_counts() -> None:
    assert shortened("a\nb\n", drop=("^a",)) == "a\nb\n"


def test_runs_of_like_lines_become_one() -> None:
    text = "retry 1: busy\nretry 2: busy\nretry 3: busy\nready\nretry 1: busy\n"
    assert shortened(text, fold=("^retry",)) == "retry 1: busy  (×3)\nready\nretry 1: busy\n"


def test_lines_to_keep_stay_whatever_else_they_match() -> None:
    text = "note a\nWARN note\nnote b\n" * 20
    assert shortened(text, drop=("note",), keep=("WARN",)).count("WARN note\n") == 20


def test_replacements_reach_lines_that_are_left() -> None:
    assert shortened(
        "token=abc\ngone for good, all of it\nid=7", drop=("^gone",), replace=((r"=(\w)\w*", r"=\1…"),)
    ) == ("token=a…\ngone for good, all of it\nid=7…")


def test_a_failure_line_stays_whatever_a_rule_says() -> None:
    text = UPLOADS + "uploading part 40: error: connection refused\n"
    short = shortened(text, drop=("^uploading ",), replace=(("error", "fine"),))
    assert short == "… [40 lines elided] …\ndone\nuploading part 40: error: connection refused\n"


@pytest.mark.parametrize(
    ("settings", "tool", "command", "fits"),
    [
        ({}, "Bash", "ls", True),
        ({"tools": ("Bash",)}, "Bash", "ls", True),
        ({"tools": ("mcp__*",)}, "mcp__docs__find", "", True),
        ({"tools": ("mcp__*",)}, "Bash", "ls", False),
        ({"command": r"deploy\.sh"}, "Bash", "cd x && ./deploy.sh", True),
        ({"command": r"deploy\.sh"}, "Bash", "deploy_sh", False),
        ({"shape": "^done$"}, "Bash", "ls", True),
        ({"shape": "^nothing$"}, "Bash", "ls", False),
    ],
)
def test_conditions(settings: dict[str, object], tool: str, command: str, fits: bool) -> None:
    rule = rule_of(RuleSettings("own", drop=("^uploading",), **settings))  # type: ignore[arg-type]  # fields by name
    options = CompactOptions(rules=(rule,))
    result = compact_tool_output(tool, UPLOADS, options, context=ToolContext(command=command, tool_class="shell"))
    assert (result.stats.rule == "own") == fits


def test_an_own_rule_comes_before_the_built_in_ones() -> None:
    status = "On branch main\nnothing to commit\n" + "hint: more of it\n" * 60
    rule = rule_of(RuleSettings("own", shape="On branch", drop=("^hint",)))
    result = compact_tool_output("Bash", status, CompactOptions(rules=(rule,)))
    assert result.stats.rule == "own"
    assert result.text == "On branch main\nnothing to commit\n… [60 lines elided] …\n"


def test_tests_tell_what_was_needed_and_what_came() -> None:
    tests = (
        RuleTest(UPLOADS, "… [40 lines elided] …\ndone\n"),
        RuleTest("a\n", "b\n"),
        RuleTest(UPLOADS, UPLOADS, tool="Read"),
    )
    rule = RuleSettings("own", tools=("Bash",), drop=("^uploading ",), tests=tests)
    assert list(failed_tests(rule)) == [Problem(2, "b\n", "a\n")]


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"(a)\1", "(", "[z-a]", "a{5000}"])
def test_what_is_not_linear_or_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compiled(pattern)


LINES = st.lists(
    st.sampled_from(["noise", "noise two", "retry 1", "retry 2", "kept", "error: no such file", "", "\ud800é", "x\r"])
)


@given(LINES)
def test_laws_of_lines(lines: list[str]) -> None:
    text = "\n".join(lines)
    rule = rule_of(RuleSettings("own", drop=("^noise",), fold=("^retry",)))
    short = rule.compact(text)
    assert len(short.encode("utf-8", "surrogatepass")) <= len(text.encode("utf-8", "surrogatepass"))
    assert set(failure_lines(text)) <= set(short.split("\n"))
    assert [line for line in short.split("\n") if line in ("kept", "", "\ud800é", "x\r")] == [
        line for line in lines or [""] if line in ("kept", "", "\ud800é", "x\r")
    ]
