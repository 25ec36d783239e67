"""Where `-o` may write: never over a source, never into the folders that compactd keeps itself."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from pipeline.errors import OutputError, UsageError
from pipeline.settings import Settings


def check_target(target: str, settings: Settings, *, source: str | None = None) -> None:
    """Refuse a target that would damage something.

    Raises:
        UsageError: it is the source, a folder, or lies in the output or state folder.
    """
    if os.path.isdir(target):
        raise UsageError(f"-o: need a file, got the folder {target}")
    if source is not None and os.path.exists(target) and os.path.exists(source) and os.path.samefile(target, source):
        raise UsageError(f"-o: need another file than the source, got {target}")
    real = os.path.realpath(target)
    for folder in (settings.out, settings.state):
        if real.startswith(os.path.join(os.path.realpath(folder), "")):
            raise UsageError(f"-o: need a file outside of {folder}, which compactd keeps itself, got {target}")


@contextmanager
def written(target: str) -> Iterator[BinaryIO]:
    """What `-o` writes to: a file that is there whole or not at all; a device or FIFO as it is.

    A link stays, and what it leads to is written. A new file is private, one that was there keeps its mode.

    Raises:
        OutputError: it cannot be written; nothing half-written stays of a file.
    """
    real = os.path.realpath(target)
    if os.path.exists(real) and not os.path.isfile(real):
        with _stream(real) as sink:
            yield sink
    else:
        with _whole_file(real) as sink:
            yield sink


@contextmanager
def _stream(target: str) -> Iterator[BinaryIO]:
    try:
        with open(target, "wb", buffering=1 << 20) as sink:
            yield sink
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{target}: cannot write: {error.strerror}") from error


@contextmanager
def _whole_file(target: str) -> Iterator[BinaryIO]:
    folder = os.path.dirname(os.path.abspath(target))
    name = ""
    try:
        fd, name = tempfile.mkstemp(prefix=".compactd-", dir=folder)
        with open(fd, "wb", buffering=1 << 20) as sink:
            if os.path.exists(target):
                os.fchmod(fd, stat.S_IMODE(os.stat(target).st_mode))
            yield sink
            sink.flush()
            # Whoever deletes a source after this has to be able to rely on it.
            os.fsync(fd)
        os.replace(name, target)
        name = ""
    except OSError as error:
        raise OutputError(f"{target}: cannot write: {error.strerror}") from error
    finally:
        if name:
            os.unlink(name)
