"""`compactd doctor`: is this machine fit to run on?"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pipeline.commands.arguments import load_settings, print_document, set_up_logging

EXAMPLE = "  compactd doctor"
JSON = True
SIGNS = {"ok": "ok  ", "note": "note", "fail": "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments of its own."""
    del parser


def run(arguments: argparse.Namespace) -> int:
    """Check; 1 if compactd will not work here."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments).settings
    from pipeline.disk.preflight import examine

    findings = examine(settings, [root.path for root in settings.roots])
    failed = sum(finding.status == "fail" for finding in findings)
    if arguments.json:
        print_document("doctor", [asdict(finding) for finding in findings], {"failed": failed})
        return 1 if failed else 0
    from pipeline.monitor.tables import printable

    for finding in findings:
        print(printable(f"{SIGNS[finding.status]}  {finding.check}: {finding.found}"))
        if finding.remedy:
            print(printable(f"        remedy: {finding.remedy}"))
    return 1 if failed else 0
