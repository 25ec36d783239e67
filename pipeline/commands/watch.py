"""`compactd watch`: the daemon in the foreground."""

from __future__ import annotations

import argparse

from pipeline.commands.arguments import add_paths, load_settings, set_up_logging, targets_of

EXAMPLE = "  compactd watch ~/.claude/projects"
JSON = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_paths(parser)
    parser.add_argument("--once", action="store_true", help="take in what is there now, then stop")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT, which take in what is there and exit 0."""
    set_up_logging(arguments.log_level, default="info")
    settings = load_settings(arguments, compacts=True).settings
    targets = targets_of(arguments, settings, "watch")
    from pipeline.runs.daemon import watch

    return watch(settings, targets, once=arguments.once)
