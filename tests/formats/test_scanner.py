"""The exact scanner: every spelling of JSON, the last of equal keys, any depth."""

from __future__ import annotations

import gc
import json
import math
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.scanner import scan_spans
from pipeline.records import Json, Path


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every value below and at `path`, containers included."""
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))


def found(raw: bytes, paths: list[Path]) -> list[bytes]:
    return [raw[start:end] for start, end in scan_spans(raw, 0, len(raw), paths)]


@pytest.mark.parametrize(
    ("raw", "path", "token"),
    [
        pytest.param(b'{"a":"b"}', ("a",), b'"b"', id="plain"),
        pytest.param(b' { "a"\t:\r\n 1.50 } ', ("a",), b"1.50", id="blanks"),
        pytest.param(b'{"a":[1,{"b":true}]}', ("a", 1, "b"), b"true", id="in a list"),
        pytest.param(b'{"a":1,"a":2}', ("a",), b"2", id="the last of equal keys"),
        pytest.param(b'{"a":1,"\\u0061":2}', ("a",), b"2", id="equal when decoded"),
        pytest.param(b'{"a":{"b":1},"a":{"b":2}}', ("a", "b"), b"2", id="the last of equal parents"),
        pytest.param(b'{"a\\"b":1}', ('a"b',), b"1", id="escaped quote in a key"),
        pytest.param('{"é":"ü"}'.encode(), ("é",), '"ü"'.encode(), id="not ASCII"),
        pytest.param(b'{"\\ud83d\\ude00":[]}', ("😀",), b"[]", id="escaped pair in a key"),
        pytest.param(b'{"\\ud83d":[]}', ("\ud83d",), b"[]", id="lone surrogate in a key"),
        pytest.param(b'{"":{"":0}}', ("", ""), b"0", id="empty keys"),
        pytest.param(b'{"a":"\\\\","b":"\\""}', ("b",), b'"\\""', id="escapes at the end of strings"),
        pytest.param(b'{"a":["]","}",{"b":"{["}],"c":null}', ("c",), b"null", id="brackets in strings"),
        pytest.param(b'{"a":[]}', (), b'{"a":[]}', id="the document"),
        pytest.param(b'{"a":[[],{},[[]],-1e5]}', ("a", 3), b"-1e5", id="after empty containers"),
        pytest.param(b'{"0":"key","a":["element"]}', ("a", 0), b'"element"', id="index and key"),
    ],
)
def test_the_token_at_a_path_is_found(raw: bytes, path: Path, token: bytes) -> None:
    assert found(raw, [path]) == [token]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param(b'{"a":1}', ("b",), id="no such key"),
        pytest.param(b'{"a":[1]}', ("a", 1), id="no such element"),
        pytest.param(b'{"a":[1]}', ("a", "0"), id="a key in a list"),
        pytest.param(b'{"0":1}', (0,), id="an index in an object"),
        pytest.param(b'{"a":{"b":1},"a":2}', ("a", "b"), id="only in a value that does not count"),
        pytest.param(b'{"a":{"b":1},"a":{"c":2}}', ("a", "b"), id="only in a parent that does not count"),
        pytest.param(b'{"a":"b', ("a",), id="cut"),
        pytest.param(b'{"a":"b\\"', ("a",), id="cut behind an escape"),
        pytest.param(b'{"a":[1', ("a",), id="list cut"),
        pytest.param(b'{"a":', ("a",), id="no value"),
        pytest.param(b'{"a" 1}', ("a",), id="no colon"),
        pytest.param(b'{"a":1 "b":2}', ("b",), id="no comma"),
        pytest.param(b"", ("a",), id="nothing"),
    ],
)
def test_a_path_that_leads_nowhere_raises(raw: bytes, path: Path) -> None:
    with pytest.raises(ValueError, match=r"need|no value|no end"):
        scan_spans(raw, 0, len(raw), [path])


def test_spans_come_in_the_order_of_the_paths_and_may_contain_one_another() -> None:
    raw = b'{"a":{"b":[1,2]},"c":3}'
    assert found(raw, [("c",), ("a", "b", 1), ("a",), ("a", "b")]) == [b"3", b"2", b'{"b":[1,2]}', b"[1,2]"]


def test_only_the_document_is_read() -> None:
    raw = b'{"a":1}{"a":2}{"a":3}'
    assert scan_spans(raw, 7, 14, [("a",)]) == [(12, 13)]


def test_three_thousand_levels_are_entered_and_skipped() -> None:
    levels = 3000
    deep = b"[" * levels + b'"x"' + b"]" * levels
    raw = b'{"a":' + deep + b',"b":1}'
    assert found(raw, [("a", *[0] * levels), ("b",)]) == [b'"x"', b"1"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=20,
    ),
    st.booleans(),
    st.sampled_from([None, 0, 3, "\t"]),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]),
)
def test_each_token_decodes_to_the_value_at_its_path(
    value: Json, ascii_only: bool, indent: int | str | None, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    raw = text.encode("utf-8", "surrogatepass")
    expected = list(leaves(value))
    assert [json.loads(token) for token in found(raw, [path for path, _ in expected])] == [v for _, v in expected]


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: (b'{"a":' * n + b"1" + b"}" * n, ("a",) * n), id="deep path"),
        pytest.param(lambda n: (b'{"a":' + b"[" * n + b"]" * n + b"}", ("a",)), id="deep value"),
        pytest.param(
            lambda n: (b"{" + b'"a":{"b":1},' * n + b'"a":{"b":2}}', ("a", "b")), id="one key again and again"
        ),
        pytest.param(lambda n: (b'{"a":"' + b'\\"' * n + b'"}', ("a",)), id="escaped quotes"),
        pytest.param(lambda n: (b'{"b":"' + b"\\\\" * n + b'","a":1}', ("a",)), id="backslashes"),
    ],
)
def test_the_time_is_linear(make: Callable[[int], tuple[bytes, Path]]) -> None:
    times = [best_seconds(*make(size)) for size in (10_000, 40_000)]
    assert times[1] <= 6 * times[0] + 0.02


def best_seconds(raw: bytes, path: Path) -> float:
    """Of three runs; the garbage collector would add its own time, in steps."""
    best = math.inf
    gc.disable()
    for _ in range(3):
        start = time.process_time()
        scan_spans(raw, 0, len(raw), [path])
        best = min(best, time.process_time() - start)
    gc.enable()
    return best
