"""Every key of the configuration and what its value has to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.settings import (
    CommitSettings,
    CopySettings,
    ReaderSettings,
    ToolInputSettings,
    ToolResultSettings,
    VaultSettings,
    WatchSettings,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FORMAT_NAMES = ("auto", "claude-code", "openviking", "openclaw", "codex", "chat", "gemini", "gemini-jsonl")
"""What `--format` and a root's `format` may say."""

MAX_WHOLE = 1 << 40
"""No size, count or limit needs more; larger numbers are slips, and SQLite could not keep them all."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value has to be: `need` in words, `accept` gives the value to use or raises ValueError with the need.

    `from_text` turns an environment variable into what a TOML file could hold; ValueError if it cannot.
    """

    need: str
    accept: Callable[[Any], Any]
    from_text: Callable[[str], Any]


def _switch() -> Kind:
    need = "true or false"

    def accept(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(need)
        return value

    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    return Kind(need, accept, lambda text: words.get(text.strip().lower(), text))


def _whole(least: int, most: int = MAX_WHOLE) -> Kind:
    if most != MAX_WHOLE:
        need = f"a whole number from {least} to {most}"
    else:
        need = "a whole number above 0" if least == 1 else f"a whole number, {least} or more"

    def accept(value: Any) -> int:
        # bool is an int to Python, not to people.
        if type(value) is not int or value < least:
            raise ValueError(need)
        if value > most:
            raise ValueError(need if most != MAX_WHOLE else f"{need}, at most {MAX_WHOLE}")
        return value

    def from_text(text: str) -> Any:
        # A longer number is too large anyway, and int() refuses thousands of digits.
        return int(text) if len(text) < 40 and text.strip().removeprefix("-").isdecimal() else text

    return Kind(need, accept, from_text)


def _number(need: str, fits: Callable[[float], bool]) -> Kind:
    def accept(value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(value) or not fits(value):
            raise ValueError(need)
        return float(value)

    def from_text(text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    return Kind(need, accept, from_text)


def _choice(*words: str) -> Kind:
    need = f"one of {', '.join(words)}"

    def accept(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(need)
        return value

    return Kind(need, accept, lambda text: text)


def _policies() -> Kind:
    need = 'a table of tool names, each "summary" or "full"'

    def accept(value: Any) -> dict[str, str]:
        if not isinstance(value, dict) or not all(policy in ("summary", "full") for policy in value.values()):
            raise ValueError(need)
        return dict(value)

    def from_text(text: str) -> Any:
        import tomllib

        try:
            return tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            return text

    return Kind(need, accept, from_text)


def _folder() -> Kind:
    need = "a path"

    def accept(value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError(need)
        return value

    return Kind(need, accept, lambda text: text)


_POLICY = _choice("whole", "elide")
_SECONDS = _number("a number of seconds above 0, at most 86400", lambda value: 0 < value <= 86_400)

KINDS: dict[str, dict[str, Kind]] = {
    "tool_input": {
        "enabled": _switch(),
        "max_chars": _whole(0),
        "shape": _choice("auto", "summary", "in-place"),
        "policies": _policies(),
    },
    "tool_result": {
        "enabled": _switch(),
        "min_bytes": _whole(0),
        "min_savings": _number("a number from 0 to 1", lambda value: 0 <= value <= 1),
        "head_lines": _whole(0),
        "tail_lines": _whole(0),
        "file_reads": _choice("whole", "elide", "outline"),
        "searches": _POLICY,
        "listings": _POLICY,
        "diffs": _POLICY,
        "reports": _POLICY,
    },
    "copies": {"enabled": _switch(), "min_bytes": _whole(0)},
    "reader": {"max_record_bytes": _whole(1), "batch_bytes": _whole(1), "batch_records": _whole(1)},
    "commit": {
        "max_bytes": _whole(1),
        "max_records": _whole(1),
        "max_delay_seconds": _number("a number of seconds from 0 to 60", lambda value: 0 <= value <= 60),
        "sync_threads": _whole(1, 64),
    },
    "watch": {
        "sweep_seconds": _SECONDS,
        "rescan_seconds": _SECONDS,
        "retry_seconds": _SECONDS,
        "stop_seconds": _SECONDS,
    },
    # 1 GiB: a frame is held in memory whole.
    "vault": {
        "enabled": _switch(),
        "level": _whole(1, 22),
        "frame_bytes": _whole(1, 1 << 30),
        "pack_bytes": _whole(1),
    },
}
"""Every section and key of a config file but the paths at its top and the [[root]] tables."""

SECTIONS: dict[str, type[DataclassInstance]] = {
    "tool_input": ToolInputSettings,
    "tool_result": ToolResultSettings,
    "copies": CopySettings,
    "reader": ReaderSettings,
    "commit": CommitSettings,
    "watch": WatchSettings,
    "vault": VaultSettings,
}
TOP: dict[str, Kind] = {"out": _folder(), "state": _folder()}
ROOT: dict[str, Kind] = {"path": _folder(), "format": _choice(*FORMAT_NAMES)}
"""A [[root]] table; it may also have `include`."""
