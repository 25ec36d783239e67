"""Passing tests are counted, everything else of a test run stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.base import ToolContext
from pipeline.rules.failures import failure_lines
from pipeline.rules.test_output import RULE, compact_test_output

PASSING = {
    "pytest dots": "tests/test_barn.py ......s....                        [ 12%]",
    "pytest quiet": "......................................... [ 37%]",
    "pytest verbose": "tests/test_barn.py::test_door[a b] PASSED         [ 12%]",
    "pytest xdist": "[gw1] [ 12%] PASSED tests/test_barn.py::test_door ",
    "unittest": "test_door (tests.test_barn.BarnTest.test_door) ... ok",
    "jest file": "PASS src/barn/door.test.ts (5.1 s)",
    "jest test": "    ✓ opens the door at dawn (12 ms)",
    "vitest": " ✓ src/barn/door.spec.tsx (12 tests) 75ms",
    "mocha": "      ✔ opens the door at dawn (8ms)",
    "bun": "(pass) barn > opens the door at dawn [0.12ms]",
    "go package": "ok  \texample.com/farm/barn\t0.213s",
    "go test": "--- PASS: TestDoorOpensAtDawn (0.00s)",
    "go no tests": "?   \texample.com/farm/cmd\t[no test files]",
    "cargo": "test barn::tests::door_opens_at_dawn ... ok",
    "TAP": "ok 12 - door opens at dawn, and stays open",
    "gtest": "[       OK ] Barn.DoorOpensAtDawn (0 ms)",
    "ctest": " 1/10 Test  #1: barn_door_opens ...........   Passed    0.01 sec",
    "gradle": "com.example.BarnTest > doorOpensAtDawn() PASSED",
    "maven": "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in com.example.BarnTest",
    "dotnet": "  Passed Farm.Tests.BarnTest.DoorOpensAtDawn [3 ms]",
    "swift": "Test Case '-[FarmTests.BarnTest testDoor]' passed (0.001 seconds).",
    "phpunit": "............................................................... 63 / 200 ( 31%)",
}
KEPT = {
    "pytest failing dots": "tests/test_barn.py ....F..                            [ 12%]",
    "pytest failed": "tests/test_barn.py::test_door FAILED                  [ 12%]",
    "pytest summary": "===================== 12 passed, 1 warning in 0.42s =====================",
    "pytest error line": "E       assert 3 == 4",
    "jest failing": "    ✕ opens the door at dawn (12 ms)",
    "jest summary": "Tests:       12 passed, 12 total",
    "vitest summary": "      Tests  1 failed | 203 passed (204)",
    "go failing": "--- FAIL: TestDoor (0.00s)",
    "go log": "    door_test.go:61: got 3, want 4",
    "cargo failing": "test barn::tests::door ... FAILED",
    "cargo summary": "test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    "TAP failing": "not ok 3 - door opens",
    "maven summary": "[INFO] Tests run: 55, Failures: 0, Errors: 0, Skipped: 0",
    "warning": "barn.py:3: DeprecationWarning: use gate() instead",
    "print": "the barn has 12 doors",
    "ellipsis": "...",
}


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in PASSING.items()])
def test_passing_lines_are_counted(line: str) -> None:
    text = f"first\n{line}\n{line}\n\n{line}\nlast\n"
    assert compact_test_output(text) == "first\n… [3 passing test lines elided] …\nlast\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items()])
def test_all_other_lines_stay(line: str) -> None:
    passing = "  ✓ opens the barn door at dawn\n" * 3
    assert compact_test_output(passing + line + "\n") == "… [3 passing test lines elided] …\n" + line + "\n"


def test_the_test_that_was_running_stays_known() -> None:
    passed = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\n"
    text = passed + "=== RUN   TestC\npanic: no hay\n"
    assert compact_test_output(text) == "… [4 passing test lines elided] …\n=== RUN   TestC\npanic: no hay\n"


def test_colours_without_esc_hide_no_passing_line() -> None:
    line = " [32m✓[39m src/barn/door.spec.ts [2m([22m[2m24 tests[22m[2m)[22m [32m70[2mms[22m[39m\n"
    assert compact_test_output(line * 4 + "[31m1 failed[39m") == "… [4 passing test lines elided] …\n1 failed"


def test_crlf_and_lone_surrogates_do_no_harm() -> None:
    text = "ok 1 - the first door opens\r\nok 2 - the second door opens\r\nhalf \ud83d\r\n"
    assert compact_test_output(text) == "… [2 passing test lines elided] …\r\nhalf \ud83d\r\n"


GREEN = "============ test session starts ============\n" + (PASSING["pytest dots"] + "\n") * 9 + KEPT["pytest summary"]
SOURCE = "export function Tick() {\n  return ok ? '✓ done' : 'PASS'\n}\n" * 20
GUIDE = (
    "# Guide\n\nA good run looks so:\n\n```console\n"
    + "✓ opens the door\n" * 3
    + "```\n\nThen read on.\n"
    + "More text.\n" * 20
)
GREP = "tests/a.py:3: ✓ opens\ntests/b.py:9: PASS is printed\n" * 9


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", GREEN, True, id="green run"),
        pytest.param("", GREEN, True, id="unknown tool, strong shape"),
        pytest.param("Read", GREEN, False, id="read of a saved run"),
        pytest.param("Bash", SOURCE, False, id="source with a check mark"),
        pytest.param("Bash", GUIDE, False, id="guide that quotes a run"),
        pytest.param("Bash", GREP, False, id="search results"),
        pytest.param("Bash", "…" * 600, False, id="nothing"),
        pytest.param("Bash", "✓ a\n✓ b\nx\ny", False, id="half of the lines"),
        pytest.param("Bash", "✓ a\n✓ b\nx\ny\n", False, id="half of the lines, each with its end"),
        pytest.param("Bash", "  ✓ a\n  ✓ b\n  ✓ c\nx\ny", True, id="most lines"),
        pytest.param("Bash", "  ✓ a\n  ✓ b\n\n\n\n\nx\n", True, id="most of the filled lines"),
    ],
)
def test_only_the_shape_of_a_test_run_matches(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("cd web && npm test -- --ci", True, id="npm test"),
        pytest.param("npm run test:unit", True, id="npm script"),
        pytest.param("make -C sub check", True, id="make check"),
        pytest.param("go test ./...", True, id="go"),
        pytest.param("uv run python -m pytest", True, id="pytest"),
        pytest.param("./scripts/run_tests.sh", True, id="script"),
        pytest.param("./gradlew build", True, id="gradle build"),
        pytest.param("python manage.py test", True, id="django"),
        pytest.param("cat tests/test_barn.py", False, id="cat of a test file"),
        pytest.param("grep -rn PASS tests", False, id="grep"),
        pytest.param("test -f x && ls tests", False, id="the shell's own test"),
        pytest.param("git log", False, id="git"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_run_tests(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


LINES = [
    *PASSING.values(),
    *KEPT.values(),
    "=== RUN   TestA",
    "",
    "  ",
    "    ✓ shows TypeError: no hay",
    "TypeError: no hay",
]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_the_rule_is_idempotent_and_keeps_failures_and_unknown_lines(text: str) -> None:
    short = compact_test_output(text)
    assert compact_test_output(short) == short
    assert len(short.encode()) <= len(text.encode())
    kept = frozenset(KEPT.values())
    assert [x for x in short.split("\n") if x in kept] == [x for x in text.split("\n") if x in kept]
    assert set(failure_lines(text)) <= set(failure_lines(short))


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["ok 1\n  ---\n", "=== RUN   TestX\n", ".", "\n", " ... ok", "ok 1\nfoo\n", "✓ a\n\n"])
def test_time_is_linear(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    RULE.matches("Bash", text)
    compact_test_output(text)
    assert time.perf_counter() - start < 5
