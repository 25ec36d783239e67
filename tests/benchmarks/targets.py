"""The rows of the report: what is measured, against what, and the value that it should have.

Each function of ROWS measures one thing and gives its rows. A missed target is only shown; an error is raised when a
result is wrong, since its time says nothing then.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from statistics import median

import delay
import footprint
import large_ledger
import speed
from generate import MB
from measure import Job, in_turn
from row import Row, cpu, wall_ms
from workshop import Workshop

WATCHED_FILES = 10_000
ACTIVE_FILES = 100
APPENDS = 1_500
APPEND_EVERY_SECONDS = 0.01
LEDGER_ROWS = 5_000_000
STARTS = 15


def _delay(workshop: Workshop) -> list[Row]:
    source = workshop.folder / "watched"
    paths = delay.make_files(source, WATCHED_FILES)
    taken = workshop.backfill(source).run()
    active = paths[:: WATCHED_FILES // ACTIVE_FILES]
    found = delay.delays(workshop, source, active, APPENDS, APPEND_EVERY_SECONDS)
    workshop.verify()
    middle, tail = (1000 * delay.percentile(found.commits, part) for part in (0.5, 0.99))
    syncs = ", ".join(f"p{part:g} {1000 * delay.percentile(found.syncs, part / 100):.2f}" for part in (50, 99))
    detail = f"{ACTIVE_FILES} of {WATCHED_FILES} files, {1 / APPEND_EVERY_SECONDS:.0f} appends/s; fdatasync {syncs} ms"
    return [
        Row("append to committed row, p99", tail, "ms", 250, detail),
        Row("append to committed row, p50", middle, "ms", None, f"worst {1000 * max(found.commits):.0f} ms"),
        Row(f"start of watch until {WATCHED_FILES} files are looked at, wall", found.start, "s", None),
        Row(f"backfill of {WATCHED_FILES} small sessions, wall", taken.wall_seconds, "s", None, cpu(taken)),
    ]


def _start(workshop: Workshop) -> list[Row]:
    job = Job([sys.executable, "-m", "pipeline", "--version"], env=workshop.env)
    bare = Job([sys.executable, "-c", "pass"], env=workshop.env)
    pairs = in_turn(bare, job, STARTS)
    usages = [usage for _, usage in pairs]
    interpreter = median(usage.wall_seconds for usage, _ in pairs)
    detail = f"cpu {1000 * median(usage.cpu_seconds for usage in usages):.0f} ms; Python alone {1000 * interpreter:.0f}"
    return [Row("start of compactd --version, wall", wall_ms(usages), "ms", 200, detail)]


def _stats(workshop: Workshop) -> list[Row]:
    rows = []
    # Sessions as large as most are, and few large ones: rollup rows grow with sessions, not with records.
    for title, sessions, mb in (("small sessions", 20, 8.6), ("large sessions", 4, 20.0)):
        workshop.backfill(workshop.sessions("typical", sessions, mb)).run()
        ledger = workshop.state / "ledger.db"
        count = large_ledger.multiply(ledger, LEDGER_ROWS)
        with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
            ((held, rollups),) = connection.execute(
                "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM rollup)"
            )
        size = ledger.stat().st_size
        detail = f"{count / 1e6:.1f} million rows, {held:,} sessions, {rollups:,} sums, {size / MB:.0f} MB"
        for by in ("tool", "day"):
            command = workshop.command("stats", "--by", by, "--json", "--out", workshop.out, "--state", workshop.state)
            usages = [Job(command, env=workshop.env).run() for _ in range(workshop.pairs)]
            rows.append(Row(f"stats --by {by}, {title}, wall", wall_ms(usages), "ms", 100, detail))
        rows.append(Row(f"ledger bytes a row, {title}", size / count, "B", 110, detail))
        workshop.clear()
    return rows


ROWS: dict[str, Callable[[Workshop], list[Row]]] = {
    "compact-mixed": speed.compact("mixed", "null", 2.1),
    "compact-results": speed.compact("results", "null-lines", 3.0),
    "compact-bloat": speed.compact("bloat", "null", 1.6),
    "compact-nonascii": speed.compact("nonascii", "null-lines", None),
    "compact-typical": speed.compact("typical", "null-lines", None),
    "compact-openviking": speed.compact("openviking", "null-lines", None),
    "backfill-mixed": speed.backfill("mixed"),
    "backfill-results": speed.backfill("results"),
    "jobs": speed.two_jobs,
    "hostile": speed.hostile_records,
    "memory": footprint.memory,
    "delay": _delay,
    "start": _start,
    "stats": _stats,
    "sizes": footprint.sizes,
}
