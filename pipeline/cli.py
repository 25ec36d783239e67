"""The command line: picks the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

from pipeline import __version__
from pipeline.errors import CompactdError, OutputError, UsageError

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
# Records are trees, so counting references frees them; looking for cycles every 700 objects took a tenth of the time.
GC_THRESHOLD = 100_000

# Name -> what it does. The modules of the same names in `commands` are loaded only when they are called for.
COMMANDS = {
    "backfill": "compact all sessions that are there now",
    "watch": "compact sessions as they are written, until stopped",
    "compact": "compact one file or standard input, keeping no state",
    "stats": "show how much was saved, and where",
    "show": "show what happened to the records of a session",
    "restore": "write a session's source again, byte for byte",
    "recall": "print what stood where a mark is",
    "verify": "check outputs, vault and ledger against the sources",
    "forget": "remove a session's output, rows and originals",
    "config": "show or check the configuration",
    "explain": "show what the rules make of a text, and why",
    "fidelity": "measure what is still visible in the compacted sessions",
    "doctor": "check the machine, with a remedy for each trouble",
}

_HEAD = """\
usage: compactd COMMAND [options]

Compacts the session files of AI agents: small to keep, quick to search,
every cut recallable byte for byte. Sources are only read.

commands:
"""
_TAIL = """
options:
  -h, --help     this text; `compactd COMMAND --help` tells all about a command
  -V, --version  print the version

example:
  compactd backfill ~/.claude/projects
  compactd stats --by tool
"""


def entry() -> None:
    """Run the command line of this process and exit."""
    gc.set_threshold(GC_THRESHOLD)
    _open_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Where the terminal has no Unicode, odd characters become escapes and not an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_left()
    except OSError as error:
        code = _told([OutputError(f"standard output: {error.strerror}")])
        _reader_left()
    raise SystemExit(code)


def _open_streams() -> None:
    """Give each standard stream that was closed a place, before the next file gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Args:
        argv: the arguments behind the program's name.

    Returns:
        0 fine, 1 a file failed or verify found a difference, 2 wrong arguments, configuration or a missing PATH, 130
        interrupted, 141 nobody reads the output any more. Errors are one line each on standard error.

    Source: README.md, "Commands".
    """
    try:
        return _run(argv)
    except CompactdError as error:
        return _told([error])
    except BaseExceptionGroup as group:
        errors, rest = group.split(CompactdError)
        if errors is None or rest is not None:
            raise
        return _told(_leaves(errors))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        # The rooms name the places of their own troubles; what is left is mostly a full disk behind standard output.
        return _told([OutputError(f"{error.filename or 'standard output'}: {error.strerror}")])


def _run(argv: Sequence[str]) -> int:
    first = argv[0] if argv else "--help"
    if first in ("-V", "--version"):
        print(f"compactd {__version__}")
        return 0
    if first in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        print(_HEAD + "".join(f"  {name:{width}}  {what}\n" for name, what in COMMANDS.items()) + _TAIL, end="")
        return 0 if argv else WRONG_USE
    if first not in COMMANDS:
        raise UsageError(f"need a command ({', '.join(COMMANDS)}) first, got {first!r}")
    import importlib

    from pipeline.commands.arguments import parse

    command = importlib.import_module(f"pipeline.commands.{first}")
    arguments = parse(first, COMMANDS[first], command, argv[1:])
    return int(command.run(arguments)) if arguments is not None else 0


def _told(errors: Sequence[BaseException]) -> int:
    from pipeline.monitor.tables import printable

    for error in errors:
        # File names may hold anything, but an error stays one line.
        print(f"compactd: {printable(str(error))}", file=sys.stderr)
    return WRONG_USE if any(isinstance(error, UsageError) for error in errors) else FAILED


def _leaves(group: BaseExceptionGroup[CompactdError]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


def _reader_left() -> int:
    # The interpreter flushes standard output once more when it ends, and would complain.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return BROKEN_PIPE
