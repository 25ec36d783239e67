"""`compactd compact` filters a file or a stream and keeps nothing."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from kept import Kept, Run
from support import SAMPLES

from pipeline import compact_lines

SAMPLE = next(SAMPLES.glob("claude-code/*/*.jsonl"))


@pytest.fixture(scope="module")
def expected() -> str:
    with open(SAMPLE, "rb") as file:
        return b"".join(record.output for record in compact_lines(file)).decode()


def test_standard_output_gets_what_the_library_gives(fresh: Kept, run: Run, expected: str) -> None:
    assert run("compact", str(SAMPLE), *fresh.options) == (0, expected, "")
    assert not fresh.state.exists()


def test_a_file_gets_the_same_and_a_line_tells_what_was_saved(fresh: Kept, run: Run, expected: str) -> None:
    target = fresh.base / "small.jsonl"
    code, out, err = run("compact", str(SAMPLE), "-o", str(target), *fresh.options)
    assert (code, out) == (0, "")
    assert target.read_text() == expected
    assert "28 records: 205 kB -> " in err


def test_standard_input_is_a_session_too(fresh: Kept, expected: str) -> None:
    command = [sys.executable, "-m", "pipeline", "compact", *fresh.options]
    done = subprocess.run(command, input=SAMPLE.read_bytes(), capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (expected, b"")


def test_what_a_shell_substitutes_for_a_process_is_a_session_too(fresh: Kept, expected: str) -> None:
    command = f"{shlex.join([sys.executable, '-m', 'pipeline', 'compact'])} <(cat {shlex.quote(str(SAMPLE))})"
    done = subprocess.run(
        ["/bin/bash", "-c", f"{command} {shlex.join(fresh.options)}"], capture_output=True, check=True
    )
    assert (done.stdout.decode(), done.stderr) == (expected, b"")


def test_the_source_is_never_the_target(fresh: Kept, run: Run) -> None:
    source = fresh.base / "s.jsonl"
    source.write_bytes(SAMPLE.read_bytes())
    link = fresh.base / "link.jsonl"
    link.symlink_to(source)
    for target in (source, link):
        code, _, err = run("compact", str(source), "-o", str(target), *fresh.options)
        assert code == 2
        assert err.startswith("compactd: -o: need another file than the source")
    assert source.read_bytes() == SAMPLE.read_bytes()


def test_a_missing_file_is_wrong_use(fresh: Kept, run: Run) -> None:
    missing = Path(fresh.base, "none.jsonl")
    assert run("compact", str(missing), *fresh.options) == (
        2,
        "",
        f"compactd: {missing}: need a session file, it is missing\n",
    )
