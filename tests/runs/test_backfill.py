"""A backfill takes in what is there, once, however often, in how many steps and with how many processes it is run."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from home import HEAD, SHORT, Hand, Home, comparable, oracle, short
from support import SAMPLES, lines, session

from pipeline.errors import UsageError
from pipeline.runs.backfill import Progress
from pipeline.settings import ReaderSettings, RootSettings, Settings

NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def fill(home: Home) -> list[str]:
    """Sessions of several sizes in several folders."""
    rels = ["a.jsonl", "p/b.jsonl", "p/q/c.jsonl", "p/q/d.jsonl"]
    for number, rel in enumerate(rels):
        home.write(rel, HEAD + b"".join(short(100 * number + n) for n in range(1 + 3 * number)))
    return rels


def test_every_session_becomes_what_the_filter_makes_of_it(home: Home) -> None:
    rels = fill(home)
    report = home.backfill()
    home.check(*rels)
    assert (report.failed, report.skipped) == ([], [])
    sizes = {str(home.source / rel): ((home.source / rel).stat().st_size, len(home.output(rel))) for rel in rels}
    assert {row["session"]: (row["source_bytes"], row["output_bytes"]) for row in report.rows} == sizes
    expected = {
        "records": 4 + 2 * (1 + 4 + 7 + 10),
        "edits": 1 + 4 + 7 + 10,
        "source_bytes": sum(source for source, _ in sizes.values()),
        "output_bytes": sum(output for _, output in sizes.values()),
        "saved_bytes": sum(source - output for source, output in sizes.values()),
        "vault_bytes": sum(path.stat().st_size for path in (home.state / "vault").iterdir()),
        "sessions": 4,
        "unchanged": 0,
        "failed": 0,
    }
    assert {key: report.total[key] for key in expected} == expected


def test_a_second_run_changes_no_byte_and_no_row(home: Home) -> None:
    fill(home)
    home.backfill()
    packs = {path.name: path.read_bytes() for path in (home.state / "vault").iterdir()}
    times = {path: path.stat().st_mtime_ns for path in home.out.rglob("*.jsonl")}
    before = home.outputs(), home.rows()
    report = home.backfill()
    assert (home.outputs(), home.rows()) == before
    assert {path.name: path.read_bytes() for path in (home.state / "vault").iterdir()} == packs
    assert {path: path.stat().st_mtime_ns for path in home.out.rglob("*.jsonl")} == times
    assert (report.rows, report.total["unchanged"], report.total["sessions"]) == ([], 4, 4)


def test_a_run_goes_on_where_one_was_cut_off(home: Home) -> None:
    rels = fill(home)
    for rel, turns in zip(rels, (1, 1, 2, 3), strict=True):
        with Hand(home) as hand:
            reading = hand.reading(home.source / rel)
            hand.take(reading, turns)
            hand.store.commit()
            hand.take(reading, 1)
    done = {rel: len(home.spans(rel)) for rel in rels}
    assert done == {"a.jsonl": 3, "p/b.jsonl": 3, "p/q/c.jsonl": 6, "p/q/d.jsonl": 9}
    report = home.backfill()
    home.check(*rels)
    total = home.query("SELECT count(*) FROM record")[0][0]
    assert report.total["records"] == total - sum(done.values())
    twin = Home(home.base / "twin")
    fill(twin)
    twin.backfill()
    assert home.outputs() == twin.outputs()


def test_what_was_appended_is_all_that_is_read(home: Home) -> None:
    rels = fill(home)
    home.backfill()
    for rel in rels[:2]:
        home.append(rel, short(900))
    report = home.backfill()
    assert [row["records"] for row in report.rows] == [2, 2]
    assert report.total["unchanged"] == 2
    home.check(*rels)


def test_several_processes_give_the_same_bytes_as_one(home: Home) -> None:
    rels = fill(home)
    home.write("long.jsonl", HEAD + lines(session(2)) + b'{"torn": "' + b"x" * 9000)
    home.write("other.jsonl", b"no session\n")
    reports = [home.backfill(jobs=2)]
    one = Home(home.base / "one")
    for rel in [*rels, "long.jsonl", "other.jsonl"]:
        one.write(rel, (home.source / rel).read_bytes())
    reports.append(one.backfill())
    home.check(*rels, "long.jsonl")
    assert home.outputs() == one.outputs()
    sums = [{key: report.total[key] for key in ("records", "edits", "saved_bytes", "sessions")} for report in reports]
    assert sums[0] == sums[1]
    counts = [kept.query("SELECT count(*), sum(len) FROM value") for kept in (home, one)]
    assert counts[0] == counts[1]


def test_batches_and_commits_make_no_difference(home: Home) -> None:
    rels = fill(home)
    home.backfill()
    outputs = home.outputs()
    for batch_bytes, batch_records in ((1, 1), (700, 2), (1 << 20, 2000)):
        reader = ReaderSettings(SHORT.reader.max_record_bytes, batch_bytes, batch_records)
        other = Home(home.base / f"{batch_bytes}", replace(SHORT, reader=reader))
        for rel in rels:
            other.write(rel, (home.source / rel).read_bytes())
        other.backfill()
        assert other.outputs() == outputs


def test_a_last_line_without_newline_that_grows_is_one_record(home: Home) -> None:
    whole = HEAD + short(1) + short(2)
    cuts = (len(whole) - 1, len(whole) - 30, len(HEAD) + 10, len(HEAD))
    for cut in cuts:
        rel = f"s{cut}.jsonl"
        home.write(rel, whole[:cut])
        home.backfill()
        home.check(rel)
        home.append(rel, whole[cut:])
        home.backfill()
        home.check(rel)
        session = home.query("SELECT id FROM session WHERE rel = ?", (os.fsencode(rel),))[0][0]
        assert [(row.generation, row.state, row.open_tail) for row in home.generations(session)] == [
            (1, "current", False)
        ]
    assert set(home.outputs()) == {f"sessions/s{cut}.jsonl" for cut in cuts}


@contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder of one's own, and no right to read what others forbid (root may read everything)."""
    folder = Path(tempfile.mkdtemp(prefix="compactd-"))
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_unreadable_file_fails_alone_and_is_read_when_it_can_be(home: Home, jobs: int) -> None:
    fill(home)
    # What is loaded late has to be loaded while the interpreter's folder can be read.
    home.backfill(jobs=1)
    with unprivileged() as folder:
        own = Home(folder)
        rels = fill(own)
        own.backfill()
        own.append(rels[1], short(77))
        own.append(rels[2], short(78))
        own.write("new.jsonl", HEAD + short(79))
        closed = [own.source / rels[1], own.source / "new.jsonl"]
        for path in closed:
            path.chmod(0)
        report = own.backfill(jobs=1)
        assert sorted(report.failed) == sorted(f"{path}: cannot open: Permission denied" for path in closed) or sorted(
            report.failed
        ) == sorted([f"{closed[0]}: cannot read: Permission denied", f"{closed[1]}: cannot open: Permission denied"])
        assert (report.total["failed"], report.total["records"]) == (2, 2)
        for path in closed:
            path.chmod(0o600)
        assert own.backfill().failed == []
        own.check(*rels, "new.jsonl")
    del jobs


def test_an_unreadable_folder_is_no_reason_to_stop_or_to_forget(home: Home) -> None:
    fill(home)
    home.backfill()
    with unprivileged() as folder:
        own = Home(folder)
        rels = fill(own)
        own.backfill()
        before = own.outputs()
        (own.source / "p").chmod(0)
        report = own.backfill()
        (own.source / "p").chmod(0o700)
        assert (report.failed, report.total["sessions"], own.outputs()) == ([], 1, before)
        own.check(*rels)


def test_a_file_of_no_known_format_is_skipped_in_a_folder_and_passed_when_it_is_named(home: Home) -> None:
    data = b"a note\r\n\n\xff\0 no JSON"
    path = home.write("notes.jsonl", data)
    report = home.backfill()
    assert (report.skipped, report.total["sessions"]) == ([f"{path}: no known session format"], 0)
    assert home.outputs() == {}
    report = home.backfill(path)
    assert (report.skipped, report.total["records"]) == ([], 3)
    assert home.output("notes.jsonl") == data
    assert home.query("SELECT format FROM generation") == [("unknown",)]
    assert home.restored(path) == data
    assert home.problems() == []


def test_lines_in_a_json_only_look_like_a_session_and_are_left_alone(home: Home) -> None:
    path = home.write("lines.json", HEAD + short(1))
    report = home.backfill()
    assert report.skipped == [f"{path}: no known session format"]
    assert home.outputs() == {}


def test_a_named_format_is_taken_without_looking(home: Home) -> None:
    path = home.write("a.jsonl", HEAD + short(1))
    home.backfill(path, format="chat")
    assert home.output("a.jsonl") == path.read_bytes()
    assert home.query("SELECT format FROM generation") == [("chat",)]


def test_a_document_is_one_record_and_written_anew_at_each_change(home: Home) -> None:
    first = b'{"sessionId":"s","projectHash":"h","messages":[\n]}\n'
    second = b'{"sessionId":"s","projectHash":"h","messages":[\n{"type":"user","content":"a"}]}\n'
    path = home.write("chats/session-1.json", first)
    home.backfill()
    path.write_bytes(second)
    home.backfill()
    assert home.output("chats/session-1.json") == second
    assert home.spans("chats/session-1.json") == [(1, 0, len(second))]
    assert (home.restored("#1", 1), home.restored("#1", 2), home.problems()) == (first, second, [])


def test_a_too_long_document_streams_through_also_when_it_changes(home: Home) -> None:
    size = 2 * SHORT.reader.max_record_bytes
    documents = [b'{"sessionId":"s","projectHash":"h","messages":[\n"' + b"x" * (size + n) + b'"]}\n' for n in (0, 5)]
    for number, data in enumerate(documents, 1):
        home.write("chats/session-1.json", data)
        home.backfill()
        assert home.output("chats/session-1.json") == data
        assert home.spans("chats/session-1.json") == [(1, 0, len(data))]
        assert home.restored("#1", number) == data
    assert home.problems() == []


def test_two_roots_of_the_same_name_have_outputs_of_their_own(home: Home, tmp_path: Path) -> None:
    roots = [tmp_path / name / "sessions" for name in ("x", "y", "z")]
    for number, root in enumerate(roots):
        root.mkdir(parents=True)
        (root / "a.jsonl").write_bytes(HEAD + short(number))
    home.backfill(*roots[:2])
    home.backfill(roots[2], roots[1], roots[0])
    for root, name in zip(roots, ("sessions", "sessions-2", "sessions-3"), strict=True):
        output = (home.out / name / "a.jsonl").read_bytes()
        assert comparable(output) == oracle(root / "a.jsonl", home.settings)
    assert len(home.outputs()) == 3
    assert home.problems() == []


def test_a_file_reached_through_several_targets_is_taken_once(home: Home) -> None:
    rels = fill(home)
    (home.source / "link").symlink_to(home.source / "p")
    report = home.backfill(home.source, home.source / "p", home.source / "a.jsonl", home.source / "p" / "q" / "*.jsonl")
    assert (report.total["sessions"], home.query("SELECT count(*) FROM session")) == (4, [(4,)])
    assert sorted(home.outputs()) == ["p/b.jsonl", "q/c.jsonl", "q/d.jsonl", "sessions/a.jsonl"]
    # Through another target it is still the same session.
    home.append(rels[3], short(990))
    report = home.backfill(home.source)
    assert (report.total["records"], report.total["sessions"]) == (2, 4)
    assert sorted(home.outputs()) == ["p/b.jsonl", "q/c.jsonl", "q/d.jsonl", "sessions/a.jsonl"]
    assert home.problems() == []


def test_roots_of_the_config_file_have_their_format(home: Home) -> None:
    home.write("a.jsonl", HEAD + short(1))
    home.write("b.txt", b"anything\n")
    from pipeline.runs.backfill import backfill

    report = backfill(home.settings, [RootSettings(str(home.source), "codex", ("*.txt",))])
    assert report.total["sessions"] == 1
    assert home.query("SELECT format FROM generation") == [("codex",)]
    assert home.outputs() == {"sessions/b.txt": b"anything\n"}


def test_output_and_state_below_a_root_are_not_taken_for_sources(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(HEAD + short(1))
    for _ in range(2):
        for target in (tmp_path, tmp_path / "**" / "*.jsonl", home.out):
            if target == home.out and not home.out.exists():
                continue
            assert home.backfill(target).failed == []
    assert [path.name for path in home.out.rglob("*.jsonl")] == ["a.jsonl"]
    assert home.query("SELECT count(*) FROM session") == [(1,)]


def test_a_moved_session_keeps_its_output(home: Home) -> None:
    rels = fill(home)
    home.backfill()
    inode = (home.out / "sessions" / "p" / "q" / "c.jsonl").stat().st_ino
    os.rename(home.source / "p" / "q", home.source / "r")
    report = home.backfill()
    assert (report.total["records"], report.total["unchanged"]) == (0, 4)
    assert sorted(home.outputs()) == [f"sessions/{rel}" for rel in (rels[0], rels[1], "r/c.jsonl", "r/d.jsonl")]
    assert (home.out / "sessions" / "r" / "c.jsonl").stat().st_ino == inode
    home.check(rels[0], rels[1], "r/c.jsonl", "r/d.jsonl")


def test_a_whole_root_that_moved_is_recognised(home: Home, tmp_path: Path) -> None:
    rels = fill(home)
    home.backfill()
    before = home.outputs()
    os.rename(home.source, tmp_path / "elsewhere")
    report = home.backfill(tmp_path / "elsewhere")
    assert (report.total["records"], report.total["sessions"]) == (0, 4)
    assert home.outputs() == {name.replace("sessions/", "elsewhere/", 1): data for name, data in before.items()}
    assert home.restored(tmp_path / "elsewhere" / rels[3]) == (tmp_path / "elsewhere" / rels[3]).read_bytes()
    assert home.problems() == []


def test_recompact_makes_a_new_generation_with_the_same_bytes(home: Home) -> None:
    rels = fill(home)
    home.write("torn.jsonl", HEAD + short(1)[:-5])
    home.write("empty/messages.jsonl", b"")
    home.backfill()
    before = home.outputs()
    values = home.query("SELECT * FROM value ORDER BY id")
    report = home.backfill(recompact=True)
    assert report.total["unchanged"] == 0
    assert home.outputs() == before
    home.check(*rels, "torn.jsonl")
    assert home.query("SELECT DISTINCT generation, state FROM generation") == [(2, "current")]
    assert home.query("SELECT * FROM value ORDER BY id") == values


def test_another_configuration_holds_for_all_of_a_session_or_for_nothing_of_it(home: Home) -> None:
    rels = fill(home)
    home.backfill()
    before = home.outputs()
    wider = Home(home.base, replace(SHORT, tool_result=replace(SHORT.tool_result, head_lines=4)))
    assert wider.backfill().total["unchanged"] == 4
    assert wider.outputs() == before
    # What grows is compacted anew: no one setting would give a mixture.
    wider.append(rels[1], short(99))
    report = wider.backfill()
    assert report.total["unchanged"] == 3
    wider.check(rels[1])
    home.check(rels[0], *rels[2:])
    assert len(wider.outputs()) == 4
    wider.backfill(recompact=True)
    wider.check(*rels)


@pytest.mark.parametrize("settings", [Settings(), SHORT], ids=["defaults", "short"])
def test_compacting_the_output_again_changes_no_byte(tmp_path: Path, settings: Settings) -> None:
    home = Home(tmp_path / "first", settings)
    shutil.copytree(SAMPLES, home.source, dirs_exist_ok=True)
    home.write("made.jsonl", HEAD + lines(session(3)) + b"".join(short(n) for n in range(9)))
    first = home.backfill()
    assert first.total["edits"] > 9
    again = Home(tmp_path / "again", settings)
    report = again.backfill(home.out / "sessions")
    assert (report.total["sessions"], report.total["edits"], report.total["saved_bytes"]) == (
        first.total["sessions"],
        0,
        0,
    )
    assert again.outputs() == home.outputs()


def test_progress_counts_up_to_the_end(home: Home) -> None:
    fill(home)
    seen: list[Progress] = []
    home.backfill(progress=seen.append)
    total = sum(path.stat().st_size for path in home.source.rglob("*.jsonl"))
    assert [state.total_bytes for state in seen] == [total] * len(seen)
    done = [state.done_bytes for state in seen]
    assert (done, done[-1]) == (sorted(done), total)
    assert (seen[-1].sessions_done, seen[-1].sessions_total) == (4, 4)


def test_a_missing_target_is_found_before_anything_is_written(home: Home) -> None:
    fill(home)
    with pytest.raises(UsageError, match=re.escape(f"{home.base}/none: need a file, folder or glob, it is missing")):
        home.backfill(home.source, home.base / "none")
    assert not home.out.exists()
    assert not home.state.exists()


def test_names_of_any_bytes_and_odd_folders(home: Home) -> None:
    rels = [os.fsdecode(b"\xff\xfe/\xff.jsonl"), "a\nb/c d.jsonl", "ü/€.jsonl", "-o.jsonl", ".hidden/.x.jsonl"]
    for number, rel in enumerate(rels):
        home.write(rel, HEAD + short(number))
    assert home.backfill().failed == []
    home.check(*rels)
