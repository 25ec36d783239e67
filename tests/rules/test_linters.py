"""Findings stay; what says the same of one file is counted; steps and repeated links go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules.base import ToolContext
from pipeline.rules.failures import failure_lines
from pipeline.rules.linters import RULE, compact_lint_output

NOISE = {
    "pre-commit": "trim trailing whitespace.................................................Passed",
    "pre-commit skipped": "check json...........................................(no files to check)Skipped",
    "pre-commit environment": "[INFO] Initializing environment for https://github.com/psf/black.",
    "lint-staged": "[COMPLETED] Running tasks for staged files...",
    "prettier": "src/barn/gate.ts 12ms (unchanged)",
    "golangci": 'level=info msg="[config_reader] Used config file .golangci.yml"',
    "cargo": "    Checking serde v1.0.219",
}
KEPT = {
    "eslint": "  3:1   error    'hay' is not defined                    no-undef",
    "eslint warning": "  9:10  warning  'gate' is assigned a value but never used  no-unused-vars",
    "eslint file": "/srv/barn/src/gate.js",
    "eslint summary": "✖ 20 problems (4 errors, 16 warnings)",
    "ruff": "src/gate.py:1:8: F401 [*] `hay` imported but unused",
    "ruff full": " --> src/gate.py:1:8",
    "flake8": "./src/gate.py:6:1: E741 ambiguous variable name 'l'",
    "mypy": 'src/gate.py:2: error: Incompatible return value type (got "int", expected "str")  [return-value]',
    "mypy summary": "Found 7 errors in 3 files (checked 3 source files)",
    "pylint": 'src/gate.py:6:0: C0103: Constant name "d" doesn\'t conform to UPPER_CASE naming style (invalid-name)',
    "pylint rating": "Your code has been rated at 7.50/10",
    "golangci": "gate.go:3:2: Error return value of `f` is not checked (errcheck)",
    "clippy": "warning: unneeded `return` statement",
    "pre-commit": "ruff.....................................................................Failed",
    "pre-commit id": "- hook id: ruff",
    "own output": "the barn has 12 doors",
}


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in NOISE.items()])
def test_steps_are_counted(line: str) -> None:
    text = f"first\n{line}\n{line}\n{line}\nlast\n"
    assert compact_lint_output(text) == "first\n… [3 lint progress lines elided] …\nlast\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items()])
def test_all_other_lines_stay(line: str) -> None:
    steps = NOISE["pre-commit"] + "\n"
    assert (
        compact_lint_output(f"{steps * 9}{line}\n{line}\n") == f"… [9 lint progress lines elided] …\n{line}\n{line}\n"
    )


def test_findings_that_say_the_same_of_one_file_are_counted() -> None:
    long = "".join(f"a/gate.py:{n}:80: E501 line is longer than it should be ({80 + n} > 79)\n" for n in range(1, 40))
    other = "a/gate.py:41:1: F401 `hay` imported but unused\na/gate.py:42:1: F401 `straw` imported but unused\n"
    apart = long.replace("a/gate", "b/door")
    assert compact_lint_output(long + other + apart) == (
        "a/gate.py:1:80: E501 line is longer than it should be (81 > 79)  (×39)\n"
        f"{other}b/door.py:1:80: E501 line is longer than it should be (81 > 79)  (×39)\n"
    )


def test_findings_of_eslint_are_counted_by_file() -> None:
    rows = "".join(f"  {n}:7   warning  Use hay instead of straw  barn/hay\n" for n in range(30))
    text = f"/srv/a.js\n{rows}\n/srv/b.js\n{rows}\n"
    failing = bool(failure_lines(rows))
    folded = "  0:7   warning  Use hay instead of straw  barn/hay  (×30)\n"
    assert compact_lint_output(text) == (text if failing else f"/srv/a.js\n{folded}\n/srv/b.js\n{folded}\n")


def test_failures_are_never_counted() -> None:
    text = "".join(f"a/gate.py:{n}: error: Incompatible types in assignment  [assignment]\n" for n in range(99))
    assert compact_lint_output(text) is text


def test_a_link_that_repeats_is_shown_once() -> None:
    link = (
        "  = help: for further information visit https://rust-lang.github.io/rust-clippy/index.html#needless_return\n"
    )
    block = "warning: unneeded `return` statement\n --> src/lib.rs:{}:64\n  |\n"
    text = "".join(block.format(n) + link + "\n" for n in range(5))
    first = block.format(0) + link[:-1] + "  (×5)\n\n"
    assert compact_lint_output(text) == first + "".join(block.format(n) + "\n" for n in range(1, 5))


def test_a_finding_with_its_code_stays_with_it() -> None:
    text = "".join(f"gate.go:{n}:2: use hay here (barn)\n\tstraw({n})\n\t^\n" for n in range(30))
    assert compact_lint_output(text) == text


def test_a_small_gain_is_none() -> None:
    rows = "".join(f"a/gate.py:{n}:1: F401 `hay{n}x` imported but unused\n" for n in range(300))
    text = rows + "a/gate.py:1:1: E111 odd indentation\n" * 3
    assert compact_lint_output(text) is text


FLAKE = "".join(f"./a.py:{n}:1: E302 want 2 blank lines, found {n}\n" for n in range(20))


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", FLAKE, True, id="flake8"),
        pytest.param("", FLAKE, True, id="unknown tool"),
        pytest.param("Read", FLAKE, False, id="read of a saved report"),
        pytest.param("Bash", "text\n" * 99 + FLAKE, False, id="some findings in other text"),
        pytest.param("Bash", "a.py:3:x = 1\nb.py:9:y = 2\n" * 9, False, id="search results"),
        pytest.param("Bash", "2026-01-12 09:40:00 INFO  worker: starting\n" * 9, False, id="log"),
    ],
)
def test_only_the_shape_of_findings_matches(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("npx eslint src", True, id="eslint"),
        pytest.param("uv run ruff check .", True, id="ruff"),
        pytest.param("python -m mypy pipeline", True, id="mypy"),
        pytest.param("cargo clippy --all", True, id="clippy"),
        pytest.param("npm run lint", True, id="script"),
        pytest.param("make fmt", True, id="task"),
        pytest.param("cat report.txt", False, id="cat"),
        pytest.param("grep -n x a.py", False, id="grep"),
        pytest.param("cargo build", False, id="build"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_check(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


LINES = [
    *NOISE.values(),
    *(line for line in KEPT.values() if not line.startswith("  9:10")),
    *(
        "-----------------------------------",
        "",
        "  ",
        "a.py:1:1: E1 odd",
        "a.py:2:1: E1 odd",
        "a.py:3:1: E1 odd  (×3)",
    ),
    *("\ta()", "\t^", "  |", "a.py:9: note: See https://barn.example/x", "b.py:9: note: See https://barn.example/x"),
]
UNTOUCHED = tuple(
    KEPT[name] for name in ("eslint file", "eslint summary", "mypy summary", "pylint rating", "own output")
)


@given(st.lists(st.sampled_from(LINES), max_size=60).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_lint_output, text, UNTOUCHED)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["a:1:1: x\n", "a.py:1: note: https://x\n", "\n", "....Passed", "- ", "a:1", "  1:1  error "]
)
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_lint_output, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)
