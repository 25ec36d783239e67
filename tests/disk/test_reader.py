"""The reader cuts a source into records and loses, doubles or changes no byte, however its buffers fall."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.disk.reader import BUFFER_BYTES, SourceReader, read_at
from pipeline.errors import SourceError
from pipeline.records import TOO_LONG, Record
from pipeline.settings import ReaderSettings

SMALL = ReaderSettings(max_record_bytes=64, batch_bytes=16, batch_records=3)
Row = tuple[int, int, bytes]
"""ordinal, offset, bytes"""


def read_all(reader: SourceReader, source: BinaryIO, *, at_end: bool) -> list[list[Record]]:
    """Batches until there is nothing more to read now."""
    batches: list[list[Record]] = []
    while batch := reader.next(source, at_end=at_end):
        batches.append(batch)
    return batches


def rows(batches: Sequence[Sequence[Record]]) -> list[Row]:
    return [(record.ordinal, record.offset, record.raw) for batch in batches for record in batch]


def joined(records: Sequence[Record]) -> list[Row]:
    """Rows of whole records: the pieces of a too long one put together."""
    whole: list[Row] = []
    inside = False
    for record in records:
        if inside:
            ordinal, offset, raw = whole[-1]
            assert (record.ordinal, record.offset) == (ordinal, offset + len(raw))
            whole[-1] = (ordinal, offset, raw + record.raw)
        else:
            whole.append((record.ordinal, record.offset, record.raw))
        inside = not record.ends
    assert not inside
    return whole


def lines_of(data: bytes) -> list[Row]:
    """What the reader has to give: b"\\n" alone ends a record."""
    found: list[Row] = []
    offset = 0
    parts = data.split(b"\n")
    for number, part in enumerate(parts, 1):
        raw = part if number == len(parts) else part + b"\n"
        if raw:
            found.append((number, offset, raw))
        offset += len(raw)
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"a\nb\n", [b"a\n", b"b\n"], id="two lines"),
        pytest.param(b"a\r\nb\r\n", [b"a\r\n", b"b\r\n"], id="CRLF"),
        pytest.param(b"\n\na\n\n", [b"\n", b"\n", b"a\n", b"\n"], id="blank lines"),
        pytest.param(b" \t\n\r\n", [b" \t\n", b"\r\n"], id="lines of white space"),
        pytest.param(b"a\rb\n\r\n", [b"a\rb\n", b"\r\n"], id="lone CR"),
        pytest.param(
            "a\u2028b\u2029\x85c\x0b\x0c\x1c\n".encode(), ["a\u2028b\u2029\x85c\x0b\x0c\x1c\n".encode()], id="U+2028"
        ),
        pytest.param(b"\x00\x00\n\xff\xfe\n", [b"\x00\x00\n", b"\xff\xfe\n"], id="NUL and no UTF-8"),
        pytest.param(b"a\ntorn", [b"a\n", b"torn"], id="torn last line"),
    ],
)
def test_only_a_newline_ends_a_record(data: bytes, expected: list[bytes]) -> None:
    found = rows(read_all(SourceReader(ReaderSettings()), io.BytesIO(data), at_end=True))
    assert [raw for _, _, raw in found] == expected
    assert found == lines_of(data)


def test_a_torn_last_line_is_held_until_its_newline_comes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":"h')
    reader = SourceReader(ReaderSettings())
    with path.open("rb") as source, path.open("ab") as writer:
        assert rows(read_all(reader, source, at_end=False)) == [(1, 0, b'{"a":1}\n')]
        assert (reader.offset, reader.ordinal) == (8, 2)
        # The cut is inside of a character.
        for part in (b"\xc3", b"\xa9", b'"}'):
            writer.write(part)
            writer.flush()
            assert reader.next(source, at_end=False) == []
            assert (reader.offset, reader.ordinal) == (8, 2)
        writer.write(b"\n{")
        writer.flush()
        assert rows(read_all(reader, source, at_end=False)) == [(2, 8, '{"b":"hé"}\n'.encode())]
        assert rows(read_all(reader, source, at_end=True)) == [(3, 20, b"{")]
        assert reader.next(source, at_end=True) == []


@pytest.mark.parametrize("before", [-2, -1, 0, 1, 2])
def test_a_newline_at_the_edge_of_the_read_buffer_is_found(before: int, tmp_path: Path) -> None:
    edge = BUFFER_BYTES + before
    data = b"x" * (edge - 9) + b"\r\n" + b"123456\n" + b"y" * (BUFFER_BYTES - 3) + b"\r\n" + b"z"
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with path.open("rb", buffering=BUFFER_BYTES) as source:
        assert rows(read_all(SourceReader(ReaderSettings()), source, at_end=True)) == lines_of(data)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(ReaderSettings(batch_records=3), [3, 3, 2], id="by count"),
        pytest.param(ReaderSettings(batch_bytes=10), [3, 3, 2], id="by bytes"),
        pytest.param(ReaderSettings(batch_bytes=1), [1] * 8, id="at least one"),
    ],
)
def test_a_batch_has_a_limit(settings: ReaderSettings, expected: list[int]) -> None:
    batches = read_all(SourceReader(settings), io.BytesIO(b"abc\n" * 8), at_end=False)
    assert [len(batch) for batch in batches] == expected


def test_reading_goes_on_from_an_offset() -> None:
    reader = SourceReader(ReaderSettings(), offset=4, ordinal=3)
    assert rows(read_all(reader, io.BytesIO(b"abc\nde\nf\n"), at_end=False)) == [(3, 4, b"de\n"), (4, 7, b"f\n")]


def test_the_longest_record_that_is_still_held_whole() -> None:
    whole, long = b"x" * 63 + b"\n", b"x" * 64 + b"\n"
    batches = read_all(SourceReader(SMALL), io.BytesIO(whole + long + b"x" * 64), at_end=True)
    records = [record for batch in batches for record in batch]
    assert joined(records) == [(1, 0, whole), (2, 64, long), (3, 129, b"x" * 64)]
    assert {record.ordinal: record.reason for record in records} == {1: "", 2: TOO_LONG, 3: ""}
    assert {record.ordinal: record.piece for record in records} == {1: False, 2: True, 3: False}


def test_a_too_long_record_travels_in_pieces_of_a_batch() -> None:
    long = b"y" * 99 + b"\n"
    reader = SourceReader(SMALL)
    source = io.BytesIO(b"a\n" + long + b"b\n")
    batches = read_all(reader, source, at_end=False)
    assert [len(record.raw) for batch in batches[1:-1] for record in batch] == [16] * 6 + [4]
    assert [[record.ends for record in batch] for batch in batches] == [[True], *[[False]] * 6, [True], [True]]
    assert joined([record for batch in batches for record in batch]) == [(1, 0, b"a\n"), (2, 2, long), (3, 102, b"b\n")]
    assert not reader.inside_record


def test_the_offset_is_right_between_the_pieces_of_a_too_long_record() -> None:
    reader = SourceReader(SMALL)
    source = io.BytesIO(b"a\n" + b"y" * 99 + b"\nb\n")
    seen = []
    while reader.next(source, at_end=False):
        seen.append((reader.offset, reader.ordinal, reader.inside_record))
    assert seen == [(2, 2, False), *((2 + 16 * n, 2, True) for n in range(1, 7)), (102, 3, False), (104, 4, False)]


def test_a_torn_too_long_record_grows_and_comes_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"a\n" + b"y" * 70)
    reader = SourceReader(SMALL)
    with path.open("rb") as source, path.open("ab") as writer:
        assert rows(read_all(reader, source, at_end=False)) == [(1, 0, b"a\n")]
        for _ in range(3):
            writer.write(b"y" * 70)
            writer.flush()
            assert reader.next(source, at_end=False) == []
            assert (reader.offset, reader.ordinal, reader.inside_record) == (2, 2, False)
        writer.write(b"\nb\nc")
        writer.flush()
        records = [record for batch in read_all(reader, source, at_end=False) for record in batch]
        assert joined(records) == [(2, 2, b"y" * 280 + b"\n"), (3, 283, b"b\n")]


def test_a_torn_too_long_record_is_the_last_one_at_the_end() -> None:
    data = b"a\n" + b"y" * 300
    records = [record for batch in read_all(SourceReader(SMALL), io.BytesIO(data), at_end=True) for record in batch]
    assert joined(records) == lines_of(data)


def test_a_document_is_one_record_and_comes_once() -> None:
    data = b'{\n  "a": 1\n}\n'
    reader = SourceReader(SMALL, document=True)
    source = io.BytesIO(data)
    assert reader.next(source, at_end=False) == []
    assert rows(read_all(reader, source, at_end=True)) == [(1, 0, data)]
    assert (reader.offset, reader.ordinal) == (len(data), 2)
    assert read_all(SourceReader(SMALL, document=True), io.BytesIO(b""), at_end=True) == []


def test_a_too_long_document_travels_in_pieces() -> None:
    data = b'{\n"a":"' + b"z" * 100 + b'"\n}'
    batches = read_all(SourceReader(SMALL, document=True), io.BytesIO(data), at_end=True)
    records = [record for batch in batches for record in batch]
    assert joined(records) == [(1, 0, data)]
    assert {record.reason for record in records} == {TOO_LONG}


def test_a_source_that_cannot_be_read_is_named_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with (tmp_path / "a").open("rb") as source:
        read = read_at(source.fileno(), "a")
        assert (read(2, 1), read(9, 2), read(9, 3)) == (b"bc", b"c", b"")
    with pytest.raises(SourceError, match=r"^a: cannot read at offset 7: Bad file descriptor$"):
        read(1, 7)


TEXTS = st.lists(
    st.one_of(st.binary(max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"y" * 70, "é\u2028".encode()])),
    max_size=30,
).map(b"".join)


@given(
    data=TEXTS,
    max_record_bytes=st.integers(1, 80),
    batch_bytes=st.integers(1, 100),
    batch_records=st.integers(1, 5),
    buffer=st.integers(1, 40),
)
def test_any_bytes_come_back_with_their_places_in_any_batches(
    data: bytes, max_record_bytes: int, batch_bytes: int, batch_records: int, buffer: int
) -> None:
    reader = SourceReader(ReaderSettings(max_record_bytes, batch_bytes, batch_records))
    source = io.BufferedReader(io.BytesIO(data), buffer)
    batches = read_all(reader, source, at_end=True)
    records = [record for batch in batches for record in batch]
    assert joined(records) == lines_of(data)
    assert reader.offset == len(data)
    assert [record.raw for record in records if not record.piece and len(record.raw) > max_record_bytes] == []
    assert all(len(batch) <= batch_records for batch in batches)


@given(data=TEXTS, cuts=st.lists(st.integers(0, 200), max_size=6), at_end=st.booleans())
def test_any_growth_gives_the_same_records_as_the_whole(
    data: bytes, cuts: list[int], at_end: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader = SourceReader(SMALL)
    records: list[Record] = []
    ends = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    path = tmp_path_factory.getbasetemp() / "growing"
    with path.open("wb", buffering=0) as writer, path.open("rb", buffering=8) as source:
        for start, end in zip([0, *ends], ends, strict=False):
            writer.write(data[start:end])
            records += [record for batch in read_all(reader, source, at_end=False) for record in batch]
        if at_end:
            records += [record for batch in read_all(reader, source, at_end=True) for record in batch]
    whole = data if at_end else data[: data.rfind(b"\n") + 1]
    assert joined(records) == lines_of(whole)
