"""The promises of the design on made-up sessions of both formats, through the whole pure chain."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from generated import Session, claude_sessions, openviking_sessions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.formats.registry import FORMATS
from pipeline.records import Record
from pipeline.rules.marks import MARK_KEY
from pipeline.settings import CopySettings, Settings, ToolInputSettings, ToolResultSettings
from pipeline.stages.base import Batch, SessionState, new_state
from pipeline.stages.chain import build_chain, replay
from pipeline.stages.compact_input import input_shape

MARK = re.compile(rb"\[(?:cut \d+ lines|copy), \d+ bytes: compactd digest ([0-9a-f]{16})\]")
SETTINGS = (
    Settings(),
    Settings(copies=CopySettings(enabled=False)),
    Settings(tool_input=ToolInputSettings(max_chars=0, shape="summary")),
    Settings(tool_input=ToolInputSettings(max_chars=300, shape="in-place")),
    Settings(tool_input=ToolInputSettings(enabled=False), copies=CopySettings(min_bytes=100)),
    Settings(tool_result=ToolResultSettings(enabled=False)),
    Settings(tool_result=ToolResultSettings(min_bytes=100, min_savings=0, head_lines=3, tail_lines=2, diffs="elide")),
)


@dataclass(frozen=True)
class Made:
    """A session of a format, and how it is to be compacted."""

    format: str
    session: Session
    config: Settings

    @property
    def lines(self) -> list[bytes]:
        return self.session.records

    def state(self) -> SessionState:
        return new_state(FORMATS[self.format], self.config)

    def compacted(self, lines: list[bytes], state: SessionState | None = None, first: int = 1) -> list[Record]:
        chain = build_chain(self.config, verb="digest")
        return chain(Batch(0, state or self.state(), records_of(lines, first))).records


MADE = st.one_of(
    st.builds(Made, st.just("claude-code"), claude_sessions(), st.sampled_from(SETTINGS)),
    st.builds(Made, st.just("openviking"), openviking_sessions(), st.sampled_from(SETTINGS)),
)
quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def records_of(lines: Iterable[bytes], first: int = 1) -> list[Record]:
    return [Record(ordinal, 0, line) for ordinal, line in enumerate(lines, first)]


@quick
@given(MADE)
def test_only_edited_values_differ_and_the_sums_hold(made: Made) -> None:
    """P2, P3 and P8: putting the originals back at the noted places gives the source; digests and sums agree."""
    for record in made.compacted(made.lines):
        at = 0
        restored = []
        for edit in sorted(record.edits, key=lambda edit: edit.note.offset):
            note = edit.note
            assert note.bytes_after < note.bytes_before == len(edit.original)
            assert note.value_digest == hashlib.sha256(edit.original).digest()
            restored += [record.output[at : note.offset], edit.original]
            at = note.offset + note.bytes_after
        assert b"".join([*restored, record.output[at:]]) == record.raw
        saved = sum(note.bytes_before - note.bytes_after for note in record.notes)
        assert saved == len(record.raw) - len(record.output)
        assert sum(note.applied for note in record.notes) == len(record.edits)
        assert all(bool(note.rule) is note.applied is not bool(note.reason) for note in record.notes)
        assert record.edits or record.output is record.raw


@quick
@given(MADE)
def test_marks_carry_the_handle_of_their_original(made: Made) -> None:
    for record in made.compacted(made.lines):
        for edit in record.edits:
            old = MARK.findall(edit.original)
            new = [handle for handle in MARK.findall(edit.new) if handle not in old]
            assert new in ([], [hashlib.sha256(edit.original).hexdigest()[:16].encode()])


@quick
@given(MADE)
def test_nothing_grows_and_a_second_pass_changes_nothing(made: Made) -> None:
    """P6."""
    first = [record.output for record in made.compacted(made.lines)]
    assert all(len(new) <= len(old) for new, old in zip(first, made.lines, strict=True))
    assert [record.output for record in made.compacted(first)] == first


@quick
@given(MADE)
def test_a_session_keeps_its_shape(made: Made) -> None:
    """P7: same records, keys, types of fields, ids and chains."""
    summaries = input_shape(FORMATS[made.format], made.config.tool_input) == "summary"
    for record in made.compacted(made.lines):
        try:
            before, after = decoded(record.raw), decoded(record.output)
        except ValueError:
            assert record.output == record.raw
            continue
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert_same_shape(old, new, summaries=summaries)


def decoded(line: bytes) -> list[Any]:
    text, values, at = line.decode(), [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = json.JSONDecoder().raw_decode(text, at)
        values.append(value)
    return values


IDS = ("uuid", "parentUuid", "sessionId", "id", "tool_id", "tool_use_id")
KEPT = frozenset((*IDS, "type", "role", "timestamp", "usage", "name", "created_at"))


def assert_same_shape(old: Any, new: Any, *, summaries: bool) -> None:
    assert type(old) is type(new)
    if isinstance(old, dict):
        if old.get("type") == "image" and new.get("type") == "text":
            assert set(new) == {"type", "text"}
            return
        assert list(old) == [key for key in new if key != MARK_KEY]
        for key in old:
            if key in KEPT:
                assert old[key] == new[key]
            elif not (summaries and key in ("tool_input", "input")):
                assert_same_shape(old[key], new[key], summaries=summaries)
    elif isinstance(old, list):
        assert len(new) <= len(old)
        if len(new) == len(old):
            for one, other in zip(old, new, strict=True):
                if not (isinstance(other, str) and "compactd" in other):
                    assert_same_shape(one, other, summaries=summaries)
    elif not isinstance(old, str):
        assert old == new


@quick
@given(MADE, st.randoms(use_true_random=False))
def test_output_does_not_depend_on_batches_or_restarts(made: Made, random: Any) -> None:
    """P0: any batches, and a session opened again at any record, give the same bytes."""
    lines = made.lines
    expected = [record.output for record in made.compacted(lines)]
    state = made.state()
    found: list[bytes] = []
    while len(found) < len(lines):
        part = lines[len(found) : len(found) + random.randint(1, 4)]
        found += [record.output for record in made.compacted(part, state, len(found) + 1)]
    assert found == expected
    for start in range(len(lines) + 1):
        state = made.state()
        replay(Batch(0, state, records_of(lines[:start])))
        rest = made.compacted(lines[start:], state, start + 1)
        assert [record.output for record in rest] == expected[start:]


@quick
@given(MADE)
def test_failures_stay_in_the_result_that_told_them(made: Made) -> None:
    """P4: the planted line is still in a visible result text of its record, or of the record glued to it."""
    records = made.compacted(made.lines)
    for ordinal, line in made.session.failures:
        # A record glued to the one before has taken its number.
        near = records[max(0, ordinal - 2) : ordinal]
        if any(line in text for record in near for text in result_lines(record.raw)):
            assert any(line in text for record in near for text in result_lines(record.output))


def result_lines(line: bytes) -> Iterator[str]:
    try:
        values = decoded(line)
    except ValueError:
        return
    for record in values:
        if not isinstance(record, dict):
            continue
        message = record.get("message")
        for block in message["content"] if isinstance(message, dict) else record.get("parts", []):
            content = block.get("content", block.get("tool_output")) if isinstance(block, dict) else None
            for text in [content] if isinstance(content, str) else [x.get("text") for x in content or []]:
                yield from (text or "").split("\n")


@pytest.mark.parametrize("name", ["claude-code", "openviking"])
def test_an_empty_session_is_empty(name: str) -> None:
    made = Made(name, Session(Random(0)), Settings())
    assert made.compacted([]) == []
