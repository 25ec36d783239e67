"""Compressed sessions: the session of the plain name, compacted by its content, also when the plain file became it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from home import HEAD, SHORT, Home, comparable, oracle, short

from pipeline.disk.packed import content_name, is_packed
from pipeline.disk.sources import open_source
from pipeline.errors import SourceError

DATA = HEAD + b"".join(short(number) for number in range(9))
MORE = DATA + short(9)


def zstd(data: bytes) -> bytes:
    return zstandard.compress(data)


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def in_parts(data: bytes) -> bytes:
    """Two frames, as appending makes them."""
    return zstd(data[:3000]) + zstd(data[3000:])


def gz_in_parts(data: bytes) -> bytes:
    return gz(data[:3000]) + gz(data[3000:])


PACKINGS = [(".zst", zstd), (".gz", gz), (".zst", in_parts), (".gz", gz_in_parts)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def expected(home: Home) -> bytes:
    plain = home.base / "plain.jsonl"
    plain.write_bytes(DATA)
    return oracle(plain, SHORT)


@pytest.mark.parametrize(("suffix", "pack"), PACKINGS)
def test_a_compressed_session_is_its_content(home: Home, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = home.write(f"p/a.jsonl{suffix}", pack(DATA))
    report = home.backfill()
    assert (report.total["sessions"], report.total["source_bytes"]) == (1, len(DATA))
    assert comparable(home.output("p/a.jsonl")) == expected(home)
    assert home.restored(path) == DATA
    assert home.problems() == []
    assert home.backfill().total["unchanged"] == 1
    assert oracle(path, SHORT) == expected(home)


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_session_that_was_compressed_since_is_the_same_session(home: Home, suffix: str) -> None:
    plain = home.write("p/a.jsonl", DATA)
    home.backfill()
    before, rows = home.outputs(), home.query("SELECT * FROM record")
    packed = home.write(f"p/a.jsonl{suffix}", zstd(DATA) if suffix == ".zst" else gz(DATA))
    plain.unlink()
    report = home.backfill()
    assert (report.total["unchanged"], report.total["records"]) == (1, 0)
    assert (home.outputs(), home.query("SELECT * FROM record")) == (before, rows)
    assert home.query("SELECT rel, out_rel FROM session") == [(os.fsencode(f"p/a.jsonl{suffix}"), b"p/a.jsonl")]
    assert home.restored(packed) == DATA
    packed.unlink()
    home.write("p/a.jsonl", MORE)
    report = home.backfill()
    assert report.total["records"] == 2
    assert home.query("SELECT rel FROM session") == [(b"p/a.jsonl",)]
    home.check("p/a.jsonl")


def test_a_compressed_file_that_grew_goes_on_where_it_stopped(home: Home) -> None:
    home.write("a.jsonl.zst", zstd(DATA))
    home.backfill()
    path = home.write("a.jsonl.zst", zstd(DATA) + zstd(short(9)))
    assert home.backfill().total["records"] == 2
    assert home.restored(path) == MORE
    assert home.query("SELECT generation FROM session") == [(1,)]


def test_the_plain_file_counts_where_both_are(home: Home) -> None:
    home.write("a.jsonl", DATA)
    home.write("a.jsonl.gz", gz(MORE))
    home.write("a.jsonl.zst", zstd(MORE))
    assert home.backfill().total["sessions"] == 1
    home.check("a.jsonl")


@pytest.mark.parametrize("data", [zstd(DATA)[:-9], gz(DATA)[:-9], zstd(DATA)[:40] + b"x" * 40, b"\x1f\x8b\x08 rest"])
def test_a_damaged_one_is_told_and_the_others_go_on(home: Home, data: bytes) -> None:
    home.write("a.jsonl.zst", data)
    home.write("b.jsonl", DATA)
    report = home.backfill()
    (failed,) = report.failed
    assert failed.startswith(f"{home.source}/a.jsonl.zst: damaged or cut off as a compressed file")
    home.check("b.jsonl")


def test_what_is_compressed_is_told_by_the_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(zstd(DATA))
    with path.open("rb") as file:
        assert is_packed(file)
    with open_source(str(path)) as source:
        assert (source.file.read(), source.size) == (DATA, len(DATA))
        assert source.status.st_size == path.stat().st_size
    path.write_bytes(b"\x28\xb5\x2f")
    with open_source(str(path)) as source:
        assert source.file.read() == b"\x28\xb5\x2f"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(SourceError, match="damaged or cut off"):
        open_source(str(path))


@pytest.mark.parametrize(
    ("name", "content"), [("a/x.jsonl.zst", "a/x.jsonl"), ("x.json.gz", "x.json"), ("x.gz.jsonl", "x.gz.jsonl")]
)
def test_a_name_without_its_compression(name: str, content: str) -> None:
    assert content_name(name) == content
