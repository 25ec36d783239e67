"""Failures of real tools, planted in long results of every format: all of them stay, and over 80 % is saved (P4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from invented_failures import INVENTED
from planted_sessions import SESSIONS
from real_failures import real_failures

from pipeline.runs.oneshot import compact_file
from pipeline.settings import Settings


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Failure lines; half of them at least were printed by a tool just now."""
    real = [failure.line for failure in real_failures(tmp_path_factory.mktemp("tools"))]
    invented = list(INVENTED[: len(real)])
    assert len(real) >= len(invented)
    assert len({*real, *invented}) == len(real) + len(invented) >= 60
    return [*invented, *real]


@pytest.mark.parametrize("name", SESSIONS)
def test_every_planted_failure_is_visible_and_most_of_the_rest_is_gone(
    name: str, failures: list[str], tmp_path: Path
) -> None:
    file_name, build = SESSIONS[name]
    source, target = tmp_path / file_name, tmp_path / "small"
    source.write_bytes(build(failures))
    compact_file(str(source), str(target), format="auto", settings=Settings())
    visible = {line for text in texts_in(target.read_bytes()) for line in text.split("\n")}
    assert [line for line in failures if line not in visible] == []
    saved = 1 - target.stat().st_size / source.stat().st_size
    assert saved > 0.8


def texts_in(data: bytes) -> list[str]:
    """All strings of a session, those within JSON strings, too."""
    try:
        todo: list[Any] = [json.loads(data)]
    except ValueError:
        todo = [json.loads(line) for line in data.splitlines()]
    texts: list[str] = []
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, str):
            texts.append(value)
            if value.startswith("{"):
                todo.append(json.loads(value))
    return texts
