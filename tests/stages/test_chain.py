"""The pure stages in a row, and how a session is opened again."""

from __future__ import annotations

import pytest
from support import session

from pipeline.formats.registry import FORMATS
from pipeline.records import Record
from pipeline.settings import Settings
from pipeline.stages.base import Batch, SessionState, new_state
from pipeline.stages.chain import build_chain, replay

LINES = [line + b"\n" for line in session(3)]


def state() -> SessionState:
    return new_state(FORMATS["claude-code"], Settings())


def records(lines: list[bytes]) -> list[Record]:
    return [Record(ordinal, 0, line) for ordinal, line in enumerate(lines, 1)]


def test_the_stages_stand_in_the_order_of_the_data() -> None:
    names = [stage.name for stage in build_chain(Settings(), verb="recall").stages]
    assert names == ["decode", "compact-input", "compact-result", "splice"]


def test_the_verb_is_all_that_differs_between_filter_and_daemon() -> None:
    outputs = {
        verb: [r.output for r in build_chain(Settings(), verb=verb)(Batch(0, state(), records(LINES))).records]
        for verb in ("recall", "digest")
    }
    assert [line.replace(b"compactd digest ", b"compactd recall ") for line in outputs["digest"]] == outputs["recall"]
    assert sum(map(len, outputs["recall"])) < sum(map(len, LINES)) / 2


@pytest.mark.parametrize("start", range(len(LINES) + 1))
def test_a_session_opened_again_goes_on_as_before(start: int) -> None:
    chain = build_chain(Settings(), verb="recall")
    expected = [record.output for record in chain(Batch(0, state(), records(LINES))).records]
    again = state()
    replay(Batch(0, again, records(LINES[:start])))
    assert [r.output for r in chain(Batch(0, again, records(LINES[start:]))).records] == expected[start:]


def test_a_batch_counts_its_records_and_bytes() -> None:
    pieces = [Record(1, 0, b"{}\n"), Record(2, 3, b"abc", ends=False, piece=True), Record(2, 6, b"de\n", piece=True)]
    batch = Batch(0, state(), pieces)
    assert (batch.record_count, batch.source_bytes) == (2, 9)
