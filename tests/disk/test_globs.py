"""A glob means what it means to the `glob` of Python, and a path can be asked about it without a look at the disk."""

from __future__ import annotations

import glob
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.disk.globs import accepts, first_wild, follow, is_glob, starts

NAMES = ("a", "ab", ".a", "b.j")
PARTS = ("*", "**", "a", "a*", ".*", "?", "[ab]", "[!a]*", "*.j", "[", "**b")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files called f and each of the names, in all folders up to two deep."""
    base = tmp_path_factory.mktemp("tree")
    for depth in range(3):
        for names in itertools.product(NAMES, repeat=depth):
            folder = base.joinpath(*(f"{name}d" for name in names))
            folder.mkdir(exist_ok=True)
            for name in NAMES:
                (folder / name).write_bytes(b"")
    return base


@given(st.lists(st.sampled_from([*PARTS, "ad", "?d", "*d", ".ad"]), min_size=1, max_size=4))
def test_what_fits_is_what_glob_finds(tree: Path, parts: list[str]) -> None:
    pattern = "/".join(parts)
    files = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    found = glob.glob(pattern, root_dir=tree, recursive=True)
    # A file with "/" behind its name is no file, though `glob` gives it for `name/**`.
    expected = {rel for rel in found if (tree / rel).is_file() and not rel.endswith("/")}
    assert {rel for rel in files if accepts(pattern, follow(pattern, starts(pattern), rel.split("/")))} == expected


@given(st.lists(st.sampled_from([*PARTS, "ad", "?d", "*d"]), min_size=1, max_size=4))
def test_below_a_folder_without_states_nothing_fits(tree: Path, parts: list[str]) -> None:
    pattern = "/".join(parts)
    for rel in glob.glob(pattern, root_dir=tree, recursive=True):
        names = rel.rstrip("/").split("/")
        if (tree / rel).is_file():
            assert all(follow(pattern, starts(pattern), names[:count]) for count in range(len(names)))


@pytest.mark.parametrize(
    ("text", "first"),
    [("a/b", None), ("a/*", 2), ("?", 0), ("a[b]c", 1), ("", None)],
)
def test_where_the_wildcards_begin(text: str, first: int | None) -> None:
    assert is_glob(text) is (first is not None)
    assert first_wild(text) == (len(text) if first is None else first)
