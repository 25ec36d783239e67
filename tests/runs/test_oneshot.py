"""The filter makes the compacted form of one source, whole or not at all, in whatever batches it reads."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Home, short
from hypothesis import given
from hypothesis import strategies as st
from support import SAMPLES

from pipeline.disk.reader import read_at
from pipeline.errors import OutputError, UsageError
from pipeline.runs.oneshot import choose_format, compact_batches, compact_file
from pipeline.settings import ReaderSettings, Settings

DATA = HEAD + b"".join(short(number) for number in range(5)) + b"\n\xff\n[]\ntorn"
NOTHING = {"records": 0, "edits": 0, "source_bytes": 0, "output_bytes": 0, "undecoded": 0}


def compacted(path: Path, settings: Settings = SHORT, *, format: str = "auto") -> tuple[bytes, dict[str, int]]:
    target = path.with_suffix(".small")
    counts = compact_file(str(path), str(target), format=format, settings=settings)
    return target.read_bytes(), counts


def test_the_counts_are_those_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    output, counts = compacted(path)
    assert counts == {
        "records": 15,
        "edits": 5,
        "source_bytes": len(DATA),
        "output_bytes": len(output),
        "undecoded": 4,
    }
    assert len(output) < len(DATA)
    assert output.splitlines(keepends=True)[-4:] == [b"\n", b"\xff\n", b"[]\n", b"torn"]
    assert b"compactd recall " not in output


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.jsonl")), ids=lambda path: path.name[:12])
def test_batches_make_no_difference(path: Path) -> None:
    outputs = set()
    for batch_bytes, batch_records in ((1, 1), (5000, 3), (1 << 20, 2000)):
        settings = Settings(reader=ReaderSettings(batch_bytes=batch_bytes, batch_records=batch_records))
        with path.open("rb") as source:
            chosen = choose_format(read_at(source.fileno(), ""), path.name, "auto")
            batches = compact_batches(source, chosen, settings)
            outputs.add(b"".join(record.output or record.raw for batch in batches for record in batch.records))
    assert len(outputs) == 1


@given(
    parts=st.lists(st.sampled_from([short(1), short(2), short(1)[:99], HEAD, b"\n", b"\r\n", b"\0", b"\xc3", b"{}"])),
    batch_bytes=st.integers(1, 3000),
    max_record_bytes=st.integers(1, 1500),
)
def test_any_source_is_untouched_where_nothing_was_edited(
    parts: list[bytes], batch_bytes: int, max_record_bytes: int
) -> None:
    data = b"".join(parts)
    reader = ReaderSettings(max_record_bytes, batch_bytes, 3)
    chosen = choose_format(lambda length, offset: data[offset : offset + length], "a", "claude-code")
    batches = list(compact_batches(io.BytesIO(data), chosen, replace(SHORT, reader=reader)))
    records = [record for batch in batches for record in batch.records]
    assert b"".join(record.raw for record in records) == data
    for record in records:
        assert (record.output or record.raw) == record.raw or record.edits
        saved = sum(edit.end - edit.start - len(edit.new) for edit in record.edits)
        assert len(record.raw) - len(record.output or record.raw) == saved


@pytest.mark.parametrize("data", [b"", b"\n", b"no session\n", b'{"a":1}'], ids=str)
def test_what_is_no_session_passes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    output, counts = compacted(path)
    assert (output, counts["edits"]) == (data, 0)


def test_the_format_that_is_asked_for_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    assert compacted(path, format="codex")[0] == DATA
    assert compacted(path, format="claude-code") == compacted(path)


def test_standard_input_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    expected, counts = compacted(path)
    for source in (None, "-"):
        with path.open("rb") as stdin:
            text = io.TextIOWrapper(stdin)
            monkeypatch.setattr(sys, "stdin", text)
            assert compact_file(source, None, format="auto", settings=SHORT) == counts
            text.detach()
        assert capfdbinary.readouterr().out == expected
    assert compact_file(str(path), "-", format="auto", settings=SHORT) == counts
    assert capfdbinary.readouterr().out == expected


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("none", "missing", id="missing"),
        pytest.param("", "a folder", id="folder"),
    ],
)
def test_a_source_that_is_missing_or_a_folder_is_wrong_use(tmp_path: Path, name: str, what: str) -> None:
    source = str(tmp_path / name)
    with pytest.raises(UsageError) as raised:
        compact_file(source, str(tmp_path / "out"), format="auto", settings=SHORT)
    assert str(raised.value) == f"{source}: need a session file, it is {what}"
    assert not (tmp_path / "out").exists()


def test_a_fifo_is_read_to_its_end(tmp_path: Path) -> None:
    path, fifo, target = tmp_path / "a.jsonl", tmp_path / "fifo", tmp_path / "out"
    path.write_bytes(DATA)
    os.mkfifo(fifo)
    expected = compacted(path)
    with subprocess.Popen(["cp", str(path), str(fifo)]) as writer:
        counts = compact_file(str(fifo), str(target), format="auto", settings=SHORT)
    assert writer.returncode == 0
    assert (target.read_bytes(), counts) == expected


def test_a_target_appears_whole_and_private(tmp_path: Path) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "a.small"
    path.write_bytes(DATA)
    output, _ = compacted(path)
    assert target.read_bytes() == output
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "a.small"]


def test_a_target_that_was_there_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    path, target, linked = tmp_path / "a.jsonl", tmp_path / "a.small", tmp_path / "kept"
    path.write_bytes(DATA)
    linked.write_bytes(b"before")
    linked.chmod(0o640)
    target.symlink_to(linked)
    output, _ = compacted(path)
    assert target.is_symlink()
    assert linked.read_bytes() == output
    assert linked.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        compact_file(str(path), str(fifo), format="auto", settings=SHORT)
        assert os.read(reader, 1 << 20) == compacted(path)[0]
    finally:
        os.close(reader)
    assert fifo.is_fifo()


def test_a_full_disk_leaves_the_old_target_and_nothing_half_written(tmp_path: Path) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "a.small"
    path.write_bytes(DATA)
    target.write_bytes(b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OutputError, match=r"a\.small: cannot write: File too large$"):
            compacted(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_bytes() == b"before"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "a.small"]


def test_a_target_folder_that_is_missing_or_a_target_that_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    (tmp_path / "folder").mkdir()
    for target, text in (
        ("none/a", "none/a: cannot write: No such file"),
        ("folder", "cannot write: Is a directory"),
    ):
        with pytest.raises(OutputError, match=text):
            compact_file(str(path), str(tmp_path / target), format="auto", settings=SHORT)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "folder"]


def test_an_empty_source_gives_an_empty_target(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    assert compacted(path) == (b"", NOTHING)


def test_backfill_and_filter_agree_on_a_record_of_every_length(tmp_path: Path) -> None:
    """The settings' limit decides in both: what is longer streams through."""
    for limit in (300, 600, 1200):
        reader = ReaderSettings(limit, 512, 3)
        home = Home(tmp_path / str(limit), replace(SHORT, reader=reader))
        home.write("a.jsonl", DATA)
        home.backfill()
        home.check("a.jsonl")
