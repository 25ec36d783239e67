"""Runs of encoded data keep their head; words, paths, digests, PEM blocks and failures stay."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_laws, is_linear, is_subsequence

from pipeline.rules.base64_runs import RULE, is_encoded, shorten_base64

RAW = random.Random(7).randbytes(600)
RUN = base64.b64encode(RAW).decode()
LINES = base64.encodebytes(RAW).decode()
HEAD = RUN[:64]
DIGESTS = "\n".join(random.Random(n).randbytes(32).hex() for n in range(9))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(RUN, f"{HEAD}…[+736 chars]", id="alone"),
        pytest.param(f"a {RUN} b", f"a {HEAD}…[+736 chars] b", id="within a line"),
        pytest.param(f"(data:image/png;base64,{RUN})", f"(data:image/png;base64,{HEAD}…[+736 chars])", id="data URL"),
        pytest.param(f'{{"a": "{RUN}"}}', f'{{"a": "{HEAD}…[+736 chars]"}}', id="a string"),
        pytest.param(f"a\n{LINES}b\n", f"a\n{HEAD}…[+746 chars]\nb\n", id="over lines"),
        pytest.param(f"  {RUN[:76]}\r\n" * 6 + "b", f"  {HEAD}…[+412 chars]\r\nb", id="indented, CRLF"),
        pytest.param(RAW.hex(), f"{RAW.hex()[:64]}…[+1136 chars]", id="hex"),
        pytest.param(RUN[:255], RUN[:255], id="a short one"),
        pytest.param(f"it failed: {RUN}", f"it failed: {RUN}", id="a failure"),
        pytest.param(f"https://a.org/x?t={RUN[:300]}", f"https://a.org/x?t={RUN[:300]}", id="a URL"),
        pytest.param(DIGESTS, DIGESTS, id="a list of digests"),
        pytest.param("/usr/lib" * 50, "/usr/lib" * 50, id="a path"),
        pytest.param("-" * 400, "-" * 400, id="a ruler"),
        pytest.param("ACGT" * 100, "ACGT" * 100, id="letters of one case"),
        pytest.param("12345678" * 50, "12345678" * 50, id="digits"),
        pytest.param(
            f"-----BEGIN CERTIFICATE-----\n{LINES}-----END CERTIFICATE-----\n",
            f"-----BEGIN CERTIFICATE-----\n{LINES}-----END CERTIFICATE-----\n",
            id="PEM",
        ),
    ],
)
def test_a_run_keeps_its_head(text: str, expected: str) -> None:
    assert shorten_base64(text) == expected


def test_the_mix_of_characters_tells() -> None:
    assert is_encoded(RUN)
    assert is_encoded(RAW.hex())
    assert not is_encoded("deadbeef" * 40)
    assert not is_encoded("0123456789" * 40)


def test_texts_without_a_run_are_not_its_own() -> None:
    assert RULE.matches("Bash", RUN)
    assert not RULE.matches("Bash", shorten_base64(RUN))
    assert not RULE.matches("Bash", "/usr/lib" * 50)
    assert not RULE.matches("Write", RUN)


PIECES = st.sampled_from(
    [
        RUN,
        LINES,
        RUN[:76],
        RUN[:76] + "\n",
        RAW.hex(),
        DIGESTS,
        "\n",
        "\r\n",
        " ",
        "error ",
        "=",
        "==",
        "word",
        "é…",
        "-----BEGIN X-----\n",
        "-----END X-----\n",
        "https://a.b/",
        "data:a/b;base64,",
        f"{HEAD}…[+9 chars]",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_laws_hold(text: str) -> None:
    short = check_laws(shorten_base64, text)
    plain = [line for line in text.split("\n") if len(line) < 16 and not line.rstrip().endswith("=")]
    assert is_subsequence(plain, short.split("\n"))


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["A1b/", "\n", RUN[:60] + "\n", "A" * 60 + "\n", DIGESTS[:65], "://A1b ", RUN + "="])
def test_time_is_linear(unit: str) -> None:
    assert is_linear(shorten_base64, lambda chars: unit * (chars // len(unit)))
