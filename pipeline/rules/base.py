"""What a text rule is, what it may know about its text, and what compaction returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pipeline.records import Json

RULES_VERSION = 2
"""Raised with every change that can change output bytes."""

# Pass-through reasons: why a text was left as it is.
SMALL = "passthrough-small"
LOW_SAVINGS = "passthrough-low-savings"
COMPACTED = "passthrough-compacted"
RECALLED = "passthrough-recalled"
FAILURE_FALLBACK = "failure-preserve-fallback"
STRUCTURED = "passthrough-structured"
"""Valid JSON that no rule can shorten and still leave valid."""
POLICY = "passthrough-policy"
"""The configuration says to keep this class of text whole."""
STUB = "passthrough-stub"
"""The text stands for an output kept elsewhere; it is whole already."""
NO_RULE = "passthrough-no-rule"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What is known about the call behind a text; every field may be unknown.

    Attributes:
        tool_input: the call's decoded input, if at hand.
        command: the shell command line, "" if the tool is no shell.
        path: the file the call reads or writes, "" if none.
        exit_code: None when the format does not tell.
        is_error: the format's error flag.
        tool_class: a class of `pipeline.rules.tool_classes`; "" if unknown.
    """

    tool_input: Mapping[str, Json] | None = None
    command: str = ""
    path: str = ""
    exit_code: int | None = None
    is_error: bool = False
    tool_class: str = ""


NO_CONTEXT = ToolContext()


Failing: TypeAlias = "Callable[[str], Collection[int]]"
"""Gives the 0-based numbers of a text's failure lines."""


@dataclass(frozen=True, slots=True)
class CompactionRule:
    """One text rule.

    `matches(tool_name, output)` looks at tool and shape, `compact(output)` gives the shorter text. With a context,
    `matches_context(context)` has to agree first when it is set (README.md, P5: tool and command, then shape).
    Both functions are total: no text makes them raise.
    """

    id: str
    matches: Callable[[str, str], bool]
    compact: Callable[[str], str]
    matches_context: Callable[[ToolContext], bool] | None = None
    compact_knowing: Callable[[str, Failing], str] | None = None
    """As `compact`, for a rule that asks for the failure lines: they are looked for once for all who ask."""


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """Limits of tool-output compaction.

    `rules` are tried before the built-in ones, in order. A text under `min_bytes` (UTF-8), or one that would save
    less than the fraction `min_savings`, returns as it is. The fallback keeps `head_lines` and `tail_lines`.
    """

    rules: tuple[CompactionRule, ...] = ()
    min_bytes: int = 512
    min_savings: float = 0.05
    head_lines: int = 40
    tail_lines: int = 20
    whole_classes: frozenset[str] = frozenset({"agent", "edit", "write", "task", "skill", "notebook"})
    """Tool classes whose results no rule touches."""
    elide_diffs: bool = False
    """The fallback may elide diffs, too."""
    outline_reads: bool = False
    """Of reads of source files the declarations stay, and not head and tail."""


@dataclass(frozen=True, slots=True)
class CompactionStats:
    """What one text's compaction did; `rule` is the one that fired, or a pass-through reason; sizes in UTF-8 bytes."""

    rule: str
    original_bytes: int
    compacted_bytes: int
    applied: bool


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The compacted text and its statistics; the text is the input itself when nothing was applied."""

    text: str
    stats: CompactionStats
