"""What happened to the records of one session, and to each site of one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import RecordRow, SessionInfo, SiteRow, shown
from pipeline.disk.rows import day_text
from pipeline.errors import UsageError
from pipeline.monitor.tables import count, percent, printable, ratio, size
from pipeline.records import BLANK, NO_RULES, NOT_JSON, NOT_OBJECT, NOT_UTF8, NUL_RUN, TOO_DEEP, TOO_LONG
from pipeline.rules import base
from pipeline.stages.splice import UNSPLICED

HANDLE_DIGITS = 16
MAX_RULES_CHARS = 60

WHY = MappingProxyType(
    {
        NOT_JSON: "the line is no JSON, so it went through byte for byte",
        NOT_UTF8: "the line is no UTF-8, so it went through byte for byte",
        NOT_OBJECT: "the line is JSON but no object, so it went through byte for byte",
        TOO_LONG: "the record is larger than reader.max_record_bytes, so it went through byte for byte",
        TOO_DEEP: "the record is nested too deeply to decode, so it went through byte for byte",
        NUL_RUN: "the line is a run of NUL bytes, so it went through byte for byte",
        BLANK: "the line is blank",
        NO_RULES: "sessions of this format are not compacted yet",
        base.SMALL: "shorter than the configured least size",
        base.LOW_SAVINGS: "what a rule would save is too little, or its mark would eat it up",
        base.COMPACTED: "it holds a mark already: nothing is compacted twice",
        base.RECALLED: "it is the answer of recall, show or restore: what was asked for stays",
        base.FAILURE_FALLBACK: "every rule that fits would have dropped a failure line",
        base.STRUCTURED: "it is JSON that cannot be shortened and stay valid",
        base.POLICY: "the configuration keeps such values whole",
        base.STUB: "it stands for an output that is kept elsewhere",
        UNSPLICED: "its place in the record could not be told for sure",
        base.NO_RULE: "no rule knows this kind of text",
    }
)
"""Why nothing was done, in words."""


@dataclass(slots=True)
class RecordView:
    """A record with its sites."""

    row: RecordRow
    sites: list[SiteRow] = field(default_factory=list)

    @property
    def edits(self) -> int:
        """Values that were shortened."""
        return sum(site.applied for site in self.sites)

    @property
    def what(self) -> str:
        """The rules that fired, else why none did; for undecoded records why."""
        fired = dict.fromkeys(site.rule for site in self.sites if site.applied)
        words = list(fired) or list(dict.fromkeys(site.reason for site in self.sites if site.reason))
        return self.row.reason or ", ".join(words)


def record_views(
    reader: LedgerReader, info: SessionInfo, first: int | None = None, last: int | None = None
) -> Iterator[RecordView]:
    """The records of a session's current generation with their sites, in order; reads both a chunk at a time."""
    sites = reader.sites(info.id, info.generation, first, last)
    waiting = next(sites, None)
    for row in reader.records(info.id, info.generation, first, last):
        view = RecordView(row)
        while waiting is not None and waiting.ordinal <= row.ordinal:
            view.sites.append(waiting)
            waiting = next(sites, None)
        yield view


def one_record(reader: LedgerReader, info: SessionInfo, ordinal: int) -> RecordView:
    """One record.

    Raises:
        UsageError: the session has no such record.
    """
    for view in record_views(reader, info, ordinal, ordinal):
        return view
    raise UsageError(f"RECORD: need a line number from 1 to {info.records}, got {ordinal}")


def headline(info: SessionInfo, out: str) -> list[str]:
    """The session in a few lines."""
    saved = info.source_bytes - info.output_bytes
    return [
        printable(f"#{info.id} {shown(info.source_path)}"),
        printable(f"   -> {out}/{shown(info.out_path)}"),
        f"{info.format or 'no format yet'}, generation {info.generation}, {count(info.records)} records: "
        f"{size(info.source_bytes)} -> {size(info.output_bytes)}, saved {percent(saved, info.source_bytes)}",
    ]


def session_lines(views: Iterator[RecordView], records: int) -> Iterator[str]:
    """A table of records, a line at a time: a session may have millions."""
    width = max(6, len(str(records)))
    sizes = f"{'source':>8}  {'output':>8}  {'saved %':>7}"
    yield f"{'record':>{width}}  {'outcome':9}  {sizes}  {'edits':>7}  what and why"
    for view in views:
        row = view.row
        edits = f"{view.edits} of {len(view.sites)}" if view.sites else "-"
        what = view.what if len(view.what) <= MAX_RULES_CHARS else f"{view.what[: MAX_RULES_CHARS - 1]}…"
        saved = percent(row.src_len - row.out_len, row.src_len)
        line = (
            f"{row.ordinal:>{width}}  {row.outcome:9}  {size(row.src_len):>8}  {size(row.out_len):>8}  {saved:>7}  "
            f"{edits:>7}  {what}"
        )
        yield printable(line.rstrip())


def record_lines(reader: LedgerReader, view: RecordView) -> list[str]:
    """One record in words: each site with what fired, what it saved and how to see the original, or why nothing did."""
    row = view.row
    lines = [
        f"record {row.ordinal}: {row.outcome}{f' ({row.reason})' if row.reason else ''}, {day_text(row.day)}, "
        f"{count(row.src_len)} -> {count(row.out_len)} bytes; source from byte {count(row.src_off)}, "
        f"output from byte {count(row.out_off)}"
    ]
    if row.reason:
        lines.append(f"  {WHY.get(row.reason, row.reason)}")
    elif not view.sites:
        lines.append("  nothing in it is a tool input, a tool result or a copy of one")
    for site in view.sites:
        name = f"{site.stage} of {site.tool or 'an unknown tool'}"
        if site.applied:
            saved = site.bytes_before - site.bytes_after
            lines.append(
                f"  {site.n}: {name}: {site.rule}, {count(site.bytes_before)} -> {count(site.bytes_after)} bytes, "
                f"saved {percent(saved, site.bytes_before)}"
            )
            handle = _handle(reader, site)
            kept = f"compactd recall {handle}" if handle else "the vault was off: the original was not kept"
            lines.append(f"     original: {kept}")
        else:
            why = WHY.get(site.reason)
            lines.append(f"  {site.n}: {name}: left as it is, {count(site.bytes_before)} bytes: {site.reason}")
            lines += [f"     {why}"] if why else []
    return [printable(line) for line in lines]


def record_document(view: RecordView) -> dict[str, Any]:
    """A record as a row of the --json document."""
    row = view.row
    return {
        "record": row.ordinal,
        "outcome": row.outcome,
        "reason": row.reason,
        "day": day_text(row.day),
        "sites": len(view.sites),
        "edits": view.edits,
        "rules": list(dict.fromkeys(site.rule for site in view.sites if site.applied)),
        "source_offset": row.src_off,
        "output_offset": row.out_off,
        **_sizes(row.src_len, row.out_len),
    }


def site_document(reader: LedgerReader, site: SiteRow) -> dict[str, Any]:
    """A site as a row of the --json document; `offset` is that of the new value in the output record."""
    return {
        "record": site.ordinal,
        "site": site.n,
        "stage": site.stage,
        "tool": site.tool,
        "rule": site.rule,
        "reason": site.reason,
        "applied": site.applied,
        "offset": site.off_in_output_record,
        "handle": _handle(reader, site),
        **_sizes(site.bytes_before, site.bytes_after),
    }


@dataclass(slots=True)
class Total:
    """The sums of the records that were shown so far."""

    records: int = 0
    sites: int = 0
    edits: int = 0
    source_bytes: int = 0
    output_bytes: int = 0

    def counted(self, views: Iterable[RecordView]) -> Iterator[RecordView]:
        """The same views, each counted when it is taken."""
        for view in views:
            self.records += 1
            self.sites += len(view.sites)
            self.edits += view.edits
            self.source_bytes += view.row.src_len
            self.output_bytes += view.row.out_len
            yield view

    def document(self, info: SessionInfo) -> dict[str, Any]:
        """The sums, and which session they are of."""
        return {
            "session": shown(info.source_path),
            "id": info.id,
            "format": info.format,
            "generation": info.generation,
            "records": self.records,
            "sites": self.sites,
            "edits": self.edits,
            **_sizes(self.source_bytes, self.output_bytes),
        }


def _handle(reader: LedgerReader, site: SiteRow) -> str:
    value = reader.value(site.value) if site.value else None
    return value.digest16.hex()[:HANDLE_DIGITS] if value is not None else ""


def _sizes(before: int, after: int) -> dict[str, Any]:
    saved = before - after
    return {
        "source_bytes": before,
        "output_bytes": after,
        "saved_bytes": saved,
        "saved_ratio": ratio(saved, before),
    }
