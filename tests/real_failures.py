"""Failure lines of real tools, by running them: most need only what the tests need, a few run where they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PYTHON_PROGRAMS = {
    "type error": ("'a' + 1", "TypeError:"),
    "missing module": ("import no_such_module", "ModuleNotFoundError:"),
    "missing name in module": ("from os import no_such_name", "ImportError:"),
    "key error": ("{}['k']", "KeyError:"),
    "index error": ("[][3]", "IndexError:"),
    "division": ("1 / 0", "ZeroDivisionError:"),
    "missing file": ("open('nowhere.txt')", "FileNotFoundError:"),
    "folder for file": ("open('.')", "IsADirectoryError:"),
    "attribute": ("(3).real_part", "AttributeError:"),
    "unknown name": ("no_such_variable", "NameError:"),
    "indentation": ("if 1:\nx = 2", "IndentationError:"),
    "syntax": ("def (:", "SyntaxError:"),
    "recursion": ("f = lambda: f()\nf()", "RecursionError:"),
    "bad bytes": ("b'\\xff'.decode()", "UnicodeDecodeError:"),
    "bare assertion": ("assert 3 == 4, 'three is not four'", "AssertionError:"),
    "bad JSON": ("import json\njson.loads('{oops')", "json.decoder.JSONDecodeError:"),
    "refused connection": (
        "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\nport = s.getsockname()[1]\ns.close()\n"
        "socket.create_connection(('127.0.0.1', port))",
        "ConnectionRefusedError:",
    ),
    "timeout of a child": (
        "import subprocess, sys\nslow = [sys.executable, '-c', 'input()']\n"
        "subprocess.run(slow, stdin=subprocess.PIPE, timeout=0.01)",
        "subprocess.TimeoutExpired:",
    ),
    "failing child": ("import subprocess\nsubprocess.run(['false'], check=True)", "subprocess.CalledProcessError:"),
    "own exception": ("class StorageUnavailable(Exception): pass\nraise StorageUnavailable('shelf 7')", "shelf 7"),
    "chained": ("try:\n 1/0\nexcept ZeroDivisionError as e:\n raise ValueError('bad lot') from e", "ValueError:"),
    "exit with a text": ("import sys\nsys.exit('error: the barn is locked')", "error: the barn is locked"),
    "warning turned error": (
        "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('old gate')",
        "UserWarning:",
    ),
    "SQL": ("import sqlite3\nsqlite3.connect(':memory:').execute('selec 1')", "sqlite3.OperationalError:"),
    "overflow": ("float(10) ** 400", "OverflowError:"),
    "logged": ("import logging\nlogging.error('lot %s was not stored', 7)", "lot 7 was not stored"),
}
SHELL_LINES = {
    "no such command": ("no_such_command_here", "not found"),
    "no such path": ("ls nowhere_at_all", "nowhere_at_all"),
    "folder for text": ("cat .", "directory"),
    "folder exists": ("mkdir taken; mkdir taken", "taken"),
    "unset variable": ("set -u; echo $NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
    "shell syntax": ("eval 'if then'", "syntax error"),
    "missing operand": ("cp only_one_name", "operand"),
    "not executable": ("touch script; ./script", "ermission denied"),
    "unknown option": ("ls --no-such-option", "no-such-option"),
    "dead process": ("kill -0 99999999", "99999999"),
    "no repository": ("cd / && git -C / log", "not a git repository"),
    "unknown branch": ("git init -q r && cd r && git checkout nowhere", "did not match"),
    "unknown git command": ("git no-such-command", "is not a git command"),
    "merge conflict": (
        "git init -q m && cd m && git config user.email a@example.org && git config user.name a && echo 1 >f && "
        "git add f && git commit -qm 1 && git checkout -qb other && echo 2 >f && git commit -qam 2 && "
        "git checkout -q - && echo 3 >f && git commit -qam 3 && git merge other",
        "CONFLICT (content)",
    ),
    "patch that does not apply": (
        "git init -q p && cd p && echo a >f && printf '%s\\n' '--- a/f' '+++ b/f' '@@ -1 +1 @@' '-x' '+y' | git apply",
        "patch failed",
    ),
    "no such requirement": (
        f"'{sys.executable}' -m pip install --no-index --disable-pip-version-check no-such-distribution",
        "No matching distribution",
    ),
}
# A program, a shell line and what its failure line holds; run where the program is.
WHERE_THERE = {
    "compiler": ("gcc", "echo 'int main(){ return x; }' > a.c; gcc a.c", "undeclared"),
    "linker": ("gcc", "echo 'int f(void); int main(){ return f(); }' > b.c; gcc b.c", "undefined reference"),
    "make without rule": ("make", "make no-such-target", "No rule to make target"),
    "failing make": ("make", "printf 'all:\\n\\tfalse\\n' > Makefile; make", "Error 1"),
    "node reference": ("node", "node -e 'nosuch()'", "ReferenceError:"),
    "node module": ("node", "node -e 'require(\"no-such-module\")'", "Cannot find module"),
    "perl": ("perl", "perl -e 'die \"gate is shut\"'", "gate is shut"),
    "jq": ("jq", "echo '{' | jq .", "parse error"),
}
TEST_FILE = """\
import unittest
class T(unittest.TestCase):
    def test_weight(self): self.assertEqual(3, 4)
    def test_lid(self): raise OSError("lid is stuck")
"""
PYTEST_FILE = "def test_weight():\n    crates = [1, 2]\n    assert crates == [1, 3]\n"
TYPES_FILE = 'def weigh(crate: int) -> str:\n    return crate + "kg"\n'


class Failure(NamedTuple):
    """A failure line as a tool printed it."""

    kind: str
    line: str


def real_failures(folder: Path) -> list[Failure]:
    """Run the tools in a folder of their own and gather a failure line of each."""
    env = {**os.environ, "LC_ALL": "C", "GIT_CONFIG_GLOBAL": os.devnull, "PYTHONWARNINGS": "default", "NO_COLOR": "1"}
    env["GIT_CEILING_DIRECTORIES"] = str(folder)
    found = [Failure(kind, _line(kind, output, part)) for kind, output, part in _outputs(folder, env)]
    assert len({failure.line for failure in found}) == len(found)
    return found


def _outputs(folder: Path, env: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for kind, (program, part) in PYTHON_PROGRAMS.items():
        yield kind, _run([sys.executable, "-c", program], folder, env), part
    for kind, (line, part) in SHELL_LINES.items():
        yield kind, _run(["bash", "-c", line], folder, env), part
    for kind, (program, line, part) in WHERE_THERE.items():
        if shutil.which(program):
            yield kind, _run(["bash", "-c", line], folder, env), part
    (folder / "test_unit.py").write_text(TEST_FILE)
    unit = _run([sys.executable, "-m", "unittest", "test_unit"], folder, env)
    yield "unittest failure", unit, "FAIL: test_weight"
    yield "unittest error", unit, "OSError: lid is stuck"
    yield "unittest summary", unit, "FAILED (failures=1, errors=1)"
    (folder / "test_crates.py").write_text(PYTEST_FILE)
    tests = _run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_crates.py"], folder, env)
    yield "pytest assertion", tests, "At index 1 diff"
    yield "pytest summary", tests, "FAILED test_crates.py::test_weight"
    (folder / "weigh.py").write_text(TYPES_FILE)
    yield "types", _run([sys.executable, "-m", "mypy", "--strict", "weigh.py"], folder, env), "error: Unsupported"


def _run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=120,
    )
    return done.stdout.decode("utf-8", "replace")


def _line(kind: str, output: str, part: str) -> str:
    for line in output.split("\n"):
        if part in line:
            return line
    raise AssertionError(f"{kind}: need a line with {part!r}, got {output!r}")
