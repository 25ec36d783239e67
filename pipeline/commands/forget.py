"""`compactd forget`: a session's output, rows and unshared originals go for good."""

from __future__ import annotations

import argparse

from pipeline.commands.arguments import load_settings, print_document, set_up_logging

EXAMPLE = "  compactd forget ~/.claude/projects/farm/4f1c.jsonl"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("session", metavar="SESSION", help="source path, output path, unique end of one, or '#id'")


def run(arguments: argparse.Namespace) -> int:
    """Forget; the source itself stays, and is compacted again if a root still holds it."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.runs.restoring import forget

    gone = forget(settings, arguments.session)
    if arguments.json:
        print_document("forget", [gone], gone)
    else:
        from pipeline.monitor.tables import counted

        print(f"forgotten: {counted(gone['records'], 'record')}, {counted(gone['values'], 'original')}")
    return 0
