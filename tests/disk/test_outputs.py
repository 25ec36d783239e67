"""Outputs only grow, are cut back to what was committed, and are never trusted when somebody else wrote to them."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.disk.failpoints import NAMES, FailPoints
from pipeline.disk.identity import signed_hash
from pipeline.disk.outputs import RESERVED_FILES, Output, Outputs, cut_back, open_limit, sync, sync_folder
from pipeline.disk.places import Places
from pipeline.disk.rows import RootRow, SessionRow
from pipeline.errors import LedgerError, OutputError


@pytest.fixture
def outputs() -> Iterator[Outputs]:
    opened = Outputs(FailPoints())
    yield opened
    opened.close_all()


@contextmanager
def limited(kind: int, soft: int) -> Iterator[None]:
    """A smaller limit of this process for a while."""
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


def fresh(outputs: Outputs, path: Path) -> Output:
    return outputs.open(str(path), 0, 0, 0)


def test_an_output_grows_and_is_private(outputs: Outputs, tmp_path: Path) -> None:
    path = tmp_path / "root" / "deep" / "a.jsonl"
    output = fresh(outputs, path)
    assert (output.dirty, output.created) == (True, True)
    outputs.append(output, b"one\n")
    outputs.append(output, b"")
    outputs.append(output, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert (output.committed, output.length, outputs.dirty()) == (0, 8, [output])
    sync(output.fd, output.path)
    sync_folder(os.path.dirname(output.path))
    outputs.committed(output, 8)
    assert (output.committed, output.created, outputs.dirty()) == (8, False, [])
    assert fresh(outputs, path) is output
    assert [oct(p.stat().st_mode & 0o777) for p in (path, path.parent, path.parent.parent)] == ["0o600"] + ["0o700"] * 2


def test_what_is_not_committed_is_dropped(outputs: Outputs, tmp_path: Path) -> None:
    output = fresh(outputs, tmp_path / "a")
    outputs.append(output, b"kept")
    outputs.committed(output, 4)
    outputs.append(output, b"dropped")
    outputs.cut(output)
    assert ((tmp_path / "a").read_bytes(), output.length) == (b"kept", 4)


def test_an_output_that_is_opened_again_is_cut_to_its_committed_length(outputs: Outputs, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"committed|torn rest")
    output = outputs.open(str(path), 10, 10, signed_hash(b"committed|"))
    assert (path.read_bytes(), output.length, output.dirty, output.created) == (b"committed|", 10, False, False)
    outputs.append(output, b"more")
    assert path.read_bytes() == b"committed|more"


@pytest.mark.parametrize(
    ("there", "text"),
    [
        pytest.param(
            None, "need 10 committed bytes, the file is gone; put it back, or run `compactd forget", id="gone"
        ),
        pytest.param(b"commi", "need 10 committed bytes, it has 5; put it back, or run `compactd forget", id="cut"),
        pytest.param(b"", "need 10 committed bytes, it has 0; put it back, or run `compactd forget", id="empty"),
        pytest.param(
            b"committeD|x", "the bytes before 10 are not the ones that were written; put it back, or run", id="edited"
        ),
    ],
)
def test_an_output_that_was_changed_behind_our_back_is_refused_and_left_alone(
    outputs: Outputs, tmp_path: Path, there: bytes | None, text: str
) -> None:
    path = tmp_path / "a"
    if there is not None:
        path.write_bytes(there)
    with pytest.raises(LedgerError, match=f"^{re.escape(f'{path}: {text}')}"):
        outputs.open(str(path), 10, 10, signed_hash(b"committed|"))
    assert (path.read_bytes() if path.exists() else None) == there
    assert outputs.dirty() == []


@pytest.mark.parametrize("how", ["deleted", "replaced", "cut", "appended"])
def test_an_open_output_that_somebody_else_changes_is_found_before_the_next_append(
    outputs: Outputs, tmp_path: Path, how: str
) -> None:
    path = tmp_path / "a"
    output = fresh(outputs, path)
    outputs.append(output, b"committed|")
    outputs.committed(output, 10)
    if how == "deleted":
        path.unlink()
    elif how == "replaced":
        path.rename(tmp_path / "b")
        path.write_bytes(b"committed|")
    elif how == "cut":
        os.truncate(path, 4)
    else:
        with path.open("ab") as other:
            other.write(b"foreign\n")
    with pytest.raises(
        LedgerError, match="was deleted, replaced or changed while it was written; run `compactd forget`"
    ):
        fresh(outputs, path)


def test_a_link_is_no_output(outputs: Outputs, tmp_path: Path) -> None:
    (tmp_path / "else").write_bytes(b"")
    (tmp_path / "a").symlink_to(tmp_path / "else")
    with pytest.raises(OutputError, match=r"a: cannot open for writing: Too many levels of symbolic links$"):
        fresh(outputs, tmp_path / "a")


def test_a_file_in_the_folders_place_is_an_output_error(outputs: Outputs, tmp_path: Path) -> None:
    (tmp_path / "root").write_bytes(b"")
    with pytest.raises(OutputError, match="cannot open for writing: "):
        fresh(outputs, tmp_path / "root" / "a")


def test_a_full_disk_cuts_the_output_back_before_it_is_reported(outputs: Outputs, tmp_path: Path) -> None:
    path = tmp_path / "a"
    output = fresh(outputs, path)
    outputs.append(output, b"x" * 600)
    outputs.committed(output, 600)
    with limited(resource.RLIMIT_FSIZE, 1000):
        # The first 400 bytes still fit: a short write comes before the error.
        with pytest.raises(OutputError, match=r"a: cannot write: File too large$"):
            outputs.append(output, b"y" * 900)
        assert (path.stat().st_size, output.length) == (600, 600)
    outputs.append(output, b"z")
    assert path.read_bytes() == b"x" * 600 + b"z"


def test_a_marker_covers_the_last_bytes_only(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"h" * 5000 + b"t" * 4096 + b"rest")
    fd = os.open(path, os.O_RDWR)
    cut_back(fd, "a", 9096, 4096, signed_hash(b"t" * 4096))
    os.close(fd)
    assert path.stat().st_size == 9096


def test_only_clean_outputs_make_room_for_others(tmp_path: Path) -> None:
    with limited(resource.RLIMIT_NOFILE, RESERVED_FILES + 10):
        assert open_limit() == 10
        outputs = Outputs(FailPoints())
        many = [fresh(outputs, tmp_path / str(n)) for n in range(10)]
        assert outputs.full
        outputs.append(many[3], b"x")
        outputs.committed(many[3], 1)
        outputs.committed(many[7], 0)
        assert not outputs.full
        fresh(outputs, tmp_path / "10")
        assert [output.path.rpartition("/")[2] for output in outputs.dirty()] == [*"01245689", "10"]
        # Number 3 was closed: it is opened from its committed length.
        assert outputs.open(str(tmp_path / "3"), 1, 1, signed_hash(b"x")) is not many[3]
        outputs.close_all()


def test_few_files_are_opened_however_low_the_limit() -> None:
    with limited(resource.RLIMIT_NOFILE, 40):
        assert open_limit() == 8


def test_a_flush_that_fails_is_an_output_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    with pytest.raises(OutputError, match=r"^there: cannot flush to disk: Invalid argument$"):
        sync(write, "there")
    os.close(read)
    os.close(write)
    with pytest.raises(OutputError, match=r"none: cannot flush to disk: No such file or directory$"):
        sync_folder(str(tmp_path / "none"))


def test_an_output_lies_below_its_roots_name() -> None:
    roots = [RootRow(1, "work", b"/data/work")]
    places = Places("/out", lambda: roots)
    assert places.of(SessionRow(7, 1, b"p/a.jsonl.gz", b"p/a.jsonl")) == b"work/p/a.jsonl"
    roots.append(RootRow(2, "work-2", b"/else/work"))
    out_path = places.of(SessionRow(8, 2, b"\xff", b"\xff"))
    assert out_path == b"work-2/\xff"
    assert places.path(out_path) == os.fsdecode(b"/out/work-2/\xff")
    assert places.path(out_path, building=True) == os.fsdecode(b"/out/work-2/\xff.tmp")
    assert places.archive(out_path, 3) == os.fsdecode(b"/out/.generations/work-2/\xff/3.jsonl.zst")
    assert places.archive_folder(out_path) == os.fsdecode(b"/out/.generations/work-2/\xff")


def test_a_fail_point_is_reached_at_its_chosen_time() -> None:
    points = FailPoints("output-half:3")
    assert [points.reached(name) for name in ("output-half", "output-after", "output-half", "output-half")] == [
        False,
        False,
        False,
        True,
    ]
    assert not points.reached("output-half")
    assert FailPoints("read-after").reached("read-after")
    assert not any(FailPoints().reached(name) for name in NAMES)


def test_a_planned_output_has_no_file_until_it_is_made(outputs: Outputs, tmp_path: Path) -> None:
    path = tmp_path / "root" / "a"
    outputs.plan(str(path), replaces=False)
    output = fresh(outputs, path)
    outputs.append(output, b"one|two|")
    outputs.cut(output, 4)
    outputs.append(output, b"three|")
    assert (outputs.planned_bytes, outputs.planned(), outputs.dirty(), path.exists()) == (10, [output], [output], False)
    outputs.make_planned()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one|three|", 0o600)
    assert (outputs.planned_bytes, outputs.planned(), output.length, output.committed) == (0, [], 10, 0)
    assert fresh(outputs, path) is output
    outputs.append(output, b"four|")
    outputs.cut(output, 10)
    assert path.read_bytes() == b"one|three|"


@pytest.mark.parametrize("replaces", [True, False])
def test_only_what_an_attempt_before_has_left_is_replaced(outputs: Outputs, tmp_path: Path, replaces: bool) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    for one in (path, other):
        one.write_bytes(b"there before")
        outputs.plan(str(one), replaces=replaces)
    if replaces:
        outputs.make_planned()
        assert path.read_bytes() == other.read_bytes() == b""
        return
    with pytest.raises(OutputError, match=r"a: cannot open for writing: File exists$"):
        outputs.make_planned()
    assert path.read_bytes() == other.read_bytes() == b"there before"


def test_a_planned_output_that_is_closed_never_was(outputs: Outputs, tmp_path: Path) -> None:
    outputs.plan(str(tmp_path / "a"), replaces=True)
    outputs.append(fresh(outputs, tmp_path / "a"), b"x")
    outputs.close(str(tmp_path / "a"))
    outputs.make_planned()
    assert (outputs.planned_bytes, list(tmp_path.iterdir())) == (0, [])
