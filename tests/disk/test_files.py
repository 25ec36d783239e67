"""Private files are 0600 in 0700 folders, and every byte is written or an error comes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from pipeline.disk.files import make_private_dir, replace_file, write_all, write_all_at


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_missing_folders_are_made_private_and_present_ones_stay_as_they_are(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_dir(str(tmp_path / "a" / "b"))
    make_private_dir(str(tmp_path / "a" / "b"))
    assert [mode(tmp_path), mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="exists"):
        make_private_dir(str(tmp_path / "a"))


def test_a_pipe_that_takes_the_bytes_in_parts_gets_them_all() -> None:
    source, sink = os.pipe()
    sent = bytes(range(256)) * 4096
    got: list[bytes] = []
    with open(source, "rb") as reader:
        thread = threading.Thread(target=lambda: got.append(reader.read()))
        thread.start()
        write_all(sink, sent)
        os.close(sink)
        thread.join()
    assert got == [sent]


def test_a_full_device_raises(tmp_path: Path) -> None:
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space"):
        write_all(full.fileno(), b"x")
    with open(tmp_path / "f", "wb", buffering=0) as file:
        write_all_at(file.fileno(), b"tail", 3)
    assert (tmp_path / "f").read_bytes() == b"\0\0\0tail"


def test_a_replaced_file_is_private_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        replace_file(str(tmp_path / "f"), text)
    assert ((tmp_path / "f").read_bytes(), mode(tmp_path / "f")) == (b"two", 0o600)
    assert os.listdir(tmp_path) == ["f"]
