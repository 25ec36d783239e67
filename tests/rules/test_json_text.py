"""What counts as JSON that a cut would break."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.json_text import is_json, is_json_or_lines


@pytest.mark.parametrize(
    ("text", "whole", "lines"),
    [
        pytest.param(' {"a": 1}\n', True, True, id="object"),
        pytest.param("[1,\n2]", True, True, id="array over lines"),
        pytest.param('{"a": NaN, "b": [-Infinity]}', True, True, id="not finite"),
        pytest.param('{"a": 1e400, "b": "\\ud83d"}', True, True, id="beyond the decoder"),
        pytest.param("[" * 3000 + "]" * 3000, True, True, id="very deep"),
        pytest.param('{"a": 1}\n\n[2]\n', False, True, id="lines"),
        pytest.param('{"a": 1}\nx\n{"b": 2}', False, False, id="a line that is none"),
        pytest.param("[INFO] start\n[INFO] end]", False, False, id="a log"),
        pytest.param("1", False, False, id="a number"),
        pytest.param("", False, False, id="empty"),
        pytest.param('{"a": 1', False, False, id="cut"),
    ],
)
def test_objects_arrays_and_lines_of_them_count(text: str, whole: bool, lines: bool) -> None:
    assert (is_json(text), is_json_or_lines(text)) == (whole, lines)


@given(
    st.recursive(st.none() | st.text() | st.floats(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_what_the_standard_encoder_writes_is_json(value: object) -> None:
    assert is_json(json.dumps([value], ensure_ascii=False))
    assert is_json(json.dumps([value], indent=1))
