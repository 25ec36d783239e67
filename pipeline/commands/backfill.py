"""`compactd backfill`: compact everything that is there now."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.commands.arguments import (
    add_format,
    add_paths,
    load_settings,
    note,
    print_document,
    set_up_logging,
    targets_of,
)

if TYPE_CHECKING:
    from pipeline.runs.backfill import Progress
    from pipeline.runs.report import Report

EXAMPLE = "  compactd backfill ~/.claude/projects --jobs 4"
JSON = True
MAX_JOBS = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_paths(parser)
    add_format(parser)
    parser.add_argument(
        "--jobs", type=_jobs, metavar="N", help="processes that compact (default: by size, one a processor at most)"
    )
    parser.add_argument(
        "--recompact", action="store_true", help="compact unchanged sessions again, with the present configuration"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compact the targets and say what came of it; 1 if a file failed."""
    set_up_logging(arguments.log_level, default="warning")
    settings = load_settings(arguments, compacts=True).settings
    targets = targets_of(arguments, settings, "backfill")
    from pipeline.runs.backfill import backfill

    with _progress(wanted=not arguments.json and sys.stderr.isatty()) as progress:
        report = backfill(
            settings,
            targets,
            format=arguments.format or "",
            jobs=arguments.jobs or 0,
            recompact=arguments.recompact,
            progress=progress,
        )
    for failure in report.failed:
        note(f"compactd: {failure}")
    for remark in report.notes:
        note(f"note: {remark}")
    if arguments.log_level in ("debug", "info"):
        for skipped in report.skipped:
            note(f"skipped {skipped}")
    if arguments.json:
        print_document("backfill", report.rows, {**report.total, "skipped": len(report.skipped)})
    else:
        print(_summary(report))
    return 1 if report.failed else 0


def _summary(report: Report) -> str:
    from pipeline.monitor.tables import count, counted, percent, size

    total = report.total
    parts = [counted(total.get("sessions", len(report.rows)), "session")]
    if total.get("unchanged"):
        parts.append(f"{count(total['unchanged'])} unchanged")
    if report.skipped:
        parts.append(f"{counted(len(report.skipped), 'file')} of no known format")
    if report.failed:
        parts.append(f"{count(len(report.failed))} failed")
    source, output = total.get("source_bytes", 0), total.get("output_bytes", 0)
    undecoded = f"{count(total['undecoded'])} not decoded; " if total.get("undecoded") else ""
    return (
        f"{', '.join(parts)}; {counted(total.get('records', 0), 'record')}: {size(source)} -> {size(output)}, "
        f"saved {percent(source - output, source)}; {undecoded}vault {size(total.get('vault_bytes', 0))}; "
        f"{total.get('seconds', 0.0):.1f} s"
    )


@contextmanager
def _progress(*, wanted: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A bar on standard error while sessions are read, if wanted."""
    if not wanted:
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[done]}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, done="")

        def show(state: Progress) -> None:
            done = f"{state.sessions_done} of {state.sessions_total} sessions"
            bar.update(task, completed=state.done_bytes, total=state.total_bytes, done=done)

        yield show


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MAX_JOBS:
        raise argparse.ArgumentTypeError(f"need a whole number from 1 to {MAX_JOBS}, got {text!r}")
    return int(text)
