"""The engine: which texts pass, which rule fires, and what of a rule's result is refused."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rules.base import CompactionRule, CompactOptions, ToolContext
from pipeline.rules.guard import lost_failures
from pipeline.rules.json_text import is_json_or_lines
from pipeline.rules.output import compact_tool_output

LOG = "".join(f"2026-01-12 09:42:{i % 60:02} INFO worker: handled crate {i}\n" for i in range(200))
SHELL = ToolContext(command="make logs", tool_class="shell")
REMINDER = "\n<system-reminder>\nThe file may have changed since it was read.\n</system-reminder>\n"
MARK = "[cut 12 lines, 3000 bytes: compactd recall 0123456789abcdef]"


def rule_of(text: str, context: ToolContext | None = None, tool: str = "Bash") -> str:
    return compact_tool_output(tool, text, context=context).stats.rule


@pytest.mark.parametrize(
    ("text", "context", "reason"),
    [
        pytest.param("x" * 511, None, "passthrough-small", id="511 bytes"),
        pytest.param("é" * 255, None, "passthrough-small", id="510 bytes in 255 characters"),
        pytest.param("é" * 256, None, "passthrough-low-savings", id="512 bytes in 256 characters"),
        pytest.param(LOG + MARK, None, "passthrough-compacted", id="holds a mark"),
        pytest.param(LOG + "… [9 lines elided] …\n", None, "passthrough-compacted", id="was elided before"),
        pytest.param(LOG, ToolContext(command="compactd recall 0123"), "passthrough-recalled", id="recall"),
        pytest.param(
            LOG, ToolContext(command="cd /x && uv run compactd show s:3 | head"), "passthrough-recalled", id="show"
        ),
        pytest.param(LOG, ToolContext(command="bash -lc 'compactd restore s'"), "passthrough-recalled", id="restore"),
        pytest.param(
            LOG, ToolContext(command="X=1 compactd --state d recall h"), "passthrough-recalled", id="option first"
        ),
        pytest.param("<persisted-output>\n" + LOG, None, "passthrough-stub", id="Claude Code stub"),
        pytest.param("[OpenViking tool result externalized]\n" + LOG, None, "passthrough-stub", id="OpenViking stub"),
        pytest.param(LOG, ToolContext(tool_class="agent"), "passthrough-policy", id="a report stays whole"),
        pytest.param('{"a": ["lot"]}' + " " * 500, None, "passthrough-structured", id="JSON"),
        pytest.param('{"a": NaN, "b": "' + "x" * 5000 + '"}', None, "passthrough-structured", id="JSON with NaN"),
        pytest.param("[" * 3000 + "]" * 3000, None, "passthrough-structured", id="JSON too deep to check"),
        pytest.param('{"a": 1, "b": "%s"}\n' % ("x" * 60) * 10, None, "passthrough-structured", id="JSON lines"),
        pytest.param("diff --git a/x b/x\n" + "+ line\n" * 200, None, "passthrough-policy", id="diff"),
        pytest.param(
            "".join(f"ERROR crate {i}\n" for i in range(99)), None, "passthrough-low-savings", id="all failures"
        ),
    ],
)
def test_a_text_passes_with_its_reason(text: str, context: ToolContext | None, reason: str) -> None:
    result = compact_tool_output("Bash", text, context=context)
    assert result.stats.rule == reason
    assert result.text is text
    size = len(text.encode())
    assert (result.stats.original_bytes, result.stats.compacted_bytes, result.stats.applied) == (size, size, False)


@pytest.mark.parametrize(
    "command",
    ["echo compactd recall x", "compactd stats", "git commit -m 'compactd recall x'", "cat compactd", ""],
)
def test_other_commands_recall_nothing(command: str) -> None:
    assert rule_of(LOG, ToolContext(command=command, tool_class="shell")) == "dedup-elide"


def test_the_fallback_takes_a_log_and_counts_its_bytes() -> None:
    result = compact_tool_output("Bash", LOG, context=SHELL)
    lines = LOG.split("\n")
    assert result.text.split("\n") == [*lines[:40], "… [140 lines elided] …", *lines[180:]]
    assert result.stats.rule == "dedup-elide"
    assert result.stats.applied
    assert result.stats.original_bytes == len(LOG.encode())
    assert result.stats.compacted_bytes == len(result.text.encode())


def test_an_output_of_a_failed_call_keeps_twice_the_lines() -> None:
    for context in (ToolContext(tool_class="shell", is_error=True), ToolContext(tool_class="shell", exit_code=2)):
        assert "… [80 lines elided] …" in compact_tool_output("Bash", LOG, context=context).text


def fixed(name: str, new: str, *, wanted: str = "") -> CompactionRule:
    return CompactionRule(
        name, lambda _tool, _text: True, lambda _text: new, (lambda c: c.command == wanted) if wanted else None
    )


def test_own_rules_are_tried_first_in_order() -> None:
    options = CompactOptions(rules=(fixed("one", "1"), fixed("two", "2")))
    result = compact_tool_output("Bash", LOG, options)
    assert (result.text, result.stats.rule) == ("1", "one")


def test_a_rule_with_a_context_has_to_agree_with_it_first() -> None:
    options = CompactOptions(rules=(fixed("one", "1", wanted="make"), fixed("two", "2")))
    assert compact_tool_output("Bash", LOG, options, context=ToolContext(command="make")).stats.rule == "one"
    assert compact_tool_output("Bash", LOG, options, context=ToolContext(command="ls")).stats.rule == "two"
    assert compact_tool_output("Bash", LOG, options).stats.rule == "one"


@pytest.mark.parametrize(
    ("text", "new", "rule"),
    [
        pytest.param(LOG + "error: boom\n", "short", "dedup-elide", id="drops a failure"),
        pytest.param(LOG + "error: boom\n", "error: boom", "own", id="keeps it"),
        pytest.param(LOG, LOG + "x", "dedup-elide", id="larger"),
        pytest.param(LOG, LOG[:-1], "dedup-elide", id="saves too little"),
        pytest.param(LOG, LOG, "passthrough-low-savings", id="has nothing to drop"),
        pytest.param("x" * 600 + "\nerror: boom\n", "x", "failure-preserve-fallback", id="nothing else saves"),
        pytest.param(json.dumps({"a": "x" * 999}), "{", "passthrough-structured", id="breaks JSON"),
        pytest.param(json.dumps({"a": "x" * 999}), "{}", "own", id="leaves JSON"),
        pytest.param(
            "@@ -1 +1 @@\nerror\n" + "+ x\n" * 200, "x", "failure-preserve-fallback", id="a diff with a failure"
        ),
    ],
)
def test_a_result_is_taken_only_if_it_keeps_the_promises(text: str, new: str, rule: str) -> None:
    assert compact_tool_output("Bash", text, CompactOptions(rules=(fixed("own", new),))).stats.rule == rule


def test_a_rule_that_never_comes_to_rest_is_not_applied() -> None:
    shrinking = CompactionRule("own", lambda _tool, _text: True, lambda text: text[: len(text) * 3 // 4])
    result = compact_tool_output("Bash", LOG, CompactOptions(rules=(shrinking,), min_bytes=10))
    assert result.text is LOG


@pytest.mark.parametrize(
    ("tool", "context", "kept"),
    [
        pytest.param("Bash", SHELL, True, id="shell"),
        pytest.param("Read", ToolContext(path="/x/a.log", tool_class="read"), True, id="read of a log"),
        pytest.param("Read", ToolContext(path="/x/notes", tool_class="read"), True, id="read of a file unknown"),
        pytest.param("Read", ToolContext(path="/x/a.py", tool_class="read"), False, id="read of source"),
        pytest.param("Read", ToolContext(path="/x/a.py", tool_class="read", is_error=True), True, id="failed read"),
        pytest.param("Grep", ToolContext(tool_class="search"), False, id="search"),
        pytest.param("Grep", None, False, id="search by its name"),
        pytest.param("Glob", ToolContext(tool_class="list"), False, id="listing"),
        pytest.param("WebFetch", ToolContext(tool_class="fetch"), True, id="fetch"),
        pytest.param("no_such_tool", None, True, id="unknown"),
    ],
)
def test_failures_stay_wherever_the_promise_holds(tool: str, context: ToolContext | None, kept: bool) -> None:
    text = LOG.replace("handled crate 100\n", "error: crate 100\n")
    assert ("error: crate 100\n" in compact_tool_output(tool, text, context=context).text) is kept


@pytest.mark.parametrize(
    ("group", "short"), [("shell", True), ("fetch", False), ("web_search", False), ("search", False)]
)
def test_urls_stay_where_they_are_the_answer(group: str, short: bool) -> None:
    text = "".join(f"{i}. https://example.com/{'p' * 90}/{i}\n" for i in range(30))
    assert ("…[+" in compact_tool_output("t", text, context=ToolContext(tool_class=group)).text) is short


def test_harness_blocks_stay_whole_and_their_surroundings_are_compacted() -> None:
    text = LOG + REMINDER + LOG
    short = compact_tool_output("Bash", text, context=SHELL).text
    assert short.count(REMINDER) == 1
    assert short.count(" lines elided] …\n") == 2


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('<<<EXTERNAL_UNTRUSTED_CONTENT id="0f1e">>>', '<<<END_EXTERNAL_UNTRUSTED_CONTENT id="0f1e">>>'),
        ("<untrusted-data-0f1e>", "</untrusted-data-0f1e>"),
        ("<untrusted>", "</untrusted>"),
        ("<tool_use_error>", "</tool_use_error>"),
        ("<system-reminder>", ""),
    ],
)
def test_markers_stay_wherever_they_stand(opening: str, closing: str) -> None:
    text = f"{LOG}{opening}\n{LOG}{closing}\n{LOG}"
    result = compact_tool_output("Bash", text, context=SHELL)
    assert result.stats.applied
    assert opening in result.text
    assert closing in result.text
    assert compact_tool_output("Bash", result.text, context=SHELL).text == result.text


def test_a_marker_stays_on_a_line_of_its_own() -> None:
    text = f"<untrusted>\n{PAGE}\n</untrusted>\n"
    short = compact_tool_output("WebFetch", text, context=ToolContext(tool_class="fetch")).text
    assert len(short) < len(text)
    assert short.startswith("<untrusted>\n")
    assert short.endswith("\n</untrusted>\n")


def test_json_between_markers_stays_json() -> None:
    body = json.dumps({"rows": [{"name": "crate", "url": "https://example.com/" + "p" * 90} for _ in range(60)]})
    text = f"<untrusted-data-1>\n{body}\n</untrusted-data-1>"
    first, *inner, last = compact_tool_output("Bash", text, context=SHELL).text.split("\n")
    assert (first, last) == ("<untrusted-data-1>", "</untrusted-data-1>")
    (short,) = inner
    assert len(short) < len(body)
    assert json.loads(short)["rows"][0] == json.loads(body)["rows"][0]


def test_the_header_of_a_result_stays_above_its_body() -> None:
    header = "Exit code: 0\nWall time: 8.9 seconds\nOutput:\n"
    assert compact_tool_output("shell", header + LOG).text.startswith(header + LOG[:100])
    body = json.dumps({"rows": ["x" * 50] * 200})
    result = compact_tool_output("shell", header + body)
    assert result.text.startswith(header)
    assert len(json.loads(result.text[len(header) :])["rows"]) < 200


@pytest.mark.parametrize(
    "text",
    [json.dumps({"a": [LOG]}), json.dumps([{"a": i} for i in range(99)], indent=1), '{"a": 1}\n' * 100],
    ids=["a long string", "indented", "lines"],
)
def test_json_is_pruned_and_stays_json(text: str) -> None:
    result = compact_tool_output("Bash", text, context=SHELL)
    assert result.stats.rule == "json-prune"
    assert is_json_or_lines(result.text)
    assert compact_tool_output("Bash", result.text, context=SHELL).text == result.text


def test_what_one_rule_leaves_the_next_one_gets() -> None:
    """An install before a test run: both leave their noise."""
    install = "".join(f"Collecting part-{n}\n  Downloading part_{n}-1.0-py3-none-any.whl (9 kB)\n" for n in range(20))
    tests = "".join(f"tests/test_{n}.py::test_it PASSED [ 5%]\n" for n in range(20)) + "=== 20 passed in 0.2s ===\n"
    context = ToolContext(command="pip install -r parts.txt && pytest -v", tool_class="shell")
    text = compact_tool_output("Bash", install + tests, context=context).text
    assert "Downloading" not in text
    assert "PASSED" not in text
    assert text.endswith("=== 20 passed in 0.2s ===\n")


def test_a_read_of_source_becomes_an_outline_when_that_is_asked_for() -> None:
    source = "".join(f"def part{n}(crate):\n" + "    crate += 1\n" * 20 for n in range(12))
    context = ToolContext(path="/srv/part.py", tool_class="read")
    options = CompactOptions(outline_reads=True)
    result = compact_tool_output("Read", source, options, context=context)
    assert result.stats.rule == "outline"
    assert result.text.count("def part") == 12
    assert compact_tool_output("Read", source, context=context).stats.rule == "dedup-elide"
    log = ToolContext(path="/srv/part.log", tool_class="read")
    assert compact_tool_output("Read", source, options, context=log).stats.rule == "dedup-elide"


PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Apples</title><script>throw new Error('x')</script></head><body>"
    + "<nav class='error'><a href='/'>Home</a></nav>" * 20
    + "<p>Error: the <b>cold</b> room failed</p></body></html>"
)


def test_a_page_becomes_text_with_the_failures_that_a_reader_sees() -> None:
    result = compact_tool_output("WebFetch", PAGE, context=ToolContext(tool_class="fetch"))
    assert result.stats.rule == "html-to-text"
    assert "Error: the cold room failed" in result.text.replace("*", "")
    assert "throw" not in result.text


PYTEST = (
    "============================= test session starts ==============================\ncollected 90 items\n\n"
    + "".join(
        f"tests/test_{name}.py ..............  [ {i}%]\n" for i, name in enumerate(["pear", "fig", "plum"] * 10, 10)
    )
    + "\n=================================== FAILURES ===================================\n"
    "______________________ test_error ______________________\n\n    def test_error():\n>       assert 3 == 4\n"
    "E       assert 3 == 4\n\ntests/test_fig.py:57: AssertionError\n"
    "=========================== short test summary info ============================\n"
    "FAILED tests/test_fig.py::test_error - assert 3 == 4\n"
    "================== 1 failed, 89 passed, 3 warnings in 12.41s ===================\n"
)
STATUS = (
    "On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n"
    '  (use "git add <file>..." to update what will be committed)\n'
    '  (use "git restore <file>..." to discard changes in working directory)\n'
    + "".join(f"\tmodified:   src/error_{i}.py\n" for i in range(40))
    + '\nno changes added to commit (use "git add" and/or "git commit -a")\n'
)


@pytest.mark.parametrize(
    ("text", "command", "rule"),
    [
        pytest.param(PYTEST, "pytest -q", "test-output", id="a test run"),
        pytest.param("Exit code 1\n" + PYTEST, "pytest -q", "test-output", id="a test run with its exit code"),
        pytest.param(STATUS, "git status", "git-status", id="a status"),
    ],
)
def test_built_in_rules_fire_and_keep_the_failures(text: str, command: str, rule: str) -> None:
    result = compact_tool_output("Bash", text, context=ToolContext(command=command, tool_class="shell"))
    assert result.stats.rule == rule
    assert lost_failures(text, result.text) == []


PIECES = st.one_of(
    st.sampled_from(
        [
            LOG,
            LOG[:3000],
            PYTEST,
            STATUS,
            PAGE,
            REMINDER,
            "\n",
            "\n\n\n",
            "Exit code 1\n",
            "<system-reminder>\n",
            "</system-reminder>\n",
            "<untrusted>\n",
            "x</untrusted>",
            "<tool_use_error>no</tool_use_error>",
            json.dumps({"error": None, "rows": ["x" * 60] * 20}) + "\n",
            '{"a": 1}\n' * 30,
            "[1,\n2]\n",
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n- a\n+ b\n" * 5,
            "--- a\n+++ b\n",
            "ERROR refused (attempt 1)\nERROR refused (attempt 2)\n" * 30,
            "get 1%\rget 2%\r\n" * 9,
            "same line of text\n" * 30,
            "\x1b[31mFAIL\x1b[0m a\n",
            "[31mFAIL[0m b\n",
            "https://e.org/" + "p" * 99 + "\n",
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: x\n',
            "y" * 4500,
            "   1→import os\n" * 20,
            "PASS src/a.test.ts\n" * 9,
            "ok 1 - a\nnot ok 2 - b\n  ---\n  found: 1\n  ...\n",
            "line  (×3)\n",
            "… [3 passing test lines elided] …\n",
            "error https://e.org/" + "p" * 99 + "\n",
        ]
    ),
    st.text(alphabet="ab \n\r<>{}[]×…", max_size=12),
)
CONTEXTS = st.sampled_from(
    [
        ("Bash", None),
        ("Bash", ToolContext(command="pytest && git status", tool_class="shell")),
        ("Bash", ToolContext(command="git status", tool_class="shell", is_error=True)),
        ("Bash", SHELL),
        ("WebFetch", ToolContext(tool_class="fetch")),
        ("no_such_tool", None),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=7), CONTEXTS, st.sampled_from([(40, 20), (3, 2)]))
def test_twice_is_once_nothing_grows_and_no_failure_is_lost(
    pieces: list[str], known: tuple[str, ToolContext | None], limits: tuple[int, int]
) -> None:
    text = "".join(pieces)
    tool, context = known
    options = CompactOptions(head_lines=limits[0], tail_lines=limits[1], min_bytes=100)
    result = compact_tool_output(tool, text, options, context=context)
    assert compact_tool_output(tool, result.text, options, context=context).text == result.text
    assert result.stats.compacted_bytes == len(result.text.encode()) <= len(text.encode())
    assert result.stats.applied is (result.text != text)
    if result.stats.rule != "html-to-text" and PAGE not in text:
        assert lost_failures(text, result.text) == []
    for marker in ("<system-reminder>", "</system-reminder>", "<untrusted>", "</untrusted>", "<tool_use_error>"):
        if PAGE not in text:
            assert (marker in result.text) == (marker in text)


HOSTILE_PIECES = [
    LOG[:56],
    "error: x\n",
    "<system-reminder>x",
    "<untrusted>x\n",
    "<a",
    '{"a":1}\n',
    "0 errors\n",
    "[",
    "a\r",
]
HOSTILE_PIECES += ["{\n", "(", "(1", " ", "\t", "<", "::", "://", "no ", "a.", "   ^\n", "\x1b[", "1a"]


@pytest.mark.benchmark
@pytest.mark.parametrize("start", ["error\n", "0 errors no failures --x "])
@pytest.mark.parametrize("piece", HOSTILE_PIECES)
def test_time_is_linear(piece: str, start: str) -> None:
    def seconds(size: int) -> float:
        text = start + piece * (size // len(piece)) + " PASSED"
        begin = time.process_time()
        compact_tool_output("Bash", text, context=SHELL)
        return time.process_time() - begin

    assert min(seconds(80_000) for _ in range(3)) <= 8 * min(seconds(20_000) for _ in range(3)) + 0.1
