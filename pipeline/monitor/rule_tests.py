"""The inline tests of rules of one's own, run and told."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.rules.overlay import failed_tests
from pipeline.settings import RuleSettings


def problems_of(rules: Iterable[RuleSettings]) -> list[str]:
    """A line for each test that fails: rule, number of the test, what it needs and what came."""
    return [
        f"rule {rule.id}: test {problem.number}: need {problem.need!r}, got {problem.came!r}"
        for rule in rules
        for problem in failed_tests(rule)
    ]
