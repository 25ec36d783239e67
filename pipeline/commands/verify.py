"""`compactd verify`: are output, vault and ledger what they should be?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pipeline.commands.arguments import load_settings, note, print_document, set_up_logging

if TYPE_CHECKING:
    from pipeline.runs.report import Report

EXAMPLE = "  compactd verify\n  compactd verify --restorable --json"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("sessions", metavar="SESSION", nargs="*", help="only these (default: all)")
    parser.add_argument(
        "--restorable", action="store_true", help="list the sources whose deletion would lose nothing; deletes nothing"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check; 1 if there is a difference. That there was no vault is none."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.runs.verifying import verify

    report = verify(settings, arguments.sessions, restorable=arguments.restorable)
    for failure in report.failed:
        note(f"compactd: {failure}")
    for remark in report.notes:
        note(f"note: {remark}")
    if arguments.json:
        print_document("verify", report.rows, report.total)
    else:
        _print(report, paths_only=arguments.restorable)
    return 1 if report.failed else 0


def _print(report: Report, *, paths_only: bool) -> None:
    from pipeline.monitor.tables import counted, printable, size

    if paths_only:
        for row in report.rows:
            print(printable(str(row["session"])))
        note(f"{counted(len(report.rows), 'source')} can be restored from output, vault and ledger")
        return
    total = report.total
    result = counted(len(report.failed), "difference") if report.failed else "all as it should be"
    print(
        f"{counted(total.get('sessions', len(report.rows)), 'session')}, {counted(total.get('records', 0), 'record')}, "
        f"{counted(total.get('edits', 0), 'edit')}, {size(total.get('source_bytes', 0))}: {result}"
    )
