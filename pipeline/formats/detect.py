"""Which format a session is, told by the content of its first records; the name decides for an empty file only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pipeline.formats.decode import decode_record
from pipeline.formats.scanner import decode_string, skip_key, skip_space, skip_value
from pipeline.records import Json

HEAD_BYTES = 64 * 1024
"""How much of a file `detect_bytes` wants to see."""
LOOK_AT_RECORDS = 20
"""Records with a document that are looked at."""
_MAX_TRIES = 200
_MAX_MEMBERS = 200

_CLAUDE_TYPES = frozenset({"user", "assistant", "progress", "system", "attachment"})
_CLAUDE_TYPES_ALONE = frozenset({"file-history-snapshot", "queue-operation", "summary"})
_CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_CHAT_BODIES = frozenset({"content", "tool_calls", "function_call"})
_OPENCLAW_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution"})
_DOCUMENT, _LINES = "gemini", "gemini-jsonl"
_PACKED = (".gz", ".zst")
_BOM = b"\xef\xbb\xbf"
_CHAT_LIST = re.compile(rb'\[\s*\{\s*"role"\s*:')


def detect(raw_records: Iterable[bytes], name: str = "") -> str | None:
    """The format's name by the first record that gives evidence, so the answer stays when the file grows.

    Args:
        raw_records: the file's first records; no more are read than needed. Those that do not decode are skipped.
        name: the file's path; `messages.jsonl` is OpenViking's if it holds nothing at all, or messages of the old
            kind, which look like chat. A Gemini document on one line of a `.jsonl` is the first of its lines.

    Returns:
        A name of `pipeline.formats.registry.FORMATS`, or None without evidence.

    Source: sessions as their writers leave them.
    """
    empty = True
    left = LOOK_AT_RECORDS
    for tries, raw in enumerate(raw_records):
        empty = empty and not raw.strip()
        documents, _ = decode_record(raw)
        for document in documents:
            if isinstance(document.value, dict) and (found := _format_of(document.value)):
                return _by_name(found, document.value, name)
        left -= bool(documents)
        if not left or tries >= _MAX_TRIES:
            return None
    return "openviking" if empty and _is_openviking_name(name) else None


def detect_bytes(head: bytes, name: str = "") -> str | None:
    """The format's name by the first bytes of a file, up to `HEAD_BYTES`; knows documents over many lines, too.

    A record cut at the end of `head` is no evidence, unless it is the first one and fills the head: then its first
    keys are looked at.

    Returns:
        A name of `pipeline.formats.registry.FORMATS`, or None without evidence.

    Source: sessions as their writers leave them.
    """
    first, newline, _ = head.partition(b"\n")
    if not decode_record(first)[0]:
        members = _first_members(head)
        if _is_gemini(members):
            return _DOCUMENT
        if not newline and len(head) >= HEAD_BYTES:
            return _format_of_cut(members)
    return detect(head.split(b"\n"), name)


def _format_of(value: Mapping[str, Json]) -> str | None:
    kind = value.get("type")
    if isinstance(kind, str):
        return _format_of_typed(kind, value)
    if _is_gemini(value):
        return _DOCUMENT
    if _is_gemini_line(value):
        return _LINES
    role = value.get("role")
    messages = value.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0], dict):
        role, value = messages[0].get("role"), messages[0]
    if not isinstance(role, str) or "type" in value:
        return None
    if isinstance(value.get("parts"), list):
        return "openviking" if "id" in value and "created_at" in value else None
    return "chat" if role in _CHAT_ROLES and not _CHAT_BODIES.isdisjoint(value) else None


def _format_of_typed(kind: str, value: Mapping[str, Json]) -> str | None:
    if "payload" in value and "timestamp" in value:
        return "codex"
    if kind in _CLAUDE_TYPES_ALONE or (kind in _CLAUDE_TYPES and "sessionId" in value):
        return "claude-code"
    if "sessionId" in value:
        return None
    if kind == "gemini" and "id" in value:
        return _LINES
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    if kind == "message" and isinstance(role, str) and role in _OPENCLAW_ROLES:
        return "openclaw"
    if kind == "session" and "id" in value and ("version" in value or "cwd" in value):
        return "openclaw"
    return None


def _is_gemini(value: Mapping[str, Json]) -> bool:
    return "sessionId" in value and "projectHash" in value and isinstance(value.get("messages"), list)


def _is_gemini_line(value: Mapping[str, Json]) -> bool:
    """The header of a session in lines, or a change to what was told before; messages have a type."""
    if "sessionId" in value and "projectHash" in value:
        return True
    return isinstance(value.get("$rewindTo"), str) or any(
        isinstance(value.get(key), dict) for key in ("$set", "$patch")
    )


def _format_of_cut(members: Mapping[str, Json]) -> str | None:
    """The format by the first keys of a record that is not all there, so a key that is missing says little."""
    kind = members.get("type")
    if isinstance(kind, str):
        if kind == "message" and "parentId" in members and "sessionId" not in members:
            return "openclaw"
        return _format_of_typed(kind, members)
    if "id" in members and "role" in members and isinstance(members.get("parts"), list):
        return "openviking"
    # It may be a document whose messages lie behind the cut.
    return None if "projectHash" in members and not _is_gemini(members) else _format_of(members)


def _first_members(head: bytes) -> dict[str, Json]:
    """The top-level members of the object that `head` begins with, as far as it goes.

    Strings are decoded; lists and objects are empty, but for the first role of a list of chat messages; a value that
    is cut is an empty one of its kind. Empty when `head` begins with no object.
    """
    members: dict[str, Json] = {}
    end = len(head)
    at = skip_space(head, len(_BOM) if head.startswith(_BOM) else 0, end)
    sign = b"{"
    try:
        while head[at : at + 1] == sign and len(members) < _MAX_MEMBERS:
            key, at = skip_key(head, skip_space(head, at + 1, end), end)
            members[key] = _outline(head, at)
            stop = skip_value(head, at, end)
            if head[at : at + 1] == b'"':
                members[key] = decode_string(head[at:stop])
            at = skip_space(head, stop, end)
            sign = b","
    except ValueError:
        return members
    return members


def _outline(head: bytes, at: int) -> Json:
    """A value by its first byte alone."""
    first = head[at : at + 1]
    if first == b"[":
        return [{"role": "user", "content": ""}] if _CHAT_LIST.match(head, at) else []
    if first == b"{":
        return {}
    return "" if first == b'"' else None


def _by_name(found: str, value: Mapping[str, Json], name: str) -> str:
    if found == _DOCUMENT and _is_lines_name(name):
        return _LINES
    old_kind = found == "chat" and "id" in value and "created_at" in value
    return "openviking" if old_kind and _is_openviking_name(name) else found


def _is_lines_name(name: str) -> bool:
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(".jsonl")


def _is_openviking_name(name: str) -> bool:
    return name.replace("\\", "/").rpartition("/")[2] == "messages.jsonl"
