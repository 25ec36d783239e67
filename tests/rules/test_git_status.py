"""Git's hints go, its facts stay, and text around a report is not touched."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.base import ToolContext
from pipeline.rules.git_status import RULE, compact_git_status

REPORT = """On branch feat/x
Your branch is behind 'origin/feat/x' by 3 commits, and can be fast-forwarded.
  (use "git pull" to update your local branch)

You have unmerged paths.
  (fix conflicts and run "git commit")
  (use "git merge --abort" to abort the merge)

Unmerged paths:
  (use "git add <file>..." to mark resolution)
\tboth modified:   src/a.py

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
\tmodified:   src/b.py

no changes added to commit (use "git add" and/or "git commit -a")
"""
SHORT = """On branch feat/x
Your branch is behind 'origin/feat/x' by 3 commits, and can be fast-forwarded.
You have unmerged paths.
  (fix conflicts and run "git commit")
Unmerged paths:
\tboth modified:   src/a.py
Changes not staged for commit:
\tmodified:   src/b.py
"""
LINES = [
    *REPORT.splitlines(),
    "src/unknown",
    "\tnotes/x/1",
    "\tnotes/x/2",
    "\x1b[31m\tmodified:   x\x1b[0m",
    "a1b2c3 On branch x",
    "## main",
    " M a/b",
    "?? c/d",
]


def test_hints_and_blank_lines_go() -> None:
    assert compact_git_status(REPORT) == SHORT


def test_text_around_a_report_stays_byte_for_byte() -> None:
    log = '\n\na1b2c3 fix  (use "git add")\x1b[0m \n\n'
    assert compact_git_status(REPORT + log) == SHORT + log
    assert compact_git_status("$ git fetch\n" + REPORT) == "$ git fetch\n" + SHORT


def test_long_lists_are_grouped_by_folder_and_conflicts_are_not() -> None:
    many = "".join(f"\tmodified:   src/deep/f{n}.py\n" for n in range(20))
    both = "".join(f"\tboth modified:   lib/f{n}.py\n" for n in range(20))
    text = f"On branch x\nChanges not staged for commit:\n{many}\tmodified:   top.py\n\nUnmerged paths:\n{both}"
    assert compact_git_status(text) == (
        "On branch x\nChanges not staged for commit:\n\tmodified:   src/deep/… (20 files)\n\tmodified:   top.py\n"
        f"Unmerged paths:\n{both}"
    )


def test_line_ends_stay_crlf() -> None:
    assert compact_git_status(REPORT.replace("\n", "\r\n")) == SHORT.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(REPORT, True, id="report"),
        pytest.param("one\ntwo\n" + REPORT + "log line\n" * 90, True, id="report first, then more"),
        pytest.param("# Guide\n" * 30 + REPORT, False, id="document that quotes a report"),
        pytest.param("a1b2c3 On branch main notes\n" * 9, False, id="log that mentions it"),
        pytest.param("On branch main\nthe barn is red\n", False, id="header alone"),
    ],
)
def test_the_shape_decides(text: str, expected: bool) -> None:
    assert RULE.matches("Bash", text) is expected


def test_tool_and_command_come_first() -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command="cd a && git -C b status", tool_class="shell"))
    assert not RULE.matches_context(ToolContext(command="cat notes.md", tool_class="shell"))
    assert not RULE.matches("Read", REPORT)


@given(st.lists(st.sampled_from(LINES)).map("\n".join))
def test_the_rule_is_idempotent_and_keeps_unknown_lines_in_order(text: str) -> None:
    short = compact_git_status(text)
    assert compact_git_status(short) == short
    assert len(short.encode()) <= len(text.encode())
    unknown = ("src/unknown", "a1b2c3 On branch x", "You have unmerged paths.", "\tboth modified:   src/a.py")
    assert [x for x in short.split("\n") if x in unknown] == [x for x in text.split("\n") if x in unknown]


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["On branch x\n", "\n", "\tm: a/b/c\n", "## a\n", "On branch x\nUntracked files:\n\ta/b\n"]
)
def test_time_is_linear(unit: str) -> None:
    start = time.perf_counter()
    compact_git_status("On branch x\nUntracked files:\n" + unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - start < 5
