"""A source is opened only when it is a regular file, and without waiting; any other stream is copied to its end."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from pipeline.disk.sources import looked_into, open_any, open_source, spooled, what_is
from pipeline.errors import SourceError, UsageError


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A file, a folder, a FIFO without a writer, a link that leads nowhere."""
    (tmp_path / "file").write_bytes(b"0123456789")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


def test_a_file_is_read_from_its_start_or_at_any_place(base: Path) -> None:
    with open_source(str(base / "file")) as source:
        assert (source.file.read(), source.size) == (b"0123456789", 10)
    with looked_into(str(base / "file")) as read:
        assert (read(3, 4), read(9, 8), read(1, 99)) == (b"456", b"89", b"")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder", "need a regular file, it is a folder now"),
        ("fifo", "need a regular file, it is a FIFO, socket or device now"),
        ("dangling", "cannot open: No such file or directory"),
        ("none", "cannot open: No such file or directory"),
        ("file/x", "cannot open: Not a directory"),
    ],
)
def test_what_is_no_file_is_a_source_error_that_names_it(base: Path, name: str, why: str) -> None:
    path = str(base / name)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(SourceError) as raised:
        open_source(path)
    assert str(raised.value) == f"{path}: {why}"
    with pytest.raises(SourceError) as raised, looked_into(path):
        pass
    assert str(raised.value) == f"{path}: {why}"
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_any_stream_can_be_read_at_any_place(base: Path) -> None:
    with open_any(str(base / "file")) as file, open_any("/dev/null") as nothing:
        assert (file.read(), nothing.read()) == (b"0123456789", b"")
    with spooled(io.BytesIO(b"x" * (3 << 20)), "<stdin>") as copy:
        assert copy.seek(0, os.SEEK_END) == 3 << 20


@pytest.mark.parametrize(("name", "what"), [("folder", "a folder"), ("dangling", "missing"), ("none", "missing")])
def test_a_folder_or_nothing_is_wrong_use(base: Path, name: str, what: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_any(str(base / name))
    assert str(raised.value) == f"{base / name}: need a session file, it is {what}"
    assert what_is(str(base / name)) == what


def test_a_stream_that_cannot_be_read_is_a_source_error() -> None:
    """The address space of a process has nothing at its beginning."""
    with (
        open("/proc/self/mem", "rb", buffering=0) as memory,
        pytest.raises(SourceError, match=r"^memory: cannot read: Input/output error$"),
    ):
        spooled(memory, "memory")
