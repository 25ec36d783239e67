"""The values that flow through the chain: records, sites, plans, edits, batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pipeline.rules.base import ToolContext

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of a JSON document to one of its values."""

STAGE_INPUT = "tool-input"
STAGE_RESULT = "tool-result"

# Reasons why a record was not decoded (README.md, P1). An empty reason means that nothing was wrong.
NOT_JSON = "not-json"
NOT_UTF8 = "not-utf8"
NOT_OBJECT = "not-object"
TOO_LONG = "too-long"
TOO_DEEP = "too-deep"
NUL_RUN = "nul-run"
BLANK = "blank"
# The format is known but not compacted yet, or unknown.
NO_RULES = "format-without-rules"


class Outcome(StrEnum):
    """What happened to a record."""

    UNTOUCHED = "untouched"
    EDITED = "edited"
    UNDECODED = "undecoded"


# Looking up a member of an enumeration is slow, and these are asked for at each record.
_UNTOUCHED, _EDITED, _UNDECODED = Outcome.UNTOUCHED, Outcome.EDITED, Outcome.UNDECODED


class Where(StrEnum):
    """Where the mark goes in an edited value."""

    LAST_LINE = "last-line"
    DIFF_HEAD = "diff-head"
    JSON_MEMBER = "json-member"
    JSON_ELEMENT = "json-element"
    JSON_LINE = "json-line"
    FENCE = "fence"
    WHOLE = "whole"
    NONE = "none"
    BLOCK_TEXT = "block-text"
    """Last line of the `text` of a content block that takes the place of another block."""
    SPLIT = "split"
    """Between `new` and `tail` of the plan: the last inner line of a block in the middle of prose."""


class Treat(StrEnum):
    """What a site holds, and so which part of the rules may touch it."""

    INPUT = "input"
    """A tool input: a JSON object, or a bare string."""
    TEXT = "text"
    """The visible text of a result: rules and guard."""
    MARKDOWN = "markdown"
    """Prose that may hold tool calls and results as text blocks."""
    MIRROR = "mirror"
    """A hidden repetition of a result text: a reference when a guarded equal is earlier, else like TEXT."""
    FILE = "file"
    """A hidden file body: a reference when any equal is earlier, else elided; no failure guarantee (P4)."""
    COPY_ONLY = "copy-only"
    """A text or list that is only ever replaced by a reference to an earlier equal; else whole."""
    GROWING = "growing"
    """Output so far, repeated in each progress record: what the record before held becomes a reference."""
    CONTAINED = "contained"
    """A part of a text in the same record, also as a list of its lines: a reference."""
    STUB = "stub"
    """A text that stands for an output kept elsewhere: whole."""
    LINES = "lines"
    """A list of strings, such as the lines of a patch hunk or file names."""
    IMAGE = "image"
    """A base64 image: a block object or a string."""


@dataclass(slots=True)
class Site:
    """A place in a record that holds a tool input, a tool result or a copy of one."""

    path: Path
    value: Json
    treat: Treat
    tool: str
    context: ToolContext
    call_id: str = ""
    media: str = ""
    """Media type of a base64 string; "" if it is unknown, or if the value tells it itself."""
    document: int = 0
    inside: Path | None = None
    """If set, `path` leads to a string that holds JSON, and this on to `value` in it."""
    decisions: list[Decision] = field(default_factory=list)
    """What the stages decided: a note each, with its plan where something is to be edited."""


@dataclass(slots=True)
class Note:
    """What was decided about one site and why: one row of the ledger's site table.

    `applied` is false for a site that was considered and left; its sizes are then equal. Sizes are encoded bytes in
    the record (for a site that was left: of its compact encoding, as its place is not looked for). `offset` is the
    place of the new value in the output record, `value_digest` the SHA-256 of the original token's source bytes; both
    are set for applied edits only. The splice stage sets them all.
    """

    stage: str
    tool: str
    rule: str
    reason: str
    applied: bool = False
    offset: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    value_digest: bytes = b""


@dataclass(slots=True)
class Plan:
    """An edit that was decided on but whose bytes are not known yet.

    `new` is the value without its mark; the splice stage adds the mark at `where`, once the original token and so
    its handle is known. `lost_lines` and `lost_bytes` (UTF-8) are what the mark tells.
    """

    document: int
    path: Path
    old: Json
    new: Json
    where: Where
    lost_lines: int
    lost_bytes: int
    note: Note
    copy: bool = False
    tail: str = ""
    inside: Path | None = None
    """If set, `path` leads to a string that holds JSON, and this on to the value in it."""


Decision: TypeAlias = "tuple[Note, Plan | None]"


@dataclass(slots=True)
class Edit:
    """One replaced JSON value token of a record: source span, new bytes and the original token's digest."""

    start: int
    end: int
    new: bytes
    original: bytes
    note: Note


@dataclass(slots=True)
class Document:
    """One JSON value in a record: the byte span in the record, and its decoded form."""

    start: int
    end: int
    value: Json
    lenient: bool = False
    """Decoded by the slow decoder (lone surrogates); has to be checked with it, too."""


@dataclass(slots=True)
class Record:
    """One source line (or whole document) with its byte span, 1-based ordinal and what the stages found out.

    A record longer than `max_record_bytes` travels as several pieces with the same ordinal: `raw` is then a part,
    and only the piece with `ends` true makes a ledger row.
    """

    ordinal: int
    offset: int
    raw: bytes
    reason: str = ""
    ends: bool = True
    piece: bool = False
    documents: list[Document] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    output: bytes = b""
    day: str = ""
    """The record's own timestamp as YYYY-MM-DD (UTC); empty when it has none."""
    exact_scan: bool = False
    """The exact scanner was needed to find a span."""

    @property
    def outcome(self) -> Outcome:
        if self.reason:
            return _UNDECODED
        return _EDITED if self.edits else _UNTOUCHED
