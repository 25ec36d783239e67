"""One known program in a command line is no licence to drop what the others print (README.md, P5)."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from pipeline.rules.base import ToolContext
from pipeline.rules.failures import failure_lines
from pipeline.rules.output import compact_tool_output

TRAINING = [f"INFO epoch {n} loss 0.{97 - n} val_acc 0.{n + 10}" for n in range(40)]
UPLOADS = [f"✓ Uploaded bundle {n} to https://barn.example/{n}" for n in range(30)]
CHECKLIST = [f"✔ ship item {n}, owner {n % 3}, due 2026-03-{n + 1:02}" for n in range(25)]
SHARES = [f"{n * 37 % 100}.{n % 10}%" for n in range(50)]
REPORTS = [f"data/report-{n}.json 13.{n} kB" for n in range(30)]
LOADING = [f"Loading: table {n} of the customers" for n in range(30)]
ANSWERS = [f"checking for library {n}... no" for n in range(30)]


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        pytest.param("ruff check . && python train.py", TRAINING, id="a log behind a linter"),
        pytest.param("npm test && ./deploy.sh", UPLOADS, id="a deployment behind tests"),
        pytest.param("npm test && cat CHECKLIST.md", CHECKLIST, id="a list behind tests"),
        pytest.param("python stats.py", SHARES, id="shares that are the answer"),
        pytest.param("npm run build && node report.js", REPORTS, id="sizes behind a build"),
        pytest.param("npm run build && node report.js", LOADING, id="phases of another program"),
        pytest.param("./configure", ANSWERS, id="what a check did not find"),
    ],
)
def test_lines_of_other_programs_stay(command: str, lines: list[str]) -> None:
    text = "all is well\n" + "\n".join(lines) + "\n"
    short = compact_tool_output("Bash", text, context=ToolContext(command=command, tool_class="shell")).text
    assert [line for line in lines if line not in short.split("\n")] == []


ORDINARY = {errno.EINPROGRESS}


@pytest.mark.parametrize("number", sorted(set(errno.errorcode) - ORDINARY))
def test_every_error_of_the_system_is_a_failure(number: int) -> None:
    line = f"tool: gate: {os.strerror(number)}"
    assert failure_lines(f"step 1\n{line}\nstep 2") == [line]


@pytest.mark.parametrize(
    "name", ["HUP", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "SEGV", "SYS", "ALRM", "TERM"]
)
def test_the_end_by_a_signal_is_a_failure(name: str) -> None:
    line = signal.strsignal(getattr(signal, f"SIG{name}")) or ""
    assert failure_lines(f"step 1\n{line}\nstep 2") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "./a.go:5:2: declared and not used: x",
        '"os" imported and not used',
        "mount: /srv/barn: Device or resource busy",
        "0/3 nodes are available: 3 Insufficient cpu.",
        "gzip: stdin: not in gzip format",
        "sudo: a password is required",
        "E: Package 'foo' has no installation candidate",
        "ssh: Name or service not known",
        "main.go:3:8: package foo is not in std",
        "lua: a.lua:1: attempt to index a nil value (global 'x')",
        "called `Option::unwrap()` on a `None` value",
        "umount: /mnt: target is busy.",
        "3 packets transmitted, 0 received, 100% packet loss",
        "cat: x: 没有那个文件或目录",
    ],
)
def test_failures_of_other_words(line: str) -> None:
    assert failure_lines(f"step 1\n{line}\nstep 2") == [line]


def test_the_two_sides_of_a_go_call_stay() -> None:
    block = ["./a.go:7:5: not enough arguments in call to f", "\thave (string)", "\twant (string, int)"]
    assert failure_lines("\n".join(["ok", *block, "ok"])) == block


@pytest.mark.parametrize(
    "line", ["All quit well", "moved, file exists: yes", "level 2 reset done", "Network is downloading"]
)
def test_ordinary_lines_are_no_failures(line: str) -> None:
    assert failure_lines(f"step 1\n{line}\nstep 2") == []
