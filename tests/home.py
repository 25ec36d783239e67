"""Sources, outputs and state of one test, worked on in this process; and what has to hold whenever a run is over."""

from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support import call, result

from pipeline.disk.ledger import Ledger
from pipeline.disk.rows import GenerationRow
from pipeline.disk.scan import Root, look_at
from pipeline.disk.store import Store
from pipeline.parcels import Parcel
from pipeline.rules.base import RULES_VERSION
from pipeline.runs.backfill import backfill
from pipeline.runs.catalog import Catalog, Skipped, Unchanged
from pipeline.runs.oneshot import compact_file
from pipeline.runs.reading import Opening, SessionReading
from pipeline.runs.report import Report
from pipeline.runs.restoring import restore
from pipeline.runs.verifying import verify
from pipeline.settings import (
    CommitSettings,
    CopySettings,
    ReaderSettings,
    Settings,
    ToolInputSettings,
    ToolResultSettings,
    output_digest,
)
from pipeline.stages.chain import build_chain
from pipeline.stages.pack import Pack

SHORT = Settings(
    tool_input=ToolInputSettings(max_chars=300),
    tool_result=ToolResultSettings(min_bytes=64, head_lines=2, tail_lines=2),
    copies=CopySettings(min_bytes=64),
    reader=ReaderSettings(max_record_bytes=4096, batch_bytes=2048, batch_records=3),
    commit=CommitSettings(max_bytes=8192, max_records=10),
)
"""Settings by which short records are compacted, in small batches and commits."""


HEAD = b'{"type":"summary","summary":"a shed","leafUuid":"u0"}\n'
"""A first record that shows the format of a session."""


def short(number: int, rows: int = 8) -> bytes:
    """A call and its result: two short lines of which the second is compacted; no two numbers give the same."""
    text = "\n".join(f"step {number}.{row}: took crate {(number * 31 + row) * 7919 % 1009} é" for row in range(rows))
    made = call(2 * number + 1, "Bash", {"command": f"make part{number}"})
    return made + b"\n" + result(2 * number + 2, 2 * number + 1, text) + b"\n"


def comparable(output: bytes) -> bytes:
    """An output's bytes as the filter writes them: its marks name another command of the same length."""
    return output.replace(b"compactd recall ", b"compactd digest ")


def oracle(source: Path, settings: Settings, *, format: str = "auto") -> bytes:
    """What the filter makes of a source (README.md, P0)."""
    target = source.parent / f".oracle-{source.name}"
    compact_file(str(source), str(target), format=format, settings=settings)
    output = target.read_bytes()
    target.unlink()
    return comparable(output)


@dataclass(frozen=True)
class Home:
    """The folders of one test; `base` is made when it is missing."""

    base: Path
    given: Settings = SHORT

    @property
    def source(self) -> Path:
        folder = self.base / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def out(self) -> Path:
        return self.base / "out"

    @property
    def state(self) -> Path:
        return self.base / "state"

    @property
    def settings(self) -> Settings:
        return replace(self.given, out=str(self.out), state=str(self.state))

    def write(self, rel: str, data: bytes) -> Path:
        """A source file with this content, written anew in place."""
        path = self.source / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def append(self, rel: str, data: bytes) -> Path:
        path = self.source / rel
        with path.open("ab") as sink:
            sink.write(data)
        return path

    def backfill(self, *targets: str | Path, **options: Any) -> Report:
        """A backfill of the targets, of all sources when none is named."""
        return backfill(self.settings, [str(target) for target in targets] or [str(self.source)], **options)

    def store(self) -> Store:
        return Store.open(self.settings, output_digest(self.settings, RULES_VERSION))

    def output(self, rel: str) -> bytes:
        return (self.out / "sessions" / rel).read_bytes()

    def outputs(self) -> dict[str, bytes]:
        """All files below the output folder, those of older generations included, but for the lock."""
        return {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in sorted(self.out.rglob("*"))
            if path.is_file() and path.name != ".compactd.lock"
        }

    def restored(self, session: str | Path, generation: int | None = None) -> bytes:
        sink = io.BytesIO()
        restore(self.settings, str(session), generation, sink)
        return sink.getvalue()

    def generations(self, session: int = 1) -> list[GenerationRow]:
        ledger = Ledger.open(str(self.state / "ledger.db"))
        try:
            return ledger.generations(session)
        finally:
            ledger.close()

    def query(self, sql: str, arguments: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of the ledger, which is only read."""
        connection = sqlite3.connect(f"file:{self.state / 'ledger.db'}?mode=ro", uri=True)
        try:
            return connection.execute(sql, arguments).fetchall()
        finally:
            connection.close()

    def change(self, sql: str, arguments: Sequence[object] = ()) -> int:
        """Damage the ledger; gives the count of changed rows."""
        connection = sqlite3.connect(self.state / "ledger.db")
        try:
            with connection:
                return connection.execute(sql, arguments).rowcount
        finally:
            connection.close()

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of all tables that a run without news must leave as they are."""
        names = ("root", "session", "generation", "record", "site", "value", "rollup", "total", "pack", "name")
        return {name: self.query(f"SELECT * FROM {name} ORDER BY 1, 2") for name in names}

    def problems(self) -> list[str]:
        return verify(self.settings, []).failed

    def check(self, *rels: str, format: str = "auto") -> None:
        """Output, ledger and vault of these sources are what they have to be (README.md, P0, P1, P3, P8)."""
        for rel in rels:
            path = self.source / rel
            assert comparable(self.output(rel)) == oracle(path, self.settings, format=format)
            assert self.restored(path) == path.read_bytes()
            assert self.spans(rel) == spans_of(path.read_bytes())
        assert self.problems() == []

    def spans(self, rel: str) -> list[tuple[int, int, int]]:
        """Ordinal, offset and length of each record of a session's current generation."""
        return self.query(
            "SELECT ordinal, src_off, src_len FROM record JOIN session s ON s.id = session "
            "AND s.generation = record.generation WHERE rel = ? ORDER BY ordinal",
            (os.fsencode(rel),),
        )


class Hand:
    """Reads sessions into a store turn by turn, as backfill and daemon do, but only as far as it is told to."""

    def __init__(self, home: Home, *, at_end: bool = True) -> None:
        self.home = home
        self.store = home.store()
        self.at_end = at_end
        self._chain = build_chain(home.settings, verb="recall")
        self._pack = Pack(home.settings.vault.enabled)
        self._readings: list[SessionReading] = []

    def __enter__(self) -> Hand:
        return self

    def __exit__(self, *exc: object) -> None:
        for reading in self._readings:
            reading.close()
        self.store.close()

    def catalog(self, path: Path, *, renew: bool = False, format: str = "auto") -> Opening | Unchanged | Skipped:
        """What the catalog makes of a file of this name."""
        rel = str(path.relative_to(self.home.source))
        found = look_at(Root(str(self.home.source), (), only=frozenset({rel})), rel)
        assert found is not None
        return Catalog(self.store, format=format).opening(found, renew=renew)

    def reading(self, path: Path, *, renew: bool = False) -> SessionReading:
        opening = self.catalog(path, renew=renew)
        assert isinstance(opening, Opening), opening
        reading = SessionReading(opening, self.home.settings)
        self._readings.append(reading)
        return reading

    def parcel(self, reading: SessionReading) -> Parcel | None:
        """One turn, compacted and packed; nothing is written."""
        batch = reading.next_batch(at_end=self.at_end)
        return None if batch is None else self._pack(self._chain(batch))

    def take(self, reading: SessionReading, turns: int = 1_000_000) -> int:
        """Append what so many turns give; gives the count of those that had something."""
        for turn in range(turns):
            parcel = self.parcel(reading)
            if parcel is None:
                return turn
            self.store.append(parcel)
        return turns

    def settle(self, reading: SessionReading) -> None:
        """Take all there is and commit it."""
        self.take(reading)
        self.store.commit()


def spans_of(data: bytes) -> list[tuple[int, int, int]]:
    """Ordinal, offset and length of each line."""
    found: list[tuple[int, int, int]] = []
    offset = 0
    for number, part in enumerate(data.split(b"\n"), 1):
        length = min(len(part) + 1, len(data) - offset)
        if length:
            found.append((number, offset, length))
        offset += length
    return found
