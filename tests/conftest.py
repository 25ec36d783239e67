"""What tests of the command line share: the bundled samples, compacted once for all that only look."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept import Kept, Run
from support import SAMPLES

from pipeline.cli import main


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A finished backfill of the bundled samples; tests must not change it."""
    kept = Kept(tmp_path_factory.mktemp("kept"))
    assert main(["backfill", str(SAMPLES), "--jobs", "1", *kept.options]) == 0
    return kept


@pytest.fixture
def fresh(tmp_path: Path) -> Kept:
    """Folders that do not exist yet."""
    return Kept(tmp_path)


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command in this process: exit code, standard output, standard error."""

    def runs(*arguments: str) -> tuple[int, str, str]:
        capsysbinary.readouterr()
        code = main(arguments)
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return runs


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    """Runs a command with --json and gives its document; only one JSON text may come."""

    def runs(*arguments: str) -> Any:
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["schema"] == 1
        assert found["command"] == arguments[0]
        assert list(found) == ["schema", "command", "rows", "total"]
        return found

    return runs
