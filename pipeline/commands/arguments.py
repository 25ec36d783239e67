"""What the commands share: the parser with its common options, the settings, documents for --json."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NoReturn, Protocol

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.config import Loaded
    from pipeline.settings import RootSettings, Settings

SCHEMA = 1
"""Version of the --json documents."""
LOG_LEVELS = ("debug", "info", "warning", "error")


class Command(Protocol):
    """What a module in `commands` has; `JSON` says whether the command takes --json."""

    EXAMPLE: str
    JSON: bool

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.partition(' ')[2]}: {message}; see `{self.prog} --help`")


def parse(name: str, what: str, command: Command, argv: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of a command; None when its help was asked for and printed.

    Raises:
        UsageError: they are wrong.
    """
    parser = _Parser(
        f"compactd {name}",
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=f"example:\n{command.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    command.add_arguments(parser)
    common = parser.add_argument_group("common options")
    common.add_argument("-h", "--help", action="store_true", help="print this text")
    common.add_argument("--config", metavar="FILE", help="configuration file (default: the user's compactd.toml)")
    common.add_argument("--out", metavar="DIR", help="folder of the compacted sessions")
    common.add_argument("--state", metavar="DIR", help="folder of ledger and vault")
    common.add_argument("--log-level", choices=LOG_LEVELS, metavar="LEVEL", help=f"one of {', '.join(LOG_LEVELS)}")
    if command.JSON:
        common.add_argument("--json", action="store_true", help="print one JSON document")
    # Help has to be there also when a needed argument is not.
    if any(argument in ("-h", "--help") for argument in argv[: _end_of_options(argv)]):
        print(parser.format_help(), end="")
        return None
    return parser.parse_args(list(argv))


def load_settings(arguments: argparse.Namespace, *, compacts: bool = False) -> Loaded:
    """The settings for the common options and this process's environment.

    Args:
        arguments: with the common options.
        compacts: rules matter here, so those of the project around the current folder are read, too; tells of rules
            that are not trusted.

    Raises:
        ConfigError: they are wrong.
    """
    from pipeline.config import load

    flags = {"out": arguments.out, "state": arguments.state}
    project = os.getcwd() if compacts else None
    loaded = load(path=arguments.config, flags=flags, environ=os.environ, project=project)
    if loaded.untrusted:
        note(
            f"compactd: {loaded.untrusted}: its rules are not used; look at them, then run "
            f"`compactd config trust {loaded.untrusted}`"
        )
    return loaded


def targets_of(arguments: argparse.Namespace, settings: Settings, command: str) -> Sequence[RootSettings | str]:
    """The PATHs that were given, else the roots of the configuration.

    Raises:
        UsageError: there are neither.
    """
    targets: Sequence[RootSettings | str] = arguments.paths or settings.roots
    if not targets:
        raise UsageError(f"{command}: need a PATH, or [[root]] tables in the config file, got none")
    return targets


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The PATH arguments of `backfill` and `watch`."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="file, folder or glob (default: the [[root]] tables of the config file)",
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option --format."""
    from pipeline.keys import FORMAT_NAMES

    parser.add_argument(
        "--format", choices=FORMAT_NAMES, metavar="NAME", help=f"one of {', '.join(FORMAT_NAMES)} (default: auto)"
    )


def print_document(
    command: str, rows: Iterable[Mapping[str, Any]], total: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
) -> None:
    """Print the --json document, a row at a time: there may be millions.

    Args:
        command: its name.
        rows: taken one by one.
        total: or what gives it when all rows were taken.

    Source: README.md.
    """
    from json import dumps

    def put(value: object, before: str = "", behind: str = "") -> None:
        text = before + dumps(value, ensure_ascii=False, default=_no_json) + behind
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())

    put(SCHEMA, '{"schema": ', ', "command": ')
    put(command, behind=', "rows": [')
    for number, row in enumerate(rows):
        put(row, ", " if number else "")
    put(total() if callable(total) else total, '], "total": ', "}\n")


def set_up_logging(level: str | None, *, default: str) -> None:
    """Log to standard error from this level on."""
    import logging
    import time

    formatter = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    log = logging.getLogger("compactd")
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel((level or default).upper())


def note(text: str, stream: IO[str] | None = None) -> None:
    """A line for people on standard error; file names in it cannot break it."""
    from pipeline.monitor.tables import printable

    print(printable(text), file=stream or sys.stderr)


def _end_of_options(argv: Sequence[str]) -> int:
    return argv.index("--") if "--" in argv else len(argv)


def _no_json(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    raise TypeError(f"no JSON form: {value!r}")
