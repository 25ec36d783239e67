"""Stage 4: plans to bytes. Values are spliced into the record's own bytes, never re-encoded (README.md, P2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import orjson

from pipeline.formats.decode import decode_again, encode_value
from pipeline.formats.spans import NEEDLE_BYTES, apply_checked
from pipeline.records import Document, Edit, Json, Note, Plan, Record, Where
from pipeline.rules.base import LOW_SAVINGS
from pipeline.rules.marks import copy_mark, cut_mark, handle_of, place
from pipeline.stages.base import Batch
from pipeline.stages.nested import Nested, grouped, nested_text

UNSPLICED = "passthrough-unspliced"
"""The edited record did not decode to what was meant: it stays as it is."""

# Looking up a member of an enumeration is slow, and these are asked for at each edit.
_NONE, _SPLIT, _BLOCK_TEXT = Where.NONE, Where.SPLIT, Where.BLOCK_TEXT
_START = attrgetter("start")


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
        if not plans:
            continue
        output = _straight(record, document, plans, verb)
        if output is None:
            output = _spliced(record, document, plans, verb)
        if output is not None:
            parts += (record.raw[at : document.start], output)
            at = document.end
    if record.edits:
        parts.append(record.raw[at:])
        record.output = b"".join(parts)
        _note_offsets(record)
    else:
        record.output = record.raw
    record.documents = []
    record.sites = []


def _straight(record: Record, document: Document, plans: list[Plan], verb: str) -> bytes | None:
    """What `_spliced` does, in one loop for the usual case; None, and nothing has changed, in any other.

    Usual are strings that are members of objects, in a document without spaces, each to be found where a member
    first begins like it. What comes out is checked as always.
    """
    raw, cursor, end = record.raw, document.start, document.end
    at = cursor
    parts: list[bytes] = []
    edits: list[Edit] = []
    digests: list[bytes] = []
    left: list[tuple[Note, int]] = []
    undo: list[tuple[Any, str, str]] = []
    for plan in plans:
        path, old = plan.path, plan.old
        key = path[-1] if path else 0
        if type(old) is not str or type(key) is not str or plan.inside is not None:
            break
        try:
            original = orjson.dumps(old)
        except TypeError:  # lone surrogates
            break
        lead = f'"{key}":'.encode("utf-8", "surrogatepass")
        start = raw.find(lead + original[:NEEDLE_BYTES], cursor, end) + len(lead)
        if start < cursor + len(lead) or not raw.startswith(original, start, end):
            break
        cursor = start + len(original)
        digest = hashlib.sha256(original).digest()
        value = _marked(plan, digest, verb)
        new = encode_value(value, like=original)
        if len(new) >= len(original):
            left.append((plan.note, len(original)))
            continue
        if type(value) is not str:
            break
        owner: Any = document.value
        for step in path[:-1]:
            owner = owner[step]
        undo.append((owner, key, old))
        owner[key] = value
        parts += (raw[at:start], new)
        at = cursor
        digests.append(digest)
        edits.append(Edit(start, at, new, original, plan.note))
    else:
        output = b"".join((*parts, raw[at:end]))
        if _is_meant(output, document):
            for edit, digest in zip(edits, digests, strict=True):
                _note_sizes(edit, digest)
            for note, size in left:
                _leave(note, LOW_SAVINGS, size)
            record.edits += edits
            return output
    for owner, key, old in undo:
        owner[key] = old
    return None


def _is_meant(output: bytes, document: Document) -> bool:
    try:
        return decode_again(output, lenient=document.lenient) == document.value
    except (ValueError, RecursionError):
        return False


def _note_sizes(edit: Edit, digest: bytes) -> None:
    note = edit.note
    note.bytes_before, note.bytes_after, note.value_digest = len(edit.original), len(edit.new), digest


def _spliced(record: Record, document: Document, all_plans: list[Plan], verb: str) -> bytes | None:
    """The new bytes of a document, as they were checked; None when it stays. Adds the edits to the record."""
    digests: list[bytes] = []
    plans = grouped(all_plans, document.value)
    _drop_notes(record, all_plans, plans)

    def make(number: int, original: bytes) -> tuple[Json, bytes]:
        plan = plans[number]
        digest = hashlib.sha256(original).digest()
        value = _marked_text(plan, digest, verb) if isinstance(plan, Nested) else _marked(plan, digest, verb)
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
        edit = Edit(start, end, new, original, plan.note)
        _note_sizes(edit, digest)
        record.edits.append(edit)
    return done.output


def _drop_notes(record: Record, all_plans: list[Plan], plans: list[Plan | Nested]) -> None:
    """One edit has one note: those of the other plans of a string that holds JSON go."""
    if len(plans) < len(all_plans):
        kept = {id(plan.note) for plan in plans}
        dropped = {id(plan.note) for plan in all_plans} - kept
        record.notes = [note for note in record.notes if id(note) not in dropped]


def _marked_text(nested: Nested, digest: bytes, verb: str) -> Json:
    """The string with its plans done and one mark, or as it is."""

    def marked(plan: Plan, lines: int, lost_bytes: int) -> Json:
        return _marked(replace(plan, lost_lines=lines, lost_bytes=lost_bytes), digest, verb)

    text = nested_text(nested, marked)
    return nested.old if text is None else text


def _leave(note: Note, reason: str, size: int) -> None:
    note.applied, note.rule, note.reason = False, "", reason
    note.bytes_before = note.bytes_after = size


def _marked(plan: Plan, digest: bytes, verb: str) -> Json:
    where = plan.where
    if where is _NONE:
        return plan.new
    handle = handle_of(digest)
    if plan.copy:
        mark = copy_mark(plan.lost_bytes, handle, verb)
    else:
        mark = cut_mark(plan.lost_lines, plan.lost_bytes, handle, verb)
    if where is _SPLIT:
        assert isinstance(plan.new, str)
        return plan.new + mark + plan.tail
    if where is _BLOCK_TEXT:
        assert isinstance(plan.new, dict)
        return {**plan.new, "text": f"{plan.new['text']}\n{mark}"}
    return place(plan.new, mark, where)


def _note_offsets(record: Record) -> None:
    """Sort the edits, and note each one's place in the output record."""
    record.edits.sort(key=_START)
    grown = 0
    for edit in record.edits:
        edit.note.offset = edit.start + grown
        grown += len(edit.new) - len(edit.original)
