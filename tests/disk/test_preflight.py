"""Each check tells what it found, and a remedy for what is wrong."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.disk import preflight
from pipeline.disk.ledger import Ledger
from pipeline.disk.preflight import NETWORK_TYPES, Finding, Status, file_system_of


def statuses(findings: Iterable[Finding]) -> list[Status]:
    return [finding.status for finding in findings]


@pytest.mark.parametrize(
    ("finding", "status"),
    [
        (preflight.check_python((3, 10, 14)), "fail"),
        (preflight.check_python((3, 11, 0)), "ok"),
        (preflight.check_sqlite((3, 51, 2)), "note"),
        (preflight.check_sqlite((3, 51, 3)), "ok"),
        (preflight.check_open_files(100), "note"),
        (preflight.check_open_files(1024), "ok"),
        (preflight.check_open_files(resource.RLIM_INFINITY), "ok"),
    ],
)
def test_what_is_not_ok_has_a_remedy(finding: Finding, status: Status) -> None:
    assert finding.status == status
    assert bool(finding.remedy) is (status != "ok")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/home/x", "nfs4"),
        ("/homes", "ext4"),
        ("/home/local/x", "xfs"),
        ("/mnt/a b/x", "cifs"),
        ("/over", "tmpfs"),
    ],
)
def test_the_nearest_and_latest_mount_holds_a_path(path: str, kind: str, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/a / ext4 rw 0 0\nserver:/h /home nfs4 rw 0 0\n/dev/b /home/local xfs rw 0 0\n"
        "//s/a /mnt/a\\040b cifs rw 0 0\n/dev/c /over ext4 rw 0 0\nnone /over tmpfs rw 0 0\n"
    )
    assert file_system_of(path, str(mounts)) == kind
    expected = "fail" if kind in NETWORK_TYPES else "ok"
    assert preflight.check_file_system(path, str(mounts)).status == expected


def test_where_mounts_cannot_be_read_the_file_system_is_not_known(tmp_path: Path) -> None:
    assert file_system_of("/", str(tmp_path / "none")) == ""
    assert preflight.check_file_system("/", str(tmp_path / "none")).status == "ok"


def test_folders_are_writable_and_private(tmp_path: Path) -> None:
    private, open_ = tmp_path / "private", tmp_path / "open"
    private.mkdir(mode=0o700)
    open_.mkdir()
    open_.chmod(0o755)
    folders = [str(private), str(open_), str(tmp_path / "not" / "yet")]
    found = list(preflight.check_folders(folders))
    assert statuses(found) == ["ok", "note", "ok"]
    assert found[1].remedy == f"chmod 700 {open_}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["open", "private"]


def test_a_folder_that_cannot_be_written_is_a_failure() -> None:
    assert statuses(preflight.check_folders(["/proc/none"])) == ["fail"]


def test_space_is_looked_for_where_a_folder_will_be(tmp_path: Path) -> None:
    (finding,) = preflight.check_space([str(tmp_path / "not" / "yet")])
    assert str(tmp_path / "not" / "yet") in finding.found


def test_roots_have_to_be_folders(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert statuses(preflight.check_roots([str(tmp_path), str(file), str(tmp_path / "none")])) == ["ok", "fail", "fail"]


@pytest.mark.parametrize(
    ("watches", "instances", "status"), [("100", "128", "ok"), ("5", "128", "note"), ("100", "2", "note")]
)
def test_watches_have_to_suffice_for_all_folders(tmp_path: Path, watches: str, instances: str, status: Status) -> None:
    limits, root = tmp_path / "inotify", tmp_path / "root"
    limits.mkdir()
    (limits / "max_user_watches").write_text(watches)
    (limits / "max_user_instances").write_text(instances)
    (root / "a" / "b").mkdir(parents=True)
    assert statuses(preflight.check_inotify([str(root)], str(limits))) == [status]


def test_without_inotify_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert list(preflight.check_inotify([str(tmp_path)], str(tmp_path / "none"))) == []


def test_a_ledger_is_known_by_its_mark_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert statuses(preflight.check_ledger(str(path))) == ["ok"]
    Ledger.open(str(path)).close()
    assert statuses(preflight.check_ledger(str(path))) == ["ok"]
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    assert statuses(preflight.check_ledger(str(path))) == ["note"]


def test_another_database_or_no_database_is_no_ledger(tmp_path: Path) -> None:
    other, junk = tmp_path / "other.db", tmp_path / "junk.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t(x)")
    connection.close()
    junk.write_bytes(b"no database" * 100)
    for path in (other, junk):
        (finding,) = preflight.check_ledger(str(path))
        assert finding.status == "fail"
        assert finding.remedy


def test_a_lock_is_held_only_by_a_living_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert preflight.check_lock(str(path)).found == "free"
    path.write_text("4711\n")
    assert preflight.check_lock(str(path)).found == "free"
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        assert preflight.check_lock(str(path)).found.startswith("held by process 4711")
    finally:
        os.close(fd)
    assert preflight.check_lock(str(path)).found == "free"


def test_a_lock_that_cannot_be_opened_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert preflight.check_lock(str(path)).status == "fail"
