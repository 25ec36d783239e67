"""Every session file of the targets is found once, whatever names, links and folders there are; nothing else is."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from pipeline.disk.scan import Found, Root, look_at, roots_of, scan, scan_folder, wanted
from pipeline.errors import UsageError
from pipeline.settings import RootSettings

INCLUDE = RootSettings("").include
ODD = os.fsdecode(b"\xff\xfe.jsonl")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with sessions two levels deep, and files of other kinds."""
    for name in ("a.jsonl", "p/b.jsonl", "p/q/c.json", "p/q/notes.txt", "p/d.jsonl.bz2", ".hidden/e.jsonl", f"p/{ODD}"):
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode("utf-8", "surrogateescape"))
    return tmp_path / "home"


def rels(roots: list[Root], *skip: Path) -> list[str]:
    return [found.rel for found in scan(roots, skip=[str(path) for path in skip])]


def test_a_folder_is_searched_for_the_known_formats(home: Path) -> None:
    roots = roots_of([str(home)])
    assert roots == [Root(str(home), INCLUDE)]
    assert rels(roots) == ["a.jsonl", ".hidden/e.jsonl", "p/b.jsonl", f"p/{ODD}", "p/q/c.json"]


def test_what_is_found_says_how_the_file_is_now(home: Path) -> None:
    (root,) = roots_of([str(home)])
    status = (home / "a.jsonl").stat()
    expected = Found(root, "a.jsonl", str(home / "a.jsonl"), 7, status.st_mtime_ns, status.st_dev, status.st_ino)
    assert next(scan([root])) == expected
    assert look_at(root, "a.jsonl") == expected
    assert not expected.named


def test_a_files_root_is_its_parent(home: Path) -> None:
    roots = roots_of([str(home / "p" / "q" / "notes.txt")])
    assert roots == [Root(str(home / "p" / "q"), INCLUDE, only=frozenset({"notes.txt"}))]
    (found,) = scan(roots)
    assert (found.rel, found.named) == ("notes.txt", True)


def test_files_of_one_folder_share_a_root(home: Path) -> None:
    roots = roots_of([str(home / "p" / "b.jsonl"), str(home / "p" / ODD), str(home / "a.jsonl")])
    assert [(root.path, set(root.only)) for root in roots] == [
        (str(home / "p"), {"b.jsonl", ODD}),
        (str(home), {"a.jsonl"}),
    ]
    assert rels(roots) == ["b.jsonl", ODD, "a.jsonl"]


@pytest.mark.parametrize(
    ("pattern", "below", "glob", "expected"),
    [
        pytest.param("*.jsonl", "", "*.jsonl", {"a.jsonl"}, id="star"),
        pytest.param("p/?.jsonl", "p", "?.jsonl", {"b.jsonl"}, id="question mark"),
        pytest.param("[ab].jsonl", "", "[ab].jsonl", {"a.jsonl"}, id="brackets"),
        pytest.param("p/**/*", "p", "**/*", {"b.jsonl", "d.jsonl.bz2", ODD, "q/c.json", "q/notes.txt"}, id="two stars"),
        pytest.param("p/*/c.json", "p", "*/c.json", {"q/c.json"}, id="folder"),
        pytest.param("p/q*/c.json", "p", "q*/c.json", {"q/c.json"}, id="part of a name"),
    ],
)
def test_a_globs_root_is_its_longest_part_without_wildcard(
    home: Path, pattern: str, below: str, glob: str, expected: set[str]
) -> None:
    roots = roots_of([str(home / pattern)])
    assert roots == [Root(str(home / below), (), glob=glob)]
    assert sorted(rels(roots)) == sorted(expected)


def test_a_glob_takes_files_that_appear_later(home: Path) -> None:
    roots = roots_of([str(home / "p" / "*" / "*.json*"), str(home / "*.jsonl")])
    before = rels(roots)
    (home / "p" / "new").mkdir()
    (home / "p" / "new" / "z.jsonl").write_bytes(b"x")
    (home / "p" / "z.jsonl").write_bytes(b"x")
    (home / "y.jsonl").write_bytes(b"x")
    assert sorted(rels(roots)) == sorted([*before, "new/z.jsonl", "y.jsonl"])
    (deep,) = [root for root in roots if root.is_deep]
    assert [found.rel for found in scan_folder(deep, str(home / "p" / "new"))] == ["new/z.jsonl"]
    assert scan_folder(deep, str(home / "p" / "q" / "r")) == []


def test_a_glob_enters_only_folders_that_may_hold_what_fits(home: Path) -> None:
    """Of a folder that is not entered nobody notices that it cannot be listed; the walk of a glob is as cheap."""
    (home / "p" / "loop").symlink_to(home)
    (home / "p" / "again").symlink_to(home / "p")
    assert rels(roots_of([str(home / "*" / "**" / "*.jsonl")])) == ["p/b.jsonl", f"p/{ODD}", "p/loop/a.jsonl"]


def test_a_relative_path_is_one_from_the_current_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert [root.path for root in roots_of(["p", "p/b.jsonl", "*.jsonl"])] == [
        str(home / "p"),
        str(home / "p"),
        str(home),
    ]


def test_a_name_with_wildcards_that_is_there_is_that_file(home: Path) -> None:
    (home / "[ab].jsonl").write_bytes(b"")
    assert rels(roots_of([str(home / "[ab].jsonl")])) == ["[ab].jsonl"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        pytest.param("none.jsonl", "{home}/none.jsonl: need a file, folder or glob, it is missing", id="missing"),
        pytest.param("none/*.jsonl", "{home}/none/*.jsonl: need a glob that matches files, it matches none", id="glob"),
        pytest.param("p*", "{home}/p*: need a glob that matches files, it matches none", id="glob of folders"),
        pytest.param("fifo", "{home}/fifo: need a file or folder, it is no regular file", id="fifo"),
        pytest.param("dangling", "{home}/dangling: need a file or folder, it is missing", id="dangling link"),
    ],
)
def test_a_path_that_leads_to_no_file_is_wrong_use(home: Path, target: str, text: str) -> None:
    os.mkfifo(home / "fifo")
    (home / "dangling").symlink_to(home / "nowhere")
    with pytest.raises(UsageError, match=f"^{re.escape(text.format(home=home))}$"):
        roots_of([str(home), str(home / target)])


@pytest.mark.parametrize(
    ("path", "what"),
    [pytest.param("none", "missing", id="missing"), pytest.param("a.jsonl", "a file", id="file")],
)
def test_a_root_of_the_config_file_has_to_be_a_folder(home: Path, path: str, what: str) -> None:
    with pytest.raises(UsageError, match=f"^root {re.escape(str(home / path))}: need a folder, it is {what}$"):
        roots_of([RootSettings(str(home / path))])


def test_a_root_of_the_config_file_has_its_own_patterns_and_format(home: Path) -> None:
    roots = roots_of([RootSettings(str(home), "codex", ("p/*.jsonl", "**/c.json", "?.jsonl"))])
    assert [(found.rel, found.root.format) for found in scan(roots)] == [
        ("a.jsonl", "codex"),
        ("p/b.jsonl", "codex"),
        (f"p/{ODD}", "codex"),
        ("p/q/c.json", "codex"),
    ]


def test_two_roots_of_one_folder_with_patterns_of_their_own_both_count(home: Path) -> None:
    roots = roots_of(
        [RootSettings(str(home), "codex", ("*.jsonl",)), RootSettings(str(home), "gemini", ("**/*.json",))]
    )
    assert [(found.rel, found.root.format) for found in scan(roots)] == [("a.jsonl", "codex"), ("p/q/c.json", "gemini")]


@pytest.mark.parametrize(
    ("include", "rel", "expected"),
    [
        pytest.param(INCLUDE, "a.jsonl", True, id="at the top"),
        pytest.param(INCLUDE, "p/q/r/a.json", True, id="deep"),
        pytest.param(INCLUDE, "a.jsonl.bz2", False, id="suffix"),
        pytest.param(INCLUDE, "a.jsonl.gz", True, id="compressed"),
        pytest.param(("a.jsonl.gz",), "a.jsonl.gz", True, id="compressed by name"),
        pytest.param(INCLUDE, "a.jsonlx", False, id="longer suffix"),
        pytest.param(INCLUDE, "a\nb.jsonl", True, id="newline"),
        pytest.param(INCLUDE, ODD, True, id="no UTF-8"),
        pytest.param(("*.jsonl",), "p/a.jsonl", False, id="star stays in its folder"),
        pytest.param(("a.b",), "aXb", False, id="dot is a dot"),
        pytest.param(("p**/x",), "pq/x", True, id="two stars in a name"),
        pytest.param(("?.j",), "/.j", False, id="question mark is no slash"),
    ],
)
def test_a_pattern_takes_whole_paths(include: tuple[str, ...], rel: str, expected: bool) -> None:
    assert wanted(Root("/r", include), rel) is expected


def test_a_root_of_single_files_wants_no_other() -> None:
    root = Root("/r", INCLUDE, only=frozenset({"a.txt"}))
    assert (wanted(root, "a.txt"), wanted(root, "b.jsonl")) == (True, False)


def test_names_that_are_no_utf_8_or_hold_newlines_are_found(tmp_path: Path) -> None:
    names = {os.fsdecode(b"\xff\xfe"), "a\nb", "ü", " "}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.jsonl").write_bytes(b"x")
    assert sorted(rels(roots_of([str(tmp_path)]))) == sorted(f"{name}/{name}.jsonl" for name in names)


def test_what_has_a_sessions_name_and_is_no_file_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "messages.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "folder.jsonl" / "in.jsonl").write_bytes(b"x")
    (tmp_path / "dangling.jsonl").symlink_to("nowhere")
    (tmp_path / "self.jsonl").symlink_to("self.jsonl")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s.jsonl"))
        assert rels(roots_of([str(tmp_path)])) == ["folder.jsonl/in.jsonl"]


def test_a_loop_of_links_ends_and_nothing_is_found_twice(home: Path) -> None:
    before = sorted(rels(roots_of([str(home)])))
    (home / "p" / "loop").symlink_to(home)
    (home / "p" / "q" / "z").symlink_to("z")
    (home / "p" / "again").symlink_to(home / "p" / "q")
    (home / "p" / "a-link.jsonl").symlink_to(home / "p" / "b.jsonl")
    # What has a path of its own is found by it.
    assert sorted(rels(roots_of([str(home)]))) == before


def test_a_link_leads_to_files_outside(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.jsonl").write_bytes(b"x")
    (home / "p" / "link").symlink_to(outside)
    assert "p/link/o.jsonl" in rels(roots_of([str(home)]))


def test_a_root_that_is_a_link_is_what_it_leads_to(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    assert roots_of([str(tmp_path / "link"), str(home)]) == roots_of([str(home)])


def test_a_file_below_two_roots_belongs_to_the_longest(home: Path) -> None:
    for targets in ([home, home / "p" / "q", home / "p"], [home / "p", home / "p" / "q", home]):
        found = {file.path: file.root.path for file in scan(roots_of([str(target) for target in targets]))}
        assert found == {
            str(home / "a.jsonl"): str(home),
            str(home / ".hidden" / "e.jsonl"): str(home),
            str(home / "p" / "b.jsonl"): str(home / "p"),
            str(home / "p" / ODD): str(home / "p"),
            str(home / "p" / "q" / "c.json"): str(home / "p" / "q"),
        }


def test_output_and_state_are_never_scanned(home: Path, tmp_path: Path) -> None:
    out, link = home / "p" / "q", tmp_path / "link"
    link.symlink_to(out)
    expected = ["a.jsonl", ".hidden/e.jsonl", "p/b.jsonl", f"p/{ODD}"]
    assert rels(roots_of([str(home)]), out) == expected
    # Neither by another name, nor through a link, nor when the root or file lies in them.
    (home / "zz").symlink_to(out)
    (home / "zz.json").symlink_to(out / "c.json")
    assert rels(roots_of([str(home)]), out) == expected
    assert rels(roots_of([str(home)]), link) == expected
    for target in (out, out / "c.json", home / "p" / "q" / "*.json", home / "zz"):
        assert rels(roots_of([str(target)]), home / "p") == []
    assert rels(roots_of([str(home / "**" / "*.json*")]), home / "p", home / ".hidden") == ["a.jsonl"]


def test_a_folder_beside_the_output_with_a_longer_name_is_scanned(tmp_path: Path) -> None:
    for name in ("out/a.jsonl", "out-2/a.jsonl"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    assert rels(roots_of([str(tmp_path)]), tmp_path / "out") == ["out-2/a.jsonl"]


def test_one_folder_of_a_root_can_be_scanned_alone(home: Path) -> None:
    (root,) = roots_of([str(home)])
    assert [found.rel for found in scan_folder(root, str(home / "p"))] == ["p/b.jsonl", f"p/{ODD}", "p/q/c.json"]
    skipped = [str(home / "p" / "q") + os.sep]
    assert [found.rel for found in scan_folder(root, str(home / "p"), skip=skipped)] == ["p/b.jsonl", f"p/{ODD}"]
    assert scan_folder(root, str(home / "p" / "q"), skip=skipped) == []
    (only,) = roots_of([str(home / "a.jsonl")])
    assert scan_folder(only, str(home)) == []


def test_a_folder_that_vanishes_during_the_walk_is_passed_over(home: Path) -> None:
    found = scan(roots_of([str(home)]))
    assert next(found).rel == "a.jsonl"
    for name in ("b.jsonl", "d.jsonl.bz2", ODD, "q/c.json", "q/notes.txt"):
        (home / "p" / name).unlink()
    (home / "p" / "q").rmdir()
    (home / "p").rmdir()
    assert [file.rel for file in found] == [".hidden/e.jsonl"]
