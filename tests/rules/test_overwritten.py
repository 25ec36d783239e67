"""Of an overwritten line only its last state is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.overwritten import holds_overwritten, last_state, last_states


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("1%\r2%\r3%", "3%", id="states"),
        pytest.param("1%\r2%\r3%\r", "3%\r", id="CRLF stays"),
        pytest.param("1%\r2%\r   ", "2%", id="wiped state does not count"),
        pytest.param("one", "one", id="one state"),
        pytest.param("\r\r", "\r\r", id="nothing shown"),
        pytest.param("", "", id="empty"),
    ],
)
def test_the_last_state_with_something_in_it_is_left(line: str, expected: str) -> None:
    assert last_state(line) == expected


def test_lines_that_must_stay_stay_whole() -> None:
    assert last_states("1%\r2%\n3%\rError: no hay\n5%\r6%\n", {1}) == "2%\n3%\rError: no hay\n6%\n"


def test_line_ends_alone_are_nothing_overwritten() -> None:
    text = "a\r\nb\r\n"
    assert not holds_overwritten(text)
    assert last_states(text, ()) is text


@given(st.text(alphabet="ab \r\n"))
def test_the_number_of_lines_stays_and_twice_is_once(text: str) -> None:
    short = last_states(text, ())
    assert short.count("\n") == text.count("\n")
    assert last_states(short, ()) == short
    assert len(short) <= len(text)
