"""The guard of promise P4: what counts as lost, and what does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.failures import failure_lines
from pipeline.rules.guard import lost_failures, lost_from_page, lost_lines


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        pytest.param("a\nerror x\nb", "a\nerror x", [], id="still there"),
        pytest.param("a\nerror x\nb", "a\nb", ["error x"], id="gone"),
        pytest.param("error x\nerror y", "error y", ["error x"], id="one of two"),
        pytest.param("error in 5ms\nerror in 6ms", "error in 6ms", [], id="the same but for its time"),
        pytest.param("error in 5ms\nerror in 6ms", "error in 7ms", ["error in 5ms"], id="not one of the lines"),
        pytest.param("error x\nerror x", "error x  (×2)", [], id="folded"),
        pytest.param("error x\r\n", "error x\n", [], id="line end"),
        pytest.param("\x1b[31merror\x1b[0m x", "error x", [], id="colour taken out"),
        pytest.param("[31merror[0m x", "error x", [], id="colour without ESC taken out"),
        pytest.param("error x", "an error x here", ["error x"], id="part of another line"),
        pytest.param("error https://a/b", "error https://a/…[+3 chars]", ["error https://a/b"], id="cut inside"),
        pytest.param("error a.py:1\nerror a.py:2", "error a.py:1", ["error a.py:2"], id="another place"),
        pytest.param("0 errors\nfine", "fine", [], id="no failure"),
        pytest.param("Error\n    at f (a.js:1:2)", "Error", ["    at f (a.js:1:2)"], id="a stack frame"),
        pytest.param("x\nerror\n", "", ["error"], id="nothing left"),
    ],
)
def test_a_failure_is_lost_when_no_line_of_it_is_left(before: str, after: str, lost: list[str]) -> None:
    assert lost_failures(before, after) == lost


@given(
    st.lists(st.sampled_from(["fine", "error a", "error b 5ms", "error b 6ms", "", "FAIL x\r"]), max_size=10), st.data()
)
def test_a_text_has_all_its_failures_and_one_without_a_line_lost_just_that(
    lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines)
    assert lost_failures(text, text) == []
    assert lost_failures(text, "\n".join(reversed(lines))) == []
    if lines:
        gone = data.draw(st.sampled_from(lines))
        lost = lost_failures(text, "\n".join(line for line in lines if line != gone))
        assert set(lost) <= {gone}
        assert bool(lost) == (
            gone in ("error a", "FAIL x\r")
            or (gone in lines and "b 5ms" in gone and "error b 6ms" not in lines)
            or ("b 6ms" in gone and "error b 5ms" not in lines)
        )


def test_known_failures_need_no_second_look() -> None:
    assert lost_lines(["error a", "error a"], "x\nerror a") == []
    assert lost_lines(["error a"], "x") == ["error a"]
    assert lost_lines([], "x") == []


@pytest.mark.parametrize(
    ("page", "text", "lost"),
    [
        pytest.param("<p>Error: <b>disk</b> full</p>", "Error: disk full", [], id="inline tags"),
        pytest.param("<p>Error: <b>disk</b> full</p>", "Error: full", ["Error: disk full"], id="a piece is gone"),
        pytest.param("<p class='error'>fine</p>", "fine", [], id="attribute"),
        pytest.param("<script>throw Error('x')</script><p>fine</p>", "fine", [], id="script"),
        pytest.param("<!-- error --><style>.error{}</style>fine", "fine", [], id="comment and style"),
        pytest.param("<script>error", "", ["error"], id="script without an end"),
        pytest.param("<h1>Error &amp; more</h1>", "# Error & more", [], id="entity"),
        pytest.param("<td>error</td><td>x</td>", "x", ["error"], id="gone"),
        pytest.param("<p>error\n  here\n</p>", "error\nhere", [], id="white space"),
        pytest.param("<p>error b</p><p>error a</p>", "error a\n\nerror b", [], id="rearranged a little"),
        pytest.param(
            f"<p>error {'x' * 60} b</p>", f"error {'x' * 60} a error {'x' * 60} b", [], id="a like one before"
        ),
        pytest.param(
            f"<p>error {'x' * 60} b</p>", f"error {'x' * 60} a", [f"error {'x' * 60} b"], id="only a like one"
        ),
        pytest.param("<p>Error: <ſpan>disk</SPAN> full</p>", "Error: disk full", [], id="odd letters in a tag"),
    ],
)
def test_a_page_keeps_the_failures_that_a_reader_sees(page: str, text: str, lost: list[str]) -> None:
    assert lost_from_page(page, text) == lost


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "page",
    ["<p>error <b>x</b></p>", "<script>", "<script>a</script>", "<a", "<!--", "<p>error</p>", "<b>error</b>"],
)
def test_a_hostile_page_takes_linear_time(page: str) -> None:
    def seconds(size: int) -> float:
        text = page * (size // len(page))
        start = time.process_time()
        lost_from_page(text, "error x\n" * (size // 8))
        return time.process_time() - start

    assert min(seconds(400_000) for _ in range(3)) <= 8 * min(seconds(100_000) for _ in range(3)) + 0.05


@pytest.mark.benchmark
def test_many_distinct_failures_take_linear_time() -> None:
    def seconds(number: int) -> float:
        text = "".join(f"error in crate {i}\n" for i in range(number))
        start = time.process_time()
        assert len(lost_failures(text, text.replace("crate", "box"))) == number
        return time.process_time() - start

    assert min(seconds(8000) for _ in range(3)) <= 8 * min(seconds(2000) for _ in range(3)) + 0.05


def test_every_lost_line_is_a_failure_of_the_text() -> None:
    text = "a\nerror b\nTypeError: c\n    at d (e.js:1:2)\nf"
    assert lost_failures(text, "") == failure_lines(text)
