"""Source bytes from output, vault and ledger: each edit of a record is put back. Marks are never read (design, P3)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import zstandard

from pipeline.disk.packs import VaultReader
from pipeline.disk.places import ARCHIVE
from pipeline.disk.reading import LedgerReader, RecordRow, SessionInfo, SiteRow, shown
from pipeline.disk.rows import GenerationRow, ValueRow
from pipeline.errors import LedgerError

COPY_BYTES = 1 << 20


@dataclass(slots=True)
class Rebuilt:
    """One record put back: its row, its sites, and its source bytes in pieces (more than one only when it is long)."""

    row: RecordRow
    sites: list[SiteRow]
    source: Iterator[bytes]
    problems: list[str] = field(default_factory=list)
    """What is wrong with its spans; its source is not to be trusted then."""


class Rebuilder:
    """Rebuilds records of one generation."""

    def __init__(
        self, reader: LedgerReader, vault: VaultReader, out: str, session: SessionInfo, generation: GenerationRow
    ) -> None:
        self._reader = reader
        self._vault = vault
        self._session = session
        self._generation = generation
        self._path = output_path(out, session, generation)

    @property
    def path(self) -> str:
        """The output that is read."""
        return self._path

    def records(self, first: int | None = None, last: int | None = None) -> Iterator[Rebuilt]:
        """The records in order; each one's `source` has to be read before the next is asked for.

        Raises:
            LedgerError: output or vault cannot be read, or the output is too short.
        """
        key = (self._session.id, self._generation.generation)
        sites = _grouped(self._reader.sites(*key, first, last))
        waiting = next(sites, None)
        with open_output(self._path) as output:
            at = 0
            for row in self._reader.records(*key, first, last):
                # A compressed output can only be read forward.
                skip(output, row.out_off - at, self._path)
                at = row.out_off + row.out_len
                own: list[SiteRow] = []
                while waiting is not None and waiting[0] <= row.ordinal:
                    if waiting[0] == row.ordinal:
                        own = waiting[1]
                    waiting = next(sites, None)
                edits = [site for site in own if site.applied]
                if not edits:
                    yield Rebuilt(row, own, _pieces(output, row.out_len, self._path))
                    continue
                record = read_exactly(output, row.out_len, self._path)
                problems = _wrong_spans(row, edits)
                source = b"" if problems else self._put_back(record, edits)
                yield Rebuilt(row, own, iter((source,)), problems)

    def _put_back(self, record: bytes, edits: list[SiteRow]) -> bytes:
        parts: list[bytes] = []
        at = 0
        for edit in sorted(edits, key=lambda edit: edit.off_in_output_record):
            parts.append(record[at : edit.off_in_output_record])
            parts.append(self._vault.value(self._value(edit)))
            at = edit.off_in_output_record + edit.bytes_after
        parts.append(record[at:])
        return b"".join(parts)

    def _value(self, edit: SiteRow) -> ValueRow:
        row = self._reader.value(edit.value) if edit.value else None
        if row is None:
            raise LedgerError(
                f"{self._path}: record {edit.ordinal} was edited without a vault, or its original was forgotten: "
                "it cannot be restored"
            )
        return row


def output_path(out: str, session: SessionInfo, generation: GenerationRow) -> str:
    """Where a generation's output lies; a superseded one in the archive."""
    below = os.fsdecode(session.out_path)
    if generation.state == "superseded":
        return os.path.join(out, ARCHIVE, below, f"{generation.generation}.jsonl.zst")
    path = os.path.join(out, below)
    return path + ".tmp" if generation.state == "building" else path


def open_output(path: str) -> BinaryIO:
    """Open an output or an archived one for reading.

    Raises:
        LedgerError: it cannot be opened.
    """
    try:
        source = open(path, "rb", buffering=COPY_BYTES)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise LedgerError(f"{shown(os.fsencode(path))}: cannot open the output: {error.strerror}") from error
    if path.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(source, closefd=True)
    return source


def read_exactly(output: BinaryIO, length: int, path: str) -> bytes:
    """So many bytes, no fewer.

    Raises:
        LedgerError: the output ends before.
    """
    parts: list[bytes] = []
    missing = length
    while missing:
        block = output.read(missing)
        if not block:
            raise LedgerError(f"{path}: the output is {missing} bytes too short; use a copy or a new --state")
        parts.append(block)
        missing -= len(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def skip(output: BinaryIO, length: int, path: str) -> None:
    """Move forward."""
    if length and output.seekable():
        output.seek(length, os.SEEK_CUR)
        return
    while length:
        length -= len(read_exactly(output, min(length, COPY_BYTES), path))


def _pieces(output: BinaryIO, length: int, path: str) -> Iterator[bytes]:
    while length:
        block = read_exactly(output, min(length, COPY_BYTES), path)
        length -= len(block)
        yield block


def _grouped(sites: Iterator[SiteRow]) -> Iterator[tuple[int, list[SiteRow]]]:
    for ordinal, group in itertools.groupby(sites, key=lambda site: site.ordinal):
        yield ordinal, list(group)


def _wrong_spans(row: RecordRow, edits: list[SiteRow]) -> list[str]:
    """What is wrong with the spans and sums of a record's edits (design, P8)."""
    problems: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.off_in_output_record):
        end = edit.off_in_output_record + edit.bytes_after
        if edit.off_in_output_record < at or end > row.out_len:
            problems.append(f"record {row.ordinal}: edit {edit.n} overlaps another or lies outside of the record")
        at = end
    saved = sum(edit.bytes_before - edit.bytes_after for edit in edits)
    if saved != row.src_len - row.out_len:
        problems.append(
            f"record {row.ordinal}: its edits saved {saved} bytes, source - output is {row.src_len - row.out_len}"
        )
    return problems
