"""Plans become edits only if the record gets smaller and still decodes to what was meant."""

from __future__ import annotations

import hashlib

import orjson
import pytest

from pipeline.formats.decode import decode_record
from pipeline.records import Json, Note, Path, Plan, Record, Site, Treat, Where
from pipeline.rules.base import NO_CONTEXT
from pipeline.stages.splice import splice

LONG = "x" * 300


def record_of(raw: bytes, *plans: Plan, left: Json = None) -> Record:
    """A record with one site that has these plans, and one that was left."""
    record = Record(1, 0, raw)
    record.documents, _ = decode_record(raw)
    decisions = [(plan.note, plan) for plan in plans]
    record.sites = [Site((), None, Treat.INPUT, "Bash", NO_CONTEXT, decisions=list(decisions))]
    if left is not None:
        note = Note("tool-result", "Bash", "", "passthrough-small")
        record.sites.append(Site((), left, Treat.TEXT, "Bash", NO_CONTEXT, decisions=[(note, None)]))
    splice(record, "recall")
    return record


def plan(
    path: Path,
    new: Json,
    where: Where = Where.LAST_LINE,
    *,
    old: Json = LONG,
    copy: bool = False,
    tail: str = "",
) -> Plan:
    note = Note("tool-result", "Bash", "cap", "", applied=True)
    return Plan(0, path, old, new, where, 2, 290, note, copy, tail)


def handle(original: bytes) -> str:
    return hashlib.sha256(original).hexdigest()[:16]


def test_only_the_value_changes_and_its_note_tells_where() -> None:
    raw = b'{ "n" : 1.0 , "a" : "%b" , "z":"\\u00e9" }\r\n' % LONG.encode()
    record = record_of(raw, plan(("a",), "xx"))
    token = orjson.dumps(LONG)
    new = orjson.dumps(f"xx\n[cut 2 lines, 290 bytes: compactd recall {handle(token)}]")
    assert record.output == raw.replace(token, new)
    (note,) = record.notes
    assert (note.offset, note.bytes_before, note.bytes_after) == (raw.index(token), len(token), len(new))
    assert note.value_digest == hashlib.sha256(token).digest()
    assert record.outcome == "edited"


def test_offsets_count_the_edits_before() -> None:
    raw = orjson.dumps({"a": LONG, "b": LONG + "y"})
    record = record_of(raw, plan(("a",), "1"), plan(("b",), "2", old=LONG + "y"))
    for edit in record.edits:
        assert record.output[edit.note.offset :].startswith(edit.new)


@pytest.mark.parametrize(
    ("where", "copy", "tail", "expected"),
    [
        pytest.param(Where.NONE, False, "", "head", id="no mark"),
        pytest.param(Where.WHOLE, True, "", "[copy, 290 bytes: compactd recall {}]", id="reference"),
        pytest.param(
            Where.SPLIT, False, "\n```\n", "head[cut 2 lines, 290 bytes: compactd recall {}]\n```\n", id="split"
        ),
    ],
)
def test_marks_stand_at_their_place(where: Where, copy: bool, tail: str, expected: str) -> None:
    record = record_of(orjson.dumps({"a": LONG}), plan(("a",), "head", where, copy=copy, tail=tail))
    assert orjson.loads(record.output)["a"] == expected.format(handle(orjson.dumps(LONG)))


def test_a_block_in_the_place_of_another_has_the_mark_in_its_text() -> None:
    old: Json = {"type": "image", "data": LONG}
    new: Json = {"type": "text", "text": "[image]"}
    record = record_of(orjson.dumps({"a": [old]}), plan(("a", 0), new, Where.BLOCK_TEXT, old=old))
    mark = f"[cut 2 lines, 290 bytes: compactd recall {handle(orjson.dumps(old))}]"
    assert orjson.loads(record.output) == {"a": [{"type": "text", "text": f"[image]\n{mark}"}]}


def test_what_would_not_be_smaller_stays() -> None:
    raw = orjson.dumps({"a": LONG})
    record = record_of(raw, plan(("a",), LONG[:-20]))
    assert record.output is raw
    (note,) = record.notes
    assert (note.applied, note.rule, note.reason) == (False, "", "passthrough-low-savings")
    assert note.bytes_before == note.bytes_after == len(LONG) + 2


def test_what_would_not_be_smaller_stays_between_others_that_are() -> None:
    middle = LONG + "m"
    raw = orjson.dumps({"a": LONG, "b": middle, "c": LONG + "c"})
    record = record_of(raw, plan(("a",), "1"), plan(("b",), middle[:-1], old=middle), plan(("c",), "3", old=LONG + "c"))
    assert orjson.loads(record.output)["b"] == middle
    assert [(note.applied, note.reason) for note in record.notes] == [
        (True, ""),
        (False, "passthrough-low-savings"),
        (True, ""),
    ]
    assert [edit.start for edit in record.edits] == [raw.index(b'"x'), raw.rindex(b'"x')]
    assert record.notes[1].value_digest == b""


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param(orjson.dumps({"n": {"a": LONG}, "m": {"a": LONG}}), ("m", "a"), id="an equal member ahead"),
        pytest.param(b'{"n": "a", "m": {"a": "%b"}}' % LONG.encode(), ("m", "a"), id="spaces"),
        pytest.param(orjson.dumps({"m": ["a", LONG]}), ("m", 1), id="an element"),
        pytest.param(b'{"m":{"a":"\\u0078%b"}}' % LONG[1:].encode(), ("m", "a"), id="an odd escape"),
        pytest.param(b'{"\\u006d":{"a":"%b"}}' % LONG.encode(), ("m", "a"), id="an odd escape of a parent"),
    ],
)
def test_a_value_in_an_unusual_place_is_edited_there(raw: bytes, path: Path) -> None:
    record = record_of(raw, plan(path, "1"))
    (edit,) = record.edits
    assert orjson.loads(edit.original) == LONG
    assert record.output == raw[: edit.start] + edit.new + raw[edit.end :]
    value = orjson.loads(record.output)
    assert value["m"][path[1]].startswith("1\n[cut 2 lines, 290 bytes")


def test_a_plan_that_fits_nowhere_leaves_the_record_alone() -> None:
    raw = orjson.dumps({"a": LONG})
    record = record_of(raw, plan(("b",), "1"))
    assert record.output is raw
    assert [(note.applied, note.reason) for note in record.notes] == [(False, "passthrough-unspliced")]


def test_a_site_that_was_left_has_its_encoded_size() -> None:
    record = record_of(b'{"a":"e"}', left={"a": "e\n"})
    assert [(note.bytes_before, note.bytes_after) for note in record.notes] == [(11, 11)]


def test_a_record_without_sites_is_its_very_bytes() -> None:
    record = Record(1, 0, b" {} \n")
    splice(record, "recall")
    assert record.output is record.raw
