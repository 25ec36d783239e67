"""Which session is this file? Found files to openings: known, moved, new, unchanged or of no known format."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from pipeline.disk.identity import Identity, identify, same_content
from pipeline.disk.packed import SUFFIXES, content_name
from pipeline.disk.rows import GenerationRow, SessionRow
from pipeline.disk.scan import Found
from pipeline.disk.sources import looked_into, open_source, same_records
from pipeline.disk.store import Store
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.runs.reading import Opening

AUTO = "auto"
COMMAND, ROOT = "+", "@"
"""What `Parcel.given` begins with: a command gave the format, or the configuration for a whole root."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file is as it was at the last commit: nothing to do."""

    session: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The file is no session; `why` is for the user."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """A format that the user wants, "" for that of the content; `given` as in `Parcel`."""

    format: str
    given: str


class Catalog:
    """Finds or makes the ledger's session of a found file.

    `format`: a format's name; "auto" goes by root and content, whatever a command said before; "" keeps what one said.
    """

    def __init__(self, store: Store, *, format: str = "") -> None:
        self._store = store
        self._format = format
        self._touched: dict[int, Found] = {}

    def opening(self, found: Found, *, renew: bool = False) -> Opening | Unchanged | Skipped:
        """Where reading this file goes on.

        Args:
            found: the file and its current `stat`.
            renew: a new generation in any case.

        Raises:
            SourceError: the file cannot be opened or read.
            SessionError: it is unchanged, but its output is gone or has another length.
        """
        session = self._known(found) or self._moved(found)
        if session is None:
            choice = self._choice(found, "")
            format_ = choice.format or self._detect(found)
            if format_ is None:
                return Skipped(found.path, "no known session format")
            note = self._note(found, format_, choice)
            return Opening(self._add(found), found.path, format_, given=choice.given, note=note)
        generations = self._store.ledger.generations(session.id)
        generation = generations[-1] if generations else None
        if generation is None or not (session.generation or generation.src_off):
            # None yet, or one that was begun and never committed.
            choice = self._choice(found, "")
            return Opening(session.id, found.path, choice.format or self._detect(found) or UNKNOWN, given=choice.given)
        config, given = _split(generation.config)
        choice = self._choice(found, given)
        if self._format == AUTO and given[:1] == COMMAND:
            # What a command gave before was taken back.
            choice = _Choice(choice.format or self._detect(found) or UNKNOWN, choice.given)
        other_format = choice.format not in ("", generation.format)
        # Another format that the command gives holds at once, all else when there is something new.
        renew = renew or (other_format and self._format != "")
        unchanged: bool | None = False
        if not renew and generation.state != "building":
            unchanged = self._is_unchanged(session, generation, found)
            if unchanged:
                self._store.check_output(session, generation)
                return Unchanged(session.id)
        # New bytes under other settings would make an output that no settings give.
        renew = (
            renew
            or unchanged is None
            or other_format
            or config != self._store.config
            or (given[:1] == ROOT and not choice.given)
        )
        if generation.open_tail and generation.state != "building" and not renew:
            generation = self._without_tail(found, generation)
        return Opening(
            session.id,
            found.path,
            choice.format or generation.format,
            generation.generation,
            generation.state == "building",
            generation.src_off,
            generation.records,
            _identity(generation),
            generation.open_tail,
            renew,
            choice.given,
            self._note(found, choice.format, choice) if renew else "",
        )

    @property
    def touched(self) -> int:
        """Files that look otherwise than before and hold nothing new; `settle` notes how they look."""
        return len(self._touched)

    def settle(self) -> None:
        """Note in the ledger how the files look that were touched and hold nothing new; between commits."""
        if not self._touched:
            return
        with self._store.ledger.transaction() as change:
            for id, found in self._touched.items():
                session = self._store.ledger.session_row(id)
                if session is not None:
                    seen = replace(session, dev=found.dev, inode=found.inode, size=found.size, mtime_ns=found.mtime_ns)
                    change.update_session(seen)
        self._touched.clear()

    def _choice(self, found: Found, before: str) -> _Choice:
        """The format that the user wants: that of the command, the one a command gave `before`, the root's, or none."""
        if self._format not in ("", AUTO):
            return _Choice(self._format, COMMAND + self._format)
        if before[:1] == COMMAND and self._format != AUTO:
            return _Choice(before[1:], before)
        if found.root.format != AUTO:
            return _Choice(found.root.format, ROOT + found.root.format)
        return _Choice("", "")

    def _note(self, found: Found, format_: str, choice: _Choice) -> str:
        """What the user should know of the format that a session gets; "" if nothing."""
        if format_ == UNKNOWN:
            return "no known session format, so it passes byte for byte"
        if choice.given[:1] == COMMAND:
            shown = self._detect(found)
            if shown not in (None, UNKNOWN, format_):
                return f"compacted as {format_}, as asked; by its content it is {shown}"
        return ""

    def _is_unchanged(self, session: SessionRow, generation: GenerationRow, found: Found) -> bool | None:
        """True if nothing new is in the file, which costs a look into it only when it looks otherwise than before.

        None: it was rewritten in its middle, which reading on would not notice.
        """
        seen = (session.size, session.mtime_ns, session.dev, session.inode)
        if seen == (found.size, found.mtime_ns, found.dev, found.inode):
            return found.is_packed or generation.src_off == found.size
        if not found.is_packed and generation.src_off != found.size:
            return False
        with open_source(found.path) as source:
            read, size = source.read_at(found.path), source.size
            if size != generation.src_off or not same_content(read, size, size, _identity(generation)):
                return False
            # Something was written to it: it may be another content between the same first and last bytes.
            records = self._store.ledger.record_hashes(session.id, generation.generation)
            if not same_records(source.file, records):
                return None
        self._touched[session.id] = found
        return True

    def _detect(self, found: Found) -> str | None:
        with looked_into(found.path) as read:
            format_ = detect_bytes(read(HEAD_BYTES, 0), content_name(os.path.basename(found.path)))
        if format_ is not None and FORMATS[format_].whole_document is content_name(found.rel).endswith(".json"):
            return format_
        # Lines in a .json, or a document in a .jsonl, are somebody else's data; a file asked for by name passes.
        return (format_ or UNKNOWN) if found.named else None

    def _known(self, found: Found) -> SessionRow | None:
        """The session of this very path, whatever root it was found below."""
        real = os.path.realpath(found.path)
        session = self._at(os.fsencode(found.path)) or (self._at(os.fsencode(real)) if real != found.path else None)
        return session or self._repacked(found)

    def _repacked(self, found: Found) -> SessionRow | None:
        """The session of this path that was compressed since, or compressed otherwise, or not any more."""
        plain = content_name(found.path)
        for path in (plain, *(plain + suffix for suffix in SUFFIXES)):
            session = self._at(os.fsencode(path)) if path != found.path and not os.path.lexists(path) else None
            if session is not None:
                return self._store.move_session(session, self._root(found), os.fsencode(found.rel), _out_rel(found))
        return None

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
        return self._store.ledger.reserve_session(SessionRow(0, root, rel, _out_rel(found)))

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
            with looked_into(found.path) as read:
                if same_content(read, found.size, generation.src_off, _identity(generation)):
                    return self._store.move_session(session, self._root(found), os.fsencode(found.rel), _out_rel(found))
        return None

    def _without_tail(self, found: Found, generation: GenerationRow) -> GenerationRow:
        """The last record had no line end and has grown: take it back, so that it is read whole."""
        with looked_into(found.path) as read:
            if not same_content(read, found.size, generation.src_off, _identity(generation)):
                return generation
            span = self._store.ledger.record_span(generation.session, generation.generation, generation.records)
            return self._store.drop_tail(generation, identify(read, span[0])) if span else generation


def _out_rel(found: Found) -> bytes:
    return os.fsencode(content_name(found.rel))


def _split(config: str) -> tuple[str, str]:
    """The digest in a generation's `config`, and who gave its format."""
    at = next((at for at, sign in enumerate(config) if sign in (COMMAND, ROOT)), len(config))
    return config[:at], config[at:]


def _identity(generation: GenerationRow) -> Identity:
    return Identity(generation.head_len, generation.head_hash, generation.marker_len, generation.marker_hash)
