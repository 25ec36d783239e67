"""Logs lose blank lines and trailers, transfers their counters; diffs and hashes stay as they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules.base import ToolContext
from pipeline.rules.vcs_log import RULE, compact_git_log

HASH = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
LOG = f"""commit {HASH} (HEAD -> main)
Author: Ann Barn <ann@barn.example>
Date:   Tue Dec 1 03:24:10 2026 +0000

    gate: open at dawn

    The TypeError: no hay is gone.
    Fixes: #12

    Signed-off-by: Ann Barn <ann@barn.example>
    Co-Authored-By: Bob <bob@barn.example>

commit 1{HASH[1:]}
Merge: 0a1b2c3 1b2c3d4
Author: Bob <bob@barn.example>
Date:   Mon Nov 30 03:24:10 2026 +0000

    Merge branch 'hay'

diff --git a/gate.py b/gate.py
index c258f1e..31884c0 100644
--- a/gate.py
+++ b/gate.py
@@ -1,4 +1,4 @@
 import hay

-    Signed-off-by: nobody@barn.example
+open()
"""
SHORT = f"""commit {HASH} (HEAD -> main)
Author: Ann Barn <ann@barn.example>
Date:   Tue Dec 1 03:24:10 2026 +0000
    gate: open at dawn
    The TypeError: no hay is gone.
    Fixes: #12
commit 1{HASH[1:]}
Merge: 0a1b2c3 1b2c3d4
Author: Bob <bob@barn.example>
Date:   Mon Nov 30 03:24:10 2026 +0000
    Merge branch 'hay'
diff --git a/gate.py b/gate.py
index c258f1e..31884c0 100644
--- a/gate.py
+++ b/gate.py
@@ -1,4 +1,4 @@
 import hay

-    Signed-off-by: nobody@barn.example
+open()
"""
NOISE = {
    "enumerating": "remote: Enumerating objects: 561, done.",
    "counting": "remote: Counting objects: 100% (561/561), done.",
    "compressing": "remote: Compressing objects:  12% (34/278)",
    "total": "remote: Total 561 (delta 284), reused 530 (delta 267), pack-reused 0",
    "receiving": "Receiving objects: 100% (561/561), 525.91 KiB | 29.22 MiB/s, done.",
    "resolving": "Resolving deltas: 100% (284/284), done.",
    "writing": "Writing objects: 100% (3/3), 298 bytes | 298.00 KiB/s, done.",
    "threads": "Delta compression using up to 8 threads",
    "files": "Updating files:  40% (400/1000)",
    "remote deltas": "remote: Resolving deltas: 100% (2/2), completed with 2 local objects.",
}
KEPT = {
    "clone": "Cloning into 'barn'...",
    "to": "To github.com:ann/barn.git",
    "pushed": "   0a1b2c3..1b2c3d4  main -> main",
    "rejected": " ! [rejected]        main -> main (non-fast-forward)",
    "error": "error: failed to push some refs to 'github.com:ann/barn.git'",
    "link": "remote: Create a pull request for 'hay' on GitHub by visiting:",
    "up to date": "Already up to date.",
    "conflict": "CONFLICT (content): Merge conflict in gate.py",
    "stat": " gate.py | 12 ++++++------",
    "created": " create mode 100644 hay.py",
}


def test_blank_lines_and_trailers_go_and_a_diff_stays() -> None:
    assert compact_git_log(LOG) == SHORT
    assert compact_git_log(SHORT) == SHORT
    assert RULE.matches("Bash", LOG)
    assert not RULE.matches("Bash", SHORT)


def test_line_ends_stay_crlf() -> None:
    assert compact_git_log(LOG.replace("\n", "\r\n")) == SHORT.replace("\n", "\r\n")


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in NOISE.items()])
def test_counters_are_counted(line: str) -> None:
    assert compact_git_log(f"first\n{line}\n{line}        \n{line}\nlast\n") == (
        "first\n… [3 git progress lines elided] …\nlast\n"
    )


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items()])
def test_all_other_lines_stay(line: str) -> None:
    counters = "Receiving objects: 100% (3/3), done.\n" * 3
    assert compact_git_log(f"{counters}{line}\n{line}\n") == f"… [3 git progress lines elided] …\n{line}\n{line}\n"


def test_a_patch_of_a_real_repository_still_applies(tmp_path: Path) -> None:
    def git(*args: str) -> str:
        names = ("-c", "user.name=Ann", "-c", "user.email=ann@barn.example", "-c", "commit.gpgsign=false")
        return subprocess.run(("git", *names, *args), cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    (tmp_path / "gate").write_text("one\n\n\ntwo\n\n")
    git("add", ".")
    git("commit", "-qm", "first\n\nbody\n\nSigned-off-by: Ann <ann@barn.example>")
    (tmp_path / "gate").write_text("one\n\n\nthree\n\n")
    git("commit", "-qam", "second\n\nSigned-off-by: Ann <ann@barn.example>")
    log = git("log", "-p")
    short = compact_git_log(log)
    assert len(short) < len(log)
    patch = short[short.index("diff --git") : short.index("\ncommit ", 1) + 1]
    git("checkout", "-q", "HEAD~")
    subprocess.run(("git", "apply"), cwd=tmp_path, check=True, input=patch, text=True)
    assert (tmp_path / "gate").read_text() == "one\n\n\nthree\n\n"


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", "\n".join(NOISE.values()), True, id="transfer"),
        pytest.param("Read", LOG, False, id="read of a saved log"),
        pytest.param("Bash", "# Notes\n\n" * 9 + LOG, False, id="document that quotes a log"),
        pytest.param("Bash", LOG.partition("\ncommit")[0], False, id="one commit"),
        pytest.param("Bash", LOG.partition("diff --git")[1] + LOG.partition("diff --git")[2], False, id="diff"),
    ],
)
def test_the_shape_decides(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("git log -n 20", True, id="log"),
        pytest.param("cd a && git -C b push origin main", True, id="push"),
        pytest.param("git clone https://barn.example/a.git", True, id="clone"),
        pytest.param("git status", False, id="status"),
        pytest.param("cat log.txt", False, id="cat"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_be_a_log_or_a_transfer(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


LINES = [*NOISE.values(), *KEPT.values(), *LOG.split("\n"), "    TypeError: no hay", "Receiving objects: 1% (1/9)\rx"]
UNTOUCHED = (
    *KEPT.values(),
    "    gate: open at dawn",
    "+open()",
    "index c258f1e..31884c0 100644",
    f"commit 1{HASH[1:]}",
)


@given(st.lists(st.sampled_from(LINES), max_size=60).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_git_log, text, UNTOUCHED)


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", [f"commit {HASH}\n\n", "\n", "commit 0a1b2c3 (", "remote: ", "    cc: a", LOG])
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_git_log, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)
