"""Long JSON loses the middle of arrays, runs of lines and strings; it stays JSON, and failures stay."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, size

from pipeline.rules.base import ToolContext
from pipeline.rules.guard import lost_failures
from pipeline.rules.json_pieces import lost_from_json
from pipeline.rules.json_prune import RULE, prune_json

BLOB = base64.b64encode(random.Random(1).randbytes(300)).decode()
ITEMS = [{"id": number, "name": f"crate {number}"} for number in range(30)]


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(ITEMS, [*ITEMS[:5], "… [22 items elided] …", *ITEMS[27:]], id="objects"),
        pytest.param(ITEMS[:11], ITEMS[:11], id="few objects"),
        pytest.param(
            {"a": [[n] for n in range(40)]},
            {"a": [[0], [1], [2], [3], [4], "… [32 items elided] …", [37], [38], [39]]},
            id="rows",
        ),
        pytest.param(list(range(100)), [*range(20), "… [70 items elided] …", *range(90, 100)], id="numbers"),
        pytest.param(["crate"] * 33, ["crate"] * 33, id="few strings"),
        pytest.param(
            [*ITEMS[:20], {"state": "error"}, *ITEMS[20:]],
            [*ITEMS[:5], "… [12 items elided] …", *ITEMS[17:20], {"state": "error"}, *ITEMS[20:]],
            id="what is not alike parts a run",
        ),
        pytest.param(
            [*ITEMS[:10], {"id": 10, "name": "it failed"}, *ITEMS[11:]],
            [*ITEMS[:5], "… [5 items elided] …", {"id": 10, "name": "it failed"}, "… [16 items elided] …", *ITEMS[27:]],
            id="an element with a failure",
        ),
        pytest.param(
            [*ITEMS[:5], "… [9 items elided] …", *ITEMS],
            [*ITEMS[:5], "… [9 items elided] …", *ITEMS],
            id="elided before",
        ),
        pytest.param({"a": "wood " * 1000}, {"a": "wood " * 400 + "…[+3000 chars]"}, id="a long string"),
        pytest.param({"a": "wood " * 800}, {"a": "wood " * 800}, id="a string that may stay"),
        pytest.param({"a": "it failed " + "wood " * 1000}, {"a": "it failed " + "wood " * 1000}, id="a long failure"),
        pytest.param({"wood " * 1000: 1}, {"wood " * 1000: 1}, id="a long key"),
        pytest.param({"a": BLOB}, {"a": "[base64, 300 bytes]"}, id="base64"),
        pytest.param(
            {"a": "data:image/png;base64," + BLOB}, {"a": "data:image/png;base64,[base64, 300 bytes]"}, id="a data URL"
        ),
        pytest.param({"a": "/usr/lib" * 50}, {"a": "/usr/lib" * 50}, id="a path is no base64"),
    ],
)
def test_what_is_long_is_pruned_inside(value: object, expected: object) -> None:
    assert json.loads(prune_json(dumped(value))) == expected


def test_what_stays_keeps_its_spelling() -> None:
    rows = ",\n".join(f'    {{"n" : {n}.10e0 , "s":"\\u00e9"}}' for n in range(20))
    text = f'\n{{\n  "rows" :[\n{rows}\n  ], "n":1.0, "n": -0}}\n'
    lines = text.split("\n")
    assert prune_json(text).split("\n") == [*lines[:8], '    "… [12 items elided] …",', *lines[20:]]


def test_a_run_of_lines_keeps_its_ends() -> None:
    lines = [dumped({"at": number, "message": "step"}) for number in range(40)]
    lines[20] = dumped({"at": 20, "message": "TypeError: no"})
    expected = [*lines[:10], '"… [10 lines elided] …"', lines[20], '"… [14 lines elided] …"', *lines[35:]]
    assert prune_json("\n".join(lines) + "\n") == "\n".join(expected) + "\n"
    assert prune_json("\r\n".join(lines)) == "\r\n".join(expected)


def test_an_escape_is_not_cut_in_two() -> None:
    text = json.dumps({"a": "x" + "\U0001f600" * 3000})
    short = json.loads(prune_json(text))["a"]
    head, _, count = short.partition("…[+")
    assert len(head) + int(count.removesuffix(" chars]")) == 3001
    assert head == "x" + "\U0001f600" * (len(head) - 1)


def test_escapes_count_as_one_character() -> None:
    text = json.dumps({"a": "é" * 4000})
    assert prune_json(text) == text
    assert json.loads(prune_json(json.dumps({"a": "é" * 4001}))) == {"a": "é" * 2000 + "…[+2001 chars]"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[1, 2",
        "[INFO] a\n" * 40 + "]",
        "{'a': 1}",
        '{"a": 1}\nplain\n{"a": 2}',
        '{"a": NaN}',
        "[" * 2000 + "]" * 2000,
    ],
)
def test_what_is_no_json_stays(text: str) -> None:
    assert prune_json(text) == text


def test_tool_and_path_come_first() -> None:
    assert RULE.matches_context is not None
    assert RULE.matches("mcp__tracker__list", dumped(ITEMS))
    assert not RULE.matches("mcp__tracker__list", "no JSON")
    assert not RULE.matches("Edit", dumped(ITEMS))
    assert not RULE.matches_context(ToolContext(tool_class="read", path="a.py"))
    assert RULE.matches_context(ToolContext(tool_class="read", path="a.json"))


STRINGS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["error", "x\nTypeError: y", "wood " * 900, BLOB, 'é\\"\n' * 2000, "… [4 items elided] …", "\ud83d" * 3]
    ),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), STRINGS)


def _some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(values, max_size=3), st.dictionaries(st.sampled_from(["a", "error", "id", "b c"]), values, max_size=3)
    )


SMALL = st.recursive(SCALARS, _some, max_leaves=6)
REPEATED = st.lists(st.tuples(SMALL, st.integers(1, 35)), max_size=3).map(
    lambda parts: [value for value, times in parts for _ in range(times)]
)
VALUES = st.one_of(REPEATED, _some(SMALL), _some(REPEATED))


def same_but_for_cuts(before: Any, after: Any) -> bool:
    """Whether `after` is `before` with elements and ends of strings left out, and nothing else."""
    if isinstance(before, list) and isinstance(after, list):
        left = iter(before)
        return all(
            (isinstance(one, str) and one.startswith("… [")) or any(same_but_for_cuts(other, one) for other in left)
            for one in after
        )
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(same_but_for_cuts(before[key], after[key]) for key in before)
    if isinstance(before, str) and isinstance(after, str) and before != after:
        return before.startswith(after.partition("…[+")[0]) or after == "[base64, 300 bytes]"
    return type(before) is type(after) and bool(before == after)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_the_laws_hold(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    short = prune_json(text)
    assert size(short) <= size(text)
    assert prune_json(short) == short
    assert lost_from_json(text, short) == []
    if "\n" in text:
        assert lost_failures(text, short) == []
    assert same_but_for_cuts(json.loads(text), json.loads(short))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_some(SCALARS), st.integers(1, 30)), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_the_laws_hold_for_lines(parts: list[tuple[Any, int]], line_end: str) -> None:
    text = line_end.join(json.dumps(value) for value, times in parts for _ in range(times))
    short = check_laws(prune_json, text) if "\n" in text else prune_json(text)
    for line in short.split("\n"):
        json.loads(line)


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ['"a\\n",', "1,", '{"a":[1]},', '"' + "\\\\" * 50 + '",', '"error",'])
def test_time_is_linear(unit: str) -> None:
    assert is_linear(prune_json, lambda chars: "[" + unit * (chars // len(unit)) + "0]")
