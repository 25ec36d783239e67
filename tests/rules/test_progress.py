"""Of bars, counters and spinners the last state is left; everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules.base import ToolContext
from pipeline.rules.progress import RULE, compact_progress

BARS = {
    "tqdm": "gates:  {}%|███▌      | {}/100 [00:01<00:09,  9.81it/s]",
    "tqdm without a total": "{}it [00:0{}, 9.81it/s]",
    "wget": " {}00K .......... .......... .......... .......... ..........  {}%  123M 0s",
    "wget bar": "hay.tar.gz           {}%[==>          ]  1{}.3M  1.21MB/s    eta 10s",
    "curl": " {}1 30.0M   {} 12.1M    0     0  11.9M      0  0:00:02  0:00:01  0:00:01 12.1M",
    "curl bar": "###########                      {}{}.0%",
    "rsync": "     {}2,768  {}%   31.25kB/s    0:00:01 (xfr#1, to-chk=3/5)",
    "scp": "hay.tar.gz                      {}%   {}MB  31.2MB/s   00:01 ETA",
    "ffmpeg": "frame=  {}23 fps= 25 q=28.0 size=    {}024kB time=00:00:04.92 bitrate=1705.0kbits/s speed=1.0x",
    "keras": "{}2/100 [==>...........................] - ETA: {}s - loss: 0.1234",
    "pip": "     ━━━━━━━━╸━━━━━━━━━━━━ {}3.4/263.4 kB {}36.3 MB/s eta 0:00:00",
    "equal signs": "hay [====>      ] {}{}%",
    "share first": "{}{}% [====>      ] hay.tar.gz",
    "complete": "  {}{}% complete",
    "downloading": "Downloading hay.tar.gz: {}{}%",
    "sizes": "Downloaded {}2.1 MB of {}00 MB",
    "spinner": "⠋ Building the barn",
    "stick": "|",
}
KEPT = {
    "word": "the barn has 12 doors",
    "share in a sentence": "50% of the doors are open",
    "coverage": "pipeline/rules/base.py      40      2    95%",
    "table": "| name | 40% |",
    "saved": "'hay.tar.gz' saved [31457280/31457280]",
    "file": "hay/straw.txt",
    "failure": "curl: (22) The requested URL returned error: 404",
    "markdown": "- [x] done",
    "rule": "--------",
    "date": "2026/01/12 09:40:00 worker: starting",
    "fraction": "12/30 doors painted in red",
}


@pytest.mark.parametrize("bar", [pytest.param(bar, id=name) for name, bar in BARS.items()])
def test_of_a_bar_on_lines_of_its_own_the_last_state_is_left_with_its_count(bar: str) -> None:
    states = [bar.format(n, n) for n in range(1, 10)] * 3
    text = "first\n" + "".join(f"{state}\n" for state in states) + "last\n"
    assert compact_progress(text) == f"first\n{states[-1]}  (×27)\nlast\n"
    assert RULE.matches("Bash", text)


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items()])
def test_all_other_lines_stay(line: str) -> None:
    text = f"{line}\n" * 9
    assert compact_progress(text) is text
    assert not RULE.matches("Bash", text)


def test_of_an_overwritten_line_the_last_state_is_left() -> None:
    states = "\r".join(f"Receiving {n}%" for n in range(100))
    assert compact_progress(f"{states}\rdone.\r\nnext\r\n") == "done.\r\nnext\r\n"


def test_a_failure_that_overwrote_a_bar_stays_whole() -> None:
    text = "1%\r2%\rTypeError: no hay\n" + "\r".join(str(n) for n in range(50)) + "\n"
    assert compact_progress(text) == "1%\r2%\rTypeError: no hay\n49\n"


def test_two_bars_keep_a_last_state_each() -> None:
    one = "".join(f"Downloading part-1.bin: {n}%\n" for n in range(0, 101, 10))
    two = "".join(f"Downloading part-2.bin: {n}%\n" for n in range(0, 101, 10))
    assert compact_progress(one + two) == ("Downloading part-1.bin: 100%  (×11)\nDownloading part-2.bin: 100%  (×11)\n")


def test_a_run_of_two_is_none() -> None:
    text = "Downloading hay.tar.gz: 10%\nDownloading hay.tar.gz: 20%\n"
    assert compact_progress(text) is text


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("./train.sh", True, id="unknown script"),
        pytest.param("wget https://barn.example/hay 2>&1 | tail -3", True, id="wget"),
        pytest.param("git clone https://barn.example/a.git", True, id="clone"),
        pytest.param("", True, id="unknown"),
        pytest.param("cat train.log", False, id="cat"),
        pytest.param("tail -100 train.log | grep loss", False, id="tail"),
        pytest.param("sed -n 1,90p a.py", False, id="sed"),
        pytest.param("git show HEAD:bars.txt", False, id="git show"),
    ],
)
def test_what_only_prints_files_is_left_alone(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


@pytest.mark.parametrize("tool", ["Read", "Grep", "WebFetch", "", "mcp__x__y"])
def test_only_shells_are_in(tool: str) -> None:
    assert not RULE.matches(tool, "1%\r2%\r3%\n" * 9)
    assert RULE.matches("Bash", "1%\r2%\r3%\n" * 9)


LINES = [
    *(bar.format(n, n) for bar in BARS.values() for n in (1, 2, 3)),
    *KEPT.values(),
    *(
        "",
        " ",
        "1%\r2%\r3%",
        "1%\r2%\r",
        "TypeError: no hay",
        "2%\rTypeError: no hay",
        "\x1b[32m3%\x1b[0m",
        "3%  (×9)",
        "x\udcff",
    ),
]


@given(st.lists(st.sampled_from(LINES), max_size=60).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_progress, text, KEPT.values())


@given(st.lists(st.sampled_from(list(BARS.values())), max_size=8), st.integers(2, 9))
def test_what_matches_is_shortened(bars: list[str], states: int) -> None:
    """Else a text without gain would be kept from the rules behind."""
    text = "".join(f"{bar.format(n, n)}\n" for bar in bars for n in range(states))
    if RULE.matches("Bash", text):
        assert len(compact_progress(text)) < len(text)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["1%\r", "1%\n", "\n", "[==", "█", "a ", "1 ", "Downloading ", "⠋ a\n", "..........", "a\rb\n"]
)
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_progress, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)
