"""Source bytes from output, vault and ledger: each edit of a record is put back. Marks are never read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import RecordRow, SessionInfo, SiteRow
from pipeline.disk.output_reader import open_output, output_path, pieces, read_exactly, skip
from pipeline.disk.packs import VaultReader
from pipeline.disk.rows import GenerationRow, ValueRow
from pipeline.errors import LedgerError


@dataclass(slots=True)
class Rebuilt:
    """One record put back: its row, its sites, and its source bytes in pieces (more than one only when it is long)."""

    row: RecordRow
    sites: list[SiteRow]
    source: Iterator[bytes]
    problems: list[str] = field(default_factory=list)
    """What is wrong with its spans; its source is not to be trusted then."""
    unkept: list[tuple[int, bytes]] | None = None
    """Of a record that was edited without a vault, so that its source cannot be read here: what the output still has
    of the source, with the offset in the source record. None for all others."""


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
                    yield Rebuilt(row, own, pieces(output, row.out_len, self._path))
                    continue
                yield self._rebuilt(row, own, edits, read_exactly(output, row.out_len, self._path))

    def outputs(self) -> Iterator[tuple[RecordRow, bytes]]:
        """The records as they are in the output; of one that was not decoded, which may be long, b"".

        Raises:
            LedgerError: the output cannot be read, or is too short.
        """
        with open_output(self._path) as output:
            at = 0
            for row in self._reader.records(self._session.id, self._generation.generation):
                skip(output, row.out_off - at, self._path)
                at = row.out_off if row.reason else row.out_off + row.out_len
                yield row, b"" if row.reason else read_exactly(output, row.out_len, self._path)

    def _rebuilt(self, row: RecordRow, sites: list[SiteRow], edits: list[SiteRow], record: bytes) -> Rebuilt:
        problems = _wrong_spans(row, edits)
        if problems:
            return Rebuilt(row, sites, iter(()), problems)
        if any(not edit.value for edit in edits):
            return Rebuilt(row, sites, self._lost(row), unkept=_outside(record, edits))
        return Rebuilt(row, sites, iter((self._put_back(record, edits),)))

    def _lost(self, row: RecordRow) -> Iterator[bytes]:
        """A source that nobody has."""
        yield from ()
        raise LedgerError(
            f"{self._path}: record {row.ordinal} was edited without a vault (vault.enabled): it cannot be restored"
        )

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
        row = self._reader.value(edit.value)
        if row is None:
            raise LedgerError(
                f"{self._path}: record {edit.ordinal}: need original #{edit.value} of edit {edit.n}, "
                "the ledger has no such row; use a copy of the state folder"
            )
        return row


def _grouped(sites: Iterator[SiteRow]) -> Iterator[tuple[int, list[SiteRow]]]:
    for ordinal, group in itertools.groupby(sites, key=lambda site: site.ordinal):
        yield ordinal, list(group)


def _outside(record: bytes, edits: list[SiteRow]) -> list[tuple[int, bytes]]:
    """What an output record has outside of its edits, each piece with its offset in the source record."""
    parts: list[tuple[int, bytes]] = []
    at = shift = 0
    for edit in sorted(edits, key=lambda edit: edit.off_in_output_record):
        parts.append((at + shift, record[at : edit.off_in_output_record]))
        at = edit.off_in_output_record + edit.bytes_after
        shift += edit.bytes_before - edit.bytes_after
    parts.append((at + shift, record[at:]))
    return parts


def _wrong_spans(row: RecordRow, edits: list[SiteRow]) -> list[str]:
    """What is wrong with the spans and sums of a record's edits (README.md, P8)."""
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
