"""Which session is this file? Found files to openings: known, moved, new, unchanged or of no known format."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pipeline.disk.identity import Identity, identify, same_content
from pipeline.disk.ledger import GenerationRow, SessionRow
from pipeline.disk.reader import ReadAt, read_at
from pipeline.disk.scan import COMPRESSED, Found
from pipeline.disk.store import Store
from pipeline.errors import SourceError
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.runs.reading import Opening


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file is as it was at the last commit: nothing to do."""

    session: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The file is no session; `why` is for the user."""

    path: str
    why: str


class Catalog:
    """Finds or makes the ledger's session of a found file."""

    def __init__(self, store: Store, *, format: str = "auto") -> None:
        self._store = store
        self._format = format

    def opening(self, found: Found, *, renew: bool = False) -> Opening | Unchanged | Skipped:
        """Where reading this file goes on.

        Args:
            found: the file and its current `stat`.
            renew: a new generation in any case.

        Raises:
            SourceError: the file cannot be opened or read.
        """
        if found.rel.endswith(COMPRESSED):
            return Skipped(found.path, "compressed sources are not read yet")
        session = self._known(found) or self._moved(found)
        if session is None:
            wanted = self._format if self._format != "auto" else found.root.format
            format_ = wanted if wanted != "auto" else self._detect(found)
            if format_ is None:
                return Skipped(found.path, "no known session format")
            return Opening(self._add(found), found.path, format_)
        generations = self._store.ledger.generations(session.id)
        generation = generations[-1] if generations else None
        if generation is None or not (session.generation or generation.src_off):
            # None yet, or one that was begun and never committed.
            wanted = self._format if self._format != "auto" else found.root.format
            format_ = wanted if wanted != "auto" else self._detect(found) or UNKNOWN
            return Opening(session.id, found.path, format_)
        same_file = (session.size, session.mtime_ns, session.dev, session.inode) == (
            found.size,
            found.mtime_ns,
            found.dev,
            found.inode,
        )
        building = generation.state == "building"
        if same_file and generation.src_off == found.size and not building and not renew:
            return Unchanged(session.id)
        # New bytes under other settings would make an output that no settings give.
        renew = renew or generation.config != self._store.config
        if generation.open_tail and not building and not renew:
            reopened = self._reopen_tail(found, generation)
            if reopened is None:
                return Unchanged(session.id)
            generation = reopened
        return Opening(
            session.id,
            found.path,
            generation.format,
            generation.generation,
            building,
            generation.src_off,
            generation.records,
            _identity(generation),
            generation.open_tail,
            renew,
        )

    def _detect(self, found: Found) -> str | None:
        with _Opened(found.path) as read:
            format_ = detect_bytes(read(HEAD_BYTES, 0), os.path.basename(found.path))
        if format_ is not None and FORMATS[format_].whole_document is found.rel.endswith(".json"):
            return format_
        # Lines in a .json, or a document in a .jsonl, are somebody else's data; a file asked for by name passes.
        return (format_ or UNKNOWN) if found.named else None

    def _known(self, found: Found) -> SessionRow | None:
        """The session of this very path, whatever root it was found below."""
        real = os.path.realpath(found.path)
        return self._at(os.fsencode(found.path)) or (self._at(os.fsencode(real)) if real != found.path else None)

    def _at(self, path: bytes) -> SessionRow | None:
        for root in sorted(self._store.ledger.roots(), key=lambda root: -len(root.path)):
            if path.startswith(root.path.rstrip(b"/") + b"/"):
                session = self._store.ledger.session(root.id, path[len(root.path.rstrip(b"/")) + 1 :])
                if session is not None:
                    return session
        return None

    def _add(self, found: Found) -> int:
        root = self._root(found)
        rel = os.fsencode(found.rel)
        return self._store.ledger.add_session(SessionRow(0, root, rel, os.fsencode(found.rel)))

    def _root(self, found: Found) -> int:
        return self._store.ledger.root(os.fsencode(found.root.path), os.path.basename(found.root.path)).id

    def _moved(self, found: Found) -> SessionRow | None:
        """A session whose file lay elsewhere and is this one now: same inode, same content, old path gone."""
        ledger = self._store.ledger
        paths = {root.id: root.path for root in ledger.roots()}
        for session in ledger.sessions_by_inode(found.dev, found.inode):
            if os.path.lexists(os.path.join(paths[session.root], session.rel)):
                continue
            generation = ledger.generation(session.id, session.generation)
            if generation is None or not generation.src_off:
                continue
            with _Opened(found.path) as read:
                if same_content(read, found.size, generation.src_off, _identity(generation)):
                    rel, out_rel = os.fsencode(found.rel), os.fsencode(found.rel)
                    return self._store.move_session(session, self._root(found), rel, out_rel)
        return None

    def _reopen_tail(self, found: Found, generation: GenerationRow) -> GenerationRow | None:
        """The last record had no line end: if it has grown take it back, so that it is read whole.

        Returns:
            The generation to go on from; None if the file only looks newer and nothing has to be read.
        """
        with _Opened(found.path) as read:
            if not same_content(read, found.size, generation.src_off, _identity(generation)):
                return generation
            if found.size == generation.src_off:
                return None
            span = self._store.ledger.record_span(generation.session, generation.generation, generation.records)
            return self._store.drop_tail(generation, identify(read, span[0])) if span else generation


def _identity(generation: GenerationRow) -> Identity:
    return Identity(generation.head_len, generation.head_hash, generation.marker_len, generation.marker_hash)


class _Opened:
    """A source opened for a few positioned reads."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> ReadAt:
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(f"{self._path}: cannot open: {error.strerror}") from error
        return read_at(self._fd, self._path)

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)
