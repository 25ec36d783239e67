"""One clear line and the right exit code, whatever is typed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import SAMPLES

import pipeline
import pipeline.commands
from pipeline import __version__
from pipeline.cli import COMMANDS, main

COMMAND = [sys.executable, "-m", "pipeline"]
HELPERS = {"__init__", "arguments"}


def test_every_command_has_a_module_and_every_module_is_a_command() -> None:
    folder = Path(pipeline.commands.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - HELPERS == set(COMMANDS)


@pytest.mark.parametrize("argument", ["--version", "-V"])
def test_the_version_is_printed(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([argument]) == 0
    assert capsys.readouterr().out == f"compactd {__version__}\n"


@pytest.mark.parametrize("argument", ["--help", "-h", "help"])
def test_help_names_every_command(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([argument]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"example:\n  compactd {name} " in f"{out} " or f"example:\n  compactd {name}\n" in out
    assert "--state DIR" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["foo"], f"need a command ({', '.join(COMMANDS)}) first, got 'foo'", id="no such command"),
        pytest.param(["--json", "stats"], "need a command", id="option first"),
        pytest.param(["stats", "--by", "colour"], "stats: argument --by: invalid choice: 'colour'", id="choice"),
        pytest.param(["stats", "--sinc", "2026-01-01"], "stats: unrecognized arguments: --sinc", id="no abbreviations"),
        pytest.param(["restore"], "restore: the following arguments are required: SESSION", id="argument missing"),
        pytest.param(["watch", "--json"], "watch: unrecognized arguments: --json", id="no document"),
        pytest.param(["stats", "--config", "/no/such"], "/no/such: need a config file, it is missing", id="config"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"compactd: {message}")
    assert err.count("\n") == 1


def test_no_command_shows_the_help_and_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "backfill" in capsys.readouterr().out


def test_a_file_name_cannot_break_the_line_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", "no\nsuch\x1b[31m\udcff"]) == 2
    err = capsys.readouterr().err
    assert err == "compactd: no\\nsuch\\x1b[31m\\xff: need a session file, it is missing\n"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    options = ["--out", str(tmp_path / "o"), "--state", str(tmp_path / "s")]
    sample = next(SAMPLES.glob("claude-code/*/*.jsonl"))
    with subprocess.Popen(
        [*COMMAND, "compact", str(sample), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"]])
def test_a_full_disk_behind_standard_output_is_one_line(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"compactd: standard output: No space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_trouble(closed: str) -> None:
    sample = next(SAMPLES.glob("claude-code/*/*.jsonl"))
    line = f"{shlex.join([*COMMAND, 'compact', str(sample)])} {closed}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) is (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.benchmark
def test_the_version_comes_within_200_ms() -> None:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([*COMMAND, "--version"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    assert sorted(times)[2] < 0.2


def test_the_package_runs_as_a_module_from_anywhere(tmp_path: Path) -> None:
    where = str(Path(pipeline.__file__).parent.parent)
    done = subprocess.run(
        [*COMMAND, "--version"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": where}, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"compactd {__version__}\n"
