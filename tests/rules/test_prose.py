"""Tool blocks in prose: found in either style, and joined to calls of earlier texts."""

from __future__ import annotations

import pytest

from pipeline.rules.base import CompactOptions
from pipeline.rules.markdown import CALLS_KEPT, Block, ProseCalls
from pipeline.rules.prose import compact_prose, observe_prose, tool_blocks

RUN = "\n".join(
    ["============ test session starts ============", "collected 240 items", ""]
    + [f"tests/test_{n}.py {'.' * 20} [{n}%]" for n in range(60)]
    + ["", "============ 240 passed in 0.42s ============"]
)
INLINED_CALL = '[tool: bash]\n{\n  "command": "pytest"\n}'
INLINED_RESULT = f"[tool result]\n{RUN}"


def fenced(name: str, call_id: str, command: str) -> str:
    return f'[[tool]] {name} ({call_id})\n```json\n{{"command": "{command}"}}\n```\n'


def fenced_result(name: str, call_id: str) -> str:
    return f"[[tool-result]] {name} ({call_id})\n```text\n{RUN}\n```\n"


def rule_of(text: str, calls: ProseCalls) -> tuple[str, str]:
    done = compact_prose(text, CompactOptions(), max_chars=2000, inputs=True, calls=calls)
    return done.tool, done.rule


@pytest.mark.parametrize(
    ("call", "result"),
    [
        pytest.param(INLINED_CALL, INLINED_RESULT, id="inlined"),
        pytest.param(fenced("bash", "c1", "pytest"), fenced_result("tool", "c1"), id="by id"),
        pytest.param(
            fenced("bash", "c1", "pytest") + "\n" + fenced("bash", "c2", "cat x"),
            fenced_result("bash", "c1"),
            id="first of two",
        ),
        pytest.param(fenced("bash", "c1", "pytest"), fenced_result("bash", "lost"), id="by tool"),
    ],
)
def test_a_result_belongs_to_the_call_of_an_earlier_text(call: str, result: str) -> None:
    calls = ProseCalls()
    observe_prose("I look.\n\n" + call, calls)
    observe_prose("That was it.", calls)
    assert rule_of(result, calls) == ("bash", "test-output")


def test_a_result_without_any_call_has_no_tool() -> None:
    assert rule_of(INLINED_RESULT, ProseCalls())[0] == ""


def test_compaction_remembers_calls_as_observation_does() -> None:
    calls = ProseCalls()
    compact_prose(INLINED_CALL, CompactOptions(), max_chars=2000, inputs=False, calls=calls)
    assert rule_of(INLINED_RESULT, calls) == ("bash", "test-output")


def test_a_report_of_a_subagent_stays_whole() -> None:
    calls = ProseCalls()
    observe_prose('[tool: Task]\n{"prompt": "look"}', calls)
    done = compact_prose(INLINED_RESULT, CompactOptions(), max_chars=2000, inputs=True, calls=calls)
    assert (done.text, done.mark_at, done.stats[0].rule) == (INLINED_RESULT, -1, "passthrough-policy")


def test_prose_without_blocks_stays() -> None:
    assert tool_blocks("see [tool: bash] there") == []
    done = compact_prose("a [[tool]] b", CompactOptions(), max_chars=2000, inputs=True, calls=ProseCalls())
    assert (done.text, done.mark_at, done.stats) == ("a [[tool]] b", -1, [])


def test_the_oldest_calls_are_forgotten() -> None:
    calls = ProseCalls()
    for number in range(CALLS_KEPT + 1):
        calls.meet(Block("call", f"tool{number}", f"c{number}", 0, 0, ""))
    found = [calls.meet(Block("result", "?", f"c{number}", 0, 0, "")) for number in (0, 1)]
    assert [call.tool if call else "" for call in found] == ["", "tool1"]
