"""Lists of links above and below what a page says are counted; what it says stays, links included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, is_subsequence

from pipeline.rules.base import ToolContext
from pipeline.rules.web_pages import RULE, drop_navigation

SAID = "Apples keep for months in a cold and dark store, as long as nobody opens the door more than is good for them."
BODY = [line for n in range(15) for line in (f"## Part {n}", SAID)]


def links(count: int, form: str = "- [Part {0}](/part/{0})") -> list[str]:
    return [form.format(n) for n in range(count)]


def dropped(*lines: str) -> list[str]:
    return drop_navigation("\n".join(lines)).split("\n")


@pytest.mark.parametrize(
    "form",
    [
        "- [Part {0}](/part/{0})",
        '[Part {0}](https://a.org/(x)/{0} "title")',
        "* [![logo](/l.png)](/{0}) | [Jobs](/jobs/{0})",
        "{0}. [A {0}](a#b) · [B](c)",
        "<https://a.org/{0}>",
        "- Part {0} (/part/{0})",
        "Part {0} (https://a.org/{0})",
        "## [Part {0}](/part/{0})\r",
    ],
)
def test_navigation_keeps_its_head(form: str) -> None:
    nav = links(12, form)
    note = "… [10 navigation links elided] …" + ("\r" if form.endswith("\r") else "")
    assert dropped("Title", *nav, *BODY) == ["Title", *nav[:2], note, *BODY]
    assert dropped(*BODY, *nav, "© me") == [*BODY, *nav[:2], note, "© me"]


def test_blank_lines_and_banners_are_part_of_a_list() -> None:
    nav = [line for link in links(10) for line in (link, "")]
    assert dropped("Skip to content", *nav, "Accept all cookies", "", *BODY) == [
        "Skip to content",
        nav[0],
        "… [10 navigation links elided] …",
        "",
        *BODY,
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*links(7), *BODY], id="a short list"),
        pytest.param([*BODY, *links(12), *BODY], id="a list within what is said"),
        pytest.param([*links(60), *BODY], id="a page of links"),
        pytest.param([*links(12, "- See [part {0}](/p/{0}) for more."), *BODY], id="links in sentences"),
        pytest.param([*links(12, "- part {0} (see below)"), *BODY], id="brackets"),
        pytest.param([*links(12), *["short"] * 40], id="nothing said"),
        pytest.param([*links(2), "… [10 navigation links elided] …", *BODY, *links(12)], id="counted before"),
    ],
)
def test_what_is_no_navigation_stays(lines: list[str]) -> None:
    assert dropped(*lines) == lines


def test_a_failure_among_the_links_stays() -> None:
    nav = [*links(10), "- [Fatal error: no such page](/x)", *links(9)]
    assert dropped(*nav, *BODY) == [
        *nav[:2],
        "… [8 navigation links elided] …",
        nav[10],
        *nav[11:13],
        "… [7 navigation links elided] …",
        *BODY,
    ]


def test_tool_and_command_come_first() -> None:
    text = "\n".join([*links(12), *BODY])
    assert RULE.matches_context is not None
    assert RULE.matches("WebFetch", text)
    assert not RULE.matches("WebFetch", drop_navigation(text))
    assert not RULE.matches("Read", text)
    assert not RULE.matches("WebFetch", "<!DOCTYPE html><html>" + text)
    assert RULE.matches_context(ToolContext(tool_class="fetch"))
    assert RULE.matches_context(ToolContext(command="curl -s https://a.org | pandoc", tool_class="shell"))
    assert not RULE.matches_context(ToolContext(command="cat links.md", tool_class="shell"))
    assert not RULE.matches_context(ToolContext(tool_class="web_search"))


LINES = st.sampled_from(
    [
        *links(3),
        *links(2, "Part {0} (/p/{0})"),
        SAID,
        SAID,
        "",
        " ",
        "\r",
        "Accept all",
        "## x",
        "Fatal error",
        "é…",
        "- [Fatal error](/x)",
        "- [a](b)\r",
        "… [9 navigation links elided] …",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(LINES, st.sampled_from([1, 1, 9])), max_size=30))
def test_the_laws_hold(parts: list[tuple[str, int]]) -> None:
    lines = [line for line, times in parts for _ in range(times)]
    short = check_laws(drop_navigation, "\n".join(lines)).split("\n")
    assert is_subsequence([line for line in lines if line in (SAID, "## x", "Fatal error", "é…")], short)


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["- [a](b)\n", "[", "[](", "a (", "![a](b)", "<https://a ", " | ", "a (/b", "([)]"])
def test_time_is_linear(unit: str) -> None:
    page = "\n".join([*links(9), *BODY]) + "\n"
    assert is_linear(drop_navigation, lambda chars: page + unit * (chars // len(unit)))
