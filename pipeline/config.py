"""Settings from flags, environment, file and defaults: checked whole, each value with its origin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.errors import ConfigError
from pipeline.keys import KINDS, ROOT, SECTIONS, TOP, Kind
from pipeline.rule_tables import rules_of
from pipeline.settings import RootSettings, RuleSettings, Settings
from pipeline.trust import is_trusted, project_file

PREFIX = "COMPACTD_"
CONFIG_VARIABLE = "COMPACTD_CONFIG"
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "COMPACTD_FAILPOINT"})
"""Names with our prefix that are no keys: the path of the file, and what the crash tests set."""
HISTORIC_VARIABLES = {
    "OPENVIKING_TOOL_INPUT_COMPACTION": "tool_input.enabled",
    "OPENVIKING_TOOL_INPUT_MAX_CHARS": "tool_input.max_chars",
}
"""Names from before there was a config file; our own name for the same key wins."""

DEFAULT = "default"
_INCLUDE_NEED = 'a list of patterns such as "**/*.jsonl"'


@dataclass(frozen=True, slots=True)
class Loaded:
    """Checked settings.

    Attributes:
        settings: with absolute paths.
        origins: "section.key", "out", "state" or "root" -> "default", the file's path, "environment NAME" or
            "flag --name".
        path: the file that was read, "" if there was none.
        looked_at: where a file was looked for.
        untrusted: a project's rule file that is not used, since its content is not trusted; "" if there is none.
    """

    settings: Settings
    origins: dict[str, str]
    path: str
    looked_at: str
    untrusted: str = ""


def load(
    *,
    path: str | None = None,
    flags: Mapping[str, str | None] | None = None,
    environ: Mapping[str, str],
    project: str | None = None,
) -> Loaded:
    """Put the settings together: flags before environment before file before defaults.

    Args:
        path: the config file; None for the one that the environment names, else the one in the user's config folder,
            which may be missing.
        flags: key -> text as for an environment variable; None values were not given. Their paths, and those of the
            environment, are relative to the current folder, those of the file to its folder.
        environ: the environment.
        project: a folder; the rules of the project around it come before those of the config file, if its rule file
            is trusted.

    Raises:
        ConfigError: with place, need and what came.

    Source: README.md, "Configuration".
    """
    named = path if path is not None else environ.get(CONFIG_VARIABLE)
    looked_at = named if named is not None else default_path()
    document = None if named is None and not os.path.lexists(looked_at) else _parsed(read_bytes(looked_at), looked_at)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if document is not None:
        _take_document(document, looked_at, values, origins)
    _take_environment(environ, values, origins)
    for key, text in (flags or {}).items():
        if text is not None:
            flag = f"--{key.rpartition('.')[2].replace('_', '-')}"
            _take_text(key, text, flag, f"flag {flag}", values, origins)
    untrusted = _take_project(project, values, origins) if project is not None else ""
    return _loaded(values, origins, looked_at if document is not None else "", looked_at, untrusted)


def default_path() -> str:
    """The config file in the user's config folder."""
    return os.path.join(config_folder(), "compactd.toml")


def config_folder() -> str:
    """The user's config folder."""
    import platformdirs

    return platformdirs.user_config_dir("compactd", appauthor=False)


def rules_in(data: bytes, path: str) -> tuple[RuleSettings, ...]:
    """The rules of a project's rule file.

    Raises:
        ConfigError: it is wrong, or has more than [[rule]] tables.
    """
    document = _parsed(data, path)
    for name in document:
        if name != "rule":
            raise ConfigError(f"{path}: need only [[rule]] tables, got {_shown(name)}")
    return rules_of(document.get("rule", []), path)


def read_bytes(path: str) -> bytes:
    """A file's content.

    Raises:
        ConfigError: it is missing or cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise ConfigError(f"{path}: need a config file, it is missing") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from error


def _parsed(data: bytes, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: need UTF-8, got byte 0x{data[error.start]:02x} at {error.start}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: need TOML, got: {error}") from error


def _take_document(document: dict[str, Any], path: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    for name, value in document.items():
        if name in TOP:
            values[name] = _absolute(_accepted(TOP[name], value, f"{path}: {name}"), folder)
            origins[name] = path
        elif name == "root":
            values[name] = _roots(value, path, folder)
            origins[name] = path
        elif name == "rule":
            values[name] = rules_of(value, path)
            origins[name] = path
        elif name in KINDS:
            if not isinstance(value, dict):
                raise ConfigError(f"{path}: {name}: need a table, [{name}], got {_shown(value)}")
            for key, item in value.items():
                if key not in KINDS[name]:
                    raise ConfigError(f"{path}: {name}: need one of {', '.join(KINDS[name])}, got {_shown(key)}")
                values[f"{name}.{key}"] = _accepted(KINDS[name][key], item, f"{path}: {name}.{key}")
                origins[f"{name}.{key}"] = path
        else:
            raise ConfigError(f"{path}: need one of {', '.join((*TOP, 'root', 'rule', *KINDS))}, got {_shown(name)}")


def _take_project(folder: str, values: dict[str, Any], origins: dict[str, str]) -> str:
    """Put a project's rules before the user's; gives the path of its rule file if that is not trusted."""
    path = project_file(folder)
    if path is None:
        return ""
    data = read_bytes(path)
    if not is_trusted(path, data, config_folder()):
        return path
    values["rule"] = (*rules_in(data, path), *values.get("rule", ()))
    origins["rule"] = f"{path}, {origins['rule']}" if "rule" in origins else path
    return ""


def _roots(tables: Any, path: str, folder: str) -> tuple[RootSettings, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: root: need tables, [[root]], got {_shown(tables)}")
    roots: list[RootSettings] = []
    for number, table in enumerate(tables, 1):
        place = f"{path}: root {number}"
        for key in table:
            if key not in (*ROOT, "include"):
                raise ConfigError(f"{place}: need one of {', '.join((*ROOT, 'include'))}, got {_shown(key)}")
        if "path" not in table:
            raise ConfigError(f"{place}: need a path, got none")
        found = {key: _accepted(ROOT[key], table[key], f"{place}.{key}") for key in ROOT if key in table}
        found["path"] = _absolute(found["path"], folder)
        if "include" in table:
            found["include"] = _include(table["include"], f"{place}.include")
        roots.append(RootSettings(**found))
    return tuple(roots)


def _include(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{place}: need {_INCLUDE_NEED}, got {_shown(value)}")
    return tuple(value)


def _take_environment(environ: Mapping[str, str], values: dict[str, Any], origins: dict[str, str]) -> None:
    for name, key in HISTORIC_VARIABLES.items():
        if name in environ:
            _take_text(key, environ[name], name, f"environment {name}", values, origins)
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        section, dots, key = name.removeprefix(PREFIX).lower().partition("__")
        known = key in KINDS.get(section, {}) if dots else section in TOP
        if not known or name != name.upper():
            raise ConfigError(
                f"{name}: need {PREFIX}<SECTION>__<KEY> of a key in compactd.toml, {PREFIX}OUT, {PREFIX}STATE or "
                f"{CONFIG_VARIABLE}, got an unknown name"
            )
        _take_text(f"{section}.{key}" if dots else section, environ[name], name, f"environment {name}", values, origins)


def _take_text(key: str, text: str, place: str, origin: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    section, _, name = key.rpartition(".")
    kind = KINDS[section][name] if section else TOP[name]
    parsed = kind.from_text(text)
    # What came is shown as the user wrote it, not as it was understood.
    value = _accepted(kind, parsed, place, came=text)
    values[key] = value if section else os.path.abspath(os.path.expanduser(value))
    origins[key] = origin


def _loaded(values: dict[str, Any], origins: dict[str, str], path: str, looked_at: str, untrusted: str) -> Loaded:
    for name in TOP:
        if name not in values:
            values[name] = _default_folder(name)
    if values["out"] == values["state"]:
        raise ConfigError(f"out: need another folder than state, got {values['out']!r} for both")
    sections: dict[str, Any] = {}
    for section, cls in SECTIONS.items():
        sections[section] = cls(
            **{key: values[f"{section}.{key}"] for key in KINDS[section] if f"{section}.{key}" in values}
        )
    settings = Settings(
        out=values["out"],
        state=values["state"],
        roots=values.get("root", ()),
        rules=values.get("rule", ()),
        **sections,
    )
    keys = [*TOP, "root", "rule", *(f"{section}.{key}" for section, kinds in KINDS.items() for key in kinds)]
    return Loaded(settings, {key: origins.get(key, DEFAULT) for key in keys}, path, looked_at, untrusted)


def _default_folder(name: str) -> str:
    import platformdirs

    if name == "state":
        return os.path.abspath(platformdirs.user_state_dir("compactd", appauthor=False))
    # A folder of its own: on some platforms data and state are one folder.
    return os.path.join(os.path.abspath(platformdirs.user_data_dir("compactd", appauthor=False)), "sessions")


def _absolute(path: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _accepted(kind: Kind, value: Any, place: str, *, came: str | None = None) -> Any:
    try:
        return kind.accept(value)
    except ValueError as error:
        raise ConfigError(f"{place}: need {error}, got {_shown(value if came is None else came)}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
