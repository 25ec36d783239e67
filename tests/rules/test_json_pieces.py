"""Failures inside of JSON are found where they are, on one line or many, escaped or not."""

from __future__ import annotations

import json

import pytest

from pipeline.rules.json_pieces import TOKEN, decoded, failing_spans, lost_from_json, overlaps

TRACE = "ok\nTraceback (most recent call last):\nTypeError: no"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1, "b": "fine"}', [], id="no failure"),
        pytest.param('{"a": "fatal error", "b": 2}', ['"a": "fatal error"'], id="a piece of one line"),
        pytest.param('{"a": ["x", "it failed"]}\n', ['"it failed"'], id="an element"),
        pytest.param('{\n"a": 1,\n"b": "it failed"\n}', ['"b": "it failed"'], id="a line of many"),
        pytest.param('{"b": "x"}\n{"b": "error"}', ['{"b": "error"}'], id="JSON lines"),
    ],
)
def test_failures_have_their_place(text: str, expected: list[str]) -> None:
    assert [text[start:end].strip() for start, end in failing_spans(text)] == expected


@pytest.mark.parametrize("indent", [None, 1])
def test_an_escaped_line_end_starts_a_line(indent: int | None) -> None:
    text = json.dumps({"a": "x", "out": TRACE, "z": "y"}, indent=indent)
    place = text.index("TypeError")
    assert overlaps(failing_spans(text), place, place + 1)
    assert not overlaps(failing_spans(text), text.index('"z"'), text.index('"z"') + 3)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 2, False), (0, 3, True), (4, 5, True), (5, 7, False), (6, 8, True), (9, 20, False)],
)
def test_spans_touch_without_overlap(start: int, end: int, expected: bool) -> None:
    assert overlaps([(2, 5), (7, 9)], start, end) is expected


def test_a_document_on_one_line_may_lose_what_is_no_failure() -> None:
    before = json.dumps({"state": "error", "items": [1, 2, 3], "out": TRACE})
    assert lost_from_json(before, before.replace("1, 2, 3", "1")) == []
    assert lost_from_json(before, before.replace("TypeError: no", "")) == ['TypeError: no"'[:-1]]
    assert lost_from_json(before, before.replace('"state": "error", ', "")) == ['"state": "error"']


def test_of_many_lines_each_failing_one_stays_whole() -> None:
    before = '{"a": "error", "b": 1}\n{"a": "fine"}\n'
    assert lost_from_json(before, '{"a": "error", "b": 1}\n') == []
    assert lost_from_json(before, '{"a": "error"}\n{"a": "fine"}\n') == ['{"a": "error", "b": 1}']


def test_a_string_without_an_end_runs_to_the_end() -> None:
    assert [found[0] for found in TOKEN.finditer('["a\\"b')] == ["[", '"a\\"b']
    assert decoded('"a\\n"') == "a\n"
    assert decoded('"a\\') == "a\\"
