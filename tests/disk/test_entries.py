"""An edit list comes back as it was written, and damage is told from a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.disk.entries import EditSpan, RecordEdits, decode_edits, encode_edits
from pipeline.errors import LedgerError

NUMBERS = st.integers(0, (1 << 63) - 1)
SPANS = st.builds(
    EditSpan, NUMBERS, NUMBERS, NUMBERS, st.binary(min_size=16, max_size=16), st.text(), st.text(), st.text()
)
LISTS = st.builds(
    RecordEdits,
    st.binary(max_size=300),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.lists(SPANS, max_size=4).map(tuple),
)


@given(LISTS)
def test_decoding_is_the_inverse_of_encoding(record: RecordEdits) -> None:
    assert decode_edits(encode_edits(record)) == record


@given(LISTS, st.data())
def test_a_list_that_is_cut_or_longer_is_refused(record: RecordEdits, data: st.DataObject) -> None:
    payload = encode_edits(record)
    cut = data.draw(st.integers(0, len(payload) - 1))
    for damaged in (payload[:cut], payload + b"\0"):
        with pytest.raises(LedgerError, match="damaged edit list"):
            decode_edits(damaged)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_a_ledger_error(payload: bytes) -> None:
    try:
        record = decode_edits(payload)
    except LedgerError:
        return
    assert decode_edits(encode_edits(record)) == record


def test_a_tool_name_that_is_no_unicode_survives() -> None:
    record = RecordEdits(b"root/\xff.jsonl", 1, 2, 3, -4, (EditSpan(5, 6, 7, b"d" * 16, "s", "\ud800", "r"),))
    assert decode_edits(encode_edits(record)) == record


def test_a_full_digest_is_cut_to_its_half() -> None:
    span = EditSpan(0, 1, 2, b"0123456789abcdef" * 2)
    (read,) = decode_edits(encode_edits(RecordEdits(b"", 1, 1, 1, 0, (span,)))).edits
    assert read.digest16 == b"0123456789abcdef"
