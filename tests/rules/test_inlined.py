"""The inlined form of calls and results is found at the start of lines only."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.base import CompactOptions
from pipeline.rules.inlined import find_inlined
from pipeline.rules.markdown import rewrite

START, END = "============ test session starts ============\n", "=== 240 passed in 0.42s ==="
RUN = START + "tests/test_barn.py ......      [ 12%]\n" * 40 + END
SHORT_RUN = START + "… [40 passing test lines elided] …\n" + END
CALL = '[tool: bash]\n{\n  "command": "pytest"\n}'


def shapes(text: str) -> list[tuple[str, str, str]]:
    return [(block.kind, block.tool, block.body) for block in find_inlined(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I look.\n\n" + CALL, [("call", "bash", '{\n  "command": "pytest"\n}')], id="call"),
        pytest.param(
            CALL + "\n\nThen I rest.", [("call", "bash", '{\n  "command": "pytest"\n}')], id="prose behind a call"
        ),
        pytest.param("[tool: bash]\nls -l\nmore\n\nprose", [("call", "bash", "ls -l\nmore")], id="bare string"),
        pytest.param("[tool: bash]\n{not json\n\nprose", [("call", "bash", "{not json")], id="no JSON"),
        pytest.param("[tool: a]\n" + "[" * 9000, [("call", "a", "[" * 9000)], id="too deep"),
        pytest.param("[tool result]\na\n\nb\n\n", [("result", "", "a\n\nb")], id="result to the end"),
        pytest.param(
            CALL + "\n\n[tool result]\na\n\n[tool: x]\n{}",
            [("call", "bash", '{\n  "command": "pytest"\n}'), ("result", "bash", "a"), ("call", "x", "{}")],
            id="call, result, call",
        ),
        pytest.param("see [tool: bash]\nls", [], id="marker inside of a line"),
        pytest.param("[tool:bash (done)] text", [], id="another plugin's form"),
        pytest.param("[tool result]", [("result", "", "")], id="marker alone"),
    ],
)
def test_calls_and_results_are_found(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert shapes(text) == expected


def test_a_result_gets_the_command_of_the_call_before_it() -> None:
    text = f"I look.\n\n{CALL}\n\n[tool result]\n{RUN}"
    done = rewrite(text, find_inlined(text), CompactOptions())
    assert done.text == text.replace(RUN, SHORT_RUN)
    assert (done.mark_at, done.rule) == (len(done.text), "test-output")


def test_a_long_input_is_summarised_and_the_prose_stays() -> None:
    text = '[tool: Write]\n{"file_path": "a.md", "content": "' + "x" * 5000 + '"}\n\nThen I rest.'
    done = rewrite(text, find_inlined(text), CompactOptions())
    assert done.text.startswith("[tool: Write]\n{")
    assert done.text.endswith("}\n\nThen I rest.")
    assert "content_summary" in done.text
    again = rewrite(done.text, find_inlined(done.text), CompactOptions())
    assert again.text == done.text


LINES = ["[tool: bash]", "[tool result]", "{", '{"a": 1}', "}", '"x"', "", "x", "\ud83d", *RUN.split("\n")[:9]]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_blocks_lie_in_order_and_compaction_is_idempotent(text: str) -> None:
    blocks = find_inlined(text)
    edges = [offset for block in blocks for offset in (block.start, block.end)]
    assert edges == sorted(edges)
    assert all(text[block.start : block.end] == block.body for block in blocks)
    options = CompactOptions(min_bytes=0, min_savings=0.0)
    done = rewrite(text, blocks, options).text
    assert rewrite(done, find_inlined(done), options).text == done


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["[tool: a]\n[", "[tool result]\n", "[tool: a]\n", "\n", '[tool: a]\n{"a":\n'])
def test_time_is_linear(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    find_inlined(text)
    assert time.perf_counter() - start < 5
