"""`compactd show`: what happened to the records of a session, or to the sites of one."""

from __future__ import annotations

import argparse
import os

from pipeline.commands.arguments import load_settings, print_document, set_up_logging

EXAMPLE = "  compactd show 4f1c.jsonl\n  compactd show 4f1c.jsonl:17\n  compactd show '#3' --json"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "session",
        metavar="SESSION[:RECORD]",
        help="source path, output path, unique end of one, or '#id'; RECORD is a line number",
    )


def run(arguments: argparse.Namespace) -> int:
    """Show a session or a record."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.disk.ledger_reader import LedgerReader
    from pipeline.disk.naming import session_and_record
    from pipeline.monitor import show

    with LedgerReader.open(os.path.join(settings.state, "ledger.db")) as reader:
        info, ordinal = session_and_record(reader, arguments.session, out=settings.out)
        total = show.Total()
        if ordinal is not None:
            (view,) = total.counted([show.one_record(reader, info, ordinal)])
            if arguments.json:
                sites = (show.site_document(reader, site) for site in view.sites)
                print_document("show", sites, total.document(info))
            else:
                print("\n".join([*show.headline(info, settings.out), "", *show.record_lines(reader, view)]))
            return 0
        views = show.record_views(reader, info)
        if arguments.json:
            rows = (show.record_document(view) for view in total.counted(views))
            print_document("show", rows, lambda: total.document(info))
            return 0
        print("\n".join(show.headline(info, settings.out)), end="\n\n")
        for line in show.session_lines(views, info.records):
            print(line)
    return 0
