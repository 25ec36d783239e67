"""Sessions of every format with one failure line in each long result, at its start, middle or end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support import log_lines

LOG_LINES = 400
Json = dict[str, Any]
Builder = Callable[[Sequence[str]], bytes]


def texts_of(failures: Sequence[str]) -> Iterator[str]:
    """Long logs in which no two lines are alike, with a failure line in each: first, in the middle, last, anywhere."""
    for number, failure in enumerate(failures):
        lines = log_lines(LOG_LINES, seed=number).split("\n")
        at = (0, LOG_LINES // 2, LOG_LINES, 41, LOG_LINES - 30, number % LOG_LINES)[number % 6]
        lines.insert(at, failure)
        yield "\n".join(lines)


def claude_code(failures: Sequence[str], *, blocks: bool = False) -> bytes:
    records: list[Json] = []
    for number, text in enumerate(texts_of(failures)):
        base = {"sessionId": "s1", "timestamp": "2026-01-05T08:00:00.000Z"}
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"./run{number}.sh"}}
        content: Any = [{"type": "text", "text": text}] if blocks else text
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
        records += (
            {**base, "type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "content": [call]}},
            {
                **base,
                "type": "user",
                "uuid": f"u{number}",
                "message": {"role": "user", "content": [answer]},
                "toolUseResult": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False},
            },
        )
    return _lines(records)


def claude_blocks(failures: Sequence[str]) -> bytes:
    return claude_code(failures, blocks=True)


def openviking(failures: Sequence[str]) -> bytes:
    return _lines(
        {
            "id": f"m{number}",
            "role": "assistant",
            "parts": [
                {
                    "type": "tool",
                    "tool_id": f"c{number}",
                    "tool_name": "bash",
                    "tool_status": "completed",
                    "tool_input": {"command": f"./run{number}.sh"},
                    "tool_output": text,
                }
            ],
            "created_at": "2026-01-05T08:00:00.000Z",
        }
        for number, text in enumerate(texts_of(failures))
    )


def openclaw(failures: Sequence[str]) -> bytes:
    records: list[Json] = [{"type": "session", "version": 3, "id": "s1", "cwd": "~/farm"}]
    for number, text in enumerate(texts_of(failures)):
        call = {"type": "toolCall", "id": f"c{number}", "name": "exec", "arguments": {"command": f"./run{number}.sh"}}
        records += (
            {"type": "message", "id": f"a{number}", "message": {"role": "assistant", "content": [call]}},
            {
                "type": "message",
                "id": f"r{number}",
                "message": {
                    "role": "toolResult",
                    "toolCallId": f"c{number}",
                    "toolName": "exec",
                    "content": [{"type": "text", "text": text}],
                    "details": {"status": "completed", "exitCode": 0, "aggregated": text},
                    "isError": False,
                },
            },
        )
    return _lines(records)


def codex(failures: Sequence[str]) -> bytes:
    records: list[Json] = [_codex("session_meta", {"id": "s1", "cwd": "~/farm"})]
    for number, text in enumerate(texts_of(failures)):
        arguments = json.dumps({"command": ["bash", "-lc", f"./run{number}.sh"]})
        inner = json.dumps({"output": text, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        records += (
            _codex(
                "response_item",
                {"type": "function_call", "name": "shell", "call_id": f"c{number}", "arguments": arguments},
            ),
            _codex(
                "response_item",
                {"type": "function_call_output", "call_id": f"c{number}", "output": text if number % 2 else inner},
            ),
        )
    return _lines(records)


def chat(failures: Sequence[str]) -> bytes:
    records: list[Json] = []
    for number, text in enumerate(texts_of(failures)):
        function = {"name": "bash", "arguments": json.dumps({"command": f"./run{number}.sh"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        records += (
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "name": "bash", "content": text},
        )
    return _lines(records)


def gemini(failures: Sequence[str]) -> bytes:
    messages = [
        {
            "id": f"m{number}",
            "type": "gemini",
            "content": "",
            "toolCalls": [
                {
                    "id": f"c{number}",
                    "name": "run_shell_command",
                    "args": {"command": f"./run{number}.sh"},
                    "result": [{"functionResponse": {"id": f"c{number}", "response": {"output": text}}}],
                    "status": "success",
                    "resultDisplay": text,
                }
            ],
        }
        for number, text in enumerate(texts_of(failures))
    ]
    document = {"sessionId": "s1", "projectHash": "0a", "startTime": "2026-01-05T08:00:00.000Z", "messages": messages}
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _codex(kind: str, payload: Json) -> Json:
    return {"timestamp": "2026-01-05T08:00:00.000Z", "type": kind, "payload": payload}


def _lines(records: Iterator[Json] | list[Json]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


SESSIONS: dict[str, tuple[str, Builder]] = {
    "claude-code": ("s.jsonl", claude_code),
    "claude-code, lists of blocks": ("s.jsonl", claude_blocks),
    "openviking": ("messages.jsonl", openviking),
    "openclaw": ("s.jsonl", openclaw),
    "codex": ("s.jsonl", codex),
    "chat": ("s.jsonl", chat),
    "gemini": ("s.json", gemini),
}
"""What a case is called -> file name and builder."""
