"""A folder has one holder, and a dead one holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.disk.lock import FolderLock
from pipeline.errors import LockedError, OutputError

HOLDER = """
import sys
from pipeline.disk.lock import FolderLock
with FolderLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    path = str(tmp_path / "state" / "lock")
    with FolderLock(path) as first:
        with pytest.raises(LockedError, match=f"held by process {os.getpid()};"):
            FolderLock(path).acquire()
        assert first.held
    with FolderLock(path) as again:
        assert again.held
    assert not again.held


def test_a_lock_is_not_taken_twice(tmp_path: Path) -> None:
    with FolderLock(str(tmp_path / "lock")) as lock, pytest.raises(RuntimeError):
        lock.acquire()


def test_the_file_is_private_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"
    with FolderLock(str(path)):
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert path.read_text() == f"{os.getpid()}\n"
    assert path.exists()


@pytest.mark.parametrize("left", [b"", b"1\n", b"999999999\n", b"\xff\0no pid"])
def test_a_file_left_behind_holds_nothing(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(left)
    with FolderLock(str(path)) as lock:
        assert lock.held


def test_another_process_is_named_while_it_lives_and_free_after_kill_9(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"held by process {holder.pid};"):
            FolderLock(path).acquire()
        holder.kill()
        holder.wait()
        with FolderLock(path) as lock:
            assert lock.held


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot lock"):
        FolderLock(str(tmp_path / "lock")).acquire()
    assert not (tmp_path / "elsewhere").exists()
