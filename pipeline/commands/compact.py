"""`compactd compact`: one file or standard input, no state; what it prints is what the daemon would write."""

from __future__ import annotations

import argparse
import sys

from pipeline.commands.arguments import add_format, load_settings, note, set_up_logging
from pipeline.disk.targets import check_target
from pipeline.errors import UsageError

EXAMPLE = "  compactd compact session.jsonl -o small.jsonl\n  compactd compact < session.jsonl | wc -c"
JSON = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a session; - is standard input (default)")
    add_format(parser)
    parser.add_argument("-o", dest="target", metavar="FILE", default="-", help="write here, not to standard output")


def run(arguments: argparse.Namespace) -> int:
    """Filter; with -o a line on standard error tells what was saved."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments, compacts=True).settings
    source = None if arguments.file == "-" else arguments.file
    target = None if arguments.target == "-" else arguments.target
    if source is None and sys.stdin.isatty():
        raise UsageError("compact: need a FILE or a session on standard input, got a terminal")
    if target is not None:
        check_target(target, settings, source=source)
    from pipeline.runs.oneshot import compact_file

    counts = compact_file(source, target, format=arguments.format or "auto", settings=settings)
    if target is not None:
        from pipeline.monitor.tables import count, counted, percent, size

        before, after = counts["source_bytes"], counts["output_bytes"]
        undecoded = f"; {count(counts['undecoded'])} not decoded" if counts["undecoded"] else ""
        note(
            f"{counted(counts['records'], 'record')}: {size(before)} -> {size(after)}, "
            f"saved {percent(before - after, before)}{undecoded}"
        )
    return 0
