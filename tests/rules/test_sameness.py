"""When two failure lines are the same (README.md, P4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.sameness import bare_line, failure_key, failure_keys, plain

SAME = r"""
2026-01-12 10:00:00 ERROR x|2026-01-13 11:10:00 ERROR x
2026-01-12T10:00:00.123Z ERROR x|2026-01-12T10:00:01.456Z ERROR x
[10:00:00] ERROR x|[10:00:01] ERROR x
Jan 12 10:00:00 host sshd[1234]: error x|Jan 13 10:00:01 host sshd[99123]: error x
12/Jan/2026:15:04:05 +0000 error|12/Jan/2026:15:04:09 +0000 error
[12345.678901] error|[12346.678901] error
E0112 15:04:05.123456   12345 a.go:12] x|E0112 15:04:06.123456   12346 a.go:12] x
{"ts":1767600000.1,"level":"error"}|{"ts":1767600009.2,"level":"error"}
ERROR took 5ms|ERROR took 1.5s
ERROR took 1m30s|ERROR took 2m1s
--- FAIL: TestX (0.01s)|--- FAIL: TestX (0.02s)
ERROR id 3f2a9b1c-1111-2222-3333-444455556666|ERROR id 00000000-1111-2222-3333-444455556666
ERROR at 0xc0000182a0|ERROR at 0xc0000182b0
ERROR tr_3c34a5d62a68 x|ERROR tr_3c34a5d62a69 x
app[1234]: error|app[5678]: error
[pid 12] error|[pid 13] error
2026-01-12 10:00:00 [33] error|2026-01-12 10:00:00 [44] error
error attempt 3|error attempt 4
error (attempt 3/5)|error (attempt 4/5)
retry 1 failed|retry 2 failed
retry #1: refused|retry #2: refused
failed after 3 attempts|failed after 4 attempts
error 10%|error 20.5%
expected 5 got 6 (attempt 3)|expected 5 got 6 (attempt 4)
error x  (×3)|error x
""".strip("\n").split("\n")

DISTINCT = r"""
foo.py:12: error|foo.py:13: error
a.c:10:12:15 error|a.c:10:12:16 error
expected 5 got 6|expected 5 got 7
expected 5ms got 6ms|expected 5ms got 7ms
expected 10:00:00 got 10:00:01|expected 10:00:00 got 10:00:02
expected 80%, got 70%|expected 80%, got 71%
expected (5 ms)|expected (6 ms)
assert x == deadbeef12|assert x == deadbeef13
  left: 5ms|  left: 6ms
exited with code 137|exited with code 1
exited with code 0xC0000005|exited with code 0xC0000374
user bob denied|user alice denied
items[3]: error|items[4]: error
index out of range [300] with length 3|index out of range [301] with length 3
crate 809196373 failed|crate 809196374 failed
gmake[1]: error|gmake[2]: error
took 5ms error|took 50% error
attempt 3 failed|retry 3 failed
report for 2026-01-12 missing|report for 2026-01-13 missing
limit 512m oom|limit 256m oom
port 8080 refused|port 8081 refused
error 1|error 2
error a|Error a
""".strip("\n").split("\n")


@pytest.mark.parametrize("pair", SAME)
def test_lines_that_differ_in_times_ids_and_counters_are_the_same(pair: str) -> None:
    first, second = pair.split("|")
    assert failure_key(first) == failure_key(second)


@pytest.mark.parametrize("pair", DISTINCT)
def test_lines_that_differ_in_what_happened_are_not(pair: str) -> None:
    first, second = pair.split("|")
    assert failure_key(first) != failure_key(second)


def test_a_coloured_line_is_the_same_as_its_plain_form() -> None:
    assert failure_key("\x1b[31merror\x1b[0m x\r") == failure_key("error x")
    assert bare_line("[31merror[0m x  (×12)\r") == "error x"


def test_keys_keep_the_first_line_of_each() -> None:
    assert failure_keys(["error 5ms", "error 6ms", "error b"]) == {"error <dur>": "error 5ms", "error b": "error b"}


@given(st.text(alphabet="ab \t\x1b[]0123;m×()\n\r", max_size=60))
def test_plain_text_keeps_its_lines_and_is_plain_after_one_pass_of_escapes(text: str) -> None:
    assert plain(text).count("\n") == text.count("\n")
    assert "\x1b" not in plain(text)


@given(st.text(max_size=80))
def test_no_line_makes_the_key_fail_and_a_key_does_not_depend_on_the_line_end(line: str) -> None:
    assert failure_key(line) == failure_key(line + "  \r")
