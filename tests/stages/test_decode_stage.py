"""Decoding lists sites, days and reasons, and leaves pieces and formats without rules alone."""

from __future__ import annotations

import pytest
from support import call, lines, result

from pipeline.formats.registry import FORMATS
from pipeline.records import Record
from pipeline.settings import Settings
from pipeline.stages.base import Batch, new_state
from pipeline.stages.decode import Decode


def decoded(*raws: bytes, format_: str = "claude-code", piece: bool = False) -> list[Record]:
    records = [Record(ordinal, 0, raw, piece=piece) for ordinal, raw in enumerate(raws, 1)]
    return Decode()(Batch(0, new_state(FORMATS[format_], Settings()), records)).records


def test_a_record_gets_its_sites_and_day() -> None:
    first, second = decoded(call(1, "Bash", {"command": "make"}), result(2, 1, "done"))
    assert [site.path for site in first.sites] == [("message", "content", 0, "input")]
    assert [(site.path[-1], site.tool, site.context.command) for site in second.sites] == [("content", "Bash", "make")]
    assert (second.day, second.reason) == ("2026-01-05", "")


def test_sites_of_glued_records_know_their_document() -> None:
    glued = call(1, "Bash", {"command": "make"}) + result(2, 1, "done") + b"\n"
    (record,) = decoded(glued)
    assert [site.document for site in record.sites] == [0, 1]
    assert len(record.documents) == 2


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"\n", "blank", id="blank"),
        pytest.param(b"{\n", "not-json", id="torn"),
        pytest.param(b"\xff\n", "not-utf8", id="not UTF-8"),
        pytest.param(b"[]\n", "not-object", id="list"),
    ],
)
def test_what_cannot_be_decoded_has_its_reason(raw: bytes, reason: str) -> None:
    (record,) = decoded(raw)
    assert (record.reason, record.sites, record.documents) == (reason, [], [])


def test_pieces_and_formats_without_rules_are_not_looked_at() -> None:
    raw = lines([call(1, "Bash", {"command": "make"})])
    for record in (*decoded(raw, format_="unknown"), *decoded(raw, piece=True)):
        assert (record.documents, record.sites, record.day, record.reason) == ([], [], "", "")
