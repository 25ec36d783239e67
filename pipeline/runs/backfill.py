"""The backfill: every session of the targets, from its last commit to its end."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream

from pipeline.disk.outputs import RESERVED_FILES, open_limit
from pipeline.disk.scan import Found, roots_of, scan
from pipeline.disk.store import Store
from pipeline.errors import CompactdError, SessionError, SourceError
from pipeline.parcels import Parcel
from pipeline.records import Outcome
from pipeline.rules.base import RULES_VERSION
from pipeline.runs.catalog import Catalog, Skipped, Unchanged
from pipeline.runs.chain import AsyncChain, Running, sent
from pipeline.runs.reading import Opening, SessionReading
from pipeline.runs.report import Report
from pipeline.runs.worker import Finished, work
from pipeline.settings import RootSettings, Settings, output_digest
from pipeline.stages.base import Batch

COMMIT_DELAY_SECONDS = 2.0
WORTH_A_PROCESS_BYTES = 8 * 1024 * 1024
"""With less than this for each, starting processes takes longer than they save."""
FILES_A_PROCESS = 4
"""Descriptors here for a worker process: pipe, sentinel, and those of its start."""
MOST_PROCESSES, FEW_PROCESSES = 256, 4
"""The reserve for all but outputs is enough for a few."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the backfill is, in source bytes; `path` is a session being read."""

    done_bytes: int
    total_bytes: int
    sessions_done: int
    sessions_total: int
    path: str = ""


@dataclass(slots=True)
class _Job:
    """One session to read."""

    opening: Opening
    found: Found


def backfill(
    settings: Settings,
    targets: Sequence[RootSettings | str],
    *,
    format: str = "",
    jobs: int = 0,
    recompact: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Compact all sessions of the targets; what is done already costs a stat.

    Args:
        settings: with absolute out and state folders.
        targets: files, folders, globs, or roots of the config file.
        format: a format's name, or "auto" to go by the content again; "" leaves what was chosen before.
        jobs: processes that read and compact; 1 works in this process, 0 takes what the sizes and the machine suggest.
        recompact: a new generation for every session.
        progress: called after each commit, in this thread.

    Raises:
        UsageError: a target is missing.
        LockedError: another process works on the same state or output folder.
        OutputError: output, vault or ledger cannot be written; all is as at the last commit.
    """
    started = time.monotonic()
    report = Report()
    roots = roots_of(targets)
    with Store.open(settings, output_digest(settings, RULES_VERSION)) as store:
        found = list(scan(roots, skip=(settings.out, settings.state)))
        run = _Backfill(settings, store, report, progress)
        openings = list(run.openings(found, format, recompact=recompact))
        if openings:
            anyio.run(run.run, openings, jobs)
        run.summarise(len(found), time.monotonic() - started)
    return report


class _Backfill:
    def __init__(
        self, settings: Settings, store: Store, report: Report, progress: Callable[[Progress], None] | None
    ) -> None:
        self._settings = settings
        self._store = store
        self._report = report
        self._progress = progress
        self._done: dict[int, dict[str, Any]] = {}
        self._total_bytes = 0
        self._done_bytes = 0
        self._paths: dict[int, str] = {}
        self._finished = 0
        self._unchanged = 0

    def openings(self, found: Sequence[Found], format_: str, *, recompact: bool) -> Iterator[_Job]:
        """The sessions that have something to read."""
        catalog = Catalog(self._store, format=format_)
        for file in found:
            try:
                opening = catalog.opening(file, renew=recompact)
            except (SourceError, SessionError) as error:
                self._report.failed.append(str(error))
                continue
            if isinstance(opening, Unchanged):
                self._unchanged += 1
            elif isinstance(opening, Skipped):
                self._report.skipped.append(f"{opening.path}: {opening.why}")
            else:
                if opening.note:
                    self._report.notes.append(f"{file.path}: {opening.note}")
                self._total_bytes += max(0, file.size - (0 if opening.renew else opening.src_off))
                self._paths[opening.session] = file.path
                yield _Job(opening, file)
        catalog.settle()

    async def run(self, jobs: Sequence[_Job], processes: int) -> None:
        """Read, compact, write and commit all of them."""
        chain = AsyncChain(self._settings, self._store, delay_seconds=COMMIT_DELAY_SECONDS, on_commit=self._committed)
        async with anyio.create_task_group() as group:
            running = chain.start(group)
            wanted = min(processes or self._suggested(), len(jobs), _affordable())
            if wanted <= 1:
                await self._read_here(running, jobs)
            else:
                await self._read_in_processes(running, jobs, wanted)
        self._report.failed += chain.failed.values()

    def _suggested(self) -> int:
        # Only the processors that this process may use; not every platform tells.
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(processors, self._total_bytes // WORTH_A_PROCESS_BYTES)

    async def _read_here(self, running: Running, jobs: Sequence[_Job]) -> None:
        limiter = anyio.CapacityLimiter(1)
        running.parcels.close()
        async with running.batches as send:
            for job in jobs:
                reading = SessionReading(job.opening, self._settings)
                try:
                    while (batch := await anyio.to_thread.run_sync(_turn, reading, limiter=limiter)) is not None:
                        self._store.failpoints.reach("read-after")
                        if not await sent(send, batch):
                            return
                except SourceError as error:
                    self._report.failed.append(str(error))
                finally:
                    reading.close()

    async def _read_in_processes(self, running: Running, jobs: Sequence[_Job], processes: int) -> None:
        """Largest sessions first, each to the next free process."""
        running.batches.close()
        waiting = sorted(jobs, key=lambda job: job.found.size)
        limiter = anyio.CapacityLimiter(processes)
        async with running.parcels as send, anyio.create_task_group() as group:
            for _ in range(processes):
                group.start_soon(self._serve, waiting, send.clone(), limiter)

    async def _serve(
        self, waiting: list[_Job], send: MemoryObjectSendStream[Parcel], limiter: anyio.CapacityLimiter
    ) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._settings), daemon=True)
        process.start()
        theirs.close()
        try:
            async with send:
                while waiting:
                    ours.send(waiting.pop().opening)
                    while isinstance(item := await _receive(ours, process, limiter), Parcel):
                        if not await sent(send, item):
                            return
                    if item.failure:
                        self._report.failed.append(item.failure)
                ours.send(None)
        finally:
            ours.close()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(process.join, 5.0, limiter=limiter)
            if process.is_alive():
                process.kill()

    def _committed(self, parcels: list[Parcel]) -> None:
        for parcel in parcels:
            row = self._done.setdefault(
                parcel.session, {"records": 0, "edits": 0, "source_bytes": 0, "output_bytes": 0, "undecoded": 0}
            )
            row["records"] += parcel.record_count
            row["edits"] += parcel.edits
            row["undecoded"] += sum(record[6] == Outcome.UNDECODED for record in parcel.records)
            row["source_bytes"] += sum(record[2] for record in parcel.records)
            row["output_bytes"] += sum(record[3] for record in parcel.records)
            self._done_bytes += parcel.source_bytes
        if self._progress is not None and parcels:
            self._progress(
                Progress(
                    self._done_bytes,
                    self._total_bytes,
                    len(self._done),
                    len(self._paths),
                    self._paths.get(parcels[-1].session, ""),
                )
            )

    def summarise(self, found: int, seconds: float) -> None:
        """Fill in the report's rows and totals."""
        for session, counts in self._done.items():
            saved = counts["source_bytes"] - counts["output_bytes"]
            ratio = saved / counts["source_bytes"] if counts["source_bytes"] else 0.0
            self._report.rows.append(
                {"session": self._paths[session], **counts, "saved_bytes": saved, "saved_ratio": round(ratio, 4)}
            )
        keys = ("records", "edits", "source_bytes", "output_bytes", "saved_bytes", "undecoded")
        total: dict[str, Any] = {key: sum(row[key] for row in self._report.rows) for key in keys}
        source = total["source_bytes"]
        total["saved_ratio"] = round(total["saved_bytes"] / source, 4) if source else 0.0
        total["vault_bytes"] = self._store.vault_bytes
        total |= {
            "sessions": found - len(self._report.skipped),
            "unchanged": self._unchanged,
            "failed": len(self._report.failed),
            "seconds": round(seconds, 3),
        }
        self._report.total = total


def _turn(reading: SessionReading) -> Batch | None:
    return reading.next_batch(at_end=True)


def _affordable() -> int:
    """How many processes the descriptors of this one are enough for, besides outputs and their reserve."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = soft - RESERVED_FILES - open_limit()
    return MOST_PROCESSES if soft == resource.RLIM_INFINITY else FEW_PROCESSES + max(0, free) // FILES_A_PROCESS


async def _receive(connection: Connection, process: SpawnProcess, limiter: anyio.CapacityLimiter) -> Parcel | Finished:
    try:
        item = await anyio.to_thread.run_sync(connection.recv, limiter=limiter)
    except EOFError:
        # Only then its exit code is known.
        await anyio.to_thread.run_sync(process.join, 5.0, limiter=limiter)
        raise CompactdError(
            f"a worker process ended unexpectedly (exit code {process.exitcode}); run the backfill again"
        ) from None
    assert isinstance(item, Parcel | Finished)
    return item
