"""`compactd explain` tells what each rule makes of a text, and why nothing was done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from kept import Run

TESTS = (
    "FAILED tests/test_gate.py::test_width - assert 3 == 4\n"
    + "".join(f"tests/test_gate.py::test_hinge_{number} PASSED [ 9%]\n" for number in range(40))
    + "=== 1 failed, 40 passed in 0.20s ===\n"
)


def test_the_text_goes_to_standard_output_and_the_reasons_beside_it(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "tests.txt"
    path.write_text(TESTS)
    code, out, err = run("explain", str(path), "--command", "pytest -v", "--exit-code", "1")
    assert code == 0
    assert out.splitlines()[0] == "FAILED tests/test_gate.py::test_width - assert 3 == 4"
    assert "PASSED" not in out
    lines = err.splitlines()
    assert lines[0] == "known of the call: class shell, command 'pytest -v', exit code 1"
    assert "  git-status: does not fit, the call is another" in lines
    assert any(line.startswith("  test-output: fits, ") for line in lines)
    assert "failure lines that have to stay: 2" in lines
    assert lines[-1].startswith("all together, test-output first: ")


def test_a_text_that_stays_comes_back_as_it_is_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_bytes(b"short \xff\r\n")
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "explain", str(path)], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"short \xff\r\n")
    assert b"left as it is" in done.stderr
    assert b"passthrough-small" in done.stderr


def test_the_document_has_a_row_a_rule_and_the_text(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "tests.txt"
    path.write_text(TESTS)
    found = document("explain", str(path), "--command", "pytest -v")
    rows = {row["rule"]: row for row in found["rows"]}
    assert rows["test-output"]["outcome"] == "fits"
    assert rows["html-to-text"]["outcome"] == "other-call"
    total = found["total"]
    assert (total["rule"], total["applied"]) == ("test-output", True)
    assert total["saved_bytes"] == total["source_bytes"] - total["output_bytes"] > 0
    assert total["failures"][0] == "FAILED tests/test_gate.py::test_width - assert 3 == 4"


def test_a_missing_file_is_one_clear_line(tmp_path: Path, run: Run) -> None:
    code, _, err = run("explain", str(tmp_path / "nowhere"))
    assert code == 1
    assert err == f"compactd: {tmp_path / 'nowhere'}: cannot read: No such file or directory\n"
