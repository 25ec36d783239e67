"""Long listings keep their folders and the first files of each; the rest is counted, whatever program listed it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, is_subsequence

from pipeline.rules.base import ToolContext
from pipeline.rules.listings import RULE, fold_listing

FEW = [f"src/part{n}/main.py" for n in range(40)]
MANY = [f"src/big/f{n:02}.py" for n in range(30)]
NOTE = "… [24 entries in src/big/ elided: 24 .py] …"
LONG = "-rw-r--r-- 1 ann staff  4096 Jan 12 09:4{} {}"


def listed(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_long_folders_are_counted_and_others_stay() -> None:
    text = listed("src", *FEW, *MANY, "src/big", "README")
    assert fold_listing(text) == listed("src", *FEW, *MANY[:6], NOTE, "src/big", "README")
    assert fold_listing(text.replace("\n", "\r\n")).endswith(f"{NOTE}\r\nsrc/big\r\nREADME\r\n")


def test_suffixes_are_told_most_first() -> None:
    names = [f"out/f{n:02}.{'txt' if n % 3 else 'log'}" for n in range(60)] + ["out/Makefile"]
    assert fold_listing(listed(*names)).split("\n")[6] == "… [55 entries in out/ elided: 36 .txt, 18 .log] …"


def test_what_nobody_reads_is_counted_together() -> None:
    bulk = [f"web/node_modules/lib{n}/src/index.js" for n in range(20)]
    text = listed("web/node_modules", *FEW, *bulk)
    assert fold_listing(text) == listed(
        "web/node_modules", *FEW, "… [20 entries in web/node_modules/ elided: 20 .js] …"
    )
    # It is what was asked for.
    alone = listed(*(f"node_modules/lib{n}/index.js" for n in range(60)))
    assert fold_listing(alone) == alone


def test_ls_long_keeps_folders() -> None:
    rows = [LONG.format(n % 10, f"a file {n:02}.py") for n in range(50)]
    text = listed(
        "total 400",
        "drwxr-xr-x 2 ann staff 4096 Jan 12 09:40 zoo",
        *rows,
        "drwxr-xr-x 2 ann staff 4096 Jan 12 09:40 zoo2",
    )
    lines = text.split("\n")
    assert fold_listing(text) == "\n".join([*lines[:8], "… [44 entries in ./ elided: 44 .py] …", *lines[-2:]])


def test_ls_recursive_counts_per_heading() -> None:
    names = [f"f{n:02}.c" for n in range(30)]
    text = listed("./a:", *names, "", "./b:", "deep", *names, "", "./b/deep:", "x.c")
    short = listed(
        "./a:",
        *names[:6],
        "… [24 entries in ./a/ elided: 24 .c] …",
        "",
        "./b:",
        "deep",
        *names[:6],
        "… [24 entries in ./b/ elided: 24 .c] …",
        "",
        "./b/deep:",
        "x.c",
    )
    assert fold_listing(text) == short


def test_tree_keeps_its_branches() -> None:
    leaves = [f"│   ├── f{n:02}.rs" for n in range(40)]
    text = listed(
        ".", "├── src", *leaves, "│   └── sub", "│       └── x.rs", "└── end.txt", "", "2 directories, 42 files"
    )
    lines = text.split("\n")
    assert fold_listing(text) == "\n".join(
        [*lines[:8], "│   ├── … [34 entries in ./src/ elided: 34 .rs] …", *lines[42:]]
    )


def test_sizes_of_du_are_no_part_of_a_path() -> None:
    rows = [f"{n}K\t./data/f{n:02}.bin" for n in range(50)]
    assert fold_listing(listed(*rows, "900K\t./data", "1M\t.")) == listed(
        *rows[:6], "… [44 entries in ./data/ elided: 44 .bin] …", "900K\t./data", "1M\t."
    )


def test_a_failure_between_stays() -> None:
    text = listed(*MANY, "find: '/root': Permission denied", *MANY[:20])
    lines = fold_listing(text).split("\n")
    assert lines[6:8] == ["… [44 entries in src/big/ elided: 44 .py] …", "find: '/root': Permission denied"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(MANY, id="short"),
        pytest.param([f"the word number {n} of a sentence." for n in range(60)], id="prose"),
        pytest.param([f"word{n * 7919 % 97}" for n in range(60)], id="words without order"),
        pytest.param([f"key{n}: value" for n in range(60)], id="pairs"),
        pytest.param([*(["same text here, no path"] * 50), *MANY], id="mostly other lines"),
        pytest.param([*MANY, *FEW, "… [9 entries in x/ elided] …"], id="folded before"),
    ],
)
def test_what_is_no_long_listing_stays(lines: list[str]) -> None:
    assert fold_listing(listed(*lines)) == listed(*lines)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find . -name '*.py' | head -300", True),
        ("cd web && ls -la", True),
        ("git ls-files src", True),
        ("rg --files", True),
        ("cat names.txt", False),
        ("find . -exec cat {} +", False),
        ("ls && make", False),
        ("rg foo", False),
        ("", False),
    ],
)
def test_the_command_decides(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


def test_tools_that_list_need_no_command() -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(tool_class="list"))
    text = listed(*FEW, *MANY)
    assert RULE.matches("Glob", text)
    assert RULE.matches("Glob", fold_listing(text))
    assert not RULE.matches("Glob", listed(*FEW))
    assert not RULE.matches("Grep", text)


LINES = st.one_of(
    st.tuples(
        st.sampled_from(["src", "src/a", "node_modules", "a/node_modules/b", "/", ".", "error"]), st.integers(0, 99)
    ).map(lambda pair: f"{pair[0]}/f{pair[1]}.py"),
    st.integers(0, 99).map(lambda n: LONG.format(n % 10, f"f{n}")),
    st.integers(0, 99).map(lambda n: f"{n}K\t./d/f{n}"),
    st.integers(0, 99).map(lambda n: f"│   ├── f{n}"),
    st.sampled_from(
        [
            "",
            "src:",
            "src/a:",
            "src",
            "src/a",
            "total 4",
            "find: x: Permission denied",
            "é…",
            "a b c d",
            "a\r",
            "├── d",
            "└── e",
        ]
    ),
    st.text(alphabet="ab/.: \r", max_size=5),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, min_size=30, max_size=120))
def test_the_laws_hold(lines: list[str]) -> None:
    short = check_laws(fold_listing, "\n".join(lines))
    unknown = ("", "total 4", "find: x: Permission denied", "src:", "src/a:")
    assert is_subsequence([line for line in lines if line in unknown], short.split("\n"))
    assert is_subsequence([line for line in short.split("\n") if " entries in " not in line], lines)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit",
    ["a/b\n", "│   ├── x\n", "│   " * 30 + "├── x\n", " " * 300 + "x\n", "a " * 150 + "\n", "a/" * 150 + "\n", "x:\n"],
)
def test_time_is_linear(unit: str) -> None:
    assert is_linear(fold_listing, lambda chars: "├── x\n" * 50 + unit * (chars // len(unit)))
    assert is_linear(fold_listing, lambda chars: unit * (chars // len(unit)))


@pytest.mark.benchmark
def test_a_deep_tree_takes_no_longer() -> None:
    assert is_linear(
        fold_listing, lambda chars: "".join(" " * (4 * n) + "└── x\n" for n in range(int((chars / 2) ** 0.5)))
    )
