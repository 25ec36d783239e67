"""Terminal sequences go, look-alikes in brackets stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.ansi import strip_colours

PIECES = [
    "\x1b[",
    "\x1b]0;t",
    "\x07",
    "\x1b",
    "[",
    "3",
    "1",
    ";",
    "m",
    "0",
    "[0m",
    "[31m",
    "[1;32m",
    "]",
    "a ",
    ", 5m",
    "\n",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", "plain", id="nothing to do"),
        pytest.param("a\x1b[1;31mb\x1b[0m", "ab", id="colours"),
        pytest.param("\x1b[2K\x1b[1Gx", "x", id="cursor"),
        pytest.param("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x07", "link", id="hyperlink"),
        pytest.param("\x1b]0;no end\nnext", "]0;no end\nnext", id="unclosed title keeps its text"),
        pytest.param("[32m53 passed[0m", "53 passed", id="ESC byte gone"),
        pytest.param("[32m70[2mms[22m[39m", "70ms", id="code between digits and a unit"),
        pytest.param("[38;5;196mred[0m", "red", id="256 colours"),
        pytest.param("[31mError:[39m array[32] items[1m] [0m]", "Error: array[32] items[1m] [0m]", id="brackets close"),
        pytest.param("rate(x[5m]) over [1m, 5m]", "rate(x[5m]) over [1m, 5m]", id="intervals"),
        pytest.param("only [31m opens", "only [31m opens", id="no code that ends"),
    ],
)
def test_sequences_go_and_innocent_brackets_stay(text: str, expected: str) -> None:
    assert strip_colours(text) == expected


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_stripping_twice_changes_nothing(text: str) -> None:
    once = strip_colours(text)
    assert strip_colours(once) == once
    assert len(once) <= len(text)
    assert "\x1b" not in once


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["\x1b", "\x1b[", "\x1b]", "\x1b[1;", "[31m[0m", "[3", "[", "m", "[1;1;"])
def test_time_is_linear(unit: str) -> None:
    text = "[31mx[0m" + unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    strip_colours(text)
    assert time.perf_counter() - start < 3


def test_codes_inside_of_codes_are_taken_out_in_one_go() -> None:
    assert strip_colours("[31ma[0m " + "[3" * 20_000 + "[0m" + "1m" * 20_000) == "a "
