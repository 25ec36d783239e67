"""`compactd fidelity`: which share of prose, paths, commands, failures, numbers and URLs is still in the output."""

from __future__ import annotations

import argparse
import os

from pipeline.commands.arguments import load_settings, print_document, set_up_logging

EXAMPLE = "  compactd fidelity\n  compactd fidelity 4f1c.jsonl --json"
JSON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "sessions",
        metavar="SESSION",
        nargs="*",
        help="source path, output path, unique end of one, or '#id' (default: all sessions)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the shares by rule and tool, and of all together."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.disk.ledger_reader import LedgerReader
    from pipeline.disk.naming import one_session
    from pipeline.disk.packs import VaultReader
    from pipeline.monitor import fidelity

    found = fidelity.Fidelity()
    vault = VaultReader(os.path.join(settings.state, "vault"))
    with LedgerReader.open(os.path.join(settings.state, "ledger.db")) as reader:
        infos = [one_session(reader, text, out=settings.out) for text in arguments.sessions] or reader.sessions()
        for info in infos:
            row = reader.generation(info.id, info.generation)
            if row is not None:
                fidelity.measure(found, reader, vault, settings.out, info, row)
    if arguments.json:
        print_document("fidelity", *fidelity.document(found))
        return 0
    from pipeline.monitor.tables import count, percent, print_table

    prose = percent(found.all.kept[fidelity.PROSE], found.all.total[fidelity.PROSE])
    print(f"{count(found.sessions)} sessions, {count(found.records)} records; prose kept: {prose}\n")
    print_table(*fidelity.table(found))
    return 0
