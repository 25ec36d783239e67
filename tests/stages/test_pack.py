"""A compacted batch as plain values: rows, output bytes and originals."""

from __future__ import annotations

import hashlib

import xxhash
from support import call, log_lines

from pipeline.formats.registry import FORMATS
from pipeline.records import Record
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.chain import build_chain
from pipeline.stages.pack import Pack


def batch_of(*records: Record, starts: bool = False, finishes: bool = False) -> Batch:
    state = new_state(FORMATS["claude-code"], Settings())
    batch = Batch(3, state, list(records), generation=2, starts=starts, finishes=finishes)
    return build_chain(Settings(), verb="recall")(batch)


def signed_hash(data: bytes) -> int:
    return int.from_bytes(xxhash.xxh3_64_digest(data), "big", signed=True)


def test_each_record_and_site_has_its_row() -> None:
    body = log_lines(30)
    raw = call(1, "Write", {"file_path": "/a.py", "content": body}) + b"\n"
    first, second = Record(1, 0, raw), Record(2, len(raw), b"not json\n")
    parcel = Pack()(batch_of(first, second, starts=True, finishes=True))
    assert (parcel.session, parcel.generation, parcel.format) == (3, 2, "claude-code")
    assert (parcel.starts, parcel.finishes) == (True, True)
    assert parcel.output == first.output + second.raw
    assert parcel.records == [
        (1, 0, len(raw), len(first.output), signed_hash(raw), "2026-01-05", "edited", ""),
        (2, len(raw), 9, 9, signed_hash(b"not json\n"), "", "undecoded", "not-json"),
    ]
    (site,) = parcel.sites
    ordinal, number, stage, tool, rule, reason, applied, offset, after, before, digest = site
    assert (ordinal, number, stage, tool, rule, reason, applied) == (
        1,
        0,
        "tool-input",
        "Write",
        "write-summary",
        "",
        True,
    )
    assert before - after == len(raw) - len(first.output)
    original = parcel.originals[digest]
    assert hashlib.sha256(original).digest() == digest
    assert parcel.output[:offset] + original + parcel.output[offset + after : len(first.output)] == raw
    assert (parcel.edits, parcel.source_bytes, parcel.complete) == (1, len(raw) + 9, True)


def test_originals_are_left_out_without_a_vault() -> None:
    record = Record(1, 0, call(1, "Write", {"content": log_lines(30)}))
    parcel = Pack(keep_originals=False)(batch_of(record))
    assert (parcel.edits, parcel.originals) == (1, {})


def test_the_pieces_of_a_long_record_make_one_row_with_their_common_hash() -> None:
    pack = Pack()
    first = pack(batch_of(Record(1, 10, b"abc", "too-long", ends=False, piece=True)))
    assert (first.records, first.complete, first.output) == ([], False, b"abc")
    last = pack(batch_of(Record(1, 13, b"de\n", "too-long", piece=True)))
    assert last.records == [(1, 10, 6, 6, signed_hash(b"abcde\n"), "", "undecoded", "too-long")]
    assert (last.complete, last.record_count) == (True, 1)


def test_a_new_generation_forgets_the_pieces_of_the_one_before() -> None:
    pack = Pack()
    pack(batch_of(Record(1, 0, b"abc", "too-long", ends=False, piece=True)))
    parcel = pack(batch_of(Record(1, 0, b"xy\n", "too-long", piece=True), starts=True))
    assert parcel.records[0][1:5] == (0, 3, 3, signed_hash(b"xy\n"))
