"""Records made to be slow: each kind at one size and at four times that size, which may take about four times as long.

`python tests/benchmarks/hostile.py KIND MB` prints bytes and cpu seconds of both sizes, compacted in this process: the
start of a command would hide the growth.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from generate import MB

TIMES = 4
# The best of so many runs; fewer when they take long.
REPEATS = 9
ENOUGH_SECONDS = 1.5

Lines = list[bytes]


@dataclass(frozen=True, slots=True)
class Growth:
    """Bytes and cpu seconds of one kind at both sizes, the best of a few runs each."""

    small_bytes: int
    small_seconds: float
    large_bytes: int
    large_seconds: float

    @property
    def ratio(self) -> float:
        """Time at the large size against the small one, brought to four times the bytes exactly."""
        times = self.large_bytes / self.small_bytes
        return self.large_seconds / self.small_seconds * TIMES / times


def repeat(text: str) -> Callable[[int], str]:
    """One piece over and over."""
    return lambda size: text * (size // len(text.encode()))


def each(template: str) -> Callable[[int], str]:
    """Lines with a number of their own in place of each `@`."""

    def text(size: int) -> str:
        lines: list[str] = []
        length = 0
        for number in count():
            lines.append(template.replace("@", str(number)))
            length += len(lines[-1].encode()) + 1
            if length >= size:
                return "\n".join(lines)
        raise AssertionError("count ends never")

    return text


# Text of a result, by the tool that shows it.
SHELL_TEXTS: dict[str, Callable[[int], str]] = {
    "tags that never close": repeat("<a"),
    "open comments": repeat("<!--"),
    "error lines": each("Error: cannot moor at berth @"),
    "error lines, all alike": each("2026-01-07T08:00:00.@Z ERROR attempt @ of 9999: mooring timed out after @ms"),
    "error words on one line": repeat("error failed: "),
    "brackets": repeat("["),
    "braces and brackets": repeat('{"a":['),
    "parentheses": repeat("(("),
    "spaces": repeat(" "),
    "lines of spaces": repeat("                                \n"),
    "blank lines": repeat("\n"),
    "tabs behind words": repeat("x\t\t\t\t\t\t\t\t"),
    "quotes": repeat('"'),
    "escaped quotes": repeat('\\"'),
    "backslashes": repeat("\\"),
    "objects on one line": repeat('{"level":"info","tide":3}'),
    "objects a line": repeat('{"level":"info","tide":3}\n'),
    "a list of numbers": lambda size: json.dumps(list(range(size // 9))),
    "JSON in strings": lambda size: json.dumps(json.dumps(json.dumps([{"tide": '"high"'}] * (size // 46)))),
    "progress by returns": each("\r@ of 99999 crates loaded, 17.3 MB/s, eta 0:00:12"),
    "progress on one line": lambda size: each("\r@ of 99999 crates")(size).replace("\n", ""),
    "escape sequences": repeat("\x1b[31mx\x1b[0m"),
    "escapes that never end": repeat("\x1b["),
    "addresses": repeat("https://https://"),
    "long addresses": each("https://tides.example.org/@?q=" + "0123456789abcdef" * 8),
    "hex digits": repeat("0123456789abcdef"),
    "times": repeat("12:34:56."),
    "frames": each('  File "/opt/pier/mooring.py", line @, in moor'),
    "tracebacks": each("Traceback (most recent call last):\n  File 'a.py', line @\nKeyError: '@'"),
    "colons": repeat("a:"),
    "dashes": repeat("-"),
    "fences": repeat("```\n"),
    "tool headers": each("[[tool-result]] Bash (call_@)\n```text\nmoored\n```"),
    "reminders that never close": repeat("<system-reminder>"),
    "marks": each("[cut 3 lines, @ bytes: compactd recall 0123456789abcdef]"),
    "folded runs": each("moored  (×@)"),
    "diff headers": each("diff --git a/pier@ b/pier@\n@@ -@,3 +@,3 @@\n-x\n+y"),
    "words of other scripts": repeat("潮位を記録 ошибка "),
    "one word": repeat("a"),
}
GIT_TEXTS: dict[str, Callable[[int], str]] = {
    "a huge status": lambda size: (
        "On branch main\n\nChanges not staged for commit:\n" + each("\tmodified:   error/failed_@.py")(size)
    ),
}
TEST_TEXTS: dict[str, Callable[[int], str]] = {
    "a huge test run": each("tests/test_pier.py::test_mooring_@ PASSED"),
    "a test run of failures": each("tests/test_pier.py::test_mooring_@ FAILED\nE       assert @ == 3"),
}
PAGE_TEXTS: dict[str, Callable[[int], str]] = {
    "a page of open tags": lambda size: "<!DOCTYPE html><html><body>" + "<div><p>" * (size // 8),
    "a page of entities": lambda size: "<!DOCTYPE html><html><body>" + "&amp;&" * (size // 6),
    "a page of scripts": lambda size: "<!DOCTYPE html><html><body>" + "<script>" * (size // 8),
}


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def called(call_id: str, tool: str, tool_input: dict[str, Any]) -> bytes:
    """A Claude Code record with a call."""
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": tool_input}
    return _line({"sessionId": "s", "type": "assistant", "uuid": "u", "message": {"content": [block]}})


def answered(call_id: str, text: str, mirror: object) -> bytes:
    """A Claude Code record with a result and what is hidden beside it."""
    block = {"tool_use_id": call_id, "type": "tool_result", "content": text}
    record = {"sessionId": "s", "type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}
    return _line({**record, "toolUseResult": mirror})


def _shown(tool: str, tool_input: dict[str, Any], text: Callable[[int], str]) -> Callable[[int], Lines]:
    # Half of the bytes are the copy of the text, as in real records.
    def lines(size: int) -> Lines:
        body = text(size // 2)
        return [called("t", tool, tool_input), answered("t", body, {"stdout": body, "stderr": "", "isImage": False})]

    return lines


def _many_fields(size: int) -> Lines:
    """A hidden list of many strings, each of which might be somewhere in the text."""
    parts = [f"{number:08} " + "crate and barrel, " * 5 for number in range(size // 210)]
    return [called("t", "mcp__pier__list", {}), answered("t", "".join(reversed(parts)), parts)]


def _many_strange_fields(size: int) -> Lines:
    """The same, with strings that only begin like pieces of the text."""
    parts = ["crate and barrel, " * 5 + f"{number:08}" for number in range(size // 210)]
    return [called("t", "mcp__pier__list", {}), answered("t", "crate and barrel, " * (size // 36), parts)]


def _nearly_fitting(size: int) -> Lines:
    """Hidden strings that differ from every piece of the text only near their end, in records of 250 KB."""
    part = "a" * 15_000 + "ba"
    record = answered("t", "a" * 29_000, [part] * 15)
    return [called("t", "mcp__pier__list", {}), *[record] * (size // len(record))]


def _nearly_grown(size: int) -> Lines:
    """Progress whose new part differs from every piece of the whole only near its end."""
    data = {"type": "bash_progress", "fullOutput": "a" * 29_000, "output": "a" * 15_000 + "ba"}
    record = _line({"type": "progress", "data": data, "parentToolUseID": "t", "sessionId": "s"})
    return [called("t", "Bash", {"command": "make"}), *[record] * (size // len(record))]


def _many_blocks(size: int) -> Lines:
    """One message with very many results of one call, each with the same beginning."""
    texts = ["the same beginning for all of them, as needles go: " * 12 + str(number) for number in range(size // 700)]
    blocks = [{"tool_use_id": "t", "type": "tool_result", "content": text} for text in texts]
    return [
        called("t", "Bash", {"command": "make"}),
        _line({"sessionId": "s", "type": "user", "message": {"content": blocks}}),
    ]


def _one_id(size: int) -> Lines:
    """Very many calls with one id, and their results."""
    return [called("t", "Bash", {"command": "make"})] * (size // 300) + [answered("t", "x" * 90, None)] * (size // 600)


def _glued(size: int) -> Lines:
    """One line of very many records."""
    return [called("t", "Bash", {"command": "make"}).rstrip() * (size // 130) + b"\n"]


def _deep(size: int) -> Lines:
    """One record, nested until the bytes are used up."""
    return [b'{"sessionId":"s","type":"user","message":' + b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6) + b"}\n"]


def _deep_input(size: int) -> Lines:
    """An input that is nested as deep as decoders take it, again and again."""
    nested: Any = "tool_use"
    for _ in range(200):
        nested = {"a": nested}
    return [called("t", "mcp__pier__moor", {"all": [nested] * (size // 1_220)})]


def _heredocs(size: int) -> Lines:
    """A command of here documents that never end."""
    return [called("t", "Bash", {"command": "".join(f"cat <<E{number}\n" for number in range(size // 12))})]


def _quotes_in_command(size: int) -> Lines:
    """A command of quotes that never end."""
    return [called("t", "Bash", {"command": "echo '" + '"$(`' * (size // 6)})]


def _growing(size: int) -> Lines:
    """Progress records, each with all that the one before had: 200 of them."""
    step = size // 200 // 100 - 1
    records = []
    for number in range(1, 201):
        data = {"type": "bash_progress", "fullOutput": "loading crate\n" * (number * step // 14), "output": "x"}
        records.append(_line({"type": "progress", "data": data, "parentToolUseID": "t", "sessionId": "s"}))
    return [called("t", "Bash", {"command": "make"}), *records]


def _markdown(size: int) -> Lines:
    """Prose with very many blocks that are opened and not closed."""
    text = each("[[tool-result]] Bash (call_@)\n```text\nmoored at berth @")(size)
    content = [{"type": "text", "text": text}]
    return [_line({"sessionId": "s", "type": "assistant", "message": {"role": "assistant", "content": content}})]


def _same_keys(size: int) -> Lines:
    """A record that has the key of its site very often, as text."""
    trap = '"content":"moored at the quay since the tide turned in the night' * (size // 128)
    return [called("t", "Write", {"file_path": "a.py", "note": trap, "content": "moored at the quay " * (size // 40)})]


KINDS: dict[str, Callable[[int], Lines]] = {
    **{name: _shown("Bash", {"command": "make all"}, text) for name, text in SHELL_TEXTS.items()},
    **{name: _shown("Bash", {"command": "git status"}, text) for name, text in GIT_TEXTS.items()},
    **{name: _shown("Bash", {"command": "pytest -v"}, text) for name, text in TEST_TEXTS.items()},
    **{name: _shown("WebFetch", {"url": "https://a.example"}, text) for name, text in PAGE_TEXTS.items()},
    "many hidden strings": _many_fields,
    "many hidden strings, not in the text": _many_strange_fields,
    "hidden strings that nearly fit": _nearly_fitting,
    "progress that nearly fits": _nearly_grown,
    "many results in a message": _many_blocks,
    "one id for all calls": _one_id,
    "records on one line": _glued,
    "deep nesting": _deep,
    "deep nesting, many times": _deep_input,
    "here documents": _heredocs,
    "quotes in a command": _quotes_in_command,
    "growing progress": _growing,
    "open blocks in prose": _markdown,
    "keys in a text": _same_keys,
}


def grow(kind: str, size: int) -> Growth:
    """Compact one kind at `size` bytes and at four times that.

    Raises:
        AssertionError: a record came out twice, not at all, or larger than it was.
    """
    small, large = KINDS[kind](size), KINDS[kind](size * TIMES)
    seconds = [(_seconds(small), _seconds(large))]
    while len(seconds) < REPEATS and sum(pair[1] for pair in seconds) < ENOUGH_SECONDS:
        seconds.append((_seconds(small), _seconds(large)))
    return Growth(
        sum(map(len, small)), min(pair[0] for pair in seconds), sum(map(len, large)), min(pair[1] for pair in seconds)
    )


def _seconds(lines: Sequence[bytes]) -> float:
    from pipeline import compact_lines

    began = time.process_time()
    records = list(compact_lines(lines, format="claude-code"))
    seconds = time.process_time() - began
    assert [record.source for record in records] == list(lines)
    assert all(len(record.output) <= len(record.source) for record in records)
    return seconds


if __name__ == "__main__":
    # The first record pays for loading modules and compiling patterns.
    grow("one word", 1_000)
    growth = grow(sys.argv[1], int(float(sys.argv[2]) * MB))
    print(growth.small_bytes, growth.small_seconds, growth.large_bytes, growth.large_seconds)
