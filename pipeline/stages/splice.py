"""Stage 4: plans to bytes. Values are spliced into the record's own bytes, never re-encoded (design, P2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from pipeline.formats.decode import encode_value
from pipeline.formats.spans import apply_checked
from pipeline.records import Document, Edit, Json, Note, Plan, Record, Where
from pipeline.rules.base import LOW_SAVINGS
from pipeline.rules.marks import copy_mark, cut_mark, handle_of, place
from pipeline.stages.base import Batch

UNSPLICED = "passthrough-unspliced"
"""The edited record did not decode to what was meant: it stays as it is."""


@dataclass(frozen=True, slots=True)
class Splice:
    """Turn the plans of a batch into edits and output bytes; `verb` is the word in the marks."""

    verb: str = "recall"
    name: ClassVar[str] = "splice"

    def __call__(self, batch: Batch) -> Batch:
        for record in batch.records:
            splice(record, self.verb)
        return batch


def splice(record: Record, verb: str) -> None:
    """Set notes, edits and output of one record; drops its decoded form, which is not needed any more."""
    if not record.sites:
        record.output = record.raw
        record.documents = []
        return
    planned: list[list[Plan]] = [[] for _ in record.documents]
    for site in record.sites:
        for note, plan in site.decisions:
            record.notes.append(note)
            if plan is None:
                note.bytes_before = note.bytes_after = len(encode_value(site.value))
            else:
                planned[plan.document].append(plan)
    parts: list[bytes] = []
    at = 0
    for document, plans in zip(record.documents, planned, strict=True):
        output = _spliced(record, document, plans, verb) if plans else None
        if output is not None:
            parts += (record.raw[at : document.start], output)
            at = document.end
    if record.edits:
        record.output = b"".join((*parts, record.raw[at:]))
        _note_offsets(record)
    else:
        record.output = record.raw
    record.documents = []
    record.sites = []


def _spliced(record: Record, document: Document, plans: list[Plan], verb: str) -> bytes | None:
    """The new bytes of a document, as they were checked; None when it stays. Adds the edits to the record."""
    digests: list[bytes] = []

    def make(number: int, original: bytes) -> tuple[Json, bytes]:
        plan = plans[number]
        digest = hashlib.sha256(original).digest()
        value = _marked(plan, digest, verb)
        new = encode_value(value, like=original)
        del digests[number:]
        if len(new) >= len(original):
            digests.append(b"")
            return plan.old, original
        digests.append(digest)
        return value, new

    done = apply_checked(record.raw, document, [(plan.path, plan.old) for plan in plans], make)
    if done is None:
        for plan in plans:
            _leave(plan.note, UNSPLICED, len(encode_value(plan.old)))
        return None
    record.exact_scan = record.exact_scan or done.exact
    for plan, (start, end), original, new, digest in zip(
        plans, done.spans, done.originals, done.news, digests, strict=True
    ):
        if not digest:
            _leave(plan.note, LOW_SAVINGS, end - start)
            continue
        note = plan.note
        note.bytes_before, note.bytes_after, note.value_digest = end - start, len(new), digest
        record.edits.append(Edit(start, end, new, original, note))
    return done.output


def _leave(note: Note, reason: str, size: int) -> None:
    note.applied, note.rule, note.reason = False, "", reason
    note.bytes_before = note.bytes_after = size


def _marked(plan: Plan, digest: bytes, verb: str) -> Json:
    where = plan.where
    if where is Where.NONE:
        return plan.new
    handle = handle_of(digest)
    if plan.copy:
        mark = copy_mark(plan.lost_bytes, handle, verb)
    else:
        mark = cut_mark(plan.lost_lines, plan.lost_bytes, handle, verb)
    if where is Where.SPLIT:
        assert isinstance(plan.new, str)
        return plan.new + mark + plan.tail
    if where is Where.BLOCK_TEXT:
        assert isinstance(plan.new, dict)
        return {**plan.new, "text": f"{plan.new['text']}\n{mark}"}
    return place(plan.new, mark, where)


def _note_offsets(record: Record) -> None:
    """Sort the edits, and note each one's place in the output record."""
    record.edits.sort(key=lambda edit: edit.start)
    grown = 0
    for edit in record.edits:
        edit.note.offset = edit.start + grown
        grown += len(edit.new) - (edit.end - edit.start)
