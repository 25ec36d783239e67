"""Stage 1: bytes to documents and their sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pipeline.formats.decode import decode_record
from pipeline.records import Record
from pipeline.stages.base import Batch, SessionState


@dataclass(frozen=True, slots=True)
class Decode:
    """Decode each record and list its sites; what cannot be decoded gets its reason and passes."""

    name: ClassVar[str] = "decode"

    def __call__(self, batch: Batch) -> Batch:
        if batch.state.format.compacts:
            for record in batch.records:
                if not record.piece:
                    decode(record, batch.state)
        return batch


def decode(record: Record, state: SessionState) -> None:
    """Fill in documents, sites and day of one record."""
    record.documents, record.reason = decode_record(record.raw)
    for number, document in enumerate(record.documents):
        value = document.value
        if not isinstance(value, dict):
            continue
        sites = state.format.sites(value, state.pairing)
        if not number:
            record.sites = sites
        else:
            for site in sites:
                site.document = number
            record.sites.extend(sites)
        if not record.day:
            record.day = state.format.day(value)
