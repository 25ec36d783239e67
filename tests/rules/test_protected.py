"""Which parts of a text stay whole."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.protected import Part, split_protected, splits_line


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        pytest.param("a\nb\n", [], id="nothing"),
        pytest.param(
            "a\n<system-reminder>\nx\n</system-reminder>\nb", ["<system-reminder>\nx\n</system-reminder>\n"], id="block"
        ),
        pytest.param(
            "a\n  <tool_use_error>x</tool_use_error>", ["  <tool_use_error>x</tool_use_error>"], id="at the end"
        ),
        pytest.param("a\n<system-reminder>\nb", ["<system-reminder>\n"], id="block without an end"),
        pytest.param("a</system-reminder>b", ["</system-reminder>"], id="an end alone"),
        pytest.param("<untrusted>\na\n</untrusted>\n", ["<untrusted>\n", "</untrusted>\n"], id="only the marks"),
        pytest.param("<untrusted>\n</untrusted>a\n", ["<untrusted>\n</untrusted>"], id="what touches is one"),
        pytest.param("x<UNTRUSTED-DATA a=1>y", ["<UNTRUSTED-DATA a=1>"], id="within a line"),
        pytest.param(
            '<<<EXTERNAL_UNTRUSTED_CONTENT id="1">>>\nSource: Web\n---\nbody\n',
            ['<<<EXTERNAL_UNTRUSTED_CONTENT id="1">>>\nSource: Web\n---\n'],
            id="with its origin",
        ),
        pytest.param("Exit code 1\nbody", ["Exit code 1\n"], id="exit code"),
        pytest.param(
            "Exit code: 0\nWall time: 1 s\nOutput:\nbody", ["Exit code: 0\nWall time: 1 s\nOutput:\n"], id="header"
        ),
        pytest.param("body\nExit code 1\n", [], id="a header stands first"),
    ],
)
def test_marks_and_blocks_are_cut_out(text: str, whole: list[str]) -> None:
    assert [part.text for part in split_protected(text) if part.whole] == whole


@given(
    st.lists(
        st.sampled_from(
            [
                "<system-reminder>",
                "</system-reminder>",
                "<untrusted>",
                "</untrusted>",
                "\n",
                " ",
                "a",
                "<",
                ">",
                "Exit code 1\n",
            ]
        ),
        max_size=14,
    )
)
def test_the_parts_are_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    parts = split_protected(text)
    assert "".join(part.text for part in parts) == text
    assert all(part.text for part in parts) or not text
    for mark in ("<system-reminder>", "</system-reminder>", "<untrusted>", "</untrusted>"):
        assert not any(mark in part.text for part in parts if not part.whole)


def test_a_boundary_within_a_line_is_told() -> None:
    assert not splits_line([Part("a\n", False), Part("<x>", True)])
    assert splits_line([Part("a", False), Part("<x>", True)])
    assert splits_line(split_protected("a\n<untrusted></untrusted>"))
    assert not splits_line(split_protected("a\n<untrusted>\n</untrusted>"))


def test_what_touches_is_one_part_that_tells_of_how_many() -> None:
    assert split_protected("<untrusted></untrusted>\n") == [Part("<untrusted></untrusted>\n", True, 2, True)]


@pytest.mark.benchmark
@pytest.mark.parametrize("piece", ["<system-reminder>x", "<untrusted>x", "<", "[", "</system-reminder>", "<<<<"])
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "<untrusted>" + piece * (size // len(piece))
        start = time.process_time()
        split_protected(text)
        return time.process_time() - start

    assert min(seconds(400_000) for _ in range(3)) <= 8 * min(seconds(100_000) for _ in range(3)) + 0.05
