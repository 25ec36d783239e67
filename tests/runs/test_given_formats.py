"""A format that the user gives holds: for the session, for its later generations, and against what was told before."""

from __future__ import annotations

from pathlib import Path

import pytest
from home import HEAD, Home, oracle, short

from pipeline.runs.backfill import backfill
from pipeline.runs.daemon import watch
from pipeline.settings import RootSettings

DATA = HEAD + short(1) + short(2)
OTHER = HEAD + short(3) + short(4) + short(5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def formats(home: Home) -> list[tuple[int, str, str]]:
    """Number, state and format of the session's generations."""
    return [(row.generation, row.state, row.format) for row in home.generations()]


def run(home: Home, format: str) -> None:
    """A backfill of the source folder as a root of this format."""
    assert backfill(home.settings, [RootSettings(str(home.source), format)]).failed == []


def test_a_given_format_holds_when_the_content_is_another(home: Home) -> None:
    path = home.write("a.jsonl", DATA)
    home.backfill(path, format="codex")
    home.write("a.jsonl", OTHER)
    home.backfill(path, format="codex")
    assert formats(home) == [(1, "superseded", "codex"), (2, "current", "codex")]
    home.check("a.jsonl", format="codex")


def test_a_given_format_is_remembered(home: Home) -> None:
    path = home.write("a.jsonl", DATA)
    home.backfill(path, format="codex")
    home.append("a.jsonl", short(7))
    home.backfill()
    assert formats(home) == [(1, "current", "codex")]
    home.write("a.jsonl", OTHER)
    watch(home.settings, [str(home.source)], once=True)
    home.backfill(recompact=True)
    assert {format for _, _, format in formats(home)} == {"codex"}
    home.check("a.jsonl", format="codex")


def test_another_given_format_begins_a_new_generation_at_once(home: Home) -> None:
    path = home.write("a.jsonl", DATA)
    home.backfill()
    home.backfill(path, format="codex")
    assert formats(home)[-1] == (2, "current", "codex")
    home.check("a.jsonl", format="codex")
    assert home.backfill(path, format="codex").total["unchanged"] == 1
    home.backfill(path, format="claude-code")
    assert formats(home)[-1] == (3, "current", "claude-code")
    home.check("a.jsonl")


def test_the_same_given_format_changes_nothing(home: Home) -> None:
    path = home.write("a.jsonl", DATA)
    home.backfill()
    before = home.outputs(), home.rows()
    assert home.backfill(path, format="claude-code").total["unchanged"] == 1
    assert (home.outputs(), home.rows()) == before


def test_the_format_of_a_root_holds_from_the_next_bytes_on(home: Home) -> None:
    path = home.write("a.jsonl", DATA)
    run(home, "auto")
    before = home.outputs()
    run(home, "codex")
    assert home.outputs() == before
    home.append("a.jsonl", short(8))
    run(home, "codex")
    assert formats(home)[-1] == (2, "current", "codex")
    home.check("a.jsonl", format="codex")
    home.write("a.jsonl", OTHER)
    run(home, "codex")
    assert formats(home)[-1] == (3, "current", "codex")
    # Without it the content tells again.
    run(home, "auto")
    assert formats(home)[-1] == (3, "current", "codex")
    home.append("a.jsonl", short(9))
    run(home, "auto")
    assert formats(home)[-1] == (4, "current", "claude-code")
    assert home.output("a.jsonl").replace(b"compactd recall ", b"compactd digest ") == oracle(path, home.settings)


def test_the_format_of_the_command_is_stronger_than_the_roots(home: Home) -> None:
    home.write("a.jsonl", DATA)
    targets = [RootSettings(str(home.source), "codex")]
    backfill(home.settings, targets, format="claude-code")
    home.append("a.jsonl", short(8))
    run(home, "codex")
    assert formats(home) == [(1, "current", "claude-code")]
    home.check("a.jsonl")
