"""`compactd recall`: what stood where a mark is."""

from __future__ import annotations

import argparse
import sys

from pipeline.commands.arguments import load_settings, set_up_logging

EXAMPLE = "  compactd recall 3f9a0c41d2b7e685\n  compactd recall 3f9a0c41d2b7e685 --raw > token.json"
JSON = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("handle", metavar="HANDLE", help="the hex digits in the mark")
    parser.add_argument("--raw", action="store_true", help="the very bytes of the JSON value, not its decoded text")


def run(arguments: argparse.Namespace) -> int:
    """Print the original; on a terminal it ends with a line end in any case."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.runs.restoring import recall

    data = recall(settings, arguments.handle, raw=arguments.raw)
    sys.stdout.buffer.write(data)
    if sys.stdout.isatty() and not data.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    return 0
