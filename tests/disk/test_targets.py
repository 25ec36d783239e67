"""A written file is whole or not there, and never one that must not be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.disk.sizes import StateSizes, state_sizes
from pipeline.disk.targets import check_target, written
from pipeline.errors import OutputError, UsageError
from pipeline.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "out").mkdir()
    return Settings(out=str(tmp_path / "out"), state=str(tmp_path / "state"))


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with written(str(target)) as sink:
        sink.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(TypeError), written(str(target)) as sink:
        sink.write("no bytes")  # type: ignore[call-overload]  # the failure
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_missing_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write: No such file"), written(str(tmp_path / "none" / "file")):
        pass


@pytest.mark.parametrize("target", ["out/x", "state/x", "link/x", "out"])
def test_kept_folders_and_folders_are_no_targets(tmp_path: Path, settings: Settings, target: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(UsageError, match="-o: need a file"):
        check_target(str(tmp_path / target), settings)


def test_a_hard_link_of_the_source_is_the_source(tmp_path: Path, settings: Settings) -> None:
    source, link = tmp_path / "a", tmp_path / "b"
    source.touch()
    link.hardlink_to(source)
    with pytest.raises(UsageError, match="need another file than the source"):
        check_target(str(link), settings, source=str(source))


@pytest.mark.parametrize("target", ["x", "outer/x", "state.jsonl"])
def test_other_places_are_fine(tmp_path: Path, settings: Settings, target: str) -> None:
    check_target(str(tmp_path / target), settings, source=str(tmp_path / "source"))


def test_sizes_are_those_of_the_files_and_0_of_what_is_missing(tmp_path: Path) -> None:
    out, state = tmp_path / "out", tmp_path / "state"
    assert state_sizes(str(out), str(state)) == StateSizes(0, 0)
    archive = out / ".generations" / "root" / "x.jsonl"
    archive.mkdir(parents=True)
    state.mkdir()
    (archive / "1.jsonl.zst").write_bytes(b"12345")
    (state / "ledger.db").write_bytes(b"123")
    (state / "ledger.db-wal").write_bytes(b"1")
    assert state_sizes(str(out), str(state)) == StateSizes(ledger_bytes=4, archive_bytes=5)
