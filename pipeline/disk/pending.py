"""The rows of the next commit, and the originals they refer to."""

from __future__ import annotations

import time

from pipeline.disk.entries import EditSpan, RecordEdits, encode_edits
from pipeline.disk.ledger import Ledger
from pipeline.disk.rows import RecordTuple, SiteTuple, day_number
from pipeline.disk.vault import VaultWriter
from pipeline.parcels import Parcel, RecordValues, SiteValues

SECONDS_A_DAY = 86_400


class Pending:
    """Gathers the rows of appended parcels; puts originals and edit lists into the vault, if there is one."""

    def __init__(self, ledger: Ledger, vault: VaultWriter | None) -> None:
        self._ledger = ledger
        self._vault = vault
        self._records: list[tuple[int, int, int, RecordValues]] = []
        """session, generation, offset in the output, and the record."""
        self._sites: list[tuple[int, int, int, SiteValues]] = []
        """session, generation, value id, and the site."""
        self.source_bytes = 0
        """Source bytes of the parcels, those that wait for the end of a too long record included."""

    @property
    def records(self) -> int:
        """Count of the records."""
        return len(self._records)

    def add(self, parcel: Parcel, out_path: bytes, out_off: int) -> int:
        """Take in a parcel's rows.

        Args:
            parcel: appended to its output already.
            out_path: the output below the output folder.
            out_off: where the parcel's first record begins in the output.

        Returns:
            Where the next record will begin.

        Raises:
            OutputError: the vault cannot be written.
            LedgerError: the vault cannot be read, to compare an original with a known one.
        """
        session, generation = parcel.session, parcel.generation
        edits = self._add_sites(parcel)
        for record in parcel.records:
            ordinal, _, src_len, out_len, hash8, *_ = record
            self._records.append((session, generation, out_off, record))
            out_off += out_len
            if self._vault is not None and (spans := edits.get(ordinal)):
                self._vault.add_record_edits(
                    encode_edits(RecordEdits(out_path, generation, ordinal, src_len, hash8, tuple(spans)))
                )
        self.source_bytes += parcel.source_bytes
        return out_off

    def drop(self, session: int) -> None:
        """Leave out the rows of one session. What the vault has of it stays there, unreferenced."""
        self._records = [row for row in self._records if row[0] != session]
        self._sites = [row for row in self._sites if row[0] != session]

    def record_rows(self) -> list[RecordTuple]:
        """The record rows with the ids of their words; inside the transaction, which may add words."""
        today = int(time.time() // SECONDS_A_DAY)
        name = self._ledger.name_id
        rows: list[RecordTuple] = []
        for session, generation, out_off, record in self._records:
            ordinal, src_off, src_len, out_len, hash8, day, outcome, reason = record
            when = day_number(day) if day else today
            words = name(outcome), name(reason)
            rows.append((session, generation, ordinal, src_off, src_len, out_off, out_len, hash8, when, *words))
        return rows

    def site_rows(self) -> list[SiteTuple]:
        """The site rows, likewise."""
        name = self._ledger.name_id
        rows: list[SiteTuple] = []
        for session, generation, value, site in self._sites:
            ordinal, n, stage, tool, rule, why, applied, off, after, before, _ = site
            words = name(stage), name(tool), name(rule), name(why)
            rows.append((session, generation, ordinal, n, *words, int(applied), off, after, before, value))
        return rows

    def clear(self) -> None:
        """The rows are committed."""
        self._records.clear()
        self._sites.clear()
        self.source_bytes = 0

    def _add_sites(self, parcel: Parcel) -> dict[int, list[EditSpan]]:
        """Keep the sites and their originals; gives the edits of each record."""
        edits: dict[int, list[EditSpan]] = {}
        for site in parcel.sites:
            value = 0
            ordinal, _, stage, tool, rule, _, applied, off, after, before, digest = site
            if applied and self._vault is not None:
                value = self._value_id(self._vault, digest, parcel.originals[digest])
                edits.setdefault(ordinal, []).append(EditSpan(off, after, before, digest[:16], stage, tool, rule))
            self._sites.append((parcel.session, parcel.generation, value, site))
        return edits

    def _value_id(self, vault: VaultWriter, digest: bytes, original: bytes) -> int:
        """The value id of an original: the known one if the vault holds the same bytes, else a new one."""
        pending = vault.find_pending(digest, original)
        if pending is not None:
            return pending
        for row in self._ledger.value_by_digest(digest[:16]):
            if vault.same(row, original):
                return row.id
        number = self._ledger.next_value_id()
        vault.add(number, digest, original)
        return number
