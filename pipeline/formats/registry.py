"""The known formats by name; a new format is one new file and one line here."""

from __future__ import annotations

from types import MappingProxyType

from pipeline.formats.base import Format
from pipeline.formats.chat import Chat
from pipeline.formats.claude_code import ClaudeCode
from pipeline.formats.codex import Codex
from pipeline.formats.gemini import Gemini, GeminiLines
from pipeline.formats.openclaw import OpenClaw
from pipeline.formats.openviking import OpenViking
from pipeline.formats.passing import Passing

UNKNOWN = "unknown"

FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {
        format_.name: format_
        for format_ in (
            ClaudeCode(),
            OpenViking(),
            OpenClaw(),
            Codex(),
            Chat(),
            Gemini(),
            GeminiLines(),
            Passing(UNKNOWN),
        )
    }
)
