"""`compactd stats`: how much was saved, and where."""

from __future__ import annotations

import argparse
import os

from pipeline.commands.arguments import load_settings, print_document, set_up_logging
from pipeline.errors import UsageError

EXAMPLE = "  compactd stats --by rule\n  compactd stats --by day --since 2026-01-01 --json"
JSON = True
GROUPS = ("tool", "rule", "session", "root", "format", "stage", "day")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "--by", choices=GROUPS, default="tool", metavar="GROUP", help=f"one of {', '.join(GROUPS)} (default: tool)"
    )
    parser.add_argument("--since", metavar="DAY", help="first day, YYYY-MM-DD (UTC, of the records)")
    parser.add_argument("--until", metavar="DAY", help="last day, included")


def run(arguments: argparse.Namespace) -> int:
    """Print the sums of all current generations."""
    if arguments.log_level:
        set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    since, until = _day("--since", arguments.since), _day("--until", arguments.until)
    if since is not None and until is not None and since > until:
        raise UsageError(f"--until: need a day not before {arguments.since}, got {arguments.until}")
    from pipeline.disk.ledger_reader import LedgerReader
    from pipeline.disk.sizes import state_sizes
    from pipeline.monitor import stats

    with LedgerReader.open(os.path.join(settings.state, "ledger.db")) as reader:
        sizes = state_sizes(settings.out, settings.state)
        gathered = stats.gather(reader, sizes, arguments.by, since, until)
    if arguments.json:
        print_document("stats", *stats.document(gathered))
        return 0
    from pipeline.monitor.tables import print_table

    for line in stats.headline(gathered):
        print(line)
    print()
    print_table(*stats.table(gathered))
    return 0


def _day(flag: str, text: str | None) -> int | None:
    from pipeline.disk.rows import day_number

    try:
        return None if text is None else day_number(text)
    except UsageError as error:
        raise UsageError(f"{flag}: need YYYY-MM-DD, got {text!r}") from error
