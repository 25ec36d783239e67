"""`compactd config`: what holds, and where it comes from; tests of rules; trust in the rules of a project."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from pipeline.commands.arguments import load_settings, note, print_document, set_up_logging
from pipeline.config import DEFAULT, Loaded, config_folder, read_bytes, rules_in
from pipeline.errors import UsageError

EXAMPLE = (
    "  compactd config show\n  compactd config check --config ./compactd.toml\n"
    "  compactd config trust ./compactd.rules.toml"
)
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "what",
        choices=("show", "check", "trust"),
        metavar="show|check|trust",
        help="print each value with its origin; only check, and run the rules' own tests; trust a project's rule FILE",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a project's rule file, for trust")


def run(arguments: argparse.Namespace) -> int:
    """Show, check or trust; what is wrong ends with exit code 2, as everywhere."""
    set_up_logging(arguments.log_level, default="warning")
    if (arguments.what == "trust") != (arguments.file is not None):
        need = "a FILE" if arguments.what == "trust" else "no FILE"
        raise UsageError(f"config {arguments.what}: need {need}, got {arguments.file or 'none'}")
    if arguments.what == "trust":
        return _trust(arguments.file, as_json=arguments.json)
    loaded = load_settings(arguments, compacts=True)
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


def _trust(path: str, *, as_json: bool) -> int:
    """A file is trusted only when it is fine: its rules are checked first, and their tests run."""
    from pipeline.monitor.rule_tests import problems_of
    from pipeline.trust import trust

    data = read_bytes(path)
    rules = rules_in(data, path)
    problems = [f"{path}: {problem}" for problem in problems_of(rules)]
    if problems:
        for problem in problems:
            note(f"compactd: {problem}")
        return 1
    trust(path, data, config_folder())
    if as_json:
        print_document("config", [{"rule": rule.id} for rule in rules], {"file": path})
    else:
        note(f"{path}: trusted as it is now; its rules: {', '.join(rule.id for rule in rules)}")
    return 0


def _rows(loaded: Loaded) -> list[dict[str, Any]]:
    values = asdict(loaded.settings)
    values["root"] = values.pop("roots")
    values["rule"] = [rule["id"] for rule in values.pop("rules")]
    rows: list[dict[str, Any]] = []
    for key, origin in loaded.origins.items():
        section, _, name = key.rpartition(".")
        rows.append({"key": key, "value": values[section][name] if section else values[key], "origin": origin})
    return rows


def _check(loaded: Loaded, *, as_json: bool) -> int:
    from pipeline.disk.scan import roots_of
    from pipeline.monitor.rule_tests import problems_of

    # A root that is missing would stop backfill and watch.
    roots_of(loaded.settings.roots)
    problems = problems_of(loaded.settings.rules)
    given = sum(origin != DEFAULT for origin in loaded.origins.values())
    settings = loaded.settings
    tests = sum(len(rule.tests) for rule in settings.rules)
    if as_json:
        total = {"file": loaded.path, "given": given, "roots": len(settings.roots), "rules": len(settings.rules)}
        print_document("config", [{"problem": problem} for problem in problems], {**total, "tests": tests})
        return 1 if problems else 0
    for problem in problems:
        note(f"compactd: {loaded.origins['rule']}: {problem}")
    if problems:
        return 1
    file = f"{loaded.path}: fine" if loaded.path else f"{loaded.looked_at}: no such file, so the defaults hold"
    from pipeline.monitor.tables import counted, printable

    rules = ""
    if settings.rules:
        rules = f"; {counted(len(settings.rules), 'rule')} of {loaded.origins['rule']} with {counted(tests, 'test')}"
    print(printable(f"{file}; {counted(given, 'value')} given, {counted(len(settings.roots), 'root')}{rules}"))
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
