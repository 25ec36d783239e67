"""Verify: does output + vault + ledger still give the source, and do all numbers add up? (README.md, P8)"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import xxhash

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import RecordRow, SessionInfo, shown
from pipeline.disk.naming import one_session
from pipeline.disk.packs import VaultReader
from pipeline.disk.rows import GenerationRow, day_text
from pipeline.disk.sources import open_source
from pipeline.errors import LedgerError, SourceError
from pipeline.monitor.rebuild import Rebuilder, Rebuilt
from pipeline.parcels import signed
from pipeline.runs.report import Report
from pipeline.runs.restoring import open_ledger, vault_folder
from pipeline.settings import Settings

PROBLEMS_SHOWN = 20


@dataclass(slots=True)
class _Check:
    """The check of one session."""

    problems: list[str] = field(default_factory=list)
    records: int = 0
    sites: int = 0
    edits: int = 0
    source_bytes: int = 0
    output_bytes: int = 0
    restorable: bool = True
    compared: str = "hashes"
    """"source" when its bytes were compared, "hashes" when it is gone or was changed since."""
    unkept: int = 0
    """Records that were edited without a vault: what is outside of their edits is compared with the source, if any."""


def verify(settings: Settings, sessions: Sequence[str], *, restorable: bool = False) -> Report:
    """Check sessions, all if none is named.

    Every record is rebuilt and compared with the source, or with its hash where the source is gone; every span, sum
    and rollup is recomputed. Rules are not run again. That a session was made without a vault is a note and no
    failure: of what it had edited there is nothing to compare. `restorable` keeps only the rows of sessions whose
    source could be deleted without loss; nothing is deleted.

    Raises:
        UsageError: a named session is not in the ledger.
    """
    report = Report()
    with open_ledger(settings) as reader:
        chosen = [one_session(reader, text, out=settings.out) for text in sessions] or reader.sessions()
        vault = VaultReader(vault_folder(settings))
        for info in chosen:
            name = shown(info.source_path)
            check = _verify_session(reader, vault, settings.out, info)
            report.failed += [f"{name}: {problem}" for problem in check.problems[:PROBLEMS_SHOWN]]
            note = f"not restorable: {check.unkept} records were edited without a vault" if check.unkept else ""
            if check.compared == "hashes" and os.path.lexists(os.fsdecode(info.source_path)):
                note = note or "its source has changed since it was taken in; `compactd backfill` takes it in again"
            report.notes += [f"{name}: {note}"] if note else []
            whole = check.restorable and not check.unkept and not check.problems
            # Only what is byte for byte what was taken in may go; what is gone already is nobody's choice any more.
            if restorable and not (whole and check.compared == "source" and _size(info) == check.source_bytes):
                continue
            saved = check.source_bytes - check.output_bytes
            report.rows.append(
                {
                    "session": name,
                    "ok": not check.problems,
                    "compared_with": check.compared,
                    "records": check.records,
                    "sites": check.sites,
                    "edits": check.edits,
                    "source_bytes": check.source_bytes,
                    "output_bytes": check.output_bytes,
                    "saved_bytes": saved,
                    "restorable": whole,
                    "note": note,
                }
            )
        report.failed += [
            f"{reader.path}: the sum over all sessions by {grouping} is wrong: day {day_text(day)}, key {key}"
            for grouping, day, key in reader.wrong_totals(PROBLEMS_SHOWN)
        ]
        keys = ("records", "sites", "edits", "source_bytes", "output_bytes", "saved_bytes")
        report.total = {key: sum(row[key] for row in report.rows) for key in keys}
        source = report.total["source_bytes"]
        report.total["saved_ratio"] = round(report.total["saved_bytes"] / source, 4) if source else 0.0
        report.total["vault_bytes"] = reader.vault_bytes()
        report.total["sessions"] = len(report.rows)
        report.total["problems"] = len(report.failed)
    return report


def _verify_session(reader: LedgerReader, vault: VaultReader, out: str, info: SessionInfo) -> _Check:
    check = _Check()
    row = reader.generation(info.id, info.generation)
    if row is None:
        # Nothing of it was committed yet.
        return check
    source = _open_source(info)
    try:
        _verify_records(Rebuilder(reader, vault, out, info, row), source, row.records, check)
    except LedgerError as error:
        check.problems.append(str(error))
        check.restorable = False
    finally:
        if source is not None:
            source.close()
    if not check.problems:
        _verify_sums(reader, info, row, check)
    return check


def _verify_records(rebuilder: Rebuilder, source: BinaryIO | None, records: int, check: _Check) -> None:
    src_off = out_off = 0
    check.compared = "source" if source is not None else "hashes"
    # Not further than the checkpoint that was read: a daemon may be at work.
    for record in rebuilder.records(last=records):
        row = record.row
        check.records += 1
        check.sites += len(record.sites)
        check.edits += sum(site.applied for site in record.sites)
        check.problems += record.problems
        if (row.ordinal, row.src_off, row.out_off) != (check.records, src_off, out_off):
            check.problems.append(
                f"record {row.ordinal}: need place {src_off} of the source and {out_off} of the output"
            )
        src_off, out_off = row.src_off + row.src_len, row.out_off + row.out_len
        if record.problems:
            continue
        if record.unkept is None:
            _compare(record, source, check)
        else:
            check.unkept += 1
            _compare_unkept(record.row, record.unkept, source, check)
        if len(check.problems) > PROBLEMS_SHOWN:
            return
    check.source_bytes, check.output_bytes = src_off, out_off


def _compare(record: Rebuilt, source: BinaryIO | None, check: _Check) -> None:
    """The rebuilt bytes against the hash of the record, and against the source where it still is what was read."""
    digest = xxhash.xxh3_64()
    length = 0
    same = True
    for piece in record.source:
        digest.update(piece)
        length += len(piece)
        if source is not None and check.compared == "source":
            same = same and source.read(len(piece)) == piece
    if (signed(digest.intdigest()), length) != (record.row.hash8, record.row.src_len):
        check.problems.append(f"record {record.row.ordinal}: what is restored is not what was read")
    elif not same:
        # The record is what was read, so the source was rewritten since: not this session's fault.
        check.compared = "hashes"


def _compare_unkept(row: RecordRow, unkept: list[tuple[int, bytes]], source: BinaryIO | None, check: _Check) -> None:
    """A record whose originals were never kept: only its source can tell, as long as it is what was read."""
    if source is None or check.compared != "source":
        return
    record = source.read(row.src_len)
    if (signed(xxhash.xxh3_64_intdigest(record)), len(record)) != (row.hash8, row.src_len):
        check.compared = "hashes"
    elif any(not record.startswith(part, at) for at, part in unkept):
        check.problems.append(f"record {row.ordinal}: what was not edited is not what was read")


def _verify_sums(reader: LedgerReader, info: SessionInfo, row: GenerationRow, check: _Check) -> None:
    if (check.records, check.source_bytes, check.output_bytes) != (row.records, row.src_off, row.out_len):
        check.problems.append(
            f"its checkpoint says {row.records} records, {row.src_off} source and {row.out_len} output bytes; "
            f"its records have {check.records}, {check.source_bytes} and {check.output_bytes}"
        )
    wrong = reader.rollup(info.id, info.generation) != reader.recount(info.id, info.generation)
    # Two questions are two moments: a commit between them makes no difference of its own.
    if wrong and reader.generation(info.id, info.generation) == row:
        check.problems.append("the sums that `stats` shows are not those of its rows")


def _open_source(info: SessionInfo) -> BinaryIO | None:
    try:
        return open_source(os.fsdecode(info.source_path)).file
    except SourceError:
        return None


def _size(info: SessionInfo) -> int:
    """Bytes of the source's content now; -1 when it is gone or cannot be read."""
    try:
        with open_source(os.fsdecode(info.source_path)) as source:
            return source.size
    except SourceError:
        return -1
