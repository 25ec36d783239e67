"""Splicing: the result decodes to what was meant, and every byte outside of the edited tokens stays."""

from __future__ import annotations

import copy
import gc
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.decode import decode_again, decode_record, encode_value
from pipeline.formats.scanner import scan_spans
from pipeline.formats.spans import Spliced, apply_checked, locate, splice
from pipeline.records import Document, Json, Path


def document_of(raw: bytes) -> Document:
    documents, reason = decode_record(raw)
    assert reason == ""
    return documents[0]


def value_at(value: Json, path: Path) -> Json:
    for step in path:
        assert isinstance(value, dict | list)
        value = value[step]  # type: ignore[index]
    return value


def edited(raw: bytes, changes: dict[Path, Json]) -> Spliced | None:
    """The record's first document with new values at some paths."""
    document = document_of(raw)
    wanted = [(path, value_at(document.value, path)) for path in changes]
    news = list(changes.values())

    def make(index: int, original: bytes) -> tuple[Json, bytes]:
        return news[index], encode_value(news[index], like=original)

    return apply_checked(raw, document, wanted, make)


@pytest.mark.parametrize(
    ("raw", "changes", "output", "exact"),
    [
        pytest.param(b'{"a":"b","n":1.50}\n', {("a",): "c"}, b'{"a":"c","n":1.50}', False, id="compact"),
        pytest.param(b'{"a": "b", "n": 5e-06}', {("a",): "c"}, b'{"a": "c", "n": 5e-06}', False, id="spaced"),
        pytest.param(b'{"a":"\\u00e9"}', {("a",): "\u00fc"}, b'{"a":"\\u00fc"}', False, id="escaped to ASCII"),
        pytest.param(b'{"a": {"b": [1, "c"]}}', {("a",): "x"}, b'{"a": "x"}', False, id="object, spaced"),
        pytest.param(b'{"a":{"b":[1,"c"]}}', {("a", "b"): []}, b'{"a":{"b":[]}}', False, id="list"),
        pytest.param(b'{"a":["b","b"]}', {("a", 0): "c", ("a", 1): "d"}, b'{"a":["c","d"]}', False, id="elements"),
        pytest.param(b'{"a": [{"b": 1}, "b"]}', {("a", 1): "c"}, b'{"a": [{"b": 1}, "c"]}', False, id="element"),
        pytest.param(
            b'{"x":{"a":"b"},"y":{"a":"b"}}', {("y", "a"): "c"}, b'{"x":{"a":"b"},"y":{"a":"c"}}', False,
            id="an equal copy before it, under another parent",
        ),
        pytest.param(
            b'{"x":[{"a":"b"},{"a":"b"}]}', {("x", 1, "a"): "c"}, b'{"x":[{"a":"b"},{"a":"c"}]}', True,
            id="an equal copy before it, in the same list",
        ),
        pytest.param(b'{"a":"b","a":"b"}', {("a",): "c"}, b'{"a":"b","a":"c"}', True, id="an equal key before it"),
        pytest.param(
            b'{"a":"x","b":"y","a":"z"}', {("a",): "1", ("b",): "2"}, b'{"a":"x","b":"2","a":"1"}', True,
            id="a key whose last place is behind the next key",
        ),
        pytest.param(b'{"a" : "b"}', {("a",): "c"}, b'{"a" : "c"}', True, id="odd spacing"),
        pytest.param(b'{"\\u0061":"b"}', {("a",): "c"}, b'{"\\u0061":"c"}', True, id="escape in the key"),
        pytest.param(b'{"a":"\\/b"}', {("a",): "c"}, b'{"a":"c"}', True, id="unusual escape"),
        pytest.param(b'{"a":1.0}', {("a",): "c"}, b'{"a":"c"}', True, id="number"),
        pytest.param(b'{"a":[1,"1"]}', {("a", 0): "c"}, b'{"a":["c","1"]}', True, id="number in a list"),
        pytest.param(b'{"a":{"n":1.50}}', {("a",): {}}, b'{"a":{}}', True, id="a number's own spelling"),
        pytest.param(b' {"a":"b"}', {(): {}}, b"{}", True, id="the document"),
        pytest.param(
            b'{"a":"\\ud800x","b":"\xc3\xa9"}', {("a",): "\ud800"}, b'{"a":"\\ud800","b":"\xc3\xa9"}', False,
            id="lone surrogate",
        ),
        pytest.param(b'{"n":1e400,"a":"b"}', {("a",): "c"}, b'{"n":1e400,"a":"c"}', False, id="infinite number"),
        pytest.param(b'\xef\xbb\xbf{"a":"b"}\r\n', {("a",): "c"}, b'{"a":"c"}', False, id="byte order mark, CRLF"),
        pytest.param(b'{"":{"":"b"}}', {("", ""): "c"}, b'{"":{"":"c"}}', False, id="empty keys"),
        pytest.param(
            b'{"a":"\\"k\\":\\"v\\"","k":"v"}', {("k",): "w"}, b'{"a":"\\"k\\":\\"v\\"","k":"w"}', False,
            id="JSON in a string",
        ),
        pytest.param(b'{"a":1}', {}, b'{"a":1}', False, id="nothing to do"),
    ],
)  # fmt: skip
def test_values_are_replaced_in_the_bytes(raw: bytes, changes: dict[Path, Json], output: bytes, exact: bool) -> None:
    result = edited(raw, changes)
    assert result is not None
    assert (result.output, result.exact) == (output, exact)
    assert result.originals == [raw[start:end] for start, end in result.spans]


def test_a_glued_document_is_edited_on_its_own() -> None:
    raw = '{"a":"é"}{"a":"é"} \n'.encode()
    second = decode_record(raw)[0][1]
    result = apply_checked(raw, second, [(("a",), "é")], lambda _, original: ("ü", encode_value("ü", like=original)))
    assert result == Spliced([(15, 19)], ['"é"'.encode()], ['"ü"'.encode()], False, '{"a":"ü"}'.encode())


def test_the_document_holds_the_new_values_then() -> None:
    document = document_of(b'{"a":["b"]}')
    assert apply_checked(b'{"a":["b"]}', document, [(("a",), ["b"])], lambda *_: ("c", b'"c"')) is not None
    assert document.value == {"a": "c"}


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param("c", b'"d"', id="bytes of another value"),
        pytest.param("c", b'"c', id="no JSON"),
        pytest.param("c", b'"c","b":"c"', id="more than a value"),
        pytest.param(True, b"1", id="equal in Python only"),
        pytest.param([1], b"[1.0]", id="equal in Python only, in a list"),
        pytest.param("\ud800", b'"\\ud800"', id="refused by the document's decoder"),
    ],
)
def test_what_does_not_decode_as_meant_is_not_done(value: Json, data: bytes) -> None:
    raw = b'{"a":"b"}'
    document = document_of(raw)
    assert apply_checked(raw, document, [(("a",), "b")], lambda *_: (value, data)) is None
    assert document == Document(0, 9, {"a": "b"})


def test_a_path_that_is_not_there_is_not_done() -> None:
    raw = b'{"a":"b"}'
    assert apply_checked(raw, document_of(raw), [(("c",), "d")], lambda *_: ("e", b'"e"')) is None


def test_edits_within_one_another_are_not_done() -> None:
    raw = b'{"a":{"b":"c"}}'
    wanted: list[tuple[Path, Json]] = [(("a", "b"), "c"), (("a",), {"b": "c"})]
    assert apply_checked(raw, document_of(raw), wanted, lambda *_: ("", b'""')) is None


def test_a_long_value_is_told_from_one_that_begins_alike() -> None:
    long, longer = "x" * 300, "x" * 400
    raw = json.dumps({"a": [{"t": longer}, {"t": long}]}, separators=(",", ":")).encode()
    result = edited(raw, {("a", 1, "t"): "y"})
    assert result is not None
    assert (result.output, result.exact) == (raw.replace(f'{{"t":"{long}"}}'.encode(), b'{"t":"y"}'), False)


def test_a_repeated_key_keeps_its_first_value() -> None:
    raw = b'{"t":"' + b"x" * 300 + b'","t":"' + b"x" * 400 + b'"}'
    result = edited(raw, {("t",): "y"})
    assert result is not None
    assert result.output == b'{"t":"' + b"x" * 300 + b'","t":"y"}'


def test_locate_finds_spans_or_gives_up() -> None:
    raw = b'{"a":{"b":"c"},"d":["e"],"n":1}'
    document = document_of(raw)
    wanted: list[tuple[Path, Json]] = [(("a", "b"), "c"), (("d", 0), "e")]
    assert locate(raw, document, wanted) == [(10, 13), (20, 23)]
    assert locate(raw, document, [(("n",), 1)]) is None
    assert locate(raw, document, [(("a", "b"), "x")]) is None


def test_splice_replaces_spans() -> None:
    assert splice(b"0123456789", [(1, 3), (3, 4), (8, 8)], [b"a", b"", b"bc"]) == b"0a4567bc89"
    assert splice(b"0123456789", [(3, 4)], [b"x"], 2, 6) == b"2x45"


class Pairs(list[tuple[str, object]]):
    """An object by its members, so that keys may repeat."""


TEXTS = st.sampled_from(["", "a", "b", "ab", '"', "\\", "é", "\u2028", "😀", "\ud800", "\x1b", "x" * 60, '"a":"b"'])
SCALARS = TEXTS | st.sampled_from([None, True, False, 0, 1, 1.0, -5, 2**70, 5e-06])
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(TEXTS, inner), max_size=4).map(Pairs),
    max_leaves=12,
)
NEWS: st.SearchStrategy[Json] = st.sampled_from(["", "é", "b", 1, True, 1.0, [1], {"a": "b"}])
OBJECTS = st.lists(st.tuples(TEXTS, TREES), max_size=5).map(Pairs)


def write(tree: object, ascii_only: bool, comma: str, colon: str, slash: str) -> str:
    """JSON text of a tree in a given spelling; lone surrogates are always escaped."""
    if isinstance(tree, Pairs):
        members = [
            write(key, ascii_only, comma, colon, slash) + colon + write(inner, ascii_only, comma, colon, slash)
            for key, inner in tree
        ]
        return "{" + comma.join(members) + "}"
    if isinstance(tree, list):
        return "[" + comma.join(write(inner, ascii_only, comma, colon, slash) for inner in tree) + "]"
    text = json.dumps(tree, ensure_ascii=ascii_only or "\ud800" in str(tree))
    return text.replace("a", slash) if isinstance(tree, str) else text


def paths_of(value: Json, path: Path = ()) -> Iterator[Path]:
    """Paths of all values below the document, parents before their children."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_of(inner, (*path, index))


def apart(paths: Sequence[Path]) -> list[Path]:
    """Those paths that no path taken before contains."""
    taken: list[Path] = []
    for path in paths:
        if not any(path[: len(other)] == other for other in taken):
            taken.append(path)
    return taken


@given(
    st.data(),
    OBJECTS,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\n  ", ": ")]),
    st.sampled_from(["a", "a", "\\u0061"]),
)
def test_any_edit_of_any_document_changes_its_tokens_only(
    data: st.DataObject, tree: Pairs, ascii_only: bool, separators: tuple[str, str], slash: str
) -> None:
    raw = b" " + write(tree, ascii_only, *separators, slash).encode() + b"\r\n"
    document = document_of(raw)
    before = copy.deepcopy(document.value)
    paths = apart([path for path in paths_of(before) if data.draw(st.booleans())])
    news: list[Json] = [data.draw(NEWS) for _ in paths]
    result = apply_checked(
        raw,
        document,
        [(path, value_at(before, path)) for path in paths],
        lambda index, original: (news[index], encode_value(news[index], like=original)),
    )
    assert result is not None
    # A value that stays equal may be replaced, by itself, in any of its copies.
    differ = [i for i, path in enumerate(paths) if encode_value(value_at(before, path)) != encode_value(news[i])]
    exact = scan_spans(raw, document.start, document.end, paths)
    assert [result.spans[i] for i in differ] == [exact[i] for i in differ]
    decoded = decode_again(result.output, lenient=document.lenient)
    assert [encode_value(value_at(decoded, path)) for path in paths] == [encode_value(new) for new in news]
    assert decoded == document.value
    in_order = sorted(zip(result.spans, result.news, result.originals, strict=True))
    back = splice(
        splice(raw, [span for span, _, _ in in_order], [new for _, new, _ in in_order]), *moved_back(in_order)
    )
    assert back == raw


def moved_back(edits: list[tuple[tuple[int, int], bytes, bytes]]) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Spans of the new tokens in the output record, and the original tokens."""
    spans: list[tuple[int, int]] = []
    shift = 0
    for (start, end), new, _ in edits:
        spans.append((start + shift, start + shift + len(new)))
        shift += len(new) - (end - start)
    return spans, [original for _, _, original in edits]


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: [{"t": f"{'x' * 50}{i}"} for i in range(n // 60)], id="values that begin alike"),
        pytest.param(lambda n: [{"t": "é" * 50, "u": f"é{i}"} for i in range(n // 60)], id="not ASCII"),
        pytest.param(lambda n: [{"t": "x" * (n // 2), "u": "x" * (n // 2 - 1)}], id="two long values"),
        pytest.param(lambda n: [{"t": "a"}] * (n // 9), id="equal values"),
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_time_is_linear(make: Callable[[int], list[dict[str, Json]]], ascii_only: bool) -> None:
    times = [best_seconds(make(size), ascii_only) for size in (40_000, 160_000)]
    assert times[1] <= 6 * times[0] + 0.02


def best_seconds(value: list[dict[str, Json]], ascii_only: bool) -> float:
    """Of three runs; the garbage collector would add its own time, in steps. Every second value is edited."""
    raw = json.dumps({"v": value}, ensure_ascii=ascii_only, separators=(",", ":")).encode()
    wanted: list[tuple[Path, Json]] = [
        (("v", index, key), text) for index, members in enumerate(value) for key, text in members.items()
    ]
    best = math.inf
    gc.disable()
    for _ in range(3):
        document = document_of(raw)
        start = time.process_time()
        result = apply_checked(raw, document, wanted[1::2], lambda *_: ("", b'""'))
        best = min(best, time.process_time() - start)
        assert result is not None
    gc.enable()
    return best
