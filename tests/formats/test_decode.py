"""Bytes to documents: what decodes, what gets which reason, and that hostile bytes cost linear time."""

from __future__ import annotations

import gc
import json
import math
import time
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.decode import MAX_DEPTH, MAX_GLUED, decode_again, decode_record, encode_value, is_too_deep
from pipeline.records import BLANK, NOT_JSON, NOT_OBJECT, NOT_UTF8, NUL_RUN, TOO_DEEP, Document, Json


def json_values(floats: st.SearchStrategy[float]) -> st.SearchStrategy[Json]:
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | floats | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )


FINITE_VALUES = json_values(st.floats(allow_nan=False, allow_infinity=False))
ALL_VALUES = json_values(st.floats(allow_nan=False))


def nested(levels: int, inside: str = "1") -> bytes:
    """An object of `levels` levels, lists and objects in turn."""
    pairs = [('{"a":', "}") if level % 2 == 0 else ("[", "]") for level in range(levels)]
    return "".join([left for left, _ in pairs] + [inside] + [right for _, right in reversed(pairs)]).encode()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(b'{"a":1}\n', [Document(0, 7, {"a": 1})], id="plain"),
        pytest.param(b' {"a":1} \t\r\n', [Document(1, 8, {"a": 1})], id="blanks and CRLF"),
        pytest.param(b'\xef\xbb\xbf{"a":1}\n', [Document(3, 10, {"a": 1})], id="byte order mark"),
        pytest.param(b"{}{}", [Document(0, 2, {}), Document(2, 4, {})], id="glued"),
        pytest.param(
            b'{"a":1} \t{"b":2}\r\n', [Document(0, 7, {"a": 1}), Document(9, 16, {"b": 2})], id="glued with blanks"
        ),
        pytest.param(
            '{"a":"é€😀"}{"b":"ü"}{}\n'.encode(),
            [Document(0, 17, {"a": "é€😀"}), Document(17, 27, {"b": "ü"}), Document(27, 29, {})],
            id="glued, not ASCII",
        ),
        pytest.param(
            b'\xef\xbb\xbf{"a":"\xc3\xa9"}{}', [Document(3, 13, {"a": "é"}), Document(13, 15, {})], id="BOM, glued"
        ),
        pytest.param(b'{"a":"\\ud800"}', [Document(0, 14, {"a": "\ud800"}, lenient=True)], id="lone surrogate"),
        pytest.param(
            b'{"a":"\\ud800"}{"b":1}',
            [Document(0, 14, {"a": "\ud800"}, lenient=True), Document(14, 21, {"b": 1})],
            id="glued, one with a lone surrogate",
        ),
        pytest.param(b'{"a":1e400}', [Document(0, 11, {"a": math.inf}, lenient=True)], id="1e400"),
        pytest.param(
            b'{"a":-' + b"9" * 5000 + b"}", [Document(0, 5007, {"a": -math.inf}, lenient=True)], id="5,000 digits"
        ),
        pytest.param(b'{"a":1,"a":2}', [Document(0, 13, {"a": 2})], id="a key twice"),
    ],
)
def test_documents_and_their_spans_are_found(raw: bytes, expected: list[Document]) -> None:
    assert decode_record(raw) == (expected, "")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"", BLANK, id="nothing"),
        pytest.param(b" \t\r\n", BLANK, id="blanks"),
        pytest.param(b"\xef\xbb\xbf\n", BLANK, id="byte order mark alone"),
        pytest.param(b"\0" * 100 + b'{"a":1}\n', NUL_RUN, id="NULs before a record"),
        pytest.param(b'{"a":"b' + b"\0" * 9 + b"\n", NUL_RUN, id="NULs after half a record"),
        pytest.param(b"\0\n", NUL_RUN, id="one NUL alone"),
        pytest.param(b'{"a":"b\0c"}', NOT_JSON, id="one NUL in a string"),
        pytest.param(b'{"a":"\xff"}', NOT_UTF8, id="not UTF-8"),
        pytest.param(b'{"a":"\xed\xa0\x80"}', NOT_UTF8, id="raw surrogate"),
        pytest.param(b'{"a":"\xe2\x82', NOT_UTF8, id="cut in a character"),
        pytest.param(b'{"a":"b', NOT_JSON, id="cut in a string"),
        pytest.param(b"{'a':1}", NOT_JSON, id="single quotes"),
        pytest.param(b'{"a":NaN}', NOT_JSON, id="NaN"),
        pytest.param(b'{"a":-Infinity}', NOT_JSON, id="Infinity"),
        pytest.param(b'{"a":1} x', NOT_JSON, id="more than an object"),
        pytest.param(b'{"a":1}[2]', NOT_JSON, id="glued with a list"),
        pytest.param(b'{"a":1},{"b":2}', NOT_JSON, id="a comma between"),
        pytest.param(b"1 2", NOT_JSON, id="two numbers"),
        pytest.param(b"[1,2]", NOT_OBJECT, id="list"),
        pytest.param(b"null\n", NOT_OBJECT, id="null"),
        pytest.param(b'"\\ud800"', NOT_OBJECT, id="string with a lone surrogate"),
        pytest.param(b"1e400", NOT_OBJECT, id="infinite number"),
        pytest.param(nested(3000), TOO_DEEP, id="3,000 levels"),
        pytest.param(b"[" * 1_000_000, TOO_DEEP, id="a million open lists"),
        pytest.param(b"{}" * (MAX_GLUED + 1), NOT_JSON, id="too many glued documents"),
    ],
)
def test_what_has_no_documents_has_a_reason(raw: bytes, reason: str) -> None:
    assert decode_record(raw) == ([], reason)


@pytest.mark.parametrize("inside", ["1", '"\\ud800"'], ids=["fast decoder", "lenient decoder"])
def test_the_depth_limit_is_the_same_for_both_decoders(inside: str) -> None:
    assert decode_record(nested(MAX_DEPTH, inside))[1] == ""
    assert decode_record(nested(MAX_DEPTH + 1, inside))[1] == TOO_DEEP


def test_brackets_in_strings_are_no_depth() -> None:
    raw = json.dumps({"a": "[" * 5000, "b": '\\"{' * 2000, "c": "\ud800"}).encode()
    documents, reason = decode_record(raw)
    assert (len(documents), reason) == (1, "")


def test_many_values_in_one_list_are_no_depth() -> None:
    assert not is_too_deep([[[1] * 5000] for _ in range(50)])


@given(
    st.binary(max_size=200) | st.lists(st.sampled_from([b"{", b"}", b'"a":', b"1", b"\\", b" ", b"\xc3"])).map(b"".join)
)
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    documents, reason = decode_record(raw)
    assert bool(documents) != bool(reason)


@given(st.lists(st.dictionaries(st.text(), FINITE_VALUES, max_size=3), min_size=1, max_size=4), st.booleans())
def test_each_glued_document_decodes_from_its_span(values: list[dict[str, Json]], ascii_only: bool) -> None:
    raw = " ".join(json.dumps(value, ensure_ascii=ascii_only) for value in values).encode()
    documents, _ = decode_record(raw)
    assert [document.value for document in documents] == values
    assert [decode_again(raw[document.start : document.end], lenient=False) for document in documents] == values


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        pytest.param({"a": [1, "é"]}, b"", '{"a":[1,"é"]}'.encode(), id="compact, raw"),
        pytest.param("é…", b'"\\u00e9"', b'"\\u00e9\\u2026"', id="escaped like the original"),
        pytest.param("é", '"ü\\u00e9"'.encode(), '"é"'.encode(), id="the original is not ASCII"),
        pytest.param("é", b'"\\u001b[0m"', '"é"'.encode(), id="control characters are always escaped"),
        pytest.param("a\ud800é", b"", b'"a\\ud800\\u00e9"', id="lone surrogate"),
        pytest.param([math.inf, -math.inf, "Infinity", None], b"", b'[1e999,-1e999,"Infinity",null]', id="infinity"),
        pytest.param("null", b"", b'"null"', id="the word null"),
    ],
)
def test_values_are_encoded(value: Json, like: bytes, expected: bytes) -> None:
    assert encode_value(value, like=like) == expected


@given(ALL_VALUES, st.sampled_from([b"", b'"\\u1234"']))
def test_encoding_can_be_undone(value: Json, like: bytes) -> None:
    assert decode_again(encode_value(value, like=like), lenient=True) == value


def test_a_value_too_deep_for_the_fast_encoder_is_encoded() -> None:
    value = orjson.loads(nested(400))
    assert encode_value(value) == nested(400)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda size: b"{}" * (size // 2), id="empty objects"),
        pytest.param(lambda size: b"[" * size, id="open lists"),
        pytest.param(lambda size: b'{"a":' * (size // 5), id="open objects"),
        pytest.param(lambda size: b'{"a":"' + b"\\ud800" * (size // 6) + b'"}', id="lone surrogates"),
        pytest.param(lambda size: b'{"a":"' + b'\\"[' * (size // 3), id="escaped quotes without an end"),
        pytest.param(lambda size: b'"' * size, id="quotes"),
        pytest.param(lambda size: b'{"a":' + b"1" * size + b"}", id="digits"),
        pytest.param(
            lambda size: b'{"a":"\xc3\xa9' + b"b" * (size // 4) + b'"}' + b"{}" * 9_000, id="glued, not ASCII"
        ),
        pytest.param(lambda size: b'{"a":[' + b"[]," * (size // 3) + b"1e400]}", id="small lists"),
        pytest.param(lambda size: b"\0" * size, id="NULs"),
    ],
)
def test_the_time_is_linear_on_hostile_bytes(make: Callable[[int], bytes]) -> None:
    times = [best_seconds(make(size)) for size in (100_000, 400_000)]
    assert times[1] <= 6 * times[0] + 0.02


def best_seconds(raw: bytes) -> float:
    """Of five runs; the garbage collector would add its own time, in steps."""
    best = math.inf
    gc.disable()
    for _ in range(5):
        start = time.process_time()
        decode_record(raw)
        best = min(best, time.process_time() - start)
    gc.enable()
    return best
