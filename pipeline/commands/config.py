"""`compactd config`: what holds, and where it comes from."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from pipeline.commands.arguments import load_settings, print_document, set_up_logging
from pipeline.config import DEFAULT, Loaded

EXAMPLE = "  compactd config show\n  compactd config check --config ./compactd.toml"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "what", choices=("show", "check"), metavar="show|check", help="print each value with its origin, or only check"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show or check; what is wrong ends with exit code 2, as everywhere."""
    set_up_logging(arguments.log_level, default="warning")
    loaded = load_settings(arguments)
    if arguments.what == "check":
        return _check(loaded, as_json=arguments.json)
    rows = _rows(loaded)
    if arguments.json:
        print_document("config", rows, {"file": loaded.path})
        return 0
    from pipeline.monitor.tables import printable

    width = max(len(row["key"]) for row in rows)
    for row in rows:
        print(printable(f"{row['key']:{width}} = {_toml(row['value'])}  # {row['origin']}"))
    return 0


def _rows(loaded: Loaded) -> list[dict[str, Any]]:
    values = asdict(loaded.settings)
    values["root"] = values.pop("roots")
    rows: list[dict[str, Any]] = []
    for key, origin in loaded.origins.items():
        section, _, name = key.rpartition(".")
        rows.append({"key": key, "value": values[section][name] if section else values[key], "origin": origin})
    return rows


def _check(loaded: Loaded, *, as_json: bool) -> int:
    from pipeline.disk.scan import roots_of

    # A root that is missing would stop backfill and watch.
    roots_of(loaded.settings.roots)
    given = sum(origin != DEFAULT for origin in loaded.origins.values())
    if as_json:
        print_document("config", [], {"file": loaded.path, "given": given, "roots": len(loaded.settings.roots)})
        return 0
    file = f"{loaded.path}: fine" if loaded.path else f"{loaded.looked_at}: no such file, so the defaults hold"
    from pipeline.monitor.tables import printable

    print(printable(f"{file}; {given} values given, {len(loaded.settings.roots)} roots"))
    return 0


def _toml(value: Any) -> str:
    """A value as a TOML file would say it; good enough to read, and equal to it for all but odd strings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return str(value)
