"""A hidden copy is known by what the session has shown before."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.copies import Seen, digest_of, text_of_list, without_line_numbers

LONG = "a line of a tool\n" * 40
FILE = "\n".join(f"value_{n} = {n}" for n in range(60))
NUMBERED = "\n".join(f"{n:6}→value_{n - 1} = {n - 1}" for n in range(1, 61))


def seen() -> Seen:
    return Seen(min_bytes=512)


def test_a_result_is_known_by_its_text_trimmed_and_with_the_word_error() -> None:
    known = seen()
    known.remember_result("\n" + LONG, is_read=False, is_error=True)
    for text in ("\n" + LONG, LONG.strip(), LONG + "\n", "Error: \n" + LONG):
        assert known.holds(text, guarded=True)
    assert not known.holds(LONG[1:], guarded=False)


@pytest.mark.parametrize("behind", ["", "\n\n<system-reminder>\nlook out\n</system-reminder>\n"])
@pytest.mark.parametrize("numbered", [NUMBERED, NUMBERED.replace("→", "\t")])
def test_a_file_is_known_by_its_numbered_read(numbered: str, behind: str) -> None:
    known = seen()
    known.remember_result(numbered + behind, is_read=True, is_error=False)
    assert known.holds(FILE, guarded=False)
    assert not known.holds(FILE, guarded=True)
    assert without_line_numbers(numbered + behind) == FILE


def test_a_shell_output_with_numbers_is_no_file() -> None:
    known = seen()
    known.remember_result(NUMBERED, is_read=False, is_error=False)
    assert not known.holds(FILE, guarded=False)


def test_inputs_are_known_by_their_strings_and_lists_but_guard_nothing() -> None:
    known = seen()
    todos: list[Any] = [{"content": f"paint door {n}", "deep": [LONG]} for n in range(9)]
    known.remember_input({"content": FILE, "edits": todos, "more": {"deeper": [LONG + "x"]}})
    for text in (FILE, LONG, LONG + "x", text_of_list(todos)):
        assert known.holds(text, guarded=False)
        assert not known.holds(text, guarded=True)


@pytest.mark.parametrize("replace_all", [False, True])
def test_the_state_after_an_edit_is_known(replace_all: bool) -> None:
    known = seen()
    known.remember_edit({"originalFile": FILE, "oldString": "value_1", "newString": "w", "replaceAll": replace_all})
    assert known.holds(FILE.replace("value_1", "w", -1 if replace_all else 1), guarded=False)
    known.remember_edit({"originalFile": None, "oldString": "", "newString": 7})


def test_an_edit_that_would_fill_the_memory_is_not_followed() -> None:
    """Followed, it would need a terabyte."""
    known = seen()
    known.remember_edit({"originalFile": "a" * 10**6, "oldString": "a", "newString": "b" * 10**6, "replaceAll": True})
    known.remember_edit({"originalFile": "a" * 10, "oldString": "a", "newString": "b" * 600, "replaceAll": True})
    assert not known.holds("b" * 6000, guarded=False)


def test_what_is_short_is_never_known() -> None:
    known = seen()
    known.remember("short", guarded=True)
    known.remember_input("short")
    assert not known.holds("short", guarded=False)


def test_only_the_newest_are_kept() -> None:
    known = Seen(min_bytes=1, kept=2)
    for text in ("one", "two", "three"):
        known.remember(text, guarded=True)
    assert [known.holds(text, guarded=True) for text in ("one", "two", "three")] == [False, True, True]


@given(st.lists(st.text(max_size=4), max_size=8))
def test_a_growing_output_is_known_as_far_as_it_was(parts: list[str]) -> None:
    known = seen()
    text = ""
    for part in parts:
        assert known.grown("key", text + part) == len(text)
        assert known.grown("other", text + part) == 0
        text += part
        known.remember_growing("key", text)
    assert known.grown("key", "#" + text[1:]) in (0, len(text) if text[:1] == "#" else 0)


@given(st.text(), st.text())
def test_digests_are_equal_for_equal_texts_alone(one: str, other: str) -> None:
    assert (digest_of(one) == digest_of(other)) is (one == other)


def test_lists_are_compared_by_lines_or_as_json() -> None:
    assert text_of_list(["a", "b"]) == "a\nb"
    assert text_of_list([{"a": 1}, "\ud83d"]) == '[{"a": 1}, "\ud83d"]'


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["     1→a\n", " " * 9, "1", "\n\n<system-reminder>"])
def test_line_numbers_go_in_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    without_line_numbers(text)
    assert time.perf_counter() - start < 3
