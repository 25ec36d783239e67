"""A session's content that was replaced gets an output of its own; the old one is kept until nothing is lost by it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import zstandard
from home import HEAD, Hand, Home, comparable, oracle, short

from pipeline.disk.generations import remove_outputs
from pipeline.disk.places import Places
from pipeline.disk.rows import RootRow
from pipeline.errors import LedgerError, OutputError
from pipeline.runs.restoring import forget

OLD = HEAD + b"".join(short(number) for number in range(5))
NEW = HEAD + b"".join(short(number) for number in range(50, 54))
THIRD = HEAD + short(90)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("p/a.jsonl", OLD)
    home.backfill()
    return home


def states(home: Home, session: int = 1) -> list[tuple[int, str]]:
    return [(row.generation, row.state) for row in home.generations(session)]


def archive(home: Home, generation: int, rel: str = "p/a.jsonl") -> bytes:
    path = home.out / ".generations" / "sessions" / rel / f"{generation}.jsonl.zst"
    return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())


def files(home: Home) -> list[str]:
    return list(home.outputs())


def test_a_rewritten_source_gets_a_new_generation_and_the_old_one_is_kept(home: Home) -> None:
    first = home.output("p/a.jsonl")
    home.write("p/a.jsonl", NEW)
    home.backfill()
    home.check("p/a.jsonl")
    assert states(home) == [(1, "superseded"), (2, "current")]
    assert files(home) == [".generations/sessions/p/a.jsonl/1.jsonl.zst", "sessions/p/a.jsonl"]
    assert archive(home, 1) == first
    assert (home.restored("#1", 1), home.restored("#1", 2), home.restored("#1")) == (OLD, NEW, NEW)


def test_every_superseded_generation_can_be_restored(home: Home) -> None:
    for content in (NEW, THIRD, b"", OLD):
        home.write("p/a.jsonl", content)
        home.backfill()
    # The last one grew from the empty one.
    assert states(home) == [(1, "superseded"), (2, "superseded"), (3, "superseded"), (4, "current")]
    assert [home.restored("#1", n) for n in (1, 2, 3, 4)] == [OLD, NEW, THIRD, OLD]
    home.check("p/a.jsonl")


@pytest.mark.parametrize("way", ["append", "rename"])
def test_old_content_with_more_behind_it_is_the_same_generation(home: Home, way: str) -> None:
    path = home.source / "p" / "a.jsonl"
    if way == "append":
        home.append("p/a.jsonl", short(7))
    else:
        other = home.write("p/a.new", OLD + short(7))
        os.replace(other, path)
    report = home.backfill()
    assert (report.total["records"], states(home), files(home)) == (2, [(1, "current")], ["sessions/p/a.jsonl"])
    home.check("p/a.jsonl")


def test_old_content_in_a_new_generation_makes_the_old_one_needless(home: Home) -> None:
    home.append("p/a.jsonl", short(7))
    home.backfill(recompact=True)
    assert states(home) == [(2, "current")]
    assert files(home) == ["sessions/p/a.jsonl"]
    home.check("p/a.jsonl")
    assert home.query("SELECT DISTINCT generation FROM record") == [(2,)]
    assert home.query("SELECT DISTINCT generation FROM site UNION SELECT DISTINCT generation FROM rollup") == [(2,)]


def test_an_output_is_the_old_one_until_the_new_one_is_complete(home: Home) -> None:
    first = home.output("p/a.jsonl")
    path = home.write("p/a.jsonl", NEW)
    with Hand(home) as hand:
        reading = hand.reading(path)
        for _ in range(2):
            assert hand.take(reading, 1) == 1
            hand.store.commit()
            assert files(home) == ["sessions/p/a.jsonl", "sessions/p/a.jsonl.tmp"]
            assert home.output("p/a.jsonl") == first
        assert home.restored("#1") == OLD
        assert home.query("SELECT generation, state FROM generation") == [(1, "current"), (2, "building")]
    # The run was ended: the next one goes on with what is built.
    with Hand(home) as hand:
        assert home.output("p/a.jsonl") == first
        reading = hand.reading(path)
        assert reading.offset > 0
        hand.settle(reading)
    home.check("p/a.jsonl")
    assert states(home) == [(1, "superseded"), (2, "current")]
    assert archive(home, 1) == first


def test_a_source_rewritten_again_before_it_was_complete_is_built_again_under_the_same_number(home: Home) -> None:
    path = home.write("p/a.jsonl", NEW)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        hand.store.commit()
        home.write("p/a.jsonl", THIRD + OLD)
        hand.settle(reading)
    assert states(home) == [(1, "superseded"), (2, "current")]
    home.check("p/a.jsonl")


def test_a_first_generation_that_was_never_finished_is_superseded_when_its_source_is_rewritten(home: Home) -> None:
    path = home.write("p/b.jsonl", OLD)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        hand.store.commit()
        hand.take(reading, 1)
    half = home.query("SELECT out_len, src_off FROM generation WHERE session = 2")[0]
    home.write("p/b.jsonl", NEW)
    home.backfill()
    home.check("p/a.jsonl", "p/b.jsonl")
    assert states(home, 2) == [(1, "superseded"), (2, "current")]
    assert len(archive(home, 1, "p/b.jsonl")) == half[0]
    assert home.restored("#2", 1) == OLD[: half[1]]


def test_a_new_generation_while_the_first_is_still_being_written(home: Home) -> None:
    """What was appended before the rewrite but not committed yet is committed first."""
    path = home.write("p/b.jsonl", OLD)
    with Hand(home) as hand:
        reading = hand.reading(path)
        hand.take(reading, 2)
        home.write("p/b.jsonl", NEW)
        hand.settle(reading)
    home.check("p/a.jsonl", "p/b.jsonl")
    assert states(home, 2) == [(1, "superseded"), (2, "current")]
    assert OLD.startswith(home.restored("#2", 1))


@pytest.mark.parametrize("renamed", [False, True], ids=["before the rename", "after the rename"])
def test_a_replacement_that_was_cut_off_is_finished_at_the_next_start(home: Home, renamed: bool) -> None:
    first = home.output("p/a.jsonl")
    path = home.write("p/a.jsonl", NEW)
    with Hand(home) as hand:
        reading = hand.reading(path)
        while (parcel := hand.parcel(reading)) is not None:
            parcel.finishes = False
            hand.store.append(parcel)
        hand.store.commit()
    assert home.change("UPDATE generation SET state = 'swapping' WHERE generation = 2") == 1
    folder = home.out / "sessions" / "p"
    if renamed:
        (home.out / ".generations" / "sessions" / "p" / "a.jsonl").mkdir(parents=True)
        target = home.out / ".generations" / "sessions" / "p" / "a.jsonl" / "1.jsonl.zst"
        target.write_bytes(zstandard.compress(first))
        os.replace(folder / "a.jsonl.tmp", folder / "a.jsonl")
    with home.store():
        pass
    home.check("p/a.jsonl")
    assert states(home) == [(1, "superseded"), (2, "current")]
    assert (archive(home, 1), home.restored("#1", 1)) == (first, OLD)
    # The ledger knows the file as it is: nothing is left to do.
    rows = home.rows()
    home.backfill()
    assert home.outputs().keys() == {".generations/sessions/p/a.jsonl/1.jsonl.zst", "sessions/p/a.jsonl"}
    assert home.rows()["record"] == rows["record"]


def test_what_lies_behind_the_commit_is_cut_at_the_start_and_what_is_missing_is_left_for_later(home: Home) -> None:
    good = home.output("p/a.jsonl")
    output = home.out / "sessions" / "p" / "a.jsonl"
    output.write_bytes(good + b"torn")
    with home.store():
        assert output.read_bytes() == good
    output.write_bytes(good[:7])
    with home.store():
        assert output.read_bytes() == good[:7]
    output.unlink()
    with home.store():
        assert not output.exists()


def test_a_moved_source_takes_output_and_older_generations_with_it(home: Home) -> None:
    home.write("p/a.jsonl", NEW)
    home.backfill()
    before = home.outputs()
    (home.source / "q").mkdir()
    os.rename(home.source / "p" / "a.jsonl", home.source / "q" / "b.jsonl")
    report = home.backfill()
    assert (report.total["records"], report.failed) == (0, [])
    assert home.outputs() == {name.replace("p/a.jsonl", "q/b.jsonl"): data for name, data in before.items()}
    assert home.query("SELECT rel, out_rel, moved_from FROM session") == [(b"q/b.jsonl", b"q/b.jsonl", None)]
    home.check("q/b.jsonl")
    assert home.restored("b.jsonl", 1) == OLD
    home.append("q/b.jsonl", short(70))
    home.backfill()
    home.check("q/b.jsonl")


@pytest.mark.parametrize("done", [False, True], ids=["before the rename", "after the rename"])
def test_a_move_that_was_cut_off_is_finished_at_the_next_start(home: Home, done: bool) -> None:
    (home.source / "q").mkdir()
    os.rename(home.source / "p" / "a.jsonl", home.source / "q" / "b.jsonl")
    moved = "UPDATE session SET rel = x'{0}', out_rel = x'{0}', moved_from = x'{1}'"
    home.change(moved.format(b"q/b.jsonl".hex(), b"sessions/p/a.jsonl".hex()))
    if done:
        (home.out / "sessions" / "q").mkdir()
        os.rename(home.out / "sessions" / "p" / "a.jsonl", home.out / "sessions" / "q" / "b.jsonl")
    with home.store():
        pass
    assert home.query("SELECT moved_from FROM session") == [(None,)]
    assert files(home) == ["sessions/q/b.jsonl"]
    home.check("q/b.jsonl")


def test_a_foreign_file_in_the_way_of_a_moved_output_is_not_overwritten(home: Home) -> None:
    os.rename(home.source / "p" / "a.jsonl", home.source / "p" / "b.jsonl")
    way = home.out / "sessions" / "p" / "b.jsonl"
    way.write_bytes(b"foreign")
    rows = home.rows()
    assert home.backfill().failed == [f"{way}: is in the way of a moved session's output"]
    assert (way.read_bytes(), home.rows()) == (b"foreign", rows)
    way.unlink()
    assert home.backfill().failed == []
    home.check("p/b.jsonl")


def test_a_last_record_without_end_is_taken_back_when_its_source_grows(home: Home) -> None:
    path = home.write("p/b.jsonl", OLD + short(8)[:-1])
    home.backfill()
    home.check("p/a.jsonl", "p/b.jsonl")
    records = home.query("SELECT max(ordinal) FROM record WHERE session = 2")[0][0]
    assert home.generations(2)[0].open_tail
    home.append("p/b.jsonl", b"\n")
    with Hand(home) as hand:
        reading = hand.reading(path)
        assert reading.offset == OLD.__len__() + short(8).index(b"\n") + 1
        assert home.query("SELECT max(ordinal) FROM record WHERE session = 2") == [(records - 1,)]
        assert home.query("SELECT count(*) FROM site WHERE session = 2 AND ordinal = ?", (records,)) == [(0,)]
        assert home.problems() == []
    # Ended right after that: the record comes at the next run.
    home.backfill()
    home.check("p/a.jsonl", "p/b.jsonl")
    assert home.query("SELECT max(ordinal) FROM record WHERE session = 2") == [(records,)]
    assert states(home, 2) == [(1, "current")]


def test_a_last_record_is_not_taken_back_from_an_output_that_is_gone(home: Home) -> None:
    home.write("p/b.jsonl", OLD + short(8)[:-1])
    home.backfill()
    output = home.out / "sessions" / "p" / "b.jsonl"
    output.unlink()
    home.append("p/b.jsonl", b"\n")
    rows = home.rows()
    expected = re.escape(f"{output}: cannot open: No such file or directory; put it back or run `compactd forget`")
    failed = home.backfill().failed
    assert len(failed) == 1
    assert re.fullmatch(expected, failed[0])
    assert home.rows() == rows


def test_a_forgotten_session_leaves_no_file_behind(home: Home) -> None:
    home.write("p/a.jsonl", NEW)
    other = home.write("p/b.jsonl", THIRD)
    home.backfill()
    assert forget(home.settings, "p/a.jsonl")["records"] == 11 + 9
    assert files(home) == ["sessions/p/b.jsonl"]
    assert not (home.out / ".generations").exists()
    assert home.restored(other) == THIRD
    home.check("p/b.jsonl")


def test_all_files_of_an_output_are_removed_and_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    places = Places(str(tmp_path), lambda: [RootRow(1, "r", b"/r")])
    for name in ("r/a", "r/a.tmp", ".generations/r/a/1.jsonl.zst", ".generations/r/a/2.jsonl.zst.tmp", "r/b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    remove_outputs(places, b"r/a")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["r", "r/b"]
    remove_outputs(places, b"r/a")
    (tmp_path / "r" / "c").mkdir()
    with pytest.raises(OutputError, match=r"r/c: cannot remove: "):
        remove_outputs(places, b"r/c")


def test_an_archive_that_is_gone_is_told_when_it_is_wanted(home: Home) -> None:
    home.write("p/a.jsonl", NEW)
    home.backfill()
    path = home.out / ".generations" / "sessions" / "p" / "a.jsonl" / "1.jsonl.zst"
    path.unlink()
    with pytest.raises(LedgerError, match=f"^{re.escape(str(path))}: cannot open the output: No such file"):
        home.restored("#1", 1)
    assert comparable(home.output("p/a.jsonl")) == oracle(home.source / "p" / "a.jsonl", home.settings)


def _rebuilt_archive(home: Home, there: bytes) -> bytes:
    """The archive of generation 1 after a replacement during which these bytes lay in its place."""
    path = home.out / ".generations" / "sessions" / "p" / "a.jsonl" / "1.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(there)
    home.write("p/a.jsonl", NEW)
    home.backfill()
    home.check("p/a.jsonl")
    assert home.restored("#1", 1) == OLD
    return path.read_bytes()


@pytest.mark.parametrize(
    "wrong", ["nothing", "text", "half", "unfinished", "shorter", "longer", "more behind", "other"]
)
def test_an_archive_that_is_not_the_whole_old_output_is_written_anew(home: Home, wrong: str) -> None:
    good = home.output("p/a.jsonl")
    whole = zstandard.compress(good)
    unfinished = zstandard.ZstdCompressor().compressobj()
    there = {
        "nothing": b"",
        "text": b"foreign",
        "half": whole[: len(whole) // 2],
        "unfinished": unfinished.compress(good) + unfinished.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK),
        "shorter": zstandard.compress(good[:-1]),
        "longer": zstandard.compress(good + b"x"),
        "more behind": whole + b"x",
        "other": zstandard.compress(good[:-4] + b"****"),
    }[wrong]
    assert _rebuilt_archive(home, there) != there
    assert archive(home, 1) == good


def test_a_complete_archive_stays_as_it_is(home: Home) -> None:
    there = zstandard.ZstdCompressor(level=19).compress(home.output("p/a.jsonl"))
    assert _rebuilt_archive(home, there) == there


def test_a_link_in_an_archives_place_is_not_followed(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"foreign")
    path = home.out / ".generations" / "sessions" / "p" / "a.jsonl" / "1.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.symlink_to(other)
    (path.parent / "1.jsonl.zst.tmp").symlink_to(other)
    first = home.output("p/a.jsonl")
    home.write("p/a.jsonl", NEW)
    home.backfill()
    assert (archive(home, 1), other.read_bytes()) == (first, b"foreign")
