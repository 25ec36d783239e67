"""What readers of each format need: required keys and types, ids, chains and pairs.

Shares no code with the adapters. `problems` reads one session; `skeleton` is what compaction must never change in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Check = Callable[[Any, str], Iterator[str]]
Record = dict[str, Any]


def problems(format_: str, data: bytes) -> list[str]:
    """What a reader of the format would stumble over, each with its place; lines that are no JSON are left out."""
    check = SCHEMAS[format_]
    return [
        problem
        for number, record in enumerate(records(format_, data), 1)
        for problem in check(record, f"record {number}")
    ]


def skeleton(format_: str, data: bytes) -> list[Any]:
    """Ids, links, names, roles, flags and usage of each record, in order, and the kinds of all its values."""
    return [_bones(record) for record in records(format_, data)]


def records(format_: str, data: bytes) -> Iterator[Any]:
    """The session's records; what is no JSON comes as its bytes."""
    for line in [data] if format_ == "gemini" else data.split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            yield line


_KEPT = frozenset(
    {
        *("id", "uuid", "parentUuid", "parentId", "sessionId", "messageId", "leafUuid", "logicalParentUuid", "call_id"),
        *("tool_use_id", "toolCallId", "tool_call_id", "tool_id", "firstKeptEntryId", "sourceToolAssistantUUID"),
        *("role", "name", "toolName", "tool_name", "type", "timestamp", "created_at", "status", "tool_status"),
        *("is_error", "isError", "exitCode", "exit_code", "version", "signature", "thinkingSignature"),
        *("encrypted_content", "textSignature", "thoughtSignature", "usage", "model", "stop_reason", "cwd"),
    }
)


# Lists whose elements stay, each in its place; others may get shorter.
_LISTS = frozenset({"content", "parts", "messages", "toolCalls", "tool_calls", "result", "normalizedMessages"})
_INPUTS = frozenset({"input", "tool_input", "arguments", "args"})


def _bones(value: Any, above: str = "") -> Any:
    if isinstance(value, dict):
        if above in _INPUTS:
            return "dict"
        if value.get("type") in ("image", "input_image") or str(value.get("text", "")).startswith("[image "):
            return "image"
        return {key: item if key in _KEPT else _bones(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_bones(item) for item in value] if above in _LISTS else "list"
    return type(value).__name__


def _has(record: Any, place: str, **kinds: type | tuple[type, ...]) -> Iterator[str]:
    """Required keys and their types."""
    for key, kind in kinds.items():
        if key not in record:
            yield f"{place}: need {key}"
        elif not isinstance(record[key], kind) or (kind is int and isinstance(record[key], bool)):
            yield f"{place}.{key}: need {kind}, got {type(record[key]).__name__}"


def _may_have(record: Any, place: str, **kinds: type | tuple[type, ...]) -> Iterator[str]:
    """Types of keys that may be missing."""
    yield from _has(record, place, **{key: kind for key, kind in kinds.items() if key in record})


def _each(items: Any, place: str, check: Check) -> Iterator[str]:
    if isinstance(items, list):
        for index, item in enumerate(items):
            yield from check(item, f"{place}.{index}")


def _parses(text: Any, place: str) -> Iterator[str]:
    """A string that holds a JSON object."""
    try:
        if not isinstance(json.loads(text), dict):
            yield f"{place}: need an object in the string"
    except (TypeError, ValueError):
        yield f"{place}: need JSON in the string, got {text!r:.60}"


_NULL = type(None)


def claude_code(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    if record.get("type") in ("user", "assistant"):
        yield from _has(record, place, uuid=str, parentUuid=(str, _NULL), sessionId=str, message=dict)
        message = record.get("message")
        if isinstance(message, dict):
            yield from _has(message, f"{place}.message", role=str, content=(str, list))
            yield from _each(message.get("content"), f"{place}.message.content", _claude_block)
    mirror = record.get("toolUseResult")
    if "toolUseResult" in record:
        yield from _has(record, place, toolUseResult=(str, dict, list))
    if isinstance(mirror, dict):
        yield from _mirror(mirror, f"{place}.toolUseResult")
    if record.get("type") == "progress":
        yield from _has(record, place, uuid=str, data=dict)
        yield from _may_have(
            record.get("data", {}),
            f"{place}.data",
            type=str,
            output=str,
            fullOutput=str,
            message=dict,
            normalizedMessages=list,
            prompt=str,
        )


def _claude_block(block: Any, place: str) -> Iterator[str]:
    kinds: dict[str, dict[str, Any]] = {
        "text": {"text": str},
        "thinking": {"thinking": str},
        "tool_use": {"id": str, "name": str, "input": dict},
        "tool_result": {"tool_use_id": str},
        "image": {"source": dict},
    }
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        yield f"{place}: need a block with a type"
        return
    yield from _has(block, place, **kinds.get(block["type"], {}))
    if block["type"] == "tool_result":
        yield from _may_have(block, place, content=(str, list), is_error=bool)
        yield from _each(block.get("content"), f"{place}.content", _claude_block)


def _mirror(mirror: Record, place: str) -> Iterator[str]:
    yield from _may_have(
        mirror,
        place,
        originalFile=(str, _NULL),
        stdout=str,
        stderr=str,
        structuredPatch=list,
        oldString=str,
        newString=str,
        filePath=str,
        file=dict,
        content=(str, list),
        filenames=list,
        prompt=str,
        plan=str,
        newTodos=list,
        interrupted=bool,
    )
    yield from _may_have(mirror.get("file", {}), f"{place}.file", content=str, base64=str, filePath=str)
    yield from _each(mirror.get("structuredPatch"), f"{place}.structuredPatch", _hunk)
    yield from _each(mirror.get("filenames"), f"{place}.filenames", _text)


def _hunk(hunk: Any, place: str) -> Iterator[str]:
    if not isinstance(hunk, dict):
        yield f"{place}: need a hunk"
        return
    yield from _has(hunk, place, oldStart=int, oldLines=int, newStart=int, newLines=int, lines=list)
    yield from _each(hunk.get("lines"), f"{place}.lines", _text)


def _text(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{place}: need a text, got {type(value).__name__}"


def openviking(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    yield from _has(record, place, id=str, role=str)
    if "content" not in record:
        yield from _has(record, place, parts=list)
    yield from _each(record.get("parts"), f"{place}.parts", _viking_part)


def _viking_part(part: Any, place: str) -> Iterator[str]:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        yield f"{place}: need a part with a type"
        return
    if part["type"] == "text":
        yield from _has(part, place, text=str)
    if part["type"] == "tool":
        yield from _has(part, place, tool_id=str, tool_name=str)
        yield from _may_have(part, place, tool_input=dict, tool_output=str, tool_status=str)


def openclaw(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    yield from _has(record, place, type=str)
    if record.get("type") != "message":
        return
    yield from _has(record, place, id=str, parentId=(str, _NULL), message=dict)
    message = record.get("message")
    if not isinstance(message, dict):
        return
    here = f"{place}.message"
    yield from _has(message, here, role=str)
    if message.get("role") == "bashExecution":
        yield from _has(message, here, command=str, output=str)
        return
    kinds = list if message.get("role") == "toolResult" else (list, str)
    yield from _has(message, here, content=kinds)
    yield from _each(message.get("content"), f"{here}.content", _claw_block)
    if message.get("role") == "toolResult":
        yield from _has(message, here, toolCallId=str, toolName=str, isError=bool)
        yield from _may_have(message, here, details=(dict, _NULL))
        if isinstance(message.get("details"), dict):
            yield from _may_have(message["details"], f"{here}.details", aggregated=str, diff=str, exitCode=(int, _NULL))


def _claw_block(block: Any, place: str) -> Iterator[str]:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        yield f"{place}: need a block with a type"
        return
    if block["type"] == "text":
        yield from _has(block, place, text=str)
    if block["type"] == "toolCall":
        yield from _has(block, place, id=str, name=str, arguments=dict)
        yield from _may_have(block, place, partialArgs=str, partialJson=str)
    if block["type"] == "image":
        yield from _has(block, place, data=str, mimeType=str)


def codex(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    yield from _has(record, place, timestamp=str, type=str, payload=dict)
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return
    here = f"{place}.payload"
    kind = payload.get("type")
    if record.get("type") == "session_meta":
        yield from _has(payload, here, id=str)
    if kind == "function_call":
        yield from _has(payload, here, name=str, call_id=str, arguments=str)
        yield from _parses(payload.get("arguments"), f"{here}.arguments")
    if kind == "custom_tool_call":
        yield from _has(payload, here, name=str, call_id=str, input=str)
    if kind in ("function_call_output", "custom_tool_call_output"):
        yield from _has(payload, here, call_id=str, output=(str, list))
        output = payload.get("output")
        if isinstance(output, str) and output.startswith('{"output"'):
            yield from _parses(output, f"{here}.output")
    if kind == "exec_command_end":
        yield from _has(payload, here, call_id=str, aggregated_output=str, exit_code=int)
    if kind == "message":
        yield from _has(payload, here, role=str, content=list)


def chat(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    if isinstance(record.get("messages"), list):
        yield from _each(record["messages"], f"{place}.messages", chat)
        return
    yield from _has(record, place, role=str)
    if record.keys().isdisjoint(("tool_calls", "function_call")):
        yield from _has(record, place, content=(str, list, _NULL))
    yield from _may_have(record, place, content=(str, list, _NULL))
    if record.get("role") == "tool":
        yield from _has(record, place, tool_call_id=str)
    yield from _may_have(record, place, tool_calls=(list, _NULL))
    yield from _each(record.get("tool_calls"), f"{place}.tool_calls", _chat_call)


def _chat_call(call: Any, place: str) -> Iterator[str]:
    if not isinstance(call, dict):
        yield f"{place}: need a call"
        return
    yield from _has(call, place, id=str)
    if "function" in call:
        yield from _has(call, place, function=dict)
        yield from _has(call["function"], f"{place}.function", name=str, arguments=str)
        yield from _parses(call["function"].get("arguments"), f"{place}.function.arguments")


def gemini(record: Any, place: str) -> Iterator[str]:
    yield from _has(record, place, sessionId=str, projectHash=str, messages=list)
    yield from _each(record.get("messages"), f"{place}.messages", gemini_message)


def gemini_message(record: Any, place: str) -> Iterator[str]:
    if not isinstance(record, dict) or "type" not in record:
        return
    yield from _has(record, place, id=str, type=str)
    yield from _may_have(record, place, toolCalls=list)
    yield from _each(record.get("toolCalls"), f"{place}.toolCalls", _gemini_call)


def _gemini_call(call: Any, place: str) -> Iterator[str]:
    if not isinstance(call, dict):
        yield f"{place}: need a call"
        return
    yield from _has(call, place, id=str, name=str, args=dict)
    yield from _may_have(call, place, result=list, status=str, resultDisplay=(str, dict, list, _NULL))
    yield from _each(call.get("result"), f"{place}.result", _gemini_response)


def _gemini_response(part: Any, place: str) -> Iterator[str]:
    if isinstance(part, dict) and "functionResponse" in part:
        yield from _has(part, place, functionResponse=dict)
        yield from _has(part["functionResponse"], f"{place}.functionResponse", response=dict)
        yield from _may_have(part["functionResponse"].get("response", {}), f"{place}.response", output=str, error=str)


SCHEMAS: dict[str, Check] = {
    "claude-code": claude_code,
    "openviking": openviking,
    "openclaw": openclaw,
    "codex": codex,
    "chat": chat,
    "gemini": gemini,
    "gemini-jsonl": gemini_message,
}
