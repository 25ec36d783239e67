"""What was committed to the vault comes back byte for byte; what was not leaves no trace."""

from __future__ import annotations

import hashlib
import io
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.disk.entries import EDITS, HEADER, VALUE, EditSpan, RecordEdits, decode_edits, digest16, encode_edits
from pipeline.disk.packs import VaultReader, open_frame
from pipeline.disk.rows import ValueRow
from pipeline.disk.vault import VaultWriter
from pipeline.errors import LedgerError, OutputError

SMALL = {"frame_bytes": 2_000, "pack_bytes": 3_000}


def noise(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


def opened(folder: Path, committed: dict[int, int] | None = None, limits: dict[str, int] | None = None) -> VaultWriter:
    writer = VaultWriter(str(folder), **(limits or {}))
    writer.open(committed or {})
    return writer


def commit(writer: VaultWriter, committed: dict[int, int]) -> list[ValueRow]:
    rows = writer.flush()
    for fd in writer.fds_to_sync():
        os.fdatasync(fd)
    committed.update(writer.lengths())
    writer.committed()
    return rows


def put(writer: VaultWriter, id: int, value: bytes) -> ValueRow:
    return writer.add(id, hashlib.sha256(value).digest(), value)


def content(folder: Path, committed: dict[int, int]) -> list[bytes]:
    reader = VaultReader(str(folder))
    return [entry.data for pack in sorted(committed) for entry in reader.entries(pack, committed[pack])]


@contextmanager
def largest_file(length: int) -> Iterator[None]:
    """Files of this process cannot grow beyond `length` bytes: as with a full disk, writes are cut short first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_values_come_back_and_the_files_are_private(tmp_path: Path) -> None:
    folder, committed = tmp_path / "state" / "vault", dict[int, int]()
    values = {id: noise(id, id * 100) for id in range(20)}
    writer = opened(folder, limits=SMALL)
    for id, value in values.items():
        put(writer, id, value)
    rows = commit(writer, committed)
    writer.close()
    reader = VaultReader(str(folder), cache_bytes=4_000)
    assert {row.id: reader.value(row) for row in rows} == values
    assert {row.id: reader.read(row.pack, row.frame, row.off, row.len) for row in reversed(rows)} == values
    assert len(committed) > 2
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == {
        f"{pack:06}.pack": length for pack, length in committed.items()
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_row_is_known_when_its_value_is_added_and_flush_gives_it_until_the_commit(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    row = put(writer, 7, b'"some text"')
    assert (row.id, row.digest16, row.len) == (7, digest16(b'"some text"'), 11)
    # A commit that fails behind the flush is tried with the same rows.
    assert (writer.flush(), writer.flush()) == ([row], [row])
    writer.committed()
    assert writer.flush() == []
    writer.close()


def test_a_pack_is_plain_zstd_of_the_documented_entries(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    edits = encode_edits(
        RecordEdits(b"root/a.jsonl", 1, 5, 90, -3, (EditSpan(4, 2, 9, digest16(b"value"), "s", "t", "r"),))
    )
    writer = opened(tmp_path)
    for _ in range(2):
        put(writer, 1, b"value")
        writer.add_record_edits(edits)
        commit(writer, committed)
    writer.close()
    writer = opened(tmp_path, committed)
    put(writer, 2, b"after a restart")
    commit(writer, committed)
    writer.close()
    packed = (tmp_path / "000001.pack").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as stream:
        raw = stream.read()
    entries = [(VALUE, b"value"), (EDITS, edits)] * 2 + [(VALUE, b"after a restart")]
    assert raw == b"".join(HEADER.pack(kind, digest16(data), len(data)) + data for kind, data in entries)
    read = list(VaultReader(str(tmp_path)).entries(1, committed[1]))
    assert [(entry.kind, entry.data) for entry in read] == entries
    assert decode_edits(read[1].data).edits[0].digest16 == read[0].digest16


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3_000)),
        st.tuples(st.sampled_from(["flush", "commit", "commit", "rollback", "crash", "close"]), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(OPERATIONS)
def test_after_any_history_exactly_the_committed_entries_are_there(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("vault")
    committed: dict[int, int] = {}
    kept: list[bytes] = []
    pending: list[bytes] = []
    rows: list[ValueRow] = []
    writer = opened(folder, limits=SMALL)
    for number, (what, length) in enumerate([*operations, ("commit", 0)]):
        if what == "add":
            pending.append(noise(number, length))
            put(writer, number, pending[-1])
        elif what == "commit":
            rows += commit(writer, committed)
            kept += pending
            pending = []
        elif what == "flush":
            writer.flush()
        elif what == "rollback":
            writer.rollback()
            pending = []
        else:
            writer.close()
            pending = []
            if what == "crash" and committed:
                with open(folder / f"{max(committed):06}.pack", "ab") as file:
                    file.write(b"torn")
            writer = opened(folder, committed, SMALL)
    writer.close()
    assert content(folder, committed) == kept
    for pack, length in committed.items():
        assert (folder / f"{pack:06}.pack").stat().st_size == length
    reader = VaultReader(str(folder))
    assert {reader.value(row) for row in rows} <= set(kept)


def test_open_cuts_to_the_commit_and_removes_packs_without_one(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path, limits=SMALL)
    put(writer, 1, noise(1, 1_900))
    commit(writer, committed)
    for id in range(2, 9):
        put(writer, id, noise(id, 1_900))
    writer.flush()
    writer.close()
    (tmp_path / "notes.txt").write_text("kept")
    assert len(list(tmp_path.iterdir())) > 2
    opened(tmp_path, committed).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001.pack", "notes.txt"]
    assert content(tmp_path, committed) == [noise(1, 1_900)]


@pytest.mark.parametrize("gone", [True, False])
def test_a_pack_that_lost_bytes_is_refused_and_nothing_is_changed(tmp_path: Path, gone: bool) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path, limits=SMALL)
    for id in range(9):
        put(writer, id, noise(id, 1_900))
    commit(writer, committed)
    writer.close()
    first, second = tmp_path / "000001.pack", tmp_path / "000002.pack"
    if gone:
        first.unlink()
    else:
        os.truncate(first, committed[1] - 1)
    with open(second, "ab") as pack:
        pack.write(b"torn")
    with pytest.raises(LedgerError, match=r"000001\.pack: need \d+ committed bytes, it .*a new --state"):
        opened(tmp_path, committed)
    assert second.stat().st_size == committed[2] + 4


def test_equal_values_are_found_and_equal_digests_alone_are_not_enough(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path, limits=SMALL)
    same_digest = b"d" * 16
    stored = writer.add(1, same_digest, noise(1, 1_500))
    assert writer.find_pending(same_digest, noise(1, 1_500)) == 1
    assert writer.find_pending(same_digest, noise(2, 1_500)) is None
    writer.add(2, same_digest, noise(2, 1_500))
    assert writer.find_pending(same_digest, noise(2, 1_500)) == 2
    assert writer.find_pending(same_digest, noise(1, 1_500)) == 1
    commit(writer, committed)
    assert writer.find_pending(same_digest, noise(1, 1_500)) is None
    assert [writer.same(stored, noise(1, 1_500)), writer.same(stored, noise(2, 1_500)), writer.same(stored, b"")] == [
        True,
        False,
        False,
    ]
    writer.close()
    writer = opened(tmp_path, committed, SMALL)
    assert writer.same(stored, noise(1, 1_500))
    writer.close()


def test_a_full_disk_takes_everything_back_to_the_commit_and_the_next_try_works(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path)
    put(writer, 1, noise(1, 10_000))
    commit(writer, committed)
    put(writer, 2, noise(2, 100_000))
    with largest_file(50_000), pytest.raises(OutputError, match="cannot write"):
        writer.flush()
    assert (tmp_path / "000001.pack").stat().st_size == committed[1]
    assert (writer.flush(), writer.lengths(), writer.fds_to_sync()) == ([], {}, [])
    put(writer, 3, noise(3, 100_000))
    commit(writer, committed)
    writer.close()
    assert content(tmp_path, committed) == [noise(1, 10_000), noise(3, 100_000)]


@pytest.mark.parametrize("how", ["deleted", "replaced", "cut"])
def test_a_pack_that_is_taken_away_while_it_is_open_is_noticed(tmp_path: Path, how: str) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path)
    put(writer, 1, noise(1, 10_000))
    commit(writer, committed)
    pack = tmp_path / "000001.pack"
    if how == "cut":
        os.truncate(pack, 100)
    else:
        pack.unlink()
    if how == "replaced":
        pack.write_bytes(bytes(20_000))
    put(writer, 2, b"lost")
    with pytest.raises(LedgerError, match="was deleted, replaced or cut"):
        writer.flush()
    writer.close()


def test_commit_before_flush_is_a_bug_that_shows(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    put(writer, 1, b"x")
    with pytest.raises(RuntimeError):
        writer.committed()
    writer.close()


DAMAGED_PACKS = [
    pytest.param(bytes(500), id="zeros"),
    pytest.param(b"no frame at all " * 30, id="text"),
    pytest.param(zstandard.compress(b"X" * 500), id="no entry"),
    pytest.param(zstandard.compress(HEADER.pack(VALUE, digest16(b"ab"), 2) + b"a"), id="cut entry"),
    pytest.param(zstandard.compress(b"V" + b"d" * 9), id="cut header"),
    pytest.param(zstandard.compress(HEADER.pack(VALUE, digest16(b"ab"), 2) + b"ac"), id="wrong digest"),
]


@pytest.mark.parametrize("data", DAMAGED_PACKS)
def test_damage_is_told_with_pack_and_offset(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "000003.pack").write_bytes(data)
    reader = VaultReader(str(tmp_path))
    with pytest.raises(LedgerError, match=r"000003\.pack: .*\b0\b.*a new --state"):
        list(reader.entries(3, len(data)))
    with pytest.raises(LedgerError, match=r"000003\.pack: .*\b0\b.*a new --state"):
        reader.value(ValueRow(1, digest16(b"ab"), 3, 0, HEADER.size, 2))


@pytest.mark.parametrize(
    ("pack", "frame", "off", "length"), [(1, 0, 30, 9), (1, 0, -1, 1), (1, 9_999, 0, 1), (2, 0, 0, 1)]
)
def test_a_place_that_is_not_there_is_told(tmp_path: Path, pack: int, frame: int, off: int, length: int) -> None:
    writer = opened(tmp_path)
    put(writer, 1, b"0123456789")
    commit(writer, {})
    writer.close()
    with pytest.raises(LedgerError, match=f"{pack:06}"):
        VaultReader(str(tmp_path)).read(pack, frame, off, length)


def test_any_flipped_byte_of_an_entry_is_found(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path, limits={"frame_bytes": 400})
    for id in range(4):
        put(writer, id, noise(id, 200))
    commit(writer, committed)
    writer.close()
    path = tmp_path / "000001.pack"
    whole = path.read_bytes()
    expected = content(tmp_path, committed)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            read = content(tmp_path, committed)
        except LedgerError:
            continue
        assert read == expected


def test_small_commits_compress_as_well_as_one_large_one(tmp_path: Path) -> None:
    words = [noise(seed, 8).hex().encode() for seed in range(300)]
    pick = random.Random(1)
    values = [b" ".join(pick.choices(words, k=200)) for _ in range(300)]
    sizes = []
    for each in (1, 300):
        committed: dict[int, int] = {}
        writer = opened(tmp_path / str(each))
        for start in range(0, 300, each):
            for id in range(start, start + each):
                put(writer, id, values[id])
            commit(writer, committed)
        writer.close()
        sizes.append(sum(committed.values()))
    assert sizes[0] < 1.1 * sizes[1]


def test_the_frame_of_a_live_writer_can_be_read_while_it_grows(tmp_path: Path) -> None:
    writer, reader, committed = opened(tmp_path), VaultReader(str(tmp_path)), dict[int, int]()
    for id in range(5):
        row = put(writer, id, noise(id, 300))
        commit(writer, committed)
        assert reader.value(row) == noise(id, 300)
    writer.close()


def test_only_the_last_frame_has_no_end_and_a_restart_ends_it(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    for id in range(3):
        writer = opened(tmp_path, committed)
        row = put(writer, id, noise(id, 100))
        commit(writer, committed)
        writer.close()
        assert open_frame(str(tmp_path / "000001.pack"), committed[1]) == row.frame
    with pytest.raises(LedgerError, match="cut inside a block"):
        open_frame(str(tmp_path / "000001.pack"), committed[1] - 1)


def test_the_cache_of_frames_is_bounded(tmp_path: Path) -> None:
    committed: dict[int, int] = {}
    writer = opened(tmp_path, limits={"frame_bytes": 1_000})
    rows = [put(writer, id, noise(id, 900)) for id in range(50)]
    commit(writer, committed)
    writer.close()
    reader = VaultReader(str(tmp_path), cache_bytes=3_000)
    for row in rows + rows[::-1]:
        assert reader.value(row) == noise(row.id, 900)
        assert len(reader._cache) <= 3
