"""Durable, private files: whole writes, folder entries that survive a crash, modes 0600 and 0700."""

from __future__ import annotations

import errno
import os

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700


def write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    """Write every byte at the file's position; a short write is continued.

    Raises:
        OSError: some bytes could not be written; how many were is unknown to the caller, who has to cut back.
    """
    view = memoryview(data)
    while view:
        view = view[_progress(os.write(fd, view)) :]


def write_all_at(fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write every byte from `offset` on, whatever lies behind it; else as `write_all`."""
    view = memoryview(data)
    while view:
        count = _progress(os.pwrite(fd, view, offset))
        view = view[count:]
        offset += count


def _progress(count: int) -> int:
    # A device that takes nothing and reports no error would loop for ever.
    if count == 0:
        raise OSError(errno.EIO, "nothing was written")
    return count


def fsync_dir(path: str) -> None:
    """Make the names in a folder durable: after a file was made, renamed or removed in it.

    Raises:
        OSError: the folder cannot be opened or flushed.
    """
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_private_dir(path: str) -> None:
    """Make a folder and its missing parents, 0700 each and durable; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or something else has its name.
    """
    path = path or "."
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path.rstrip("/"))
    make_private_dir(parent)
    try:
        os.mkdir(path, PRIVATE_DIR)
    except FileExistsError:
        # Another thread may have been first; anything but a folder is an error.
        if not os.path.isdir(path):
            raise
    fsync_dir(parent)


def replace_file(path: str, data: bytes) -> None:
    """Write a small private file so that after a crash it is whole: the old one or the new one.

    Raises:
        OSError: it cannot be written; the old file is still there.
    """
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    fsync_dir(os.path.dirname(path))


def read_text(path: str) -> str:
    """A whole text file; bytes that are no UTF-8 come as lone surrogates, line ends stay.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()
