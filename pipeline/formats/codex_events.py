"""Codex events: the second telling of calls, outputs and patches, for viewers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pipeline.formats.base import UNKNOWN_CALL, Call, CallMap
from pipeline.formats.blocks import SHORTEST_COPY_CHARS
from pipeline.formats.repeats import stands_in
from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import NO_CONTEXT
from pipeline.rules.tool_classes import context_of

# What an `exec_command_end` tells of its output; the aggregated one holds the others.
_OUTPUTS = frozenset({"aggregated_output", "stdout", "stderr", "formatted_output"})
_MESSAGES = frozenset({"stdout", "stderr"})
# Cut in its middle a diff would be none.
_CHANGES = {"content": Treat.FILE, "unified_diff": Treat.COPY_ONLY}


def event_sites(payload: dict[str, Json], path: Path, calls: CallMap) -> list[Site]:
    """Sites of the payload of an `event_msg`, in document order.

    An event may come before or after the response item that it repeats, so it answers no call.
    """
    kind, call_id = payload.get("type"), payload.get("call_id")
    if kind == "user_message":
        return list(_image_sites(payload.get("images"), (*path, "images")))
    call = calls.peek(call_id) if isinstance(call_id, str) else UNKNOWN_CALL
    if kind == "exec_command_end":
        return list(_command_sites(payload, path, call))
    if kind == "mcp_tool_call_end":
        return list(_mcp_sites(payload, path, call))
    return list(_patch_sites(payload, path, call)) if kind == "patch_apply_end" else []


def _image_sites(images: Json, path: Path) -> Iterator[Site]:
    if isinstance(images, list):
        for index, url in enumerate(images):
            if isinstance(url, str) and url.startswith("data:"):
                yield Site((*path, index), url, Treat.IMAGE, "", NO_CONTEXT)


def _command_sites(payload: dict[str, Json], path: Path, call: Call) -> Iterator[Site]:
    """Outputs of a command, and its words: of a command of the user there is nothing else."""
    if call is UNKNOWN_CALL:
        command: dict[str, Json] = {"command": payload.get("command")}
        call = Call("exec_command", context_of("exec_command", command))
    code = payload.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        call = Call(call.tool, replace(call.context, exit_code=code, is_error=code != 0))
    whole = payload.get("aggregated_output")
    for key, value in payload.items():
        here = (*path, key)
        if key in _OUTPUTS and isinstance(value, str):
            part = key != "aggregated_output" and isinstance(whole, str) and stands_in(value, whole)
            yield from _text_sites(value, here, Treat.CONTAINED if part else Treat.MIRROR, call)
        elif key == "command" and isinstance(value, list):
            for index, word in enumerate(value):
                yield from _text_sites(word, (*here, index), Treat.COPY_ONLY, call)
        elif key == "parsed_cmd" and isinstance(value, list):
            for index, parsed in enumerate(value):
                if isinstance(parsed, dict):
                    yield from _text_sites(parsed.get("cmd"), (*here, index, "cmd"), Treat.COPY_ONLY, call)


def _mcp_sites(payload: dict[str, Json], path: Path, call: Call) -> Iterator[Site]:
    """The input and the result of a call to an MCP server."""
    invocation, result = payload.get("invocation"), payload.get("result")
    if call is UNKNOWN_CALL and isinstance(invocation, dict):
        tool = f"mcp__{invocation.get('server')}__{invocation.get('tool')}"
        call = Call(tool, context_of(tool, invocation.get("arguments")))
    ended = call
    done = result.get("Ok") if isinstance(result, dict) else None
    if isinstance(result, dict) and ("Err" in result or (isinstance(done, dict) and done.get("isError") is True)):
        ended = Call(call.tool, replace(call.context, is_error=True))
    for key in payload:
        if key == "invocation" and isinstance(invocation, dict):
            arguments = invocation.get("arguments")
            if arguments and isinstance(arguments, dict):
                yield Site((*path, key, "arguments"), arguments, Treat.INPUT, call.tool, call.context)
        elif key == "result" and isinstance(result, dict):
            yield from _text_sites(result.get("Err"), (*path, key, "Err"), Treat.MIRROR, ended)
            if isinstance(done, dict):
                yield from _block_sites(done.get("content"), (*path, key, "Ok", "content"), ended)


def _block_sites(content: Json, path: Path, call: Call) -> Iterator[Site]:
    if not isinstance(content, list):
        return
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            yield from _text_sites(block.get("text"), (*path, index, "text"), Treat.MIRROR, call)
        elif block.get("type") == "image" and isinstance(block.get("data"), str):
            yield Site((*path, index), block, Treat.IMAGE, call.tool, call.context)


def _patch_sites(payload: dict[str, Json], path: Path, call: Call) -> Iterator[Site]:
    """What a patch changed, file by file, in the flat form and in the older one that nests by kind of change."""
    if call is UNKNOWN_CALL:
        call = Call("apply_patch", context_of("apply_patch", None))
    if payload.get("success") is False:
        call = Call(call.tool, replace(call.context, is_error=True))
    for key, value in payload.items():
        if key in _MESSAGES:
            yield from _text_sites(value, (*path, key), Treat.MIRROR, call)
        elif key == "changes" and isinstance(value, dict):
            for file, change in value.items():
                if isinstance(change, dict):
                    yield from _change_sites(change, (*path, key, file), call)


def _change_sites(change: dict[str, Json], path: Path, call: Call, *, inner: bool = False) -> Iterator[Site]:
    for key, value in change.items():
        treat = _CHANGES.get(key)
        if treat is not None:
            yield from _text_sites(value, (*path, key), treat, call)
        elif isinstance(value, dict) and not inner:
            yield from _change_sites(value, (*path, key), call, inner=True)


def _text_sites(text: Json, path: Path, treat: Treat, call: Call) -> Iterator[Site]:
    """The site of a hidden text, if it is one that is worth a look."""
    if isinstance(text, str) and len(text) > SHORTEST_COPY_CHARS:
        yield Site(path, text, treat, call.tool, call.context)
