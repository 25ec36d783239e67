"""SESSION and SESSION:RECORD mean one thing, or are refused with what they could mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ledgers import add_session

from pipeline.disk.ledger import Ledger
from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.naming import one_session, session_and_record
from pipeline.disk.rows import SessionRow
from pipeline.errors import UsageError

SESSIONS = [b"a/x.jsonl", b"b/x.jsonl", b"a/y:7.jsonl", b"z:3"]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[LedgerReader]:
    path = str(tmp_path / "state" / "ledger.db")
    ledger = Ledger.open(path)
    root = ledger.root(b"/data/root", "root")
    for rel in SESSIONS:
        add_session(ledger, SessionRow(0, root.id, rel, rel))
    ledger.close()
    with LedgerReader.open(path) as reader:
        yield reader


@pytest.mark.parametrize(
    ("text", "session", "record"),
    [
        pytest.param("/data/root/a/x.jsonl", 1, None, id="source"),
        pytest.param("/out/root/b/x.jsonl", 2, None, id="output"),
        pytest.param("a/x.jsonl", 1, None, id="end"),
        pytest.param("#2", 2, None, id="number"),
        pytest.param("#2:15", 2, 15, id="record of a number"),
        pytest.param("b/x.jsonl:4", 2, 4, id="record"),
        pytest.param("a/y:7.jsonl", 3, None, id="colon in a name"),
        pytest.param("a/y:7.jsonl:9", 3, 9, id="record of a name with a colon"),
        pytest.param("z:3", 4, None, id="the whole is a path"),
        pytest.param("z:3:2", 4, 2, id="record of such a path"),
    ],
)
def test_a_name_means_a_session_and_perhaps_a_record(
    reader: LedgerReader, text: str, session: int, record: int | None
) -> None:
    info, ordinal = session_and_record(reader, text, out="/out")
    assert (info.id, ordinal) == (session, record)


def test_an_ambiguous_name_is_refused_with_the_candidates(reader: LedgerReader) -> None:
    with pytest.raises(UsageError) as caught:
        one_session(reader, "x.jsonl", out="/out")
    assert str(caught.value) == (
        "SESSION: need one session, 'x.jsonl' fits 2: #1 /data/root/a/x.jsonl, #2 /data/root/b/x.jsonl"
    )


@pytest.mark.parametrize("text", ["", "none", "#9", "x.jsonl:", ":4", "#1:x"])
def test_what_is_no_session_is_refused(reader: LedgerReader, text: str) -> None:
    with pytest.raises(UsageError, match="SESSION: no session fits"):
        session_and_record(reader, text, out="/out")
