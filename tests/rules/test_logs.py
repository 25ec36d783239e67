"""What a log says often is said once with its count; order, first and last time, and all that differs stay."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, is_subsequence

from pipeline.rules.base import ToolContext
from pipeline.rules.logs import RULE, fold_logs


def at(second: int, message: str, start: str = "2026-01-12 09:42:") -> str:
    return f"{start}{second:02} {message}"


WAIT = "INFO worker is waiting"
RETRY = "WARN retry queue in 200 ms"
FAIL = "ERROR queue refused (attempt {})"


def test_lines_that_say_the_same_become_the_first_and_the_last() -> None:
    lines = [at(n, WAIT if n % 2 else RETRY) for n in range(20)]
    expected = [lines[0] + "  (×9)", lines[1] + "  (×9)", lines[18], lines[19]]
    assert fold_logs("\n".join(lines)) == "\n".join(expected)
    assert fold_logs("\r\n".join(lines) + "\r\n") == "\r\n".join(expected) + "\r\n"


def test_a_run_becomes_one_line() -> None:
    lines = [at(n, WAIT) for n in range(20)]
    assert fold_logs("\n".join(["start", *lines, "end", ""])) == f"start\n{lines[0]}  (×19)\n{lines[19]}\nend\n"
    assert fold_logs("\n".join(lines)) == f"{lines[0]}  (×20)"


@pytest.mark.parametrize(
    "start",
    [
        "2026-01-12T09:42:",
        "[2026-01-12 09:42:",
        "Jan 12 09:42:",
        "09:42:",
        "I0112 09:42:",
        "web-1  | 2026-01-12 09:42:",
        "\x1b[2m2026-01-12T09:42:",
    ],
)
def test_times_come_in_many_forms(start: str) -> None:
    lines = [at(n, WAIT, start) for n in range(20)]
    assert fold_logs("\n".join(lines)) == f"{lines[0]}  (×20)"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([at(n, f"INFO step {n}") for n in range(20)], id="numbers differ"),
        pytest.param([at(n, f"ERROR in a.py:{n}") for n in range(20)], id="places differ"),
        pytest.param([at(n, WAIT) for n in range(7)], id="a few lines"),
        pytest.param([at(n, f"{n}ms") for n in range(20)], id="measurements"),
        pytest.param([line for n in range(20) for line in (at(n, WAIT), "  more")], id="lines with more below"),
        pytest.param([WAIT] * 20, id="no times"),
        pytest.param([at(n, WAIT) + "  (×3)" for n in range(20)], id="counts"),
    ],
)
def test_what_differs_stays(lines: list[str]) -> None:
    assert fold_logs("\n".join(lines)) == "\n".join(lines)


def test_a_storm_of_failures_keeps_every_kind() -> None:
    lines = [at(n, FAIL.format(n) if n % 2 else WAIT) for n in range(40)]
    lines[21] = at(21, "ERROR queue is gone")
    assert fold_logs("\n".join(lines)).split("\n") == [
        lines[0] + "  (×19)",
        lines[1] + "  (×18)",
        lines[21],
        lines[38],
        lines[39],
    ]


def test_folds_do_not_cross_a_line_without_a_time() -> None:
    block = [at(n, WAIT) for n in range(9)]
    text = "\n".join([*block, "", "Traceback (most recent call last):", *block])
    assert fold_logs(text).split("\n") == [
        block[0] + "  (×9)",
        "",
        "Traceback (most recent call last):",
        block[0] + "  (×9)",
    ]


def test_tool_command_and_shape_decide() -> None:
    log = "\n".join(at(n, WAIT) for n in range(20))
    assert RULE.matches_context is not None
    assert RULE.matches("Bash", log)
    assert not RULE.matches("Grep", log)
    assert not RULE.matches("Bash", fold_logs(log))
    assert not RULE.matches("Bash", log + "\nsome other thing" * 40)
    assert RULE.matches_context(ToolContext(command="docker logs web | tail -50", tool_class="shell"))
    assert not RULE.matches_context(ToolContext(command="git log", tool_class="shell"))
    assert RULE.matches_context(ToolContext(tool_class="read", path="/var/log/a.log"))
    assert not RULE.matches_context(ToolContext(tool_class="read", path="a.py"))


MESSAGES = st.sampled_from(
    [WAIT, RETRY, FAIL.format(1), FAIL.format(2), "ERROR in a.py:3", "TypeError: no", "5ms", "é×…"]
)
LOG_LINES = st.one_of(
    st.tuples(st.integers(0, 59), MESSAGES).map(lambda pair: at(*pair)),
    st.tuples(st.integers(0, 59), MESSAGES).map(lambda pair: at(*pair) + "\r"),
    st.sampled_from(
        ["", "  at f (a.js:1)", "plain", at(3, WAIT) + "  (×2)", "\x1b[31m" + at(1, "ERROR x") + "\x1b[0m", "    ^"]
    ),
)


def bare(line: str) -> str:
    return line.rstrip("\r").partition("  (×")[0]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(LOG_LINES, st.sampled_from([1, 1, 2, 5])), max_size=40))
def test_the_laws_hold(parts: list[tuple[str, int]]) -> None:
    lines = [line for line, times in parts for _ in range(times)]
    short = check_laws(fold_logs, "\n".join(lines))
    assert is_subsequence([line for line in lines if not line[:1].isdigit() and line[:1] != "\x1b"], short.split("\n"))
    assert is_subsequence([bare(line) for line in short.split("\n")], [bare(line) for line in lines] or [""])


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", [at(1, WAIT) + "\n", at(1, WAIT) + "\nx\n", "2026-", "a-" * 30 + "| ", "\x1b[m" * 9])
def test_time_is_linear(unit: str) -> None:
    assert is_linear(fold_logs, lambda chars: (at(1, WAIT) + "\n") * 9 + unit * (chars // len(unit)))
