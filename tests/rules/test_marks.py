"""Marks: their exact text, how they are found, and where they go."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import Json, Where
from pipeline.rules.marks import (
    HANDLE_CHARS,
    MARK_KEY,
    MARK_MIN_BYTES,
    cap_text,
    copy_mark,
    cut_mark,
    handle_of,
    holds_mark,
    holds_mark_value,
    line_count,
    place,
    utf8_bytes,
    where_for,
    whole_chars,
    without_mark,
)

HANDLE = "0123456789abcdef"
MARK = cut_mark(12, 3456, HANDLE)
TEXTS = st.text(st.characters(exclude_categories=())) | st.text("ab \n{}[]\"'`-+…1,:é\ud800", max_size=60)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


def test_marks_have_the_documented_text() -> None:
    assert cut_mark(12, 3456, HANDLE) == "[cut 12 lines, 3456 bytes: compactd recall 0123456789abcdef]"
    assert copy_mark(7, HANDLE, "digest") == "[copy, 7 bytes: compactd digest 0123456789abcdef]"


def test_both_verbs_give_marks_of_one_length() -> None:
    assert len(cut_mark(1, 2, HANDLE, "recall")) == len(cut_mark(1, 2, HANDLE, "digest"))


def test_a_handle_is_the_start_of_the_digest_in_hex() -> None:
    assert handle_of(bytes(range(32))) == "0001020304050607"
    assert len(handle_of(bytes(32))) == HANDLE_CHARS


def test_every_mark_is_shorter_than_what_calls_for_one() -> None:
    longest = cut_mark(10**18, 10**18, HANDLE)
    assert len(json.dumps({MARK_KEY: longest})) < MARK_MIN_BYTES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(MARK, True, id="cut"),
        pytest.param(copy_mark(1, HANDLE), True, id="copy"),
        pytest.param(cut_mark(0, 1, HANDLE, "digest"), True, id="digest"),
        pytest.param(f"a\n{MARK}\nb", True, id="inside"),
        pytest.param(MARK[:-2] + "]", False, id="short handle"),
        pytest.param(MARK.upper(), False, id="upper case"),
        pytest.param("run compactd recall 0123456789abcdef", False, id="a command"),
        pytest.param("[cut ٣ lines, ٣ bytes: compactd recall 0123456789abcdef]", False, id="digits that are not ASCII"),
        pytest.param("", False, id="empty"),
    ],
)
def test_only_the_exact_text_is_a_mark(text: str, expected: bool) -> None:
    assert holds_mark(text) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [1, {"b": f"x\n{MARK}"}]}, True, id="deep"),
        pytest.param({MARK: 1}, True, id="in a key"),
        pytest.param({MARK_KEY: "no mark"}, False, id="the key alone"),
        pytest.param([None, 1.5, True, "x", {}], False, id="none"),
        pytest.param(None, False, id="null"),
    ],
)
def test_a_mark_is_found_anywhere_in_a_value(value: Json, expected: bool) -> None:
    assert holds_mark_value(value) is expected


def test_a_mark_is_found_deeper_than_the_recursion_limit() -> None:
    value: Json = MARK
    for _ in range(5000):
        value = [value]
    assert holds_mark_value(value)


@pytest.mark.parametrize(
    ("value", "where", "expected"),
    [
        pytest.param("a\nb", Where.LAST_LINE, f"a\nb\n{MARK}", id="last line"),
        pytest.param("", Where.LAST_LINE, f"\n{MARK}", id="last line of nothing"),
        pytest.param("x\ndiff --git a/f b/f\n", Where.DIFF_HEAD, f"x\n{MARK}\ndiff --git a/f b/f\n", id="git diff"),
        pytest.param("--- a\n+++ b\n@@", Where.DIFF_HEAD, f"{MARK}\n--- a\n+++ b\n@@", id="plain diff"),
        pytest.param("*** Begin Patch\n", Where.DIFF_HEAD, f"{MARK}\n*** Begin Patch\n", id="patch"),
        pytest.param("no diff", Where.DIFF_HEAD, f"{MARK}\nno diff", id="no diff"),
        pytest.param({"a": 1}, Where.JSON_MEMBER, {"a": 1, MARK_KEY: MARK}, id="member"),
        pytest.param('{"a":1}', Where.JSON_MEMBER, f'{{"a":1,"{MARK_KEY}":"{MARK}"}}', id="member, compact text"),
        pytest.param('{"a": 1}\n', Where.JSON_MEMBER, f'{{"a": 1, "{MARK_KEY}": "{MARK}"}}\n', id="member, spaced"),
        pytest.param(
            '{\n  "a": 1\n}', Where.JSON_MEMBER, f'{{\n  "a": 1,\n  "{MARK_KEY}": "{MARK}"\n}}', id="member, indented"
        ),
        pytest.param("{}", Where.JSON_MEMBER, f'{{"{MARK_KEY}":"{MARK}"}}', id="member of nothing"),
        pytest.param("[1, 2", Where.JSON_MEMBER, f"[1, 2\n{MARK}", id="no object"),
        pytest.param([1], Where.JSON_ELEMENT, [1, MARK], id="element"),
        pytest.param("[1,2]", Where.JSON_ELEMENT, f'[1,2,"{MARK}"]', id="element, compact text"),
        pytest.param("[1, 2]", Where.JSON_ELEMENT, f'[1, 2, "{MARK}"]', id="element, spaced"),
        pytest.param("[ ]", Where.JSON_ELEMENT, f'["{MARK}"]', id="element of nothing"),
        pytest.param('{"a":1}\n{"b":2}', Where.JSON_LINE, f'{{"a":1}}\n{{"b":2}}\n"{MARK}"', id="JSON line"),
        pytest.param('{"a":1}\n', Where.JSON_LINE, f'{{"a":1}}\n"{MARK}"\n', id="JSON line, newline kept"),
        pytest.param("```text\na\n```", Where.FENCE, f"```text\na\n{MARK}\n```", id="fence"),
        pytest.param("````\r\na\r\n````\r\n", Where.FENCE, f"````\r\na\r\n{MARK}\r\n````\r\n", id="fence, CRLF"),
        pytest.param("```", Where.FENCE, f"```\n{MARK}", id="no fence"),
        pytest.param({"a": 1}, Where.WHOLE, MARK, id="whole"),
        pytest.param("abc", Where.NONE, "abc", id="none"),
        pytest.param([1], Where.LAST_LINE, [1, MARK], id="a list has no last line"),
        pytest.param(None, Where.LAST_LINE, MARK, id="null has no last line"),
    ],
)
def test_a_mark_goes_where_it_belongs(value: Json, where: Where, expected: Json) -> None:
    assert place(value, MARK, where) == expected


def test_placing_leaves_the_value_alone_and_puts_the_member_last() -> None:
    value: Json = {MARK_KEY: "old", "a": 1}
    assert isinstance(value, dict)
    placed = place(value, MARK, Where.JSON_MEMBER)
    assert isinstance(placed, dict)
    assert list(placed) == ["a", MARK_KEY]
    assert value == {MARK_KEY: "old", "a": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("diff --git a/f b/f\n", Where.DIFF_HEAD, id="git diff"),
        pytest.param("commit 1\n\ndiff --git a/f b/f\n", Where.DIFF_HEAD, id="git diff below a message"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", Where.DIFF_HEAD, id="plain diff"),
        pytest.param("*** Begin Patch\n*** Update File: f", Where.DIFF_HEAD, id="patch"),
        pytest.param("FAIL\n--- expected\n+++ actual\n", Where.LAST_LINE, id="a test's difference is no diff"),
        pytest.param("---\ntitle: x\n---\n", Where.LAST_LINE, id="front matter"),
        pytest.param(' {"a": [1]}\n', Where.JSON_MEMBER, id="object"),
        pytest.param('{"a": NaN}', Where.JSON_MEMBER, id="object with NaN"),
        pytest.param('{"a": "\ud800"}', Where.JSON_MEMBER, id="object with a lone surrogate"),
        pytest.param("[1, 2]", Where.JSON_ELEMENT, id="array"),
        pytest.param('{"a":1}\n\n{"b":2}\n', Where.JSON_LINE, id="JSON lines"),
        pytest.param("12\n13\n", Where.JSON_LINE, id="lines of numbers"),
        pytest.param('{"a":1}\nok\n', Where.LAST_LINE, id="one line is no JSON"),
        pytest.param("{a}", Where.LAST_LINE, id="braces"),
        pytest.param("\n \n", Where.LAST_LINE, id="blank"),
        pytest.param("", Where.LAST_LINE, id="empty"),
        pytest.param("[" * 100_000, Where.LAST_LINE, id="too deep"),
    ],
)
def test_the_place_is_picked_by_the_shape_of_the_text(text: str, expected: Where) -> None:
    assert where_for(text) is expected


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_an_object_text_stays_the_object_with_one_member_more(
    value: dict[str, Json], indent: int | str | None, spaced: bool
) -> None:
    text = json.dumps(value, indent=indent, separators=(", ", ": ") if spaced else (",", ":"), ensure_ascii=False)
    assert where_for(text) is Where.JSON_MEMBER
    placed = place(text, MARK, where_for(text))
    assert isinstance(placed, str)
    decoded = json.loads(placed)
    assert list(decoded.items())[-1] == (MARK_KEY, MARK)
    assert {**value, MARK_KEY: MARK} == decoded


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_an_array_text_stays_the_array_with_one_element_more(
    value: list[Json], indent: int | None, spaced: bool
) -> None:
    text = json.dumps(value, indent=indent, separators=(", ", ": ") if spaced else (",", ":"))
    assert where_for(text) is Where.JSON_ELEMENT
    placed = place(text, MARK, where_for(text))
    assert isinstance(placed, str)
    assert json.loads(placed) == [*value, MARK]


@given(st.lists(st.dictionaries(st.text(), st.integers(), max_size=2), min_size=2), st.sampled_from(["\n", "\r\n"]))
def test_json_lines_stay_json_lines(rows: list[dict[str, int]], newline: str) -> None:
    text = newline.join(json.dumps(row) for row in rows)
    placed = place(text, MARK, where_for(text))
    assert isinstance(placed, str)
    assert [json.loads(line) for line in placed.split("\n")] == [*rows, MARK]


@given(TEXTS, st.sampled_from(sorted(set(Where) - {Where.NONE})))
def test_a_placed_mark_is_found_again(text: str, where: Where) -> None:
    placed = place(text, MARK, where)
    assert isinstance(placed, str)
    assert holds_mark(placed)


@given(TEXTS)
def test_a_last_line_mark_comes_off_again(text: str) -> None:
    assert without_mark(f"{text}\n{MARK}") == text
    assert without_mark(text) == text


@given(TEXTS, st.integers(-1, 40))
@settings(max_examples=300)
def test_a_short_form_is_smaller_says_what_is_missing_and_is_final(text: str, chars: int) -> None:
    short = cap_text(text, chars)
    assert cap_text(short, chars) == short
    if short != text:
        assert utf8_bytes(short) < utf8_bytes(text)
        assert len(json.dumps(short)) < len(json.dumps(text))
        assert short == f"{text[:chars]}…[+{len(text) - chars} chars]"
        assert whole_chars(short, chars) == len(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\nb\n", 2), ("\n", 1), ("a\u2028b", 1)]
)
def test_lines_end_at_newlines_only(text: str, expected: int) -> None:
    assert line_count(text) == expected


def test_a_lone_surrogate_counts_three_bytes() -> None:
    assert utf8_bytes("a\ud800") == 4
