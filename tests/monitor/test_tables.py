"""Numbers read well, names break nothing, tables are plain text where nobody looks at colours."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.monitor.tables import Column, count, percent, plain_table, print_table, printable, ratio, size


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1049, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_951, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (51_234_567, "51.2 MB"),
        (-1500, "-1.5 kB"),
        (3 * 10**18, "3000 PB"),
    ],
)
def test_a_size_has_a_unit_and_few_digits(bytes_: int, expected: str) -> None:
    assert size(bytes_) == expected


@given(st.integers(-(10**17), 10**17))
def test_a_size_is_right_within_five_percent(bytes_: int) -> None:
    number, unit = size(bytes_).split(" ")
    factor = 1000 ** ["B", "kB", "MB", "GB", "TB", "PB"].index(unit)
    assert float(number) * factor == pytest.approx(bytes_, rel=0.05)
    assert abs(float(number)) < 1000


def test_shares_of_nothing_are_no_division_by_zero() -> None:
    assert (percent(1, 0), ratio(1, 0)) == ("-", 0.0)
    assert (percent(3, 4), ratio(3, 4), percent(-1, 4)) == ("75.0 %", 0.75, "-25.0 %")


def test_thousands_stand_apart() -> None:
    assert count(1234567) == "1,234,567"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain ä 潮", "plain ä 潮", id="letters stay"),
        pytest.param("a\nb\t", "a\\nb\\t", id="line end and tab"),
        pytest.param("\x1b[31m", "\\x1b[31m", id="colour code"),
        pytest.param("\udcff", "\\xff", id="a byte that is no UTF-8"),
        pytest.param("\ud800", "\\ud800", id="half a surrogate pair"),
        pytest.param("\u202egnp.exe", "\\u202egnp.exe", id="turned writing direction"),
        pytest.param("a\u2028b", "a\\u2028b", id="line separator"),
    ],
)
def test_what_is_no_visible_character_becomes_an_escape(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text(st.characters(exclude_categories=[]), max_size=30))
def test_printable_text_is_one_line_that_any_terminal_takes(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert shown.encode().decode() == shown


COLUMNS = (Column("tool", "left"), Column("saved"))
ROWS = [["Bash", "1.5 kB"], ["Read\n", "2 B"]]


def test_a_plain_table_is_aligned() -> None:
    assert plain_table(COLUMNS, ROWS) == ["tool     saved", "Bash    1.5 kB", "Read\\n     2 B"]


def test_a_stream_that_is_no_terminal_gets_the_plain_table() -> None:
    stream = io.StringIO()
    print_table(COLUMNS, ROWS, stream)
    assert stream.getvalue().splitlines() == plain_table(COLUMNS, ROWS)


def test_a_terminal_gets_every_cell_and_no_markup_of_a_cell_counts() -> None:
    stream = Terminal()
    print_table(COLUMNS, [*ROWS, ["[red]x[/red]", "0 B"]], stream)
    shown = stream.getvalue()
    for cell in ("tool", "saved", "Bash", "1.5 kB", "Read\\n", "[red]x[/red]"):
        assert cell in shown


def test_numbers_stand_right_and_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "26")
    stream = Terminal()
    print_table(COLUMNS, [["a-name-that-is-much-longer", "1,234 kB"], ["b", "5 B"]], stream)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert sum("1,234 kB" in line for line in lines) == 1
    assert len({len(line) for line in lines if line.endswith(" kB") or line.endswith(" 5 B")}) == 1


def test_a_narrow_terminal_is_spared_the_spare_column(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (*COLUMNS, Column("bar", "left", spare=True))
    rows = [["Bash", "5 B", "=" * 12]]
    seen = []
    for width in ("20", "80"):
        monkeypatch.setenv("COLUMNS", width)
        stream = Terminal()
        print_table(columns, rows, stream)
        seen.append("=" * 12 in stream.getvalue())
    assert seen == [False, True]
