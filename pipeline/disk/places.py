"""Where outputs lie below the output folder."""

from __future__ import annotations

import os
from collections.abc import Callable

from pipeline.disk.rows import RootRow, SessionRow

ARCHIVE = ".generations"


class Places:
    """Paths of outputs, of outputs being built anew, and of archived generations."""

    def __init__(self, out: str, roots: Callable[[], list[RootRow]]) -> None:
        self.out = out
        self._roots = roots
        self._names: dict[int, str] = {}

    def of(self, session: SessionRow) -> bytes:
        """A session's output below the output folder: root name, "/", path below the root."""
        name = self._names.get(session.root)
        if name is None:
            self._names = {root.id: root.name for root in self._roots()}
            name = self._names[session.root]
        return os.fsencode(name) + b"/" + session.out_rel

    def path(self, out_path: bytes, *, building: bool = False) -> str:
        """The full path of an output; `building`: of the file that will take its place."""
        path = os.path.join(self.out, os.fsdecode(out_path))
        return path + ".tmp" if building else path

    def holds(self, path: str) -> bool:
        """True if a path really lies in the output folder: no link leads out of it."""
        return os.path.realpath(path).startswith(os.path.join(os.path.realpath(self.out), ""))

    def archive(self, out_path: bytes, generation: int) -> str:
        """The full path of a superseded generation."""
        return os.path.join(self.archive_folder(out_path), f"{generation}.jsonl.zst")

    def archive_folder(self, out_path: bytes) -> str:
        """The folder of a session's superseded generations."""
        return os.path.join(self.out, ARCHIVE, os.fsdecode(out_path))
