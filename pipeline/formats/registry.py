"""The known formats by name; a new format is one new file and one line here."""

from __future__ import annotations

from types import MappingProxyType

from pipeline.formats.base import Format
from pipeline.formats.claude_code import ClaudeCode
from pipeline.formats.openviking import OpenViking
from pipeline.formats.passing import Passing

UNKNOWN = "unknown"

FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {
        format_.name: format_
        for format_ in (
            ClaudeCode(),
            OpenViking(),
            Passing("openclaw"),
            Passing("codex"),
            Passing("chat"),
            Passing("gemini", whole_document=True),
            Passing(UNKNOWN),
        )
    }
)
