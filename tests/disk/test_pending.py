"""Rows of appended parcels wait for their commit, with the places and originals that they will refer to."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.disk.ledger import Ledger
from pipeline.disk.pending import SECONDS_A_DAY, Pending
from pipeline.disk.rows import day_number
from pipeline.disk.vault import VaultWriter
from pipeline.parcels import Checkpoint, Parcel

ORIGINALS = [b'"first"', b'"second"']
DIGESTS = [hashlib.sha256(original).digest() for original in ORIGINALS]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(str(tmp_path / "state" / "ledger.db"))
    yield opened
    opened.close()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VaultWriter]:
    writer = VaultWriter(str(tmp_path / "state" / "vault"))
    writer.open({})
    yield writer
    writer.close()


def parcel(session: int, *digests: bytes, day: str = "2026-01-05") -> Parcel:
    """Two records of 100 bytes, the second with an edit for each digest."""
    made = Parcel(session, 1, "chat", True, False, Checkpoint(), b"", 200)
    made.records = [(1, 0, 100, 100, -1, day, "untouched", ""), (2, 100, 100, 40, -2, day, "edited", "")]
    made.sites = [(2, n, "stage", "Bash", "rule", "", True, n, 5, 35, digest) for n, digest in enumerate(digests)]
    made.originals = dict(zip(DIGESTS, ORIGINALS, strict=True))
    return made


def test_rows_get_their_places_words_and_values(ledger: Ledger, vault: VaultWriter) -> None:
    pending = Pending(ledger, vault)
    assert pending.add(parcel(7, *DIGESTS), b"r/a", 50) == 190
    assert pending.add(parcel(8, DIGESTS[1]), b"r/b", 0) == 140
    assert (pending.records, pending.source_bytes) == (4, 400)
    records, sites, day = pending.record_rows(), pending.site_rows(), day_number("2026-01-05")
    untouched, edited = ledger.name_id("untouched"), ledger.name_id("edited")
    assert records == [
        (7, 1, 1, 0, 100, 50, 100, -1, day, untouched, 0),
        (7, 1, 2, 100, 100, 150, 40, -2, day, edited, 0),
        (8, 1, 1, 0, 100, 0, 100, -1, day, untouched, 0),
        (8, 1, 2, 100, 100, 100, 40, -2, day, edited, 0),
    ]
    words = tuple(ledger.name_id(word) for word in ("stage", "Bash", "rule", ""))
    # The same original has one value.
    assert sites == [
        (7, 1, 2, 0, *words, 1, 0, 5, 35, 1),
        (7, 1, 2, 1, *words, 1, 1, 5, 35, 2),
        (8, 1, 2, 0, *words, 1, 0, 5, 35, 2),
    ]
    assert [(row.id, row.digest16) for row in vault.flush()] == [(1, DIGESTS[0][:16]), (2, DIGESTS[1][:16])]
    pending.clear()
    assert (pending.records, pending.source_bytes, pending.record_rows(), pending.site_rows()) == (0, 0, [], [])


def test_a_known_original_keeps_its_value(ledger: Ledger, vault: VaultWriter) -> None:
    pending = Pending(ledger, vault)
    pending.add(parcel(7, DIGESTS[0]), b"r/a", 0)
    rows = vault.flush()
    with ledger.transaction() as change:
        change.insert_values(rows)
        change.put_packs(vault.lengths())
    vault.committed()
    pending.clear()
    pending.add(parcel(8, *DIGESTS), b"r/b", 0)
    assert [site[-1] for site in pending.site_rows()] == [1, 2]


def test_without_a_vault_sites_have_no_value(ledger: Ledger) -> None:
    pending = Pending(ledger, None)
    pending.add(parcel(7, *DIGESTS), b"r/a", 0)
    assert [site[-1] for site in pending.site_rows()] == [0, 0]


def test_the_rows_of_one_session_can_be_left_out(ledger: Ledger) -> None:
    pending = Pending(ledger, None)
    for session in (7, 8, 7):
        pending.add(parcel(session, DIGESTS[0]), b"r/a", 0)
    pending.drop(7)
    assert [row[0] for row in pending.record_rows()] == [8, 8]
    assert [row[0] for row in pending.site_rows()] == [8]


def test_a_record_without_a_day_gets_that_of_its_commit(ledger: Ledger) -> None:
    pending = Pending(ledger, None)
    before = int(time.time() // SECONDS_A_DAY)
    pending.add(parcel(7, day=""), b"r/a", 0)
    assert before <= pending.record_rows()[0][8] <= int(time.time() // SECONDS_A_DAY)
