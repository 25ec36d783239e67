"""A found file is the session that it always was, wherever it lies now; a file that only resembles one is another."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Hand, Home, short

from pipeline.disk.scan import Found, look_at, roots_of
from pipeline.disk.store import Store
from pipeline.errors import SourceError
from pipeline.runs.catalog import Catalog, Skipped, Unchanged
from pipeline.runs.reading import Opening
from pipeline.settings import RootSettings

DATA = HEAD + short(1) + short(2)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One session, `p/a.jsonl`, that is committed to its end."""
    home = Home(tmp_path)
    home.write("p/a.jsonl", DATA)
    home.backfill()
    return home


def found(path: Path, target: Path | RootSettings) -> Found:
    """The file as a walk of the target finds it."""
    (root,) = roots_of([target if isinstance(target, RootSettings) else str(target)])
    file = look_at(root, os.path.relpath(path, root.path))
    assert file is not None
    return file


def opening(store: Store, file: Found, *, format: str = "auto", renew: bool = False) -> Opening:
    result = Catalog(store, format=format).opening(file, renew=renew)
    assert isinstance(result, Opening), result
    return result


def sessions(home: Home) -> list[tuple[int, str]]:
    return [(id, os.fsdecode(rel)) for id, rel in home.query("SELECT id, rel FROM session ORDER BY id")]


def test_a_new_file_is_a_new_session_that_is_read_from_its_start(home: Home) -> None:
    path = home.write("p/b.jsonl", DATA)
    with home.store() as store:
        assert opening(store, found(path, home.source)) == Opening(2, str(path), "claude-code")
    # Its row comes with its first bytes.
    assert sessions(home) == [(1, "p/a.jsonl")]
    home.backfill()
    assert sessions(home) == [(1, "p/a.jsonl"), (2, "p/b.jsonl")]


def test_a_session_that_was_never_begun_is_not_added_twice(home: Home) -> None:
    path = home.write("p/b.jsonl", DATA)
    with home.store() as store:
        first = opening(store, found(path, home.source))
        assert opening(store, found(path, home.source)) == first


def test_a_known_file_goes_on_from_its_last_commit(home: Home) -> None:
    path = home.append("p/a.jsonl", short(3))
    with home.store() as store:
        row = store.ledger.generation(1, 1)
        assert row is not None
        result = opening(store, found(path, home.source))
        assert (result.session, result.generation, result.building, result.renew) == (1, 1, False, False)
        assert (result.src_off, result.records, result.open_tail) == (len(DATA), 5, False)
        assert (result.identity.head_hash, result.identity.marker_hash) == (row.head_hash, row.marker_hash)


def test_an_unchanged_file_is_told_by_its_stat_alone(home: Home) -> None:
    path = home.source / "p" / "a.jsonl"
    file = found(path, home.source)
    # It could not even be opened now.
    path.rename(path.with_suffix(".away"))
    with home.store() as store:
        assert Catalog(store).opening(file) == Unchanged(1)
        assert opening(store, file, renew=True).renew
        with pytest.raises(SourceError):
            Catalog(store).opening(replace(file, mtime_ns=file.mtime_ns - 1))


def test_a_file_that_only_looks_otherwise_is_looked_into_once(home: Home) -> None:
    path = home.source / "p" / "a.jsonl"
    os.utime(path, ns=(7, 7))
    file = found(path, home.source)
    with home.store() as store:
        catalog = Catalog(store)
        assert (catalog.opening(file), catalog.touched) == (Unchanged(1), 1)
        assert opening(store, replace(file, size=file.size + 1)).generation == 1
        catalog.settle()
        # Now its stat tells.
        path.rename(path.with_suffix(".away"))
        assert (catalog.opening(file), catalog.touched) == (Unchanged(1), 0)
    assert home.query("SELECT mtime_ns, inode, size FROM session") == [(7, file.inode, len(DATA))]


@pytest.mark.parametrize("target", ["", "p", "p/a.jsonl", "p/*.jsonl", "link", "link/p"])
def test_a_file_is_the_same_session_through_whatever_root(home: Home, target: str) -> None:
    (home.source / "link").symlink_to(home.source)
    home.append("p/a.jsonl", short(3))
    with home.store() as store:
        assert opening(store, found(home.source / "p" / "a.jsonl", home.source / target)).session == 1
    assert len(sessions(home)) == 1


def test_a_file_below_a_link_is_the_session_of_its_own_path(home: Home) -> None:
    (home.source / "q").symlink_to(home.source / "p")
    home.append("p/a.jsonl", short(3))
    with home.store() as store:
        assert opening(store, found(home.source / "q" / "a.jsonl", home.source)).session == 1
    assert len(sessions(home)) == 1


@pytest.mark.parametrize("grown", [False, True])
def test_a_moved_file_is_the_same_session(home: Home, grown: bool) -> None:
    path = home.source / "q" / "r" / "b.jsonl"
    path.parent.mkdir(parents=True)
    (home.source / "p" / "a.jsonl").rename(path)
    if grown:
        home.append("q/r/b.jsonl", short(3))
    with home.store() as store:
        result = Catalog(store).opening(found(path, home.source))
        assert isinstance(result, Opening if grown else Unchanged)
        assert result.session == 1
    assert sessions(home) == [(1, "q/r/b.jsonl")]
    assert [path.name for path in home.out.rglob("*.jsonl")] == ["b.jsonl"]


def test_what_resembles_a_moved_file_is_a_session_of_its_own(home: Home) -> None:
    """A copy, a hard link, the file under a new name while another has the old one, a changed one."""
    source = home.source / "p" / "a.jsonl"
    shutil.copy2(source, home.source / "copy.jsonl")
    os.link(source, home.source / "linked.jsonl")
    home.backfill()
    assert sessions(home) == [(1, "p/a.jsonl"), (2, "copy.jsonl"), (3, "linked.jsonl")]
    source.rename(home.source / "p" / "b.jsonl")
    home.write("p/a.jsonl", HEAD + short(7))
    home.backfill()
    assert (4, "p/b.jsonl") in sessions(home)
    source.rename(home.source / "p" / "c.jsonl")
    home.write("p/c.jsonl", HEAD + short(8))
    home.backfill()
    assert (5, "p/c.jsonl") in sessions(home)
    home.check("copy.jsonl", "linked.jsonl", "p/b.jsonl", "p/c.jsonl")


def test_two_files_that_changed_places_are_rewritten_sessions(home: Home) -> None:
    first, second = home.source / "p" / "a.jsonl", home.write("p/b.jsonl", HEAD + short(5))
    home.backfill()
    first.rename(home.source / "tmp")
    second.rename(first)
    (home.source / "tmp").rename(second)
    home.backfill()
    home.check("p/a.jsonl", "p/b.jsonl")
    assert [row.generation for row in home.generations(1)] == [1, 2]


def test_a_file_that_was_rewritten_in_its_middle_only_is_compacted_anew(home: Home) -> None:
    """Its first and last bytes, and its length, are as before."""
    data = HEAD + b"".join(short(number) for number in range(60))
    path = home.write("m.jsonl", data)
    home.backfill()
    middle = len(data) // 2
    changed = data[:middle].replace(b"took", b"gave") + data[middle:]
    at = changed.rindex(b"gave")
    changed = data[:at] + b"gave" + data[at + 4 :]
    path.write_bytes(changed)
    report = home.backfill()
    assert report.total["records"] > 0
    home.check("m.jsonl")


def test_a_file_of_no_known_format_is_skipped_unless_it_is_named(home: Home) -> None:
    path = home.write("p/notes.jsonl", b"notes\n")
    with home.store() as store:
        assert Catalog(store).opening(found(path, home.source)) == Skipped(str(path), "no known session format")
        assert len(sessions(home)) == 1
        assert opening(store, found(path, path)) == Opening(
            2, str(path), "unknown", note="no known session format, so it passes byte for byte"
        )


@pytest.mark.parametrize(
    ("wanted", "root", "expected"),
    [
        pytest.param("auto", "auto", "claude-code", id="told by the content"),
        pytest.param("auto", "codex", "codex", id="of the root"),
        pytest.param("chat", "codex", "chat", id="of the command"),
    ],
)
def test_the_format_is_the_commands_else_the_roots_else_the_contents(
    home: Home, wanted: str, root: str, expected: str
) -> None:
    path = home.write("p/b.jsonl", DATA)
    with home.store() as store:
        file = found(path, RootSettings(str(home.source), root))
        assert opening(store, file, format=wanted).format == expected


def test_new_bytes_under_other_settings_begin_a_new_generation(home: Home) -> None:
    path = home.append("p/a.jsonl", short(3))
    other = Home(home.base, replace(SHORT, tool_result=replace(SHORT.tool_result, tail_lines=5)))
    with home.store() as store:
        assert not opening(store, found(path, home.source)).renew
    with other.store() as store:
        assert opening(store, found(path, home.source)).renew


def test_a_file_that_is_gone_or_no_file_is_a_source_error(home: Home) -> None:
    path = home.write("p/b.jsonl", DATA)
    file = found(path, home.source)
    path.unlink()
    with home.store() as store, pytest.raises(SourceError, match=r"b\.jsonl: cannot open: No such file or directory$"):
        Catalog(store).opening(file)
    assert len(sessions(home)) == 1


def test_a_fifo_in_a_files_place_does_not_block(home: Home) -> None:
    path = home.write("p/b.jsonl", DATA)
    file = found(path, home.source)
    path.unlink()
    os.mkfifo(path)
    with (
        home.store() as store,
        pytest.raises(SourceError, match=r"b\.jsonl: need a regular file, it is a FIFO, socket or device now$"),
    ):
        Catalog(store).opening(file)


def test_a_last_record_that_grew_is_taken_back_and_one_that_did_not_is_left(home: Home) -> None:
    path = home.write("p/b.jsonl", DATA[:-9])
    home.backfill()
    with Hand(home) as hand:
        os.utime(path, ns=(7, 7))
        assert hand.catalog(path) == Unchanged(2)
        home.append("p/b.jsonl", DATA[-9:])
        result = hand.catalog(path)
        assert isinstance(result, Opening)
        assert (result.records, result.src_off) == (4, DATA.rindex(b"\n", 0, -1) + 1)
