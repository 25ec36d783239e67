"""The rows of the report: what is measured, against what, and the value that it should have.

Each function of ROWS measures one thing and gives its rows. A missed target is only shown; an error is raised when a
result is wrong, since its time says nothing then.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import delay
import hostile
import large_ledger
import zstandard
from generate import MB
from measure import Job, Usage, cpu_ratio, in_turn, wall_ratio
from workshop import SAMPLES, Workshop, WrongResult, same_but_for_verbs

PARALLEL_SESSIONS = 16
MAX_MEMORY_MB = 200.0
RECORD_LIMIT_BYTES = 16 * 1024 * 1024
WATCHED_FILES = 10_000
ACTIVE_FILES = 100
APPENDS = 1_500
APPEND_EVERY_SECONDS = 0.01
LEDGER_ROWS = 5_000_000
STARTS = 15
HOSTILE_MB = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value; `target` None is shown for comparison only. Values are at most their target to meet it."""

    name: str
    value: float
    unit: str
    target: float | None
    detail: str = ""

    @property
    def meets(self) -> bool | None:
        """Does the value meet its target? None if there is none."""
        return None if self.target is None else self.value <= self.target


# --- one session against the floors ----------------------------------------------------------------------------------


def _compact(variant: str, floor: str, target: float | None) -> Callable[[Workshop], list[Row]]:
    def measured(workshop: Workshop) -> list[Row]:
        source = workshop.session(variant)
        output, bare = workshop.folder / "compacted.jsonl", workshop.folder / "floor.jsonl"
        pairs = in_turn(workshop.floor(floor, source, bare), workshop.compact(source, output), workshop.pairs)
        workshop.check_compacted(source, output)
        return [Row(f"compact {variant} / {floor}, cpu", cpu_ratio(pairs), "x", target, _cpu_and_speed(pairs, source))]

    return measured


# --- backfill --------------------------------------------------------------------------------------------------------


def _backfill(variant: str) -> Callable[[Workshop], list[Row]]:
    def measured(workshop: Workshop) -> list[Row]:
        source, output = workshop.session(variant), workshop.folder / "compacted.jsonl"
        compact = workshop.compact(source, output)
        pairs = in_turn(compact, workshop.backfill(source.parent, vault=False), workshop.pairs)
        # Without originals there is nothing that `verify` could restore.
        _check_output(workshop, output)
        rows = [
            Row(f"backfill {variant} without vault / compact, cpu", cpu_ratio(pairs), "x", 1.3, _cpu_of(pairs)),
            Row(f"backfill {variant} without vault / compact, wall", wall_ratio(pairs), "x", None, _wall_of(pairs)),
        ]
        pairs = in_turn(compact, workshop.backfill(source.parent), workshop.pairs)
        workshop.verify()
        _check_output(workshop, output)
        return [
            *rows,
            Row(f"backfill {variant} with vault / compact, cpu", cpu_ratio(pairs), "x", 2.0, _cpu_of(pairs)),
            Row(f"backfill {variant} with vault / compact, wall", wall_ratio(pairs), "x", 1.5, _wall_of(pairs)),
        ]

    return measured


def _check_output(workshop: Workshop, compacted: Path) -> None:
    if not same_but_for_verbs(workshop.output(), compacted):
        raise WrongResult(f"{workshop.output()}: backfill and compact give different outputs")


def _two_jobs(workshop: Workshop) -> list[Row]:
    rows = []
    for variant in ("mixed", "results"):
        source = workshop.sessions(variant, PARALLEL_SESSIONS)
        pairs = in_turn(workshop.backfill(source), workshop.backfill(source, jobs=2), workshop.pairs)
        workshop.verify()
        name = f"backfill {variant}, {PARALLEL_SESSIONS} sessions, 2 jobs / 1, wall"
        rows.append(Row(name, wall_ratio(pairs), "x", 0.55, f"{_wall_of(pairs)}; cpu {cpu_ratio(pairs):.2f} x"))
    return rows


# --- hostile records -------------------------------------------------------------------------------------------------


def _hostile(workshop: Workshop) -> list[Row]:
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


# --- memory ----------------------------------------------------------------------------------------------------------


def _memory(workshop: Workshop) -> list[Row]:
    rows = []
    small = min(4 * workshop.mb, MAX_MEMORY_MB)
    for variant in ("mixed", "results", "bloat"):
        sources = [workshop.session(variant, size) for size in (small, 2 * small)]
        target = workshop.folder / "compacted.jsonl"
        for name, jobs in (
            ("compact", [workshop.compact(source, target) for source in sources]),
            ("backfill", [workshop.backfill(source.parent) for source in sources]),
        ):
            first, second = (job.run() for job in jobs)
            detail = f"{first.peak_bytes / MB:.0f} MB at {small:g} MB, {second.peak_bytes / MB:.0f} at {2 * small:g}"
            peak = max(first.peak_bytes, second.peak_bytes)
            rows.append(Row(f"peak memory, {name} {variant}", peak / MB, "MB", 100, detail))
    return rows + _large_record(workshop)


def _large_record(workshop: Workshop) -> list[Row]:
    """Records just under the largest size, made of one long text: 60 MB and six times the decoded one."""
    rows = []
    for variant in ("results", "nonascii"):
        parts: list[str] = []
        room = RECORD_LIMIT_BYTES - 400_000
        with open(workshop.session(variant), encoding="utf-8") as file:
            for line in file:
                # The text of records, with quotes and escapes of its own, so that it has to be escaped again.
                room -= len(line.encode()) + line.count('"') + line.count("\\")
                if room < 0:
                    break
                parts.append(line)
        text = "".join(parts)
        path = workshop.folder / "large" / f"{variant}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(hostile.called("t", "Bash", {"command": "make all"}) + hostile.answered("t", text, None))
        allowed = 60 + 6 * sys.getsizeof(text) / MB
        for name, job in (
            ("compact", workshop.compact(path, workshop.folder / "compacted.jsonl")),
            ("backfill", workshop.backfill(path)),
        ):
            usage = job.run()
            detail = f"{path.stat().st_size / MB:.1f} MB, decoded {sys.getsizeof(text) / MB:.1f}"
            title = f"peak memory, {name}, one large record, {variant}"
            rows.append(Row(title, usage.peak_bytes / MB, "MB", round(allowed), detail))
    return rows


# --- the daemon ------------------------------------------------------------------------------------------------------


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
        Row(f"backfill of {WATCHED_FILES} small sessions, wall", taken.wall_seconds, "s", None, _cpu(taken)),
    ]


# --- small commands --------------------------------------------------------------------------------------------------


def _start(workshop: Workshop) -> list[Row]:
    job = Job([sys.executable, "-m", "pipeline", "--version"], env=workshop.env)
    bare = Job([sys.executable, "-c", "pass"], env=workshop.env)
    pairs = in_turn(bare, job, STARTS)
    usages = [usage for _, usage in pairs]
    interpreter = median(usage.wall_seconds for usage, _ in pairs)
    detail = f"cpu {1000 * median(usage.cpu_seconds for usage in usages):.0f} ms; Python alone {1000 * interpreter:.0f}"
    return [Row("start of compactd --version, wall", _wall_ms(usages), "ms", 200, detail)]


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
            rows.append(Row(f"stats --by {by}, {title}, wall", _wall_ms(usages), "ms", 100, detail))
        rows.append(Row(f"ledger bytes a row, {title}", size / count, "B", 110, detail))
        workshop.clear()
    return rows


# --- sizes -----------------------------------------------------------------------------------------------------------


def _sizes(workshop: Workshop) -> list[Row]:
    rows = _sizes_of(workshop, "samples", SAMPLES)
    for variant in ("typical", "mixed", "results", "bloat", "nonascii", "openviking"):
        rows += _sizes_of(workshop, variant, workshop.session(variant).parent)
    return rows


def _sizes_of(workshop: Workshop, name: str, source: Path) -> list[Row]:
    workshop.backfill(source).run()
    workshop.verify()
    sources = sorted(source.rglob("*.jsonl"))
    outputs = [path for path in workshop.out.rglob("*.jsonl") if ".generations" not in path.parts]
    packed = sum(map(_packed_bytes, sources))
    raw, compacted, again = _bytes_of(sources), _bytes_of(outputs), sum(map(_packed_bytes, outputs))
    vault = _bytes_of(list((workshop.state / "vault").glob("*.pack")))
    ledger = workshop.state / "ledger.db"
    removed = _removed_as_one_stream(workshop)
    detail = (
        f"sources {_kb(raw)}, zstd -3 {_kb(packed)}; outputs {_kb(compacted)} + vault {_kb(vault)} "
        f"(+ ledger {_kb(ledger.stat().st_size)}); outputs zstd -3 {_kb(again)}"
    )
    rows = [
        Row(f"size {name}, outputs / sources", compacted / raw, "x", None, detail),
        Row(f"size {name}, outputs + vault / zstd -3 of sources", (compacted + vault) / packed, "x", None),
        Row(f"size {name}, vault / one zstd -3 stream", vault / removed, "x", 1.15, f"stream {_kb(removed)}"),
    ]
    if raw > MB:
        count = large_ledger.rows_in(ledger)
        rows.append(Row(f"ledger bytes a row, {name}", ledger.stat().st_size / count, "B", 110, f"{count:,} rows"))
    return rows


def _packed_bytes(path: Path) -> int:
    compressor = zstandard.ZstdCompressor(level=3).compressobj(size=path.stat().st_size)
    with open(path, "rb") as file:
        return sum(len(compressor.compress(block)) for block in iter(lambda: file.read(MB), b"")) + len(
            compressor.flush()
        )


def _removed_as_one_stream(workshop: Workshop) -> int:
    """All distinct originals, in the order of the vault, as one zstd -3 stream: its bytes."""
    from pipeline.disk.packs import VaultReader
    from pipeline.disk.reading import LedgerReader

    stream = zstandard.ZstdCompressor(level=3).compressobj()
    vault = VaultReader(str(workshop.state / "vault"))
    packed = 0
    with LedgerReader.open(str(workshop.state / "ledger.db")) as ledger:
        for pack in sorted(ledger.committed_packs()):
            packed += sum(len(stream.compress(vault.value(row))) for row in ledger.values_in_pack(pack))
    return packed + len(stream.flush())


def _bytes_of(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


# --- words -----------------------------------------------------------------------------------------------------------


def _kb(size: int) -> str:
    return f"{size / 1000:,.0f} kB"


def _cpu(usage: Usage) -> str:
    return f"cpu {usage.cpu_seconds:.2f} s"


def _wall_ms(usages: Sequence[Usage]) -> float:
    return 1000 * median(usage.wall_seconds for usage in usages)


def _cpu_of(pairs: Sequence[tuple[Usage, Usage]]) -> str:
    first, second = (median(pair[side].cpu_seconds for pair in pairs) for side in (0, 1))
    return f"{first:.2f} s, {second:.2f} s"


def _wall_of(pairs: Sequence[tuple[Usage, Usage]]) -> str:
    first, second = (median(pair[side].wall_seconds for pair in pairs) for side in (0, 1))
    return f"{first:.2f} s, {second:.2f} s"


def _cpu_and_speed(pairs: Sequence[tuple[Usage, Usage]], source: Path) -> str:
    speed = source.stat().st_size / MB / median(usage.cpu_seconds for _, usage in pairs)
    return f"{_cpu_of(pairs)}; {speed:.0f} MB/s"


ROWS: dict[str, Callable[[Workshop], list[Row]]] = {
    "compact-mixed": _compact("mixed", "null", 2.1),
    "compact-results": _compact("results", "null-lines", 3.0),
    "compact-bloat": _compact("bloat", "null", 1.6),
    "compact-nonascii": _compact("nonascii", "null-lines", None),
    "compact-typical": _compact("typical", "null-lines", None),
    "compact-openviking": _compact("openviking", "null-lines", None),
    "backfill-mixed": _backfill("mixed"),
    "backfill-results": _backfill("results"),
    "jobs": _two_jobs,
    "hostile": _hostile,
    "memory": _memory,
    "delay": _delay,
    "start": _start,
    "stats": _stats,
    "sizes": _sizes,
}
