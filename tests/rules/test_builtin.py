"""The list of built-in rules and its order."""

from __future__ import annotations

from pipeline.rules.builtin import BUILTIN_RULES, FALLBACK_RULE, HTML_RULE_ID, JSON_RULE_ID
from pipeline.rules.dedup_elide import FALLBACK_RULE_ID

PUBLISHED = ["git-status", "test-output", "html-to-text"]


def test_the_rules_are_tried_in_their_published_order() -> None:
    names = [rule.id for rule in BUILTIN_RULES]
    assert [name for name in names if name in PUBLISHED] == PUBLISHED
    assert names[0] == JSON_RULE_ID
    assert HTML_RULE_ID in names


def test_names_are_unique() -> None:
    names = [rule.id for rule in (*BUILTIN_RULES, FALLBACK_RULE)]
    assert len(set(names)) == len(names)


def test_the_fallback_takes_every_text() -> None:
    assert FALLBACK_RULE.id == FALLBACK_RULE_ID
    assert FALLBACK_RULE.matches("", "")
    assert FALLBACK_RULE.matches("Read", "x")
    assert FALLBACK_RULE.compact("hello you\n" * 3) == "hello you  (×3)\n"


def test_no_built_in_rule_takes_a_plain_text() -> None:
    for name in ("Bash", "Read", "exec", "unknown"):
        assert not any(rule.matches(name, "plain text\nof two lines\n") for rule in BUILTIN_RULES)
