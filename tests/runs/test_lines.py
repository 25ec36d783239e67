"""The library compacts lines in memory to the same bytes as the filter makes of a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from home import HEAD, SHORT, oracle, short
from hypothesis import given
from hypothesis import strategies as st
from support import SAMPLES

import pipeline
from pipeline.errors import UsageError
from pipeline.records import TOO_LONG
from pipeline.runs.lines import CompactedRecord, compact_lines
from pipeline.settings import Settings

DATA = HEAD + short(1) + b"\n\xff\n" + short(2) + b'{"long":"' + b"z" * 5000 + b'"}\n' + short(3) + b"torn"


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def test_each_line_gives_one_record_with_what_became_of_it() -> None:
    records = list(compact_lines(lines_of(DATA), config=SHORT))
    assert [record.ordinal for record in records] == list(range(1, 12))
    assert b"".join(record.source for record in records) == DATA
    assert {record.ordinal: record.reason for record in records if record.reason} == {
        4: "blank",
        5: "not-utf8",
        8: TOO_LONG,
        11: "not-json",
    }
    touched = [record for record in records if record.output != record.source]
    assert [record.ordinal for record in touched] == [3, 7, 10]
    for record in touched:
        (site,) = [site for site in record.sites if site.applied]
        assert (site.tool, site.stage) == ("Bash", "tool-result")
        saved = len(record.source) - len(record.output)
        assert site.bytes_before - site.bytes_after == saved > 0
        assert record.output[site.offset :].startswith(b'"')
    assert [(record.ordinal, len(record.sites)) for record in records if record.sites] == [
        (n, 1) for n in (2, 3, 6, 7, 9, 10)
    ]


def test_the_bytes_are_those_of_the_filter(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    assert b"".join(record.output for record in compact_lines(lines_of(DATA), config=SHORT)) == oracle(path, SHORT)


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.jsonl")), ids=lambda path: path.name[:12])
def test_the_samples_come_out_as_from_the_filter(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    with path.open("rb") as source:
        found = b"".join(record.output for record in pipeline.compact_lines(source))
    assert found == oracle(copy, Settings())


@pytest.mark.parametrize("blank", [19, 20, 21, 150, 300])
def test_the_format_is_told_by_the_same_bytes_as_in_the_filter(blank: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" * blank + DATA)
    found = b"".join(record.output for record in compact_lines(lines_of(path.read_bytes()), config=SHORT))
    assert found == oracle(path, SHORT)


def test_lines_of_no_known_format_pass() -> None:
    assert list(compact_lines([b"a\n", b"", b"b"])) == [
        CompactedRecord(1, b"a\n", b"a\n", (), "not-json"),
        CompactedRecord(2, b"", b"", (), "blank"),
        CompactedRecord(3, b"b", b"b", (), "not-json"),
    ] or [record.output for record in compact_lines([b"a\n", b"", b"b"])] == [b"a\n", b"", b"b"]
    assert list(compact_lines([])) == []


def test_a_named_format_holds_and_an_unknown_name_is_wrong_use() -> None:
    assert b"".join(record.output for record in compact_lines(lines_of(DATA), format="codex", config=SHORT)) == DATA
    with pytest.raises(UsageError, match=r"^format: need one of claude-code, .*, unknown or auto, got 'odd'$"):
        list(compact_lines([], format="odd"))


def test_lines_are_taken_as_they_are_needed() -> None:
    taken = 0

    def source() -> Iterator[bytes]:
        nonlocal taken
        yield HEAD
        for number in itertools.count():
            for line in lines_of(short(number)):
                taken += 1
                yield line

    for record in compact_lines(source(), config=SHORT):
        if record.ordinal == 1000:
            break
    assert 999 <= taken < 1200


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(lines_of(DATA))), max_size=12))
def test_any_lines_come_back_and_only_edits_change_them(lines: list[bytes]) -> None:
    records = list(compact_lines(lines, format="claude-code", config=SHORT))
    assert [record.source for record in records] == lines
    for record in records:
        assert record.output == record.source or any(site.applied for site in record.sites)
        assert len(record.output) <= len(record.source)
