"""The frozen settings that the rooms work by; `config.py` fills them from flags, environment, file and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Shape = Literal["auto", "summary", "in-place"]
Policy = Literal["whole", "elide"]
ReadPolicy = Literal["whole", "elide", "outline"]


@dataclass(frozen=True, slots=True)
class ToolInputSettings:
    """Tool-input compaction. `max_chars` counts code points; 0 means no cap."""

    enabled: bool = True
    max_chars: int = 2000
    shape: Shape = "auto"
    """auto: summary for OpenViking, in-place for all other formats."""
    policies: dict[str, str] = field(default_factory=dict)
    """Tool name -> "summary" | "full", in addition to the built-in table."""


@dataclass(frozen=True, slots=True)
class ToolResultSettings:
    """Tool-result compaction. Sizes in UTF-8 bytes, counts in lines."""

    enabled: bool = True
    min_bytes: int = 512
    min_savings: float = 0.05
    head_lines: int = 40
    tail_lines: int = 20
    file_reads: ReadPolicy = "elide"
    searches: Policy = "elide"
    listings: Policy = "elide"
    diffs: Policy = "whole"
    reports: Policy = "whole"


@dataclass(frozen=True, slots=True)
class RuleTest:
    """An inline test of a rule: what a text of this call becomes."""

    input: str
    output: str
    tool: str = "Bash"
    command: str = ""


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """A rule of one's own. All but the id are patterns; an empty condition always holds.

    `tools` are names or globs. `command` has to be found in the command line, `shape` in the text. Lines that match
    `keep` stay, of the others those that match `drop` go and runs of those that match `fold` become one with a
    count; `replace` are pairs of pattern and new text within the lines that are left.
    """

    id: str
    tools: tuple[str, ...] = ()
    command: str = ""
    shape: str = ""
    drop: tuple[str, ...] = ()
    fold: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    replace: tuple[tuple[str, str], ...] = ()
    tests: tuple[RuleTest, ...] = ()


@dataclass(frozen=True, slots=True)
class CopySettings:
    """Hidden copies. `min_bytes`: shorter copies stay as they are."""

    enabled: bool = True
    min_bytes: int = 512


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """Limits of the reader, in bytes and records."""

    max_record_bytes: int = 16 * 1024 * 1024
    batch_bytes: int = 256 * 1024
    batch_records: int = 2000


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """Group commit: whichever limit is reached first."""

    max_bytes: int = 16 * 1024 * 1024
    max_records: int = 50_000
    max_delay_seconds: float = 0.05
    sync_threads: int = 16


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """The daemon's clocks, in seconds."""

    sweep_seconds: float = 2.0
    """Every known file is looked at this often."""
    rescan_seconds: float = 45.0
    """The folders are walked this often."""
    retry_seconds: float = 1.0
    """First pause after a full disk or another output error; doubles up to 60."""
    stop_seconds: float = 5.0
    """SIGTERM drains this long at most."""


@dataclass(frozen=True, slots=True)
class RootSettings:
    """One root of the config file."""

    path: str
    format: str = "auto"
    include: tuple[str, ...] = ("**/*.jsonl", "**/*.json")


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """The store of originals. `frame_bytes`: uncompressed bytes of one frame at most."""

    enabled: bool = True
    level: int = 3
    frame_bytes: int = 4 * 1024 * 1024
    pack_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. `out` and `state` are absolute folders."""

    out: str = ""
    state: str = ""
    roots: tuple[RootSettings, ...] = ()
    tool_input: ToolInputSettings = ToolInputSettings()
    tool_result: ToolResultSettings = ToolResultSettings()
    rules: tuple[RuleSettings, ...] = ()
    """Rules of one's own, tried in this order before the built-in ones."""
    copies: CopySettings = CopySettings()
    reader: ReaderSettings = ReaderSettings()
    commit: CommitSettings = CommitSettings()
    watch: WatchSettings = WatchSettings()
    vault: VaultSettings = VaultSettings()


def output_digest(settings: Settings, rules_version: int) -> str:
    """A digest of what output bytes depend on besides the source: settings and the rules' version (README.md, P0)."""
    import hashlib  # not needed to start

    policies = sorted(settings.tool_input.policies.items())
    parts = (
        rules_version,
        settings.tool_input.enabled,
        settings.tool_input.max_chars,
        settings.tool_input.shape,
        policies,
        settings.tool_result,
        [replace(rule, tests=()) for rule in settings.rules],
        settings.copies,
        settings.reader.max_record_bytes,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
