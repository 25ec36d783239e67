"""Results find their calls by id, whatever ids do; days come from timestamps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap, day_of
from pipeline.rules.base import NO_CONTEXT


def named(tool: str) -> Call:
    return Call(tool, NO_CONTEXT)


def test_a_result_answers_the_nearest_unanswered_call() -> None:
    calls = CallMap()
    calls.add("a", named("first"))
    calls.add("a", named("second"))
    assert [calls.answer("a").tool for _ in range(3)] == ["second", "first", "first"]


def test_a_call_without_id_and_a_result_without_call_stay_unknown() -> None:
    calls = CallMap()
    calls.add("", named("nameless"))
    assert calls.answer("") is UNKNOWN_CALL
    assert calls.answer("never") is UNKNOWN_CALL
    assert calls.peek("never") is UNKNOWN_CALL


def test_peeking_answers_nothing() -> None:
    calls = CallMap()
    calls.add("a", named("shell"))
    assert (calls.peek("a").tool, calls.peek("a").tool, calls.answer("a").tool) == ("shell", "shell", "shell")
    assert calls.peek("a").tool == "shell"


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_only_the_last_calls_are_kept(ids: list[str]) -> None:
    """However often one id repeats: the oldest id gives way, its own oldest call first."""
    calls = CallMap(kept=4)
    for number, call_id in enumerate(ids):
        calls.add(call_id, named(str(number)))
    found = [call for call_id in "abc" for _ in ids if (call := calls.answer(call_id)) is not UNKNOWN_CALL]
    assert len({call.tool for call in found}) == min(4, len(ids))
    assert not ids or str(len(ids) - 1) in {call.tool for call in found}


@pytest.mark.parametrize(
    ("timestamp", "day"),
    [
        pytest.param("2026-01-05T08:00:00.000Z", "2026-01-05", id="usual"),
        pytest.param("2026-01-31T08:00:00Z", "2026-01-31", id="last of a month"),
        pytest.param("2026-02-30T08:00:00Z", "", id="no such day"),
        pytest.param("2026-01-05", "2026-01-05", id="day alone"),
        pytest.param("2026-01-05T23:30:00-02:00", "2026-01-06", id="other zone"),
        pytest.param("2026-01-05T23:30:00", "2026-01-05", id="no zone"),
        pytest.param("0001-01-01T00:00:00+14:00", "", id="before all years"),
        pytest.param("yesterday", "", id="words"),
        pytest.param("٢٠٢٦-٠١-٠٥T08:00:00Z", "", id="other digits"),
        pytest.param(1767600000000, "", id="number"),
        pytest.param(None, "", id="nothing"),
    ],
)
def test_a_day_is_read_from_a_timestamp(timestamp: str | int | None, day: str) -> None:
    assert day_of(timestamp) == day


@given(st.text())
def test_any_text_gives_a_day_or_nothing(text: str) -> None:
    assert day_of(text) == "" or len(day_of(text)) == 10
