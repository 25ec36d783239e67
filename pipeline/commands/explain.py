"""`compactd explain`: what the rules make of one text, to try them out."""

from __future__ import annotations

import argparse
import sys

from pipeline.commands.arguments import load_settings, note, print_document, set_up_logging
from pipeline.errors import SourceError, UsageError

EXAMPLE = "  compactd explain page.txt --tool WebFetch\n  pytest -q 2>&1 | compactd explain --command 'pytest -q'"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a text; - is standard input (default)")
    parser.add_argument("--tool", metavar="NAME", default="Bash", help="the tool that gave it (default: Bash)")
    parser.add_argument("--command", metavar="LINE", default="", help="the shell line that printed it")
    parser.add_argument("--path", metavar="PATH", default="", help="the file it was read from")
    parser.add_argument("--exit-code", metavar="N", type=int, help="exit code of the call")
    parser.add_argument("--error", action="store_true", help="the result was flagged as an error")


def run(arguments: argparse.Namespace) -> int:
    """Print the compacted text on standard output, and on standard error why."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments, compacts=True).settings
    text = _text(arguments.file)
    from pipeline.monitor.explain import document, explain, lines_of

    found = explain(
        text,
        arguments.tool,
        settings,
        command=arguments.command,
        path=arguments.path,
        exit_code=arguments.exit_code,
        is_error=arguments.error,
    )
    if arguments.json:
        print_document("explain", *document(found))
        return 0
    for line in lines_of(found):
        note(line)
    text = found.result.text
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    if sys.stdout.isatty() and not text.endswith("\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    return 0


def _text(name: str) -> str:
    """The text of a file or of standard input; bytes that are no UTF-8 are kept as escapes."""
    if name == "-":
        if sys.stdin.isatty():
            raise UsageError("explain: need a FILE or a text on standard input, got a terminal")
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    from pipeline.disk.files import read_text

    try:
        return read_text(name)
    except OSError as error:
        raise SourceError(f"{name}: cannot read: {error.strerror}") from error
