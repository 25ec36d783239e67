"""How long URLs are shortened, and where they are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.urls import MAX_URL_CHARS, shorten_line, shorten_urls, shorten_urls_outside

HOST = "https://api.example.net"
LONG = HOST + "/" + "a" * 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"see {LONG} now", f"see {HOST}/…[+100 chars] now", id="path"),
        pytest.param(f"({LONG}).", f"({HOST}/…[+100 chars]).", id="brackets and a full stop stay"),
        pytest.param(f"[x]({LONG})", f"[x]({HOST}/…[+100 chars])", id="Markdown link"),
        pytest.param(f'"url": "{LONG}",', f'"url": "{HOST}/…[+100 chars]",', id="quotes"),
        pytest.param(f"{HOST}?q={'b' * 80}", f"{HOST}/…[+83 chars]", id="query without a path"),
        pytest.param(f"{HOST}:8080/{'b' * 80}", f"{HOST}:8080/…[+80 chars]", id="port"),
        pytest.param(f"https://me:pass@h.org/{'b' * 80}", "https://h.org/…[+88 chars]", id="user and password go"),
        pytest.param(f"{LONG}\n{LONG}", f"{HOST}/…[+100 chars]\n{HOST}/…[+100 chars]", id="two"),
        pytest.param(HOST + "/" + "a" * 56, HOST + "/" + "a" * 56, id="80 characters"),
        pytest.param(HOST + "/" + "a" * 57, HOST + "/…[+57 chars]", id="81 characters"),
        pytest.param(f"error: GET {LONG}", f"error: GET {LONG}", id="failure line"),
        pytest.param("file:///" + "a" * 100, "file:///" + "a" * 100, id="a path, no host"),
        pytest.param("https://" + "h" * 100, "https://" + "h" * 100, id="all host"),
        pytest.param("://" + "a" * 100, "://" + "a" * 100, id="no scheme"),
        pytest.param("no address here", "no address here", id="none"),
    ],
)
def test_a_long_url_keeps_its_host_and_its_length(text: str, expected: str) -> None:
    assert shorten_urls(text) == expected


def test_lines_that_are_to_stay_are_left() -> None:
    assert shorten_urls_outside(f"{LONG}\n{LONG}", [0]) == f"{LONG}\n{HOST}/…[+100 chars]"


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [LONG, "http://", "://", "…[+", "error ", "\n", "\r\n", " ", "?", "@", "/", "…", "ftp://x/"]
            ),
            st.text(alphabet="abh:/.?#@é…()", max_size=100),
        ),
        max_size=12,
    )
)
def test_twice_is_once_and_nothing_grows(pieces: list[str]) -> None:
    text = "".join(pieces)
    short = shorten_urls(text)
    assert shorten_urls(short) == short
    assert len(short.encode()) <= len(text.encode())
    assert short.count("\n") == text.count("\n")


@pytest.mark.benchmark
@pytest.mark.parametrize("piece", ["://", "a://", "http://x.y/?", LONG + " ", "a" * 200 + "://", "http" * 3])
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        shorten_line(text)
        return time.process_time() - start

    assert min(seconds(800_000) for _ in range(3)) <= 8 * min(seconds(200_000) for _ in range(3)) + 0.02


def test_the_limit_is_the_contracts() -> None:
    assert MAX_URL_CHARS == 80
