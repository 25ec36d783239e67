"""Every file that a search found stays with its first hits; further hits are counted where they stood."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, is_subsequence

from pipeline.rules.base import ToolContext
from pipeline.rules.search_results import RULE, fold_hits


def hits(path: str, count: int, sign: str = ":") -> list[str]:
    return [f"{path}{sign}{n}{sign}    crate = pack(crate)" for n in range(1, count + 1)]


def folded(text: str) -> list[str]:
    return fold_hits(text).split("\n")


def test_the_first_hits_of_each_file_stay() -> None:
    text = "\n".join(["Found 12 hits", *hits("src/a.py", 9), *hits("src/b.py", 3), "", "done"])
    assert folded(text) == [
        "Found 12 hits",
        *hits("src/a.py", 5),
        "… [4 more hits in src/a.py elided] …",
        *hits("src/b.py", 3),
        "",
        "done",
    ]


def test_in_a_long_result_fewer_stay() -> None:
    lines = [hit for n in range(60) for hit in hits(f"src/f{n}.py", 9)]
    assert folded("\n".join(lines))[:4] == [
        *hits("src/f0.py", 1),
        "… [8 more hits in src/f0.py elided] …",
        *hits("src/f1.py", 1),
        "… [8 more hits in src/f1.py elided] …",
    ]


def test_hits_below_a_heading() -> None:
    body = [f"{n}:  crate" for n in range(1, 20)]
    text = "\n".join(["src/a.py", *body, "", "Makefile.am", *body[:3]])
    note = "… [14 more hits in src/a.py elided] …"
    assert folded(text) == ["src/a.py", *body[:5], note, "", "Makefile.am", *body[:3]]


def test_hits_without_numbers() -> None:
    text = "\n".join(["src/a.py:  crate"] * 12 + ["Binary file x matches"])
    assert folded(text) == [*["src/a.py:  crate"] * 5, "… [7 more hits in src/a.py elided] …", "Binary file x matches"]


def test_lines_around_go_with_their_hits() -> None:
    group = "a.py-{0}-before\na.py:{1}:hit\na.py-{2}-after"
    text = "\n--\n".join(group.format(n, n + 1, n + 2) for n in range(10, 100, 10))
    assert folded(text) == [
        *"\n--\n".join(group.format(n, n + 1, n + 2) for n in range(10, 60, 10)).split("\n"),
        "--",
        "a.py-60-before",
        "… [4 more hits in a.py elided] …",
    ]


def test_a_failure_among_the_hits_stays_unless_searches_are_exempt() -> None:
    lines = hits("src/a.py", 12)
    lines[8] = "src/a.py:9:  raise TypeError('no')"
    text = "\n".join(lines)
    assert folded(text) == [*lines[:5], "… [6 more hits in src/a.py elided] …", lines[8]]
    assert fold_hits(text, lambda _text: ()).split("\n") == [*lines[:5], "… [7 more hits in src/a.py elided] …"]


def test_a_long_hit_is_cut() -> None:
    text = "\n".join([*hits("a.js", 7), "min.js:1:" + "x" * 2000])
    assert folded(text)[-1] == "min.js:1:" + "x" * 291 + "…[+1709 chars]"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(hits("a.py", 7), id="few hits"),
        pytest.param([f"src/f{n}.py:3: crate" for n in range(30)], id="a hit a file"),
        pytest.param([f"2026-01-12T09:42:{n} crate" for n in range(30)], id="a log"),
        pytest.param([f"12:30:{n}: crate" for n in range(30)], id="times"),
        pytest.param([f"https://a.org/{n}" for n in range(30)], id="URLs"),
        pytest.param([*hits("a.py", 20), "… [3 more hits in b.py elided] …"], id="folded before"),
    ],
)
def test_what_is_no_long_result_stays(lines: list[str]) -> None:
    assert folded("\n".join(lines)) == lines


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -rn crate src | head -80", True),
        ("cd src && rg crate", True),
        ("git grep -n crate", True),
        ("grep -c crate a && make", False),
        ("cat a.py", False),
        ("", False),
    ],
)
def test_the_command_decides(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


def test_tools_that_search_need_no_command() -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(tool_class="search"))
    text = "\n".join(hits("a.py", 20))
    assert RULE.matches("Grep", text)
    assert RULE.matches("Grep", fold_hits(text))
    assert not RULE.matches("Read", text)


LINES = st.one_of(
    st.tuples(
        st.sampled_from(["a.py", "src/b.py", "Makefile"]),
        st.integers(1, 99),
        st.sampled_from(["x", "error", "y\r", "z" * 700]),
    ).map(lambda hit: f"{hit[0]}:{hit[1]}:{hit[2]}"),
    st.integers(1, 99).map(lambda n: f"a.py-{n}-around"),
    st.integers(1, 99).map(lambda n: f"{n}:below"),
    st.sampled_from(
        ["", "--", "a.py", "src/b.py", "Binary file x matches", "grep: x: No such file", "é…", "a.py: x", "\r"]
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=80))
def test_the_laws_hold(lines: list[str]) -> None:
    short = check_laws(fold_hits, "\n".join(lines)).split("\n")
    unknown = ("", "a.py", "src/b.py", "Binary file x matches", "grep: x: No such file", "é…")
    assert is_subsequence([line for line in lines if line in unknown], short)
    for path in ("a.py:", "src/b.py:", "Makefile:"):
        if any(line.startswith(path) for line in lines):
            assert any(line.startswith(path) for line in short)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["a:1:x\n", "a.py-1-x\n", "-1-" * 90 + "\n", "a/b", "a.b" * 100 + "\n", "1:\n", "x" * 250 + "\n"]
)
def test_time_is_linear(unit: str) -> None:
    assert is_linear(fold_hits, lambda chars: "a:1:x\n" * 20 + unit * (chars // len(unit)))
    assert is_linear(fold_hits, lambda chars: unit * (chars // len(unit)))
