"""What compactd takes up: memory, and bytes on disk against what plain compression of the sources would take."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import hostile
import large_ledger
import zstandard
from generate import MB
from row import Row, kilobytes
from workshop import SAMPLES, Workshop

MAX_MEMORY_MB = 200.0
RECORD_LIMIT_BYTES = 16 * 1024 * 1024
# A session of this size has text enough for one record.
LARGE_RECORD_MB = 20.0


def memory(workshop: Workshop) -> list[Row]:
    """The largest process of a compaction and of a backfill, at one size of the session and at twice that."""
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
        with open(workshop.session(variant, max(workshop.mb, LARGE_RECORD_MB)), encoding="utf-8") as file:
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


def sizes(workshop: Workshop) -> list[Row]:
    """Outputs and vault after a backfill, against the sources as they are and as zstd packs them."""
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
        f"sources {kilobytes(raw)}, zstd -3 {kilobytes(packed)}; outputs {kilobytes(compacted)} "
        f"+ vault {kilobytes(vault)} (+ ledger {kilobytes(ledger.stat().st_size)}); outputs zstd -3 {kilobytes(again)}"
    )
    rows = [
        Row(f"size {name}, outputs / sources", compacted / raw, "x", None, detail),
        Row(f"size {name}, outputs + vault / zstd -3 of sources", (compacted + vault) / packed, "x", None),
        Row(f"size {name}, vault / one zstd -3 stream", vault / removed, "x", 1.15, f"stream {kilobytes(removed)}"),
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
    from pipeline.disk.ledger_reader import LedgerReader
    from pipeline.disk.packs import VaultReader

    stream = zstandard.ZstdCompressor(level=3).compressobj()
    vault = VaultReader(str(workshop.state / "vault"))
    packed = 0
    with LedgerReader.open(str(workshop.state / "ledger.db")) as ledger:
        for pack in sorted(ledger.committed_packs()):
            packed += sum(len(stream.compress(vault.value(row))) for row in ledger.values_in_pack(pack))
    return packed + len(stream.flush())


def _bytes_of(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)
