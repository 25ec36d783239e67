"""The built-in text rules in the order they are tried, and the fallback for every other text."""

from __future__ import annotations

from pipeline.rules import git_status, html_text, test_output
from pipeline.rules.base import CompactionRule
from pipeline.rules.dedup_elide import FALLBACK_RULE_ID, dedup_and_elide

BUILTIN_RULES: tuple[CompactionRule, ...] = (git_status.RULE, test_output.RULE, html_text.RULE)
"""Tried after the rules of the configuration; the first that matches decides. Source: design, 5.2."""

HTML_RULE_ID = html_text.RULE.id
TEST_RULE_ID = test_output.RULE.id


def _any_text(_tool_name: str, _output: str) -> bool:
    return True


FALLBACK_RULE = CompactionRule(FALLBACK_RULE_ID, _any_text, dedup_and_elide)
"""What is tried on a text that no other rule matches."""
