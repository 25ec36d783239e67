"""compactd: compacts the session files of AI agents; every cut can be undone. The library's public names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pipeline.rules.base import (
        CompactionResult,
        CompactionRule,
        CompactionStats,
        CompactOptions,
        ToolContext,
    )
    from pipeline.rules.builtin import BUILTIN_RULES
    from pipeline.rules.dedup_elide import FALLBACK_RULE_ID, dedup_and_elide
    from pipeline.rules.failures import FAILURE_RE, failure_lines
    from pipeline.rules.git_status import compact_git_status
    from pipeline.rules.html_text import html_to_text
    from pipeline.rules.markdown import compact_tool_result_markdown
    from pipeline.rules.output import compact_tool_output
    from pipeline.rules.test_output import compact_test_output
    from pipeline.rules.tool_input import TOOL_INPUT_POLICIES, compact_tool_input, compact_tool_input_text
    from pipeline.rules.urls import shorten_urls
    from pipeline.runs.lines import CompactedRecord, compact_lines
    from pipeline.settings import Settings

# Where each public name lives. Loaded on first use, so that the command line starts quickly.
_HOMES = {
    "BUILTIN_RULES": "rules.builtin",
    "CompactOptions": "rules.base",
    "CompactedRecord": "runs.lines",
    "CompactionResult": "rules.base",
    "CompactionRule": "rules.base",
    "CompactionStats": "rules.base",
    "FAILURE_RE": "rules.failures",
    "FALLBACK_RULE_ID": "rules.dedup_elide",
    "Settings": "settings",
    "TOOL_INPUT_POLICIES": "rules.tool_input",
    "ToolContext": "rules.base",
    "compact_git_status": "rules.git_status",
    "compact_lines": "runs.lines",
    "compact_test_output": "rules.test_output",
    "compact_tool_input": "rules.tool_input",
    "compact_tool_input_text": "rules.tool_input",
    "compact_tool_output": "rules.output",
    "compact_tool_result_markdown": "rules.markdown",
    "dedup_and_elide": "rules.dedup_elide",
    "failure_lines": "rules.failures",
    "html_to_text": "rules.html_text",
    "shorten_urls": "rules.urls",
}

__all__ = [
    "BUILTIN_RULES",
    "FAILURE_RE",
    "FALLBACK_RULE_ID",
    "TOOL_INPUT_POLICIES",
    "CompactOptions",
    "CompactedRecord",
    "CompactionResult",
    "CompactionRule",
    "CompactionStats",
    "Settings",
    "ToolContext",
    "compact_git_status",
    "compact_lines",
    "compact_test_output",
    "compact_tool_input",
    "compact_tool_input_text",
    "compact_tool_output",
    "compact_tool_result_markdown",
    "dedup_and_elide",
    "failure_lines",
    "html_to_text",
    "shorten_urls",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
