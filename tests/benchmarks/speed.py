"""What compaction takes: against the floors, in a backfill, with two workers, on hostile records."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import hostile
from generate import MB
from measure import Usage, cpu_ratio, in_turn, wall_ratio
from row import Row, cpu_of, wall_of
from workshop import Workshop, WrongResult, same_but_for_verbs

PARALLEL_SESSIONS = 16
HOSTILE_MB = 1.0


def compact(variant: str, floor: str, target: float | None) -> Callable[[Workshop], list[Row]]:
    """`compactd compact` of one session against a floor."""

    def measured(workshop: Workshop) -> list[Row]:
        source = workshop.session(variant)
        output, bare = workshop.folder / "compacted.jsonl", workshop.folder / "floor.jsonl"
        pairs = in_turn(workshop.floor(floor, source, bare), workshop.compact(source, output), workshop.pairs)
        workshop.check_compacted(source, output)
        return [Row(f"compact {variant} / {floor}, cpu", cpu_ratio(pairs), "x", target, _cpu_and_speed(pairs, source))]

    return measured


def backfill(variant: str) -> Callable[[Workshop], list[Row]]:
    """A backfill of one session with one worker, without and with the vault, against `compactd compact`."""

    def measured(workshop: Workshop) -> list[Row]:
        source, output = workshop.session(variant), workshop.folder / "compacted.jsonl"
        compact = workshop.compact(source, output)
        pairs = in_turn(compact, workshop.backfill(source.parent, vault=False), workshop.pairs)
        # Without originals there is nothing that `verify` could restore.
        _check_output(workshop, output)
        rows = [
            Row(f"backfill {variant} without vault / compact, cpu", cpu_ratio(pairs), "x", 1.3, cpu_of(pairs)),
            Row(f"backfill {variant} without vault / compact, wall", wall_ratio(pairs), "x", None, wall_of(pairs)),
        ]
        pairs = in_turn(compact, workshop.backfill(source.parent), workshop.pairs)
        workshop.verify()
        _check_output(workshop, output)
        return [
            *rows,
            Row(f"backfill {variant} with vault / compact, cpu", cpu_ratio(pairs), "x", 2.0, cpu_of(pairs)),
            Row(f"backfill {variant} with vault / compact, wall", wall_ratio(pairs), "x", 1.5, wall_of(pairs)),
        ]

    return measured


def _check_output(workshop: Workshop, compacted: Path) -> None:
    if not same_but_for_verbs(workshop.output(), compacted):
        raise WrongResult(f"{workshop.output()}: backfill and compact give different outputs")


def two_jobs(workshop: Workshop) -> list[Row]:
    """Two workers against one, over sessions of unequal sizes."""
    rows = []
    for variant in ("mixed", "results"):
        source = workshop.sessions(variant, PARALLEL_SESSIONS)
        pairs = in_turn(workshop.backfill(source), workshop.backfill(source, jobs=2), workshop.pairs)
        workshop.verify()
        name = f"backfill {variant}, {PARALLEL_SESSIONS} sessions, 2 jobs / 1, wall"
        rows.append(Row(name, wall_ratio(pairs), "x", 0.55, f"{wall_of(pairs)}; cpu {cpu_ratio(pairs):.2f} x"))
    return rows


def hostile_records(workshop: Workshop) -> list[Row]:
    """Each kind of hostile record at one size and at four times that."""
    rows = []
    for kind in hostile.KINDS:
        growth = _growth(workshop, kind, HOSTILE_MB)
        detail = (
            f"{1000 * growth.small_seconds:.0f} ms for {growth.small_bytes / MB:.1f} MB, "
            f"{1000 * growth.large_seconds:.0f} ms for {growth.large_bytes / MB:.1f} MB"
        )
        row = Row(f"hostile 4x / 1x, cpu: {kind}", growth.ratio, "x", 4.5, detail)
        if not row.meets:
            # Caches that are too small for the larger size cost once; what grows too fast does so again.
            further = _growth(workshop, kind, HOSTILE_MB * hostile.TIMES * 0.95)
            row = replace(row, detail=f"{detail}; the next 4x / 1x {further.ratio:.2f}")
        rows.append(row)
    return rows


def _growth(workshop: Workshop, kind: str, mb: float) -> hostile.Growth:
    command = [sys.executable, hostile.__file__, kind, str(mb)]
    done = subprocess.run(command, capture_output=True, text=True, env=workshop.env, check=False)
    if done.returncode:
        raise WrongResult(f"hostile, {kind}: {done.stderr[-2000:]}")
    small_bytes, small_seconds, large_bytes, large_seconds = done.stdout.split()
    return hostile.Growth(int(small_bytes), float(small_seconds), int(large_bytes), float(large_seconds))


def _cpu_and_speed(pairs: Sequence[tuple[Usage, Usage]], source: Path) -> str:
    speed = source.stat().st_size / MB / median(usage.cpu_seconds for _, usage in pairs)
    return f"{cpu_of(pairs)}; {speed:.0f} MB/s"
