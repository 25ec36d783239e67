"""Passing tests of further runners are counted; failures, their blocks and the summary stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules import test_output
from pipeline.rules.base import ToolContext
from pipeline.rules.test_runners import RULE, compact_test_run

PASSING = {
    "nextest": "        PASS [   0.004s] barn-core gate::tests::opens_at_dawn",
    "nextest numbered": "        PASS [   0.004s] ( 12/340) barn-core gate::tests::opens_at_dawn",
    "gotestsum": "PASS farm/barn.TestDoorOpensAtDawn (0.00s)",
    "gotestsum empty": "∅  farm/cmd/barn-without-tests (3ms)",
    "bazel": "//farm/barn:gate_test                                          PASSED in 0.3s",
    "bazel cached": "//farm/barn:gate_test                                 (cached) PASSED in 0.3s",
    "automake": "PASS: tests/gate-opens-at-dawn",
    "lit": "PASS: Barn :: gate/opens.ll (12 of 340)",
    "meson": "  3/40 barn:unit / gate_opens                   OK              0.02s",
    "zig": "3/40 gate.test.opens at dawn...OK",
    "prove": "t/gate_opens.t ....... ok",
    "trial": "  test_gate_opens_at_dawn ...                                          [OK]",
    "minitest": "BarnTest#test_gate_opens_at_dawn = 0.00 s = .",
    "junit console": "|  '-- gateOpensAtDawn() [OK]",
    "junit console tree": "│  ├─ gateOpensAtDawn() ✔",
    "surefire 2": "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec - in farm.BarnTest",
    "robot": "Gate Opens At Dawn                                                    | PASS |",
    "scalatest": "[info] - should open the gate at dawn (12 milliseconds)",
    "flutter": "00:03 +12: /srv/barn/test/gate_test.dart: opens at dawn",
    "karma": "Chrome 131.0.0.0 (Linux): Executed 3 of 12 SUCCESS (0.1 secs / 0.04 secs)",
    "sugar": " tests/test_gate.py ✓✓✓✓✓✓                                       40% ████",
    "playwright line": "[3/40] [chromium] › gate.spec.ts:3:5 › opens at dawn",
}
KEPT = {
    "nextest failing": "        FAIL [   0.004s] barn-core gate::tests::opens_at_dusk",
    "nextest summary": "     Summary [   0.012s] 340 tests run: 339 passed, 1 failed, 0 skipped",
    "gotestsum done": "DONE 340 tests, 1 failure in 3.412s",
    "bazel failing": "//farm/barn:door_test                                          FAILED in 0.3s",
    "automake failing": "FAIL: tests/gate-opens-at-dusk",
    "automake summary": "# TOTAL: 12",
    "meson summary": "Ok:                 39",
    "prove failing": "t/door.t ....... Failed 1/3 subtests",
    "prove summary": "Result: FAIL",
    "minitest failing": "BarnTest#test_gate_at_dusk = 0.01 s = F",
    "minitest summary": "12 runs, 30 assertions, 1 failures, 0 errors, 0 skips",
    "surefire failing": "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec <<< FAILURE!",
    "surefire summary": "Tests run: 55, Failures: 1, Errors: 0, Skipped: 0",
    "robot failing": "Gate Opens At Dusk                                                    | FAIL |",
    "scalatest failing": "[info] - should open the gate at dusk *** FAILED *** (3 milliseconds)",
    "flutter failing": "00:03 +12 -1: /srv/barn/test/gate_test.dart: opens at dusk [E]",
    "flutter done": "00:05 +120: All tests passed!",
    "assertion": "  Expected: 3, actual: 4",
    "own output": "the barn has 12 doors",
}


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in PASSING.items()])
def test_passing_lines_are_counted(line: str) -> None:
    text = f"first\n{line}\n{line}\n\n{line}\nlast\n"
    assert compact_test_run(text) == "first\n… [3 passing test lines elided] …\nlast\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items()])
def test_all_other_lines_stay(line: str) -> None:
    passing = "PASS: tests/gate-opens-at-dawn\n" * 3
    assert compact_test_run(f"{passing}{line}\n{line}\n") == f"… [3 passing test lines elided] …\n{line}\n{line}\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in PASSING.items()])
def test_no_line_is_known_twice(line: str) -> None:
    """What `test-output` drops needs no second pattern."""
    text = f"{line}\n" * 5
    assert test_output.compact_test_output(text) == text


def test_the_class_whose_tests_failed_stays_known() -> None:
    passed = "Running farm.GateTest\n" + PASSING["surefire 2"] + "\n"
    text = passed * 2 + "Running farm.DoorTest\n" + KEPT["surefire failing"] + "\n"
    assert compact_test_run(text) == (
        "… [4 passing test lines elided] …\nRunning farm.DoorTest\n" + KEPT["surefire failing"] + "\n"
    )


RUN = "".join(f"        PASS [   0.004s] barn-core gate::tests::t{n}\n" for n in range(40)) + KEPT["nextest summary"]
SOURCE = 'fn main() {\n    println!("PASS: {}", name);\n}\n' * 20


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", RUN, True, id="run"),
        pytest.param("", RUN, True, id="unknown tool"),
        pytest.param("Read", RUN, False, id="read of a saved run"),
        pytest.param("Bash", SOURCE, False, id="source"),
        pytest.param("Bash", "text\n" * 90 + RUN[:300], False, id="some lines somewhere"),
    ],
)
def test_only_the_shape_of_a_run_matches(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("cargo nextest run", True, id="nextest"),
        pytest.param("bazel test //...", True, id="bazel"),
        pytest.param("prove -l t", True, id="prove"),
        pytest.param("cat run.log", False, id="cat"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_run_tests(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


LINES = [
    *PASSING.values(),
    *KEPT.values(),
    "",
    "  ",
    "Running farm.GateTest",
    "    at farm.Gate(Gate.java:3)",
    "•" * 20,
]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_test_run, text, KEPT.values())


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["PASS: a\n", " .. ok", "• ", "\n", "1/2 a", "| PASS |", "() ", "00:01 +1: ", "› [1/2] [a] "]
)
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_test_run, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)
