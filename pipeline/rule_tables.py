"""[[rule]] tables of a TOML file to rules of one's own, each checked whole."""

from __future__ import annotations

import re
from typing import Any

from pipeline.errors import ConfigError
from pipeline.settings import RuleSettings, RuleTest

_TEXTS = ("id", "command", "shape")
_LISTS = ("tools", "drop", "fold", "keep")
_KEYS = (*_TEXTS, *_LISTS, "replace", "test")
_GROUP = re.compile(r"\\([0-9])")
_TEST_KEYS = ("input", "output", "tool", "command")


def rules_of(tables: Any, path: str) -> tuple[RuleSettings, ...]:
    """The rules of a file's [[rule]] tables, in order.

    Args:
        tables: what stands under `rule`.
        path: the file, for messages.

    Raises:
        ConfigError: with place, need and what came; also for a pattern that the linear-time engine does not take.

    Source: config/compactd.toml, [[rule]].
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: rule: need tables, [[rule]], got {_shown(tables)}")
    rules = tuple(_rule(table, f"{path}: rule {number}") for number, table in enumerate(tables, 1))
    ids = [rule.id for rule in rules]
    for number, id_ in enumerate(ids, 1):
        if id_ in ids[: number - 1]:
            raise ConfigError(f"{path}: rule {number}.id: need an id of its own, got {id_!r} again")
    return rules


def _rule(table: dict[str, Any], place: str) -> RuleSettings:
    _known(table, _KEYS, place)
    if not table.get("id"):
        raise ConfigError(f"{place}: need an id, got none")
    given: dict[str, Any] = {key: _text(table[key], f"{place}.{key}") for key in _TEXTS if key in table}
    given.update((key, _texts(table[key], f"{place}.{key}")) for key in _LISTS if key in table)
    rule = RuleSettings(
        **given,
        replace=_pairs(table.get("replace", []), f"{place}.replace"),
        tests=_tests(table.get("test", []), f"{place}.test"),
    )
    _check_patterns(rule, place)
    return rule


def _pairs(value: Any, place: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{place}: need a list of {{pattern = ..., with = ...}}, got {_shown(value)}")
    pairs: list[tuple[str, str]] = []
    for item in value:
        _known(item, ("pattern", "with"), place)
        pairs.append((_text(item.get("pattern"), f"{place}.pattern"), _text(item.get("with"), f"{place}.with")))
    return tuple(pairs)


def _tests(value: Any, place: str) -> tuple[RuleTest, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{place}: need tables, [[rule.test]], got {_shown(value)}")
    tests: list[RuleTest] = []
    for number, item in enumerate(value, 1):
        here = f"{place} {number}"
        _known(item, _TEST_KEYS, here)
        for key in ("input", "output"):
            if key not in item:
                raise ConfigError(f"{here}: need {key}, got none")
        tests.append(RuleTest(**{key: _text(text, f"{here}.{key}") for key, text in item.items()}))
    return tuple(tests)


def _check_patterns(rule: RuleSettings, place: str) -> None:
    from pipeline.rules.overlay import compiled  # loads the engine: only who has rules needs it

    patterns = [("command", rule.command), ("shape", rule.shape)]
    patterns += [(key, pattern) for key in ("drop", "fold", "keep") for pattern in getattr(rule, key)]
    for key, pattern in patterns:
        try:
            compiled(pattern)
        except ValueError as error:
            raise ConfigError(
                f"{place}.{key}: need a pattern of RE2 (nothing that looks around or back), got {_shown(pattern)}: "
                f"{error}"
            ) from None
    for pattern, new in rule.replace:
        try:
            groups = compiled(pattern).groups
        except ValueError as error:
            raise ConfigError(f"{place}.replace: need a pattern of RE2, got {_shown(pattern)}: {error}") from None
        if any(int(number) > groups for number in _GROUP.findall(new)):
            raise ConfigError(f"{place}.replace: need only groups that {_shown(pattern)} has, got {_shown(new)}")


def _known(table: dict[str, Any], keys: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in keys:
            raise ConfigError(f"{place}: need one of {', '.join(keys)}, got {_shown(key)}")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{place}: need a text, got {_shown(value)}")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{place}: need a list of texts, got {_shown(value)}")
    return tuple(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
