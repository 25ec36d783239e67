"""`compactd restore`: the source again, byte for byte, from output, vault and ledger."""

from __future__ import annotations

import argparse
import sys

from pipeline.commands.arguments import load_settings, set_up_logging
from pipeline.disk.targets import check_target, written

EXAMPLE = "  compactd restore 4f1c.jsonl -o 4f1c.restored.jsonl\n  compactd restore '#3' --generation 1 | head"
JSON = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("session", metavar="SESSION", help="source path, output path, unique end of one, or '#id'")
    parser.add_argument("--generation", type=_generation, metavar="N", help="an earlier life of it (default: current)")
    parser.add_argument("-o", dest="target", metavar="FILE", default="-", help="write here, not to standard output")


def run(arguments: argparse.Namespace) -> int:
    """Write the source; a file appears only when it is whole."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    if arguments.target != "-":
        check_target(arguments.target, settings)
    from pipeline.runs.restoring import restore

    if arguments.target == "-":
        restore(settings, arguments.session, arguments.generation, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return 0
    with written(arguments.target) as sink:
        restore(settings, arguments.session, arguments.generation, sink)
    return 0


def _generation(text: str) -> int:
    if not text.isdecimal() or int(text[:18]) < 1:
        raise argparse.ArgumentTypeError(f"need a whole number above 0, got {text!r}")
    return int(text[:18])
