"""Edits inside of a string that holds JSON, such as `arguments`: spliced in there, then one edit of the string."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pipeline.formats.decode import decode_record, encode_value
from pipeline.formats.spans import apply_checked
from pipeline.records import Json, Note, Path, Plan

Marked = Callable[[Plan, int, int], Json]
"""A plan's new value with its mark, which tells so many lost lines and bytes."""


@dataclass(frozen=True, slots=True)
class Nested:
    """The plans of one string that holds JSON. They become one edit, so they have one note, that of the largest."""

    path: Path
    old: str
    plans: tuple[Plan, ...]
    largest: Plan

    @property
    def note(self) -> Note:
        """The note of the edit."""
        return self.largest.note


def grouped(plans: list[Plan], document: Json) -> list[Plan | Nested]:
    """The plans of a document, with those inside of one string joined; the order stays."""
    found: list[Plan | Nested] = []
    for path, group in groupby(plans, key=lambda plan: None if plan.inside is None else plan.path):
        if path is None:
            found.extend(group)
        else:
            members = tuple(group)
            found.append(Nested(path, _string_at(document, path), members, max(members, key=_lost)))
    return found


def nested_text(nested: Nested, marked: Marked) -> str | None:
    """The string with the new values in its JSON; every other character of it stays.

    Args:
        nested: what to do.
        marked: puts the one mark of the edit into the value that lost most.

    Returns:
        None when the JSON is not one object any more, or nothing in it would get smaller.

    Source: sessions as their writers leave them.
    """
    raw = nested.old.encode("utf-8", "surrogatepass")
    documents, _ = decode_record(raw)
    if len(documents) != 1:
        return None
    lines = sum(plan.lost_lines for plan in nested.plans)
    lost = sum(plan.lost_bytes for plan in nested.plans)

    def make(number: int, original: bytes) -> tuple[Json, bytes]:
        plan = nested.plans[number]
        value = marked(plan, lines, lost) if plan is nested.largest else plan.new
        new = encode_value(value, like=original)
        if len(new) >= len(original) and plan is not nested.largest:
            return plan.old, original
        return value, new

    wanted = [(plan.inside or (), plan.old) for plan in nested.plans]
    (document,) = documents
    done = apply_checked(raw, document, wanted, make)
    if done is None:
        return None
    data = b"".join((raw[: document.start], done.output, raw[document.end :]))
    return data.decode("utf-8", "surrogatepass") if len(data) < len(raw) else None


def _lost(plan: Plan) -> int:
    return plan.lost_bytes


def _string_at(document: Json, path: Path) -> str:
    value: Any = document
    for step in path:
        value = value[step]
    assert isinstance(value, str)
    return value
