"""The built-in text rules in the order they are tried, and the fallback for every other text."""

from __future__ import annotations

from pipeline.rules import (
    base64_runs,
    builds,
    git_status,
    html_text,
    json_prune,
    linters,
    listings,
    logs,
    packages,
    progress,
    search_results,
    test_output,
    test_runners,
    vcs_log,
    web_pages,
)
from pipeline.rules.base import CompactionRule
from pipeline.rules.dedup_elide import FALLBACK_RULE_ID, dedup_and_elide

BUILTIN_RULES: tuple[CompactionRule, ...] = (
    # What is JSON stays JSON, so that no other rule is for it.
    json_prune.RULE,
    git_status.RULE,
    vcs_log.RULE,
    test_output.RULE,
    test_runners.RULE,
    # Knows the noise of packages, too: a build mostly begins with an install.
    builds.RULE,
    linters.RULE,
    packages.RULE,
    html_text.RULE,
    web_pages.RULE,
    listings.RULE,
    search_results.RULE,
    progress.RULE,
    logs.RULE,
    base64_runs.RULE,
)
"""Tried after the rules of the configuration, each on what those before have left. Source: README.md."""

HTML_RULE_ID = html_text.RULE.id
JSON_RULE_ID = json_prune.RULE.id


def _any_text(_tool_name: str, _output: str) -> bool:
    return True


FALLBACK_RULE = CompactionRule(FALLBACK_RULE_ID, _any_text, dedup_and_elide)
"""What is tried on a text that no other rule matches."""
