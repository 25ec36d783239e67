"""What a tool is by its name, and what its input says: class, command line and path."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from pipeline.records import Json
from pipeline.rules.base import ToolContext
from pipeline.rules.heredocs import heredoc_bodies
from pipeline.rules.marks import whole_chars, without_mark

FileKind = Literal["source", "log", "other"]
EditKind = Literal["write", "edit", "patch", "notebook", ""]

COMMAND_CHARS = 4096
"""A context keeps this much of a command or path."""
NAMES_KEPT = 1024
"""Names of tools that are looked up only once."""
BODY_PREVIEW_CHARS = 200
"""What tool-input compaction leaves of a written file or of a here-document's body."""

PATH_KEYS = (
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "notebookPath",
    "absolute_path",
    "absolutePath",
    "target_file",
    "filepath",
    "filename",
    "file",
)
COMMAND_KEYS = ("command", "cmd", "script")

_NAMES: dict[str, str] = {
    "shell": "Bash TaskOutput TaskStop BashOutput KillShell exec bash process shell_command exec_command shell"
    " write_stdin run_shell_command execute_bash execute_command run_command run_terminal_cmd terminal local_shell"
    " container.exec user_bash",
    "write": "Write write write_file create_file write_to_file file_write",
    "edit": "Edit MultiEdit edit multi_edit apply_patch replace str_replace str_replace_editor"
    " str_replace_based_edit_tool edit_file file_edit search_replace replace_in_file",
    "read": "Read read memory_get view_image read_file read_many_files view view_file",
    "search": "Grep LSP ToolSearch grep memory_search grep_search search_file_content codebase_search search_files",
    "list": "Glob LS glob ls sessions_list agents_list list_directory list_dir list_files find",
    "fetch": "WebFetch web_fetch fetch webfetch",
    "web_search": "WebSearch web_search web_search_call google_web_search websearch",
    "agent": "Task Agent SendMessage sessions_spawn sessions_send sessions_history sessions_yield"
    " codebase_investigator complete_task",
    "task": "TaskUpdate TaskCreate TodoWrite TaskList TaskGet ExitPlanMode EnterPlanMode update_plan update_topic"
    " write_todos think TodoRead todowrite todoread",
    "notebook": "NotebookEdit NotebookRead",
    "skill": "Skill activate_skill",
    "mcp": "ListMcpResourcesTool ReadMcpResourceTool mcporter read_mcp_resource list_mcp_resources",
    "": "AskUserQuestion message session_status cron gateway browser request_user_input ask_user save_memory",
}
TOOL_CLASSES: Mapping[str, str] = MappingProxyType(
    {name: tool_class for tool_class, names in _NAMES.items() for name in names.split()}
)
"""Tool name -> class, "" for tools of no class. Source: sessions as their writers leave them."""
# Where two names differ in case only (none of them in class) the first stands.
_LOWER_CLASSES: Mapping[str, str] = MappingProxyType(
    {name.lower(): TOOL_CLASSES[name] for name in reversed(list(TOOL_CLASSES))}
)
_MCP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*?__[A-Za-z0-9_.-]+")

_EDIT_KINDS: Mapping[str, EditKind] = MappingProxyType(
    {
        **{name.lower(): "write" for name in _NAMES["write"].split()},
        **{name.lower(): "edit" for name in _NAMES["edit"].split()},
        "apply_patch": "patch",
        "notebookedit": "notebook",
    }
)

_SOURCE_WORDS = (
    "py pyi pyx js mjs cjs jsx ts mts cts tsx go rs java kt kts scala groovy gradle c h cc cpp cxx hh hpp hxx m mm cs"
    " vb swift rb php pl pm lua r jl dart ex exs erl hrl hs ml mli clj cljs cljc lisp el scm rkt sh bash zsh fish"
    " ps1 psm1 bat cmd sql html htm css scss sass less vue svelte astro proto graphql gql tf hcl nix zig nim cr d pas f"
    " f90 f95 asm s v sv vhd vhdl cu cuh glsl wgsl hlsl sol vim cmake mk ipynb"
)
_SOURCE_SUFFIXES = frozenset(_SOURCE_WORDS.split())
_LOG_SUFFIXES = frozenset({"log", "out", "err", "txt"})
_ROTATED = re.compile(r"(.+)\.(?:[0-9]+|old|bak)")

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "bash.exe", "sh.exe", "pwsh", "powershell"})
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-zA-Z]{0,20}c|-Command")

_PATCH_FILE = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: ([^\n]+)|diff --git a/([^\n]+?) b/[^\n]*)$", re.MULTILINE
)


@lru_cache(NAMES_KEPT)
def tool_class(name: str) -> str:
    """The class of a tool, "" if it has none: shell, write, edit, read, search, list, fetch, ...

    The name counts as written, then without case, then by the form `server__tool` of MCP tools.

    Source: sessions as their writers leave them.
    """
    found = TOOL_CLASSES.get(name)
    if found is None:
        found = _LOWER_CLASSES.get(name.lower())
    if found is None:
        found = "mcp" if _MCP_NAME.fullmatch(name) is not None else ""
    return found


def edit_kind(name: str) -> EditKind:
    """How a tool changes a file: whole ("write"), by old and new text ("edit"), "patch", "notebook"; "" if not."""
    return _EDIT_KINDS.get(name.lower(), "")


def file_kind(path: str) -> FileKind:
    """Whether a path names program source or a log, by its suffix; "other" when that does not tell."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    rotated = _ROTATED.fullmatch(name)
    if rotated is not None:
        name = rotated[1]
    suffix = name.rpartition(".")[2] if "." in name else ""
    if suffix in _SOURCE_SUFFIXES:
        return "source"
    return "log" if suffix in _LOG_SUFFIXES else "other"


def is_exempt(group: str, path: str) -> bool:
    """Does promise P4 leave out what a tool of this class gave? Searches, listings, and reads of program source."""
    return group in ("search", "list") or (group == "read" and file_kind(path) == "source")


def context_of(
    name: str,
    tool_input: Json,
    *,
    exit_code: int | None = None,
    is_error: bool = False,
    max_chars: int = 2000,
    keep_input: bool = False,
) -> ToolContext:
    """What a call says about its result.

    The original input and every compacted form of it give the same answer, so that a session which is opened again
    goes on as before: of a command only what any form still holds counts, which leaves out the bodies of its
    here-documents and all behind `max_chars`. (A patch whose first file name does not fit into that is the exception.)

    Args:
        name: the tool's name.
        tool_input: the decoded input; a JSON object as a string counts as that object.
        exit_code: exit code of the result, if known.
        is_error: the format's error flag.
        max_chars: the cap the inputs of this session are compacted with, 0 for none.
        keep_input: put the input itself into the context; off, as a session's contexts stay in memory.

    Returns:
        A context whose command and path have at most 4,096 characters.
    """
    group = tool_class(name)
    fields = _object_of(tool_input)
    command = path = ""
    chars = max_chars if 0 < max_chars < COMMAND_CHARS else COMMAND_CHARS
    if group == "shell":
        script = "" if fields is None and not isinstance(tool_input, str) else _script_of(fields, tool_input)
        body_chars = max_chars if 0 < max_chars < BODY_PREVIEW_CHARS else BODY_PREVIEW_CHARS
        command = _without_bodies(script, chars, body_chars) if "<<" in script else script[:chars]
    elif fields is not None:
        path = _path_of(fields)
        if not path and edit_kind(name) == "patch":
            path = next((found for text in fields.values() if (found := _patched_path(text))), "")
    elif edit_kind(name) == "patch":
        path = _patched_path(tool_input)
    path = without_mark(path)[:chars] if path else ""
    # By position, as this is made for each call.
    return ToolContext(fields if keep_input else None, command, path, exit_code, is_error, group)


def is_script_call(words: list[Json]) -> bool:
    """Whether a command list is a shell with a script as third word: `["bash", "-lc", "..."]`."""
    if len(words) != 3:
        return False
    program, flag, script = words
    return (
        isinstance(program, str)
        and isinstance(flag, str)
        and isinstance(script, str)
        and program.replace("\\", "/").rpartition("/")[2].lower() in _SHELLS
        and _SHELL_SCRIPT_FLAG.fullmatch(flag) is not None
    )


def _without_bodies(command: str, chars: int, body_chars: int) -> str:
    """The first `chars` characters of the original command without here-document bodies, from any form of it.

    A body in short form counts as long as it was, so the cut falls in the same place of each form.
    """
    kept: list[str] = []
    left = chars
    at = 0
    for start, end, closed in heredoc_bodies(command):
        if start < at:
            continue
        kept.append(command[at:start][:left])
        left -= start - at
        at = end
        if closed:
            left -= whole_chars(command[start:end], body_chars)
        if left <= 0 or not closed:
            break
    else:
        kept.append(command[at:][:left])
    return "".join(kept)


def _script_of(fields: dict[str, Json] | None, tool_input: Json) -> str:
    """The command line of a shell call, without the mark a compacted one ends with."""
    if fields is None:
        return without_mark(tool_input) if isinstance(tool_input, str) else ""
    for key in COMMAND_KEYS:
        command = fields.get(key)
        if isinstance(command, str) and command:
            return without_mark(command)
        if isinstance(command, list) and command:
            words = [without_mark(word) for word in command if isinstance(word, str)]
            return words[2] if is_script_call(command) else " ".join(words)
    return ""


def _path_of(fields: dict[str, Json]) -> str:
    for key in PATH_KEYS:
        path = fields.get(key)
        if isinstance(path, str) and path:
            return path
    return ""


def _patched_path(text: Json) -> str:
    found = _PATCH_FILE.search(text) if isinstance(text, str) else None
    return "" if found is None else (found[1] or found[2])


def _object_of(tool_input: Json) -> dict[str, Json] | None:
    """The input as an object, decoded from a string if need be; None when it is none."""
    if isinstance(tool_input, dict):
        return tool_input
    if not isinstance(tool_input, str) or not tool_input.lstrip(" \t\r\n").startswith("{"):
        return None
    try:
        value = json.loads(tool_input)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
