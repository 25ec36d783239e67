"""A source's identity tells old content that only grew from any other content at the same path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pipeline.disk.identity import MARKER_BYTES, Identity, identify, same_content, signed_hash, tail_hash
from pipeline.disk.reader import ReadAt

LONG = bytes(n * 31 % 251 + 1 for n in range(3 * MARKER_BYTES))


def reading(data: bytes) -> ReadAt:
    return lambda length, offset: data[offset : offset + length]


@given(st.binary(max_size=50))
def test_a_hash_is_a_signed_integer_of_64_bits(data: bytes) -> None:
    value = signed_hash(data)
    assert -(1 << 63) <= value < 1 << 63
    assert value % (1 << 64) == xxhash.xxh3_64_intdigest(data)


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (0, 0),
        (1, 1),
        (MARKER_BYTES - 1, MARKER_BYTES - 1),
        (MARKER_BYTES, MARKER_BYTES),
        (2 * MARKER_BYTES + 7, MARKER_BYTES),
    ],
)
def test_head_and_marker_are_the_first_and_the_last_bytes_read(offset: int, length: int) -> None:
    head, marker = signed_hash(LONG[:length]), signed_hash(LONG[offset - length : offset])
    assert identify(reading(LONG), offset) == Identity(length, head, length, marker)
    assert tail_hash(reading(LONG), offset) == (length, marker)


@given(
    data=st.binary(max_size=3 * MARKER_BYTES),
    share=st.floats(0, 1),
    more=st.binary(max_size=20),
)
def test_content_that_only_grew_is_the_same(data: bytes, share: float, more: bytes) -> None:
    offset = int(len(data) * share)
    identity = identify(reading(data), offset)
    grown = data + more
    assert same_content(reading(grown), len(grown), offset, identity)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data[:-1], id="shorter"),
        pytest.param(lambda data: data[:0], id="empty"),
        pytest.param(lambda data: b"X" + data[1:], id="first byte"),
        pytest.param(lambda data: data[:-1] + b"X", id="last byte"),
        pytest.param(lambda data: data[:-1] + b"X" + data, id="regrown past the old size"),
        pytest.param(lambda data: b"\0" * len(data) + data, id="NUL run in front"),
        pytest.param(lambda data: b"X" + data, id="one byte in front"),
    ],
)
@pytest.mark.parametrize("size", [1, 100, MARKER_BYTES, 2 * MARKER_BYTES, 3 * MARKER_BYTES])
def test_content_that_was_changed_is_another(size: int, change: Callable[[bytes], bytes]) -> None:
    data = LONG[:size]
    changed = change(data)
    assert not same_content(reading(changed), len(changed), size, identify(reading(data), size))


def test_nothing_read_yet_is_the_start_of_everything() -> None:
    assert same_content(reading(b""), 0, 0, identify(reading(b""), 0))
    assert same_content(reading(b"abc"), 3, 0, identify(reading(b""), 0))
    assert same_content(reading(b"abc"), 3, 0, Identity())


def test_a_file_that_shrinks_while_it_is_read_is_another() -> None:
    identity = identify(reading(LONG), len(LONG))
    assert not same_content(reading(LONG[:10]), len(LONG), len(LONG), identity)
