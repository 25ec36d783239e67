"""Which policy a tool's input has, and what its fields are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from pipeline.records import Json
from pipeline.rules.tool_classes import COMMAND_KEYS, NAMES_KEPT, PATH_KEYS, TOOL_CLASSES, edit_kind, tool_class

Layout = Literal["write", "edit", "patch", "shell", "task", "generic", "full"]
"""full: strings are capped only; generic: a tool of no known kind that is to be summarized."""

_FULL_SHELL = frozenset({"TaskOutput", "TaskStop", "BashOutput", "KillShell", "process", "write_stdin"})
_TASKS = frozenset({"taskcreate", "taskupdate"})


def _built_in_policy(name: str) -> str:
    if name in _FULL_SHELL:
        return "full"
    summary = edit_kind(name) or TOOL_CLASSES[name] == "shell" or name.lower() in _TASKS
    return "summary" if summary else "full"


TOOL_INPUT_POLICIES: Mapping[str, str] = MappingProxyType({name: _built_in_policy(name) for name in TOOL_CLASSES})
"""Tool name -> "summary" (what was done, and a preview) or "full" (whole, long strings capped); unknown tools: full."""
_LOWER_POLICIES: Mapping[str, str] = MappingProxyType(
    {name.lower(): policy for name, policy in reversed(list(TOOL_INPUT_POLICIES.items()))}
)
NO_POLICIES: Mapping[str, str] = MappingProxyType({})

CONTENT_KEYS = ("content", "file_text", "contents", "fileContent", "file_content", "code_edit", "text", "code")
OLD_KEYS = ("old_string", "old_str", "oldText", "old_text", "oldString", "old", "search")
NEW_KEYS = (
    "new_string",
    "new_str",
    "newText",
    "new_text",
    "newString",
    "new_source",
    "insert_text",
    "new",
    "replacement",
    "replace",
)
EDIT_TEXT_KEYS = frozenset(OLD_KEYS + NEW_KEYS)
PATCH_KEYS = ("input", "patch", "diff")
EDITS_KEY = "edits"
FLAG_KEYS = ("replace_all", "replaceAll", "command", "cell_id", "cell_type", "edit_mode")
KEPT_KEYS = frozenset(PATH_KEYS + FLAG_KEYS)
SUMMARY_KEYS = frozenset(
    {"content_summary", "content_preview", "old_summary", "old_preview", "new_summary", "new_preview"}
)
"""Fields that only a summary has."""
TASK_KEYS = ("subject", "status", "taskId")
WHOLE_KEYS = frozenset(PATH_KEYS + COMMAND_KEYS)
"""Fields that a summary policy on an unknown tool only caps, as a context reads them."""


@lru_cache(NAMES_KEPT)
def _kind_of(name: str) -> str:
    """What `edit_kind` says of a tool, "shell", "task", or "" for all other tools."""
    kind = edit_kind(name)
    if kind:
        return kind
    return "shell" if tool_class(name) == "shell" else "task" if name.lower() in _TASKS else ""


def policy_of(name: str, policies: Mapping[str, str]) -> str:
    """The policy of a tool: exact name, then without case, the given ones before the built-in ones."""
    if policies:
        given = policies.get(name)
        if given is None:
            low = name.lower()
            given = next((policy for key, policy in policies.items() if key.lower() == low), None)
        if given is not None:
            return given
    return TOOL_INPUT_POLICIES.get(name) or _LOWER_POLICIES.get(name.lower(), "full")


def layout_of(name: str, tool_input: Json, policies: Mapping[str, str]) -> Layout:
    """What the fields of an input are, by the tool first and by the fields it has second."""
    if policy_of(name, policies) != "summary":
        return "full"
    kind = _kind_of(name)
    if kind == "shell":
        if isinstance(tool_input, str):
            return "shell"
        has_command = isinstance(tool_input, dict) and any(
            isinstance(tool_input.get(key), str | list) for key in COMMAND_KEYS
        )
        return "shell" if has_command else "full"
    if kind == "task":
        has_task = isinstance(tool_input, dict) and any(key in tool_input for key in TASK_KEYS)
        return "task" if has_task else "full"
    if kind:
        if not isinstance(tool_input, dict):
            return "patch" if kind == "patch" else "full"
        if not SUMMARY_KEYS.isdisjoint(tool_input):
            return "full"
        if kind == "patch" and text_key(tool_input, PATCH_KEYS) is not None:
            return "patch"
        if kind == "write" and text_key(tool_input, CONTENT_KEYS) is not None:
            return "write"
        if holds_edit_text(tool_input) or isinstance(tool_input.get(EDITS_KEY), list):
            return "edit"
        if text_key(tool_input, CONTENT_KEYS) is not None:
            return "write"
        return "patch" if text_key(tool_input, PATCH_KEYS) is not None else "full"
    # A name of the built-in table is "full" there, so "summary" is the user's word for it.
    return "generic"


def text_key(fields: dict[str, Json], keys: tuple[str, ...]) -> str | None:
    """The first field among `keys` that is a string, in the order of `keys`."""
    for key in keys:
        if isinstance(fields.get(key), str):
            return key
    return None


def holds_edit_text(fields: dict[str, Json]) -> bool:
    """Whether a field is the old or new text of an edit."""
    return any(isinstance(fields[key], str) for key in fields if key in EDIT_TEXT_KEYS)
