"""Counting lines of a kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.noise import count, line_pattern

PATTERNS = (
    line_pattern(["a+", "b"], whole=r"^{}[ \t]*$"),
    line_pattern(["a", ""], whole="{}"),
    line_pattern(["a"], whole=r"{}(?:\n|\z)"),
)


@given(st.text("ab \n", max_size=20), st.sampled_from(PATTERNS))
def test_it_counts_what_can_be_found_one_after_the_other(text: str, pattern: object) -> None:
    data = text.encode()
    assert isinstance(pattern, type(PATTERNS[0]))
    whole = sum(1 for _ in pattern.finditer(data))
    assert count(pattern, data) == whole
    assert [count(pattern, data, enough) for enough in range(4)] == [min(enough, whole) for enough in range(4)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_more_than_enough_is_looked_at(pattern: object) -> None:
    assert isinstance(pattern, type(PATTERNS[0]))
    assert count(pattern, b"a\n" * 9, 2) == 2
