"""Clear blocks in prose are compacted, everything else stays byte for byte."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.base import CompactOptions
from pipeline.rules.markdown import (
    Block,
    ProseCalls,
    compact_block,
    compact_tool_result_markdown,
    context_for,
    find_blocks,
    rewrite,
)

START, END = "============ test session starts ============\n", "=== 240 passed in 0.42s ==="
RUN = START + "tests/test_barn.py ......      [ 12%]\n" * 40 + END
SHORT_RUN = START + "… [40 passing test lines elided] …\n" + END
CALL = '[[tool]] bash (c1)\n```json\n{\n  "command": "pytest"\n}\n```\n'


def result(body: str, *, fence: str = "```", meta: str = "", name: str = "bash", call_id: str = "c1") -> str:
    """A result block as transcripts hold it."""
    return f"[[tool-result]] {name} ({call_id})\n{meta}{fence}text\n{body}\n{fence}\n"


def shapes(text: str) -> list[tuple[str, str, str, str]]:
    return [(block.kind, block.tool, block.call_id, block.body) for block in find_blocks(text)]


def test_a_run_between_prose_is_compacted_and_the_prose_stays() -> None:
    text = f"I look  \n\n{CALL}\n{result(RUN, meta='completed · exit 0 · 5ms' + chr(10))}\n\ttrailing ``` prose  "
    done, stats = compact_tool_result_markdown(text)
    assert done == text.replace(RUN, SHORT_RUN)
    assert [(stat.rule, stat.applied) for stat in stats] == [("passthrough-small", False), ("test-output", True)]
    assert len(text.encode()) - len(done.encode()) == stats[1].original_bytes - stats[1].compacted_bytes
    assert compact_tool_result_markdown(done)[0] == done


def test_line_ends_stay_crlf() -> None:
    text = f"{CALL}\n{result(RUN)}".replace("\n", "\r\n")
    assert compact_tool_result_markdown(text)[0] == text.replace(
        RUN.replace("\n", "\r\n"), SHORT_RUN.replace("\n", "\r\n")
    )


def test_a_long_input_is_summarised() -> None:
    content = "x" * 5000
    text = f'[[tool]] Write (w1)\n```json\n{{\n  "file_path": "a.md",\n  "content": "{content}"\n}}\n```\n'
    done, stats = compact_tool_result_markdown(text)
    assert content not in done
    assert '"file_path": "a.md"' in done
    assert "content_summary" in done
    assert [(stat.rule, stat.applied) for stat in stats] == [("tool-input", True)]
    assert compact_tool_result_markdown(done)[0] == done


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(result("a"), [("result", "bash", "c1", "a")], id="plain"),
        pytest.param(
            "[[tool-result]] bash\n```text\na\n```", [("result", "bash", "", "a")], id="no id, no last line end"
        ),
        pytest.param(result(""), [("result", "bash", "c1", "")], id="empty body"),
        pytest.param(result("a\n```\nb\n```\nc"), [], id="inner fence: ambiguous"),
        pytest.param(
            result("a\n```py\nb\n```\nc", fence="````"),
            [("result", "bash", "c1", "a\n```py\nb\n```\nc")],
            id="longer fence",
        ),
        pytest.param("[[tool-result]] bash (c1)\n```text\na\n", [], id="unclosed"),
        pytest.param("[[tool-result]] bash (c1)\na\nb\n", [], id="no fence"),
        pytest.param("[[tool-result]] bash (c1)\n```\na\n```\n", [], id="fence of no kind"),
        pytest.param("see [[tool-result]] bash (c1)\n```text\na\n```\n", [], id="header inside of a line"),
        pytest.param(
            result("a\n[[tool]] said so\nb"),
            [("result", "bash", "c1", "a\n[[tool]] said so\nb")],
            id="header in a body",
        ),
        pytest.param(
            "[[tool-result]] read (c0)\n```text\nnot closed\n\n" + CALL,
            [("call", "bash", "c1", '{\n  "command": "pytest"\n}')],
            id="unclosed block ahead of a clear one",
        ),
        pytest.param("[[tool]] bash (c1)\nno fence\n", [("call", "bash", "c1", "")], id="call without input"),
        pytest.param(
            result("a") + result("b", call_id="c2"),
            [("result", "bash", "c1", "a"), ("result", "bash", "c2", "b")],
            id="two",
        ),
    ],
)
def test_only_clear_blocks_are_found(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert shapes(text) == expected
    assert all(text[block.start : block.end] == block.body for block in find_blocks(text))


def test_meta_and_call_give_the_context() -> None:
    call, found = find_blocks(CALL + result("a", meta="failed · exit 2 · 5ms · /srv · error\n"))
    calls = ProseCalls()
    calls.meet(call)
    context = context_for(found, calls.meet(found))
    assert (context.command, context.exit_code, context.is_error, context.tool_class) == ("pytest", 2, True, "shell")


def test_a_result_without_its_id_takes_the_nearest_call_of_its_tool() -> None:
    other = CALL.replace("pytest", "cat notes.md").replace("c1", "c9")
    text = other + CALL + result(RUN, call_id="x")
    assert compact_tool_result_markdown(text)[0] == text.replace(RUN, SHORT_RUN)


def test_no_body_may_end_its_block_early() -> None:
    block = Block(
        "result", "WebFetch", "", 0, 0, "<html><body>" + "<i>x</i>" * 200 + "<p>```</p></body></html>", fence=3
    )
    new, stat = compact_block(block, None, CompactOptions())
    assert new is None
    assert not stat.applied


def test_the_mark_belongs_into_the_last_rewritten_result() -> None:
    text = CALL + result(RUN) + "after\n"
    done = rewrite(text, find_blocks(text), CompactOptions())
    assert done.rule == "test-output"
    assert done.text[: done.mark_at].endswith("=== 240 passed in 0.42s ===")
    assert done.text[done.mark_at :] == "\n```\nafter\n"


def test_a_stub_stays_whole() -> None:
    text = result("[OpenViking tool result externalized]\n" + RUN)
    assert compact_tool_result_markdown(text)[0] == text


FENCES = ["```", "```text", "```json", "````text", "````"]
LINES = [*FENCES, "[[tool]] bash (a)", "[[tool-result]] bash (a)", "a · exit 1", "", "x", *RUN.split("\n")[:9]]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_blocks_lie_in_order_and_compaction_is_idempotent(text: str) -> None:
    blocks = find_blocks(text)
    edges = [offset for block in blocks for offset in (block.start, block.end)]
    assert edges == sorted(edges)
    done, _ = compact_tool_result_markdown(text, CompactOptions(min_bytes=0, min_savings=0.0))
    assert compact_tool_result_markdown(done, CompactOptions(min_bytes=0, min_savings=0.0))[0] == done
    at = start = 0
    for block in [*blocks, None]:
        prose = text[start : block.start if block else len(text)]
        assert prose in done[at:]
        at = done.index(prose, at) + len(prose)
        start = block.end if block else start
    assert done.startswith(text[: blocks[0].start if blocks else len(text)])


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["[[tool]] a\n", "[[tool-result]] a\n```text\n", "```\n", "[[tool-result]] a\n````text\n```\n", "`"]
)
def test_time_is_linear(unit: str) -> None:
    text = "[[tool-result]] a\n```text\n" + unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    find_blocks(text)
    assert time.perf_counter() - start < 5
