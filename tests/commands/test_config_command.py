"""`compactd config` and `compactd doctor` tell what holds and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept import Kept, Run

from pipeline.keys import KINDS

Document = Callable[..., Any]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.toml"
    (tmp_path / "here").mkdir()
    path.write_text('out = "o"\nstate = "s"\n[vault]\nlevel = 9\n[[root]]\npath = "here"\n')
    return path


def test_show_prints_each_value_with_its_origin(config: Path, run: Run) -> None:
    code, out, err = run("config", "show", "--config", str(config))
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert f"vault.level = 9 # {config}" in lines
    assert 'tool_input.shape = "auto" # default' in lines
    assert len(lines) == 4 + sum(len(kinds) for kinds in KINDS.values())


def test_the_document_has_the_values_as_they_are(config: Path, document: Document, monkeypatch: Any) -> None:
    monkeypatch.setenv("COMPACTD_VAULT__ENABLED", "false")
    found = document("config", "show", "--config", str(config), "--state", "/s")
    rows = {row["key"]: (row["value"], row["origin"]) for row in found["rows"]}
    assert rows["vault.enabled"] == (False, "environment COMPACTD_VAULT__ENABLED")
    assert rows["vault.level"] == (9, str(config))
    assert rows["state"] == ("/s", "flag --state")
    assert rows["root"][0][0]["path"] == str(config.parent / "here")
    assert found["total"] == {"file": str(config)}


def test_check_says_that_a_file_is_fine(config: Path, run: Run) -> None:
    code, out, err = run("config", "check", "--config", str(config))
    assert (code, out, err) == (0, f"{config}: fine; 4 values given, 1 root\n", "")


def test_check_says_that_there_is_no_file(tmp_path: Path, run: Run, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, out, _ = run("config", "check")
    assert code == 0
    assert "no such file, so the defaults hold; 0 values given, 0 roots" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[vault]\nlevel = 0\n", "vault.level: need a whole number from 1 to 22, got 0", id="value"),
        pytest.param('[[root]]\npath = "/no/such"\n', "root /no/such: need a folder, it is missing", id="root"),
    ],
)
def test_check_ends_with_2_for_what_is_wrong(config: Path, run: Run, text: str, message: str) -> None:
    config.write_text(text)
    code, out, err = run("config", "check", "--config", str(config))
    assert (code, out) == (2, "")
    assert err.endswith(f"{message}\n")


def test_the_doctor_names_every_check_and_changes_nothing(fresh: Kept, document: Document) -> None:
    checks = {row["check"] for row in document("doctor", *fresh.options)["rows"]}
    assert {"python", "sqlite", "state file system", "free space", "writable", "open files", "ledger", "lock"} <= checks
    assert list(fresh.base.iterdir()) == []


def test_the_doctor_ends_with_1_when_something_will_not_work(config: Path, run: Run) -> None:
    config.write_text('out = "o"\nstate = "s"\n[[root]]\npath = "/no/such"\n')
    code, out, _ = run("doctor", "--config", str(config))
    assert code == 1
    assert "FAIL  root: /no/such: no folder\n        remedy: " in out


def test_the_doctor_looks_into_a_ledger(kept: Kept, run: Run) -> None:
    code, out, _ = run("doctor", *kept.options)
    assert code == 0
    assert f"ok    ledger: {kept.state / 'ledger.db'}: journal mode wal\n" in out
    assert "ok    lock: free\n" in out
