"""The fallback: folding, eliding, and what it never drops."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rules.dedup_elide import FALLBACK_RULE_ID, dedup_and_elide, fold_and_elide, holds_elision
from pipeline.rules.failures import find_failures
from pipeline.rules.guard import lost_failures


def numbered(first: int, last: int) -> list[str]:
    return [f"step {chr(97 + number % 26)} of crate {number}" for number in range(first, last)]


@pytest.mark.parametrize("before", ["", "a\n", "a\n" * 2500])
@pytest.mark.parametrize("after", ["", "\n", "\nb", "\nb\n" * 2500])
def test_a_line_is_shortened_above_4000_chars_wherever_it_is(before: str, after: str) -> None:
    assert "x" * 4000 in dedup_and_elide(before + "x" * 4000 + after, head_lines=9000)
    assert "x" * 1500 + "…[+2001 chars]…" + "x" * 500 in dedup_and_elide(before + "x" * 4001 + after, head_lines=9000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\nb", "a\nb", id="nothing to do"),
        pytest.param("hello you\n" * 3, "hello you  (×3)\n", id="equal lines"),
        pytest.param("hello you\r\n" * 3, "hello you  (×3)\r\n", id="equal lines with CRLF"),
        pytest.param("a\na\na", "a\na\na", id="too short to gain"),
        pytest.param("a\n\n\n\nb\n", "a\n\nb\n", id="blank lines"),
        pytest.param("a\n \n\t\n\nb", "a\n \nb", id="lines of spaces are blank"),
        pytest.param("get 10%\rget 50%\rget 100%\nok", "get 100%\nok", id="overwritten line"),
        pytest.param("get 10%\rget 100%\r\nok", "get 100%\r\nok", id="overwritten line with CRLF"),
        pytest.param("get 10%\r        \r\nok", "get 10%\r\nok", id="wiped line"),
        pytest.param("get 1%\rerror 2%\rget 3%", "get 1%\rerror 2%\rget 3%", id="a failure among the states"),
        pytest.param(
            "waiting for crates 5ms\nwaiting for crates 6ms\nwaiting for crates 7ms",
            "waiting for crates 5ms  (×3)",
            id="equal but for a duration",
        ),
        pytest.param(
            "run 5ms\nrun 6ms\nrun 7ms\nrun 8ms", "run 5ms\nrun 6ms\nrun 7ms\nrun 8ms", id="measurements stay"
        ),
        pytest.param(
            "hello you  (×3)\nhello you  (×3)", "hello you  (×3)\nhello you  (×3)", id="counts are not counted"
        ),
        pytest.param(
            "hello you\nhello you\nhello you  (×2)", "hello you  (×2)\nhello you  (×2)", id="a run beside its own count"
        ),
        pytest.param("the error here is this\n" * 2 + "x", "the error here is this  (×2)\nx", id="failures fold, too"),
        pytest.param("see https://h.org/" + "a" * 90, "see https://h.org/…[+90 chars]", id="URL"),
        pytest.param("error https://h.org/" + "a" * 90, "error https://h.org/" + "a" * 90, id="URL of a failure"),
        pytest.param("x" * 5000, "x" * 1500 + "…[+3000 chars]…" + "x" * 500, id="one long line"),
        pytest.param("error " + "x" * 5000, "error " + "x" * 5000, id="one long failure"),
        pytest.param('{"a": "' + "x" * 5000 + '"}\nb', '{"a": "' + "x" * 5000 + '"}\nb', id="a long line of JSON"),
        pytest.param("", "", id="empty"),
    ],
)
def test_what_repeats_is_folded(text: str, expected: str) -> None:
    assert dedup_and_elide(text) == expected


def test_a_storm_of_retries_becomes_one_line() -> None:
    storm = [f"2026-01-12 09:42:{i % 60:02} ERROR connect refused (attempt {i}) after {i}ms" for i in range(500)]
    assert dedup_and_elide("\n".join(storm)) == storm[0] + "  (×500)"


def test_the_middle_of_a_long_text_is_elided() -> None:
    lines = numbered(0, 100)
    assert dedup_and_elide("\n".join(lines)).split("\n") == [*lines[:40], "… [40 lines elided] …", *lines[80:]]
    assert dedup_and_elide("\n".join(lines), head_lines=2, tail_lines=1).split("\n") == [
        *lines[:2],
        "… [97 lines elided] …",
        lines[99],
    ]
    assert dedup_and_elide("\r\n".join(lines) + "\r\n", head_lines=0, tail_lines=0) == "… [100 lines elided] …\r\n"


def test_a_text_that_is_hardly_longer_than_head_and_tail_stays() -> None:
    text = "\n".join(numbered(0, 63))
    assert dedup_and_elide(text) == text


def test_distinct_failures_of_the_middle_stay_in_order_with_their_counts() -> None:
    lines = numbered(0, 200)
    lines[60] = "2026-01-12 10:00:00 ERROR first thing"
    lines[70] = "ValueError: second"
    lines[71] = "    at f (a.js:1:2)"
    lines[90] = "2026-01-12 10:00:09 ERROR first thing"
    assert dedup_and_elide("\n".join(lines)).split("\n") == [
        *lines[:40],
        "… [137 lines elided] (kept 3 error line(s) below) …",
        "2026-01-12 10:00:00 ERROR first thing  (×2)",
        "ValueError: second",
        "    at f (a.js:1:2)",
        *lines[180:],
    ]


def test_counts_of_folded_failures_add_up() -> None:
    lines = [*numbered(0, 50), *["ERROR the same thing"] * 5, "step", *["ERROR the same thing"] * 4, *numbered(50, 90)]
    assert "ERROR the same thing  (×9)" in dedup_and_elide("\n".join(lines)).split("\n")


def test_a_text_of_distinct_failures_stays_whole() -> None:
    text = "\n".join(f"ERROR in crate {number}" for number in range(100))
    assert dedup_and_elide(text) == text


def test_an_elided_text_is_left_alone() -> None:
    text = "\n".join([*numbered(0, 50), "… [12 lines elided] …", *numbered(50, 100)])
    assert holds_elision(text)
    assert dedup_and_elide(text) == text
    assert not holds_elision("he said … [12 lines elided] …")


def test_without_failures_to_keep_only_head_and_tail_are_left() -> None:
    text = "\n".join(f"raise Error({number})" for number in range(100))
    assert fold_and_elide(text, (), head_lines=1, tail_lines=1).split("\n")[1] == "… [98 lines elided] …"


LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "",
            " ",
            "\r",
            "fine line of text",
            "fine line of text",
            "fine line of text\r",
            "a",
            "a",
            "\ta",
            "ERROR connection refused (attempt 1)",
            "ERROR connection refused (attempt 2)",
            "ERROR other thing\r",
            "2026-01-12 09:42:00 INFO worker is waiting",
            "2026-01-12 09:42:01 INFO worker is waiting",
            "2026-01-12 09:42:02 INFO worker is waiting",
            "waiting for crates 5ms",
            "waiting for crates 60ms",
            "fine line of text  (×2)",
            "ERROR other thing  (×4)",
            "… [5 lines elided] …",
            "x  (×9)",
            "… [5 lines elided] (kept 2 error line(s) below) …",
            "get 10%\rget 20%\rget 30%",
            "\r\r",
            "a\rb\r",
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in f',
            "    g()",
            "ValueError: x",
            "  ^",
            "- Expected",
            "+ Received",
            "- 3",
            "+ 2",
            "   | x",
            "failures:",
            "    name",
            "0 errors",
            "é×…",
            "see https://example.com/" + "p" * 90,
            "error https://example.com/" + "p" * 90,
            "z" * 4100,
            "panicked at a:",
            "\x1b[31mred\x1b[0m",
            "[31mFAIL[0m",
            "deadbeef01",
            "deadbeef02",
            "deadbeef03",
        ]
    ),
    st.text(alphabet="ab \r×(", max_size=6),
)


@st.composite
def logs(draw: st.DrawFn) -> str:
    """Texts of repeated lines, failures, blank lines, carriage returns and the rule's own words."""
    blocks = draw(st.lists(st.tuples(LINES, st.sampled_from([1, 1, 1, 2, 3, 7])), max_size=40))
    lines = [line for line, times in blocks for _ in range(times)]
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n", "\r\n"]))


@settings(max_examples=200, deadline=None)
@given(logs(), st.sampled_from([(40, 20), (2, 2), (0, 0), (5, 1)]))
def test_twice_is_once_nothing_grows_and_no_failure_is_lost(text: str, limits: tuple[int, int]) -> None:
    head, tail = limits
    short = dedup_and_elide(text, head_lines=head, tail_lines=tail)
    assert dedup_and_elide(short, head_lines=head, tail_lines=tail) == short
    assert len(short.encode()) <= len(text.encode())
    assert lost_failures(text, short) == []


@settings(max_examples=60, deadline=None)
@given(logs())
def test_failures_known_before_give_the_same_text(text: str) -> None:
    known = find_failures(text).numbers
    assert fold_and_elide(text, known, head_lines=2, tail_lines=2) == dedup_and_elide(text, head_lines=2, tail_lines=2)


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    assert len(dedup_and_elide(text, head_lines=1, tail_lines=1)) <= len(text)


HOSTILE: dict[str, Callable[[int], str]] = {
    "clean log": lambda n: "".join(f"2026-01-12 09:42:02 INFO crate {i} of 4\n" for i in range(n // 40)),
    "storm": lambda n: "".join(f"2026-01-12 09:42:02 ERROR refused attempt {i}\n" for i in range(n // 46)),
    "blank": lambda n: "\n" * n,
    "overwritten": lambda n: "foo bar\r" * (n // 8),
    "folded": lambda n: "foo  (×3)\n" * (n // 10),
    "numbers": lambda n: "".join(f"{i}\n" for i in range(n // 6)),
    "alternating": lambda n: "error a\nerror b\n" * (n // 16),
}


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear(kind: str) -> None:
    def seconds(size: int) -> float:
        text = HOSTILE[kind](size)
        start = time.process_time()
        dedup_and_elide(text)
        return time.process_time() - start

    assert min(seconds(400_000) for _ in range(3)) <= 8 * min(seconds(100_000) for _ in range(3)) + 0.05


def test_the_rule_has_its_published_name() -> None:
    assert FALLBACK_RULE_ID == "dedup-elide"


@pytest.mark.benchmark
@pytest.mark.parametrize("line", ["{:040x}", "{} ms", "2026-01-05 08:00:{:02}", "\rx {}%"])
def test_runs_that_are_not_folded_are_searched_once(line: str) -> None:
    def seconds(count: int) -> float:
        text = "\n".join(line.format(number) for number in range(count))
        start = time.process_time()
        dedup_and_elide(text)
        return time.process_time() - start

    assert seconds(8_000) < 8 * seconds(2_000) + 0.1
