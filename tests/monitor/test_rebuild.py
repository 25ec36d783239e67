"""Records are put back from what is kept, also of a superseded generation; what was not kept is said to be lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Home, short

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.packs import VaultReader
from pipeline.errors import LedgerError
from pipeline.monitor.rebuild import Rebuilder, Rebuilt
from pipeline.settings import VaultSettings

LONG = b'{"type":"user","sessionId":"s1","message":{"role":"user","content":"' + b"z" * 6000 + b'"}}\n'
DATA = HEAD + short(1) + LONG + b"\n\xff\n" + short(2)
OTHER = HEAD + short(7)


@contextmanager
def rebuilder(home: Home, generation: int = 1) -> Iterator[Rebuilder]:
    with LedgerReader.open(str(home.state / "ledger.db")) as reader:
        info, row = reader.session(1), reader.generation(1, generation)
        assert info is not None
        assert row is not None
        yield Rebuilder(reader, VaultReader(str(home.state / "vault")), str(home.out), info, row)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("a.jsonl", DATA)
    home.backfill()
    return home


def whole(record: Rebuilt) -> bytes:
    return b"".join(record.source)


def test_each_record_is_what_was_read(home: Home) -> None:
    with rebuilder(home) as found:
        records = [(record.row.ordinal, b"".join(record.source)) for record in found.records()]
        assert records == list(enumerate(DATA.splitlines(keepends=True), 1))
        # Some of them alone: what is before them is passed over.
        assert [b"".join(record.source) for record in found.records(3, 4)] == DATA.splitlines(keepends=True)[2:4]
        assert [record.row.ordinal for record in found.records(7)] == [7, 8]
        assert list(found.records(99)) == []


def test_outputs_are_those_of_the_file_without_what_was_not_decoded(home: Home) -> None:
    with rebuilder(home) as found:
        outputs = [data for _, data in found.outputs()]
    lines = home.output("a.jsonl").splitlines(keepends=True)
    assert outputs == [b"" if number in (3, 4, 5) else line for number, line in enumerate(lines)]


def test_a_superseded_generation_is_read_from_the_archive(home: Home) -> None:
    home.write("a.jsonl", OTHER)
    home.backfill()
    for generation, data in ((1, DATA), (2, OTHER)):
        with rebuilder(home, generation) as found:
            assert b"".join(piece for record in found.records() for piece in record.source) == data
            assert (".generations" in found.path) is (generation == 1)
            # A compressed output can only be read forward.
            last = len(data.splitlines())
            assert [b"".join(record.source) for record in found.records(last)] == data.splitlines(keepends=True)[-1:]


def test_a_damaged_archive_is_a_ledger_error(home: Home) -> None:
    home.write("a.jsonl", OTHER)
    home.backfill()
    (archive,) = home.out.rglob("*.zst")
    data = archive.read_bytes()
    for damaged in (data[: len(data) // 2], data[:20] + b"\0" * 20 + data[40:], b""):
        archive.write_bytes(damaged)
        with rebuilder(home) as found, pytest.raises(LedgerError, match=r"1\.jsonl\.zst: .*the output"):
            list(map(whole, found.records()))


def test_of_a_record_without_originals_only_what_was_not_edited_is_there(tmp_path: Path) -> None:
    home = Home(tmp_path, replace(SHORT, vault=VaultSettings(enabled=False)))
    home.write("a.jsonl", DATA)
    home.backfill()
    with rebuilder(home) as found:
        lost = 0
        for record, source in zip(found.records(), DATA.splitlines(keepends=True), strict=True):
            if record.unkept is None:
                assert b"".join(record.source) == source
                continue
            lost += 1
            assert len(record.unkept) == 1 + sum(site.applied for site in record.sites)
            assert all(source[at : at + len(part)] == part for at, part in record.unkept)
            with pytest.raises(LedgerError, match=f"record {record.row.ordinal} was edited without a vault"):
                b"".join(record.source)
        assert lost == 2
