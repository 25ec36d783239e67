"""Is this machine fit to run on? One finding a check, each with a remedy; changes nothing."""

from __future__ import annotations

import fcntl
import os
import resource
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.disk.sqlite import check_version, pragma
from pipeline.errors import LedgerError
from pipeline.settings import Settings

Status = Literal["ok", "note", "fail"]

NEEDED_PYTHON = (3, 11)
# A bug of SQLite's WAL reset can damage a database that two connections write to.
FIXED_SQLITE = (3, 51, 3)
LOW_SPACE_BYTES = 1_000_000_000
NO_SPACE_BYTES = 64_000_000
LOW_FILES = 256
PID_BYTES = 32
NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "beegfs", "glusterfs", "gpfs"}
    | {"ocfs2", "orangefs", "davfs", "ncpfs", "coda", "vboxsf", "prl_fs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph"}
    | {"fuse.davfs2", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs"}
)
MOUNTS = "/proc/self/mounts"
INOTIFY = "/proc/sys/fs/inotify"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `remedy` is "" when there is nothing to do. `fail`: compactd will not work so."""

    check: str
    status: Status
    found: str
    remedy: str = ""


def examine(settings: Settings, root_paths: Sequence[str]) -> list[Finding]:
    """All findings for these folders.

    Args:
        settings: with absolute out and state folders, which need not exist.
        root_paths: folders that would be watched.
    """
    return [
        check_python(sys.version_info[:3]),
        check_sqlite(sqlite3.sqlite_version_info),
        check_file_system(settings.state),
        *check_space((settings.out, settings.state)),
        *check_folders((settings.out, settings.state)),
        *check_roots(root_paths),
        *check_inotify(root_paths),
        check_open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        *check_ledger(os.path.join(settings.state, "ledger.db")),
        check_lock(os.path.join(settings.state, "lock")),
    ]


def check_python(version: tuple[int, ...]) -> Finding:
    """The interpreter's version."""
    found = ".".join(map(str, version))
    if version >= NEEDED_PYTHON:
        return Finding("python", "ok", found)
    return Finding("python", "fail", found, "install Python 3.11 or newer")


def check_sqlite(version: tuple[int, ...]) -> Finding:
    """The SQLite library that Python brings."""
    found = ".".join(map(str, version))
    if version >= FIXED_SQLITE:
        return Finding("sqlite", "ok", found)
    return Finding(
        "sqlite",
        "note",
        f"{found}, which has the WAL-reset bug: two writers at once can damage a database",
        "fine as long as only compactd writes its ledger; open ledger.db read-only elsewhere, or use a Python with "
        "SQLite 3.51.3 or newer",
    )


def check_file_system(state: str, mounts: str = MOUNTS) -> Finding:
    """The state folder's file system: SQLite's WAL needs shared memory, which network file systems do not have."""
    kind = file_system_of(state, mounts)
    if not kind:
        return Finding("state file system", "ok", "this platform does not tell; need a local disk")
    if kind in NETWORK_TYPES:
        return Finding(
            "state file system", "fail", f"{state} is on {kind}", "give a folder on a local disk: --state DIR"
        )
    return Finding("state file system", "ok", kind)


def file_system_of(path: str, mounts: str = MOUNTS) -> str:
    """Type of the file system that holds (or would hold) a path, such as `ext4`; "" where it cannot be told."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    best = ("", "")
    for line in lines:
        _, point, kind, *_ = [*line.split(" "), "", ""]
        point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
        # A later mount on the same place hides an earlier one.
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def check_space(folders: Sequence[str]) -> Iterator[Finding]:
    """Free bytes where the folders are."""
    for folder in folders:
        status = os.statvfs(existing(folder))
        free = status.f_bavail * status.f_frsize
        found = f"{free / 1e9:.1f} GB at {folder}"
        if free < NO_SPACE_BYTES:
            yield Finding("free space", "fail", found, "make room, or give another folder")
        elif free < LOW_SPACE_BYTES:
            yield Finding("free space", "note", found, "make room before a large backfill")
        else:
            yield Finding("free space", "ok", found)


def check_folders(folders: Sequence[str]) -> Iterator[Finding]:
    """Can the folders be written, and are they closed to others?"""
    for folder in folders:
        there = existing(folder)
        try:
            # os.access would not know of a read-only mount on every platform.
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            remedy = "give a folder that you may write, or change its owner or mode"
            yield Finding("writable", "fail", f"{there}: {error.strerror}", remedy)
            continue
        if there != folder:
            yield Finding("writable", "ok", f"{folder} (will be made)")
        elif stat.S_IMODE(os.stat(folder).st_mode) & 0o077:
            remedy = f"chmod 700 {folder}"
            yield Finding("writable", "note", f"{folder}, but others may look into it: sessions hold secrets", remedy)
        else:
            yield Finding("writable", "ok", folder)


def check_roots(paths: Sequence[str]) -> Iterator[Finding]:
    """Are the configured roots there, and may they be read?"""
    for path in paths:
        if not os.path.isdir(path):
            yield Finding("root", "fail", f"{path}: no folder", "correct the [[root]] table, or make the folder")
        elif not os.access(path, os.R_OK | os.X_OK):
            yield Finding("root", "fail", f"{path}: may not be read", "run compactd as the user who owns the sessions")
        else:
            yield Finding("root", "ok", path)


def check_inotify(paths: Sequence[str], folder: str = INOTIFY) -> Iterator[Finding]:
    """Are there watches enough for all folders below the roots? Nothing where there is no inotify."""
    limits = {name: _number(os.path.join(folder, name)) for name in ("max_user_watches", "max_user_instances")}
    watches, instances = limits["max_user_watches"], limits["max_user_instances"]
    if watches is None or instances is None:
        return
    needed = sum(1 for path in paths for _ in os.walk(path))
    found = f"{watches} watches and {instances} instances a user; {needed} folders below the roots"
    # Other programs of the user draw on the same watches.
    if needed * 2 > watches or instances < 8:
        remedy = f"sysctl fs.inotify.max_user_watches={max(524_288, needed * 4)} fs.inotify.max_user_instances=512"
        yield Finding("file events", "note", f"{found}: changes may be found only by looking", remedy)
    else:
        yield Finding("file events", "ok", found)


def check_open_files(limit: int) -> Finding:
    """How many files the process may have open."""
    if limit == resource.RLIM_INFINITY or limit >= LOW_FILES:
        return Finding("open files", "ok", "no limit" if limit == resource.RLIM_INFINITY else str(limit))
    return Finding("open files", "note", str(limit), "ulimit -n 1024 before the start")


def check_ledger(path: str) -> Iterator[Finding]:
    """If there is a ledger: is it one of ours, and is its WAL really on?"""
    if not os.path.exists(path):
        yield Finding("ledger", "ok", f"{path}: none yet")
        return
    try:
        connection = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)
        try:
            check_version(connection, path)
            mode = pragma(connection, "journal_mode")
        finally:
            connection.close()
    except sqlite3.Error as error:
        yield Finding(
            "ledger",
            "fail",
            f"{path}: {error}",
            "run `compactd verify`; put the ledger back from a copy, or start a new --state",
        )
    except LedgerError as error:
        yield Finding("ledger", "fail", str(error), "give the right folder: --state DIR")
    else:
        if mode == "wal":
            yield Finding("ledger", "ok", f"{path}: journal mode {mode}")
        else:
            remedy = "another program has changed it; run any backfill, which sets it again"
            yield Finding("ledger", "note", f"{path}: need journal mode wal, got {mode}", remedy)


def check_lock(path: str) -> Finding:
    """Does a compactd hold the state folder? Both answers are fine; a left-over file holds nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Finding("lock", "ok", "free")
    except OSError as error:
        return Finding("lock", "fail", f"{path}: {error.strerror}", "make it readable for you")
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, PID_BYTES, 0).strip()
        who = f"process {holder.decode()}" if holder.isdigit() else "another process"
        return Finding("lock", "ok", f"held by {who}: a daemon or backfill is at work")
    finally:
        os.close(fd)
    return Finding("lock", "ok", "free")


def existing(path: str) -> str:
    """The path itself, or its nearest parent that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _quoted(path: str) -> str:
    import urllib.parse

    return urllib.parse.quote(os.fsencode(path))
