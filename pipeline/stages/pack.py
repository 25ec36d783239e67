"""Stage 5: a compacted batch as the plain values that go to disk, so that it can cross a process border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import xxhash

from pipeline.parcels import Parcel, signed
from pipeline.records import Record
from pipeline.stages.base import Batch


@dataclass(slots=True)
class _Piece:
    """What is known of a too long record so far."""

    offset: int
    length: int
    hash: xxhash.xxh3_64


@dataclass(slots=True)
class Pack:
    """Turn batches into parcels; holds the running hash of a too long record between its pieces."""

    keep_originals: bool = True
    name: ClassVar[str] = "pack"
    _pieces: dict[int, _Piece] = field(default_factory=dict)

    def __call__(self, batch: Batch) -> Parcel:
        parcel = Parcel(
            batch.session,
            batch.generation,
            batch.state.format.name,
            batch.starts,
            batch.finishes,
            batch.checkpoint,
            b"",
            batch.source_bytes,
            given=batch.given,
        )
        if batch.starts:
            self._pieces.pop(batch.session, None)
        for record in batch.records:
            self._add(parcel, record)
        parcel.output = b"".join([record.output for record in batch.records])
        return parcel

    def _add(self, parcel: Parcel, record: Record) -> None:
        offset, length, out_length = record.offset, len(record.raw), len(record.output)
        if record.piece:
            piece = self._pieces.get(parcel.session)
            if piece is None or piece.offset + piece.length != record.offset:
                # The first piece; what there was of another reading that was given up is void.
                piece = self._pieces[parcel.session] = _Piece(record.offset, 0, xxhash.xxh3_64())
            piece.hash.update(record.raw)
            piece.length += length
            parcel.complete = record.ends
            if not record.ends:
                return
            del self._pieces[parcel.session]
            offset, length, out_length, hash8 = piece.offset, piece.length, piece.length, piece.hash.intdigest()
        else:
            hash8 = xxhash.xxh3_64_intdigest(record.raw)
        parcel.records.append(
            (record.ordinal, offset, length, out_length, signed(hash8), record.day, str(record.outcome), record.reason)
        )
        parcel.exact_scans += record.exact_scan
        parcel.edits += len(record.edits)
        for number, note in enumerate(record.notes):
            parcel.sites.append(
                (
                    record.ordinal,
                    number,
                    note.stage,
                    note.tool,
                    note.rule,
                    note.reason,
                    note.applied,
                    note.offset,
                    note.bytes_after,
                    note.bytes_before,
                    note.value_digest,
                )
            )
        if self.keep_originals:
            for edit in record.edits:
                parcel.originals[edit.note.value_digest] = edit.original
