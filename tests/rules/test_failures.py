"""What counts as a failure line (README.md, P4)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rules.failures import FAILURE_RE, failure_keys, failure_lines, find_failures

FAILURES = r"""
10 errors
1 failed
error: no such file
error: null pointer dereference
error: None of the tests ran
error = 0 bytes written
worker 0 failed
shard-0 failed to start
release 2.0 failed to start
test 0 failed
bind to localhost:0 failed
connection error/timeout occurred
TypeError: x
ModuleNotFoundError: No module named 'x'
Exception in thread "main" java.lang.NullPointerException
java.lang.NullPointerException
System.Exception: foo
FAIL
FAIL	git.example.com/orchard/pack	0.018s
--- FAIL: TestX (0.00s)
FAILED tests/x.py::test_y - assert 3 == 4
not ok 3 - foo
✗ foo
✘ foo
  × Picker > moves
npm ERR! code 1
npm error code ELIFECYCLE
error[E0308]: mismatched types
src/error.ts:12:3 - error TS2345: Argument of type
thread 'main' panicked at src/main.rs:2:5:
Segmentation fault (core dumped)
bash: foo: command not found
/bin/sh: 1: foo: not found
cat: src/errors.py: No such file or directory
bash: ./x.sh: Permission denied
Killed
Terminated
Out of memory: Killed process 123 (java)
foo.c: undefined reference to `bar'
E       assert 3 == 4
    Expected: "tomato"
    Received: "black"
  left: [12]
 right: [12]
      + expected - actual
AssertionError: expected 2 to be 3
split_test.go:61: Split(41, 12) = [12 12 12], want [12 12 12 5]
context deadline exceeded
Exit code 1
Exit code: 2
exit status 2
exited with code 137
Process exited with code 1
returned non-zero exit status 1
Command exited with code 128
Traceback (most recent call last):
  File "/x/y.py", line 3, in f
    at Object.toBe (src/saddle/yarrow.test.ts:42:30)
	at com.foo.Bar.baz(Bar.java:12)
   at Foo.Bar(String s) in /x/y.cs:line 12
goroutine 18 [running]:
	testing/testing.go:1632 +0x230
CONFLICT (content): Merge conflict in x
! [rejected]        main -> main (non-fast-forward)
fatal: not a git repository
make: *** [Makefile:2: all] Error 2
  ● price list › keeps the colour
ld: cannot find -lfoo
Could not resolve host: example.com
bind: Address already in use
No space left on device
read: Connection reset by peer
ECONNREFUSED 127.0.0.1:80
"GET /x HTTP/1.1" 500 12
deadlock detected
✓ built with 3 errors
12 passed, 1 failed
0 errors, 2 failed
SQLSTATE[42S02]: Base table or view
OOMKilled
CrashLoopBackOff
E0112 10:00:00.123456 12 foo.go:12] boom
main.go:10: undefined: foo
Bus error
double free or corruption (out)
KeyboardInterrupt
Uncaught ReferenceError: x is not defined
operation timed out
dial tcp: i/o timeout
tests/test_orchard.py:57: AssertionError
______________________ test_fennel_rounds ______________________
Fehler: Datei nicht gefunden
Übertragung fehlgeschlagen
erreur : échec de la connexion
falló la conexión
errore di connessione
falha ao abrir o arquivo
ошибка подключения
连接失败
发生异常
エラーが発生しました
接続に失敗しました
오류가 발생했습니다
błąd krytyczny
fout bij laden
""".strip("\n").split("\n")

BENIGN = r"""
0 errors
0 errors, 0 failed
no failures
No errors found.
error: null
  "error": null,
{"level":"info","error":null,"x":1}
errors: 0
failures=0
Failures: 0, Errors: 0, Skipped: 0
Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s
ok=2 changed=0 unreachable=0 failed=0 skipped=0
12 passed, 0 failed in 3s
Finished without errors
Found 0 errors, 0 failures
-rw-r--r-- 1 dev dev 2767 Jan 12 09:42 error.ts
drwxr-xr-x 2 dev dev 4096 Jan 12 09:42 errors
src/errors/
error.ts
src/error.ts
./lib/failures/index.js
run --no-error
gcc -Wall -Werror -c foo.c -o foo.o
PASS  src/error.test.ts
ok  error_test.go
ok  	git.example.com/orchard/errors	1.625s
    ✓ keeps the error colour (5 ms)
test foo::error_is_reported ... ok
--- PASS: TestErrorPath (0.00s)
ok 12 - handles errors
tests/test_x.py::test_error PASSED                 [ 10%]
[       OK ] Foo.HandlesError (0 ms)
=== RUN   TestErrors
[ 12%] Building CXX object src/CMakeFiles/x.dir/error.cpp.o
   Compiling thiserror v1.0.50
Collecting exceptiongroup>=1.0
 M src/error.py
	modified:   src/failures.py
retry in 200 ms  (×3)
… [12 lines elided] (kept 3 error line(s) below) …
… [12 passing test lines elided] …
Exit code: 0
Process exited with code 0
exited with code 0
2026-01-12 09:42:02 WARN  queue: retry ember in 200 ms
https://x.example.com/a/errors/index.html
0 Fehler gefunden
keine Fehler
sans erreur
без ошибок
没有错误
0 个错误
エラーなし
오류 없음
""".strip("\n").split("\n")


@pytest.mark.parametrize("line", FAILURES)
def test_a_failure_counts_in_every_guise(line: str) -> None:
    assert failure_lines(line) == [line]
    assert line in failure_lines(f"a\n{line}\nb")
    assert failure_lines(f"{line}\r\n") == [line + "\r"]
    assert failure_lines(line + "  (×3)") == [line + "  (×3)"]


@pytest.mark.parametrize("line", BENIGN)
def test_what_reports_no_failure_does_not_count(line: str) -> None:
    assert failure_lines(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "\x1b[31mFAIL\x1b[0m src/x.test.ts",
        "[31mFAIL[0m src/x.test.ts",
        "\x1b[31mkilled\x1b[0m",
        "[31mkilled[0m",
        "exit code [31m1[0m",
        "not [1mfound[22m",
        " [31m×[39m moves",
        "[31m[1mError:[22m[39m checksum",
    ],
)
def test_colour_codes_hide_no_failure(line: str) -> None:
    assert failure_lines(f"fine\n{line}\nfine") == [line]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            'ok\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    g(\n     ^^\nboom.Odd: x\nend',
            [1, 2, 3, 4],
            id="python frames with their source and carets",
        ),
        pytest.param(
            "panic: boom\n\ngoroutine 1 [running]:\nmain.last(...)\n\t/srv/a.go:44\nexit",
            [0, 2, 3, 4],
            id="go stack with its functions",
        ),
        pytest.param(
            "a.c:1:5: error: 'x' undeclared\n   1 |   x = 1;\n     |   ^\nrest",
            [0, 1, 2],
            id="compiler lines with gutter",
        ),
        pytest.param("a.c:1:5: error: bad\n  x = 1;\n  ^\nrest of it", [0, 1, 2], id="compiler lines without gutter"),
        pytest.param(
            "error[E0308]: mismatched types\n --> src/a.rs:1:5\n  |\n1 | let\n  = note: x\n\n\nok",
            [0, 1, 2, 3, 4],
            id="rust",
        ),
        pytest.param(
            "AssertionError: x\n\n- Expected\n+ Received\n\n- 3\n+ 2\n\n\nnext",
            [0, 2, 3, 5, 6],
            id="expected and got block",
        ),
        pytest.param(
            "thread 'm' panicked at src/a.rs:1:2:\nfive apples must stay\nnote", [0, 1], id="message below a rust panic"
        ),
        pytest.param("failures:\n    a::b\n    c::d\n\nok", [0, 1, 2], id="an indented block below a heading"),
        pytest.param("--- FAIL: TestA (0.0s)\n    the pear was small\nok", [0, 1], id="output of a failed go test"),
        pytest.param(">       call(\n            1)\nE       Boom", [0, 1, 2], id="pytest statement over two lines"),
        pytest.param("not ok 1 - a\n  ---\n  found: 3\n  ...\nok 2", [0, 1, 2, 3], id="TAP block"),
        pytest.param("plain\n  indented\n\nplain", [], id="nothing"),
    ],
)
def test_what_belongs_to_a_failure_counts_with_it(text: str, expected: list[int]) -> None:
    assert find_failures(text).numbers == expected


def test_lines_end_at_newlines_only_and_all_occurrences_count() -> None:
    text = "error a\u2028b\x85c\nfine\nerror a\u2028b\x85c\n"
    assert failure_lines(text) == ["error a\u2028b\x85c"] * 2


def test_lone_surrogates_do_no_harm() -> None:
    assert failure_lines("x\ud83d\nerror \ud83d") == ["error \ud83d"]


@settings(deadline=None)
@given(st.lists(st.sampled_from([*FAILURES, *BENIGN, "", "  x", "- 1", "+ 2"]), max_size=12))
def test_failures_are_lines_of_the_text_in_order_and_candidates_or_neighbours(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = find_failures(text)
    assert found.numbers == sorted(set(found.numbers))
    assert found.lines == [lines[number] for number in found.numbers]
    assert {line for line in lines if line in FAILURES} <= set(found.lines)
    if found.lines:
        assert FAILURE_RE.search(text) is not None


HOSTILE: dict[str, Callable[[int], str]] = {
    "error lines": lambda n: "2026-01-12 09:42:02 ERROR crate 1 refused\n" * (n // 42),
    "distinct error lines": lambda n: "".join(f"ERROR crate {i} refused\n" for i in range(n // 24)),
    "zero errors": lambda n: "0 errors, " * (n // 10),
    "no what": lambda n: "no type " * (n // 8) + "error",
    "dashes": lambda n: "a-" * (n // 2) + "error",
    "paths": lambda n: "/error/a.b.c" * (n // 12),
    "frames": lambda n: "Error\n" + "    at f (x.js:1:1)\n" * (n // 20),
    "gutters": lambda n: "error: x\n" + "   | x\n" * (n // 7),
    "blocks": lambda n: "error:\n  error:\n   x\n" * (n // 21),
    "spaces": lambda n: " " * n + "error 0",
    "brackets": lambda n: "[1" * (n // 2) + "error 1",
    "times": lambda n: "12:00 1a error " * (n // 15),
    "hex": lambda n: "error " + "1a" * (n // 2),
    "opened": lambda n: "error (1" * (n // 8),
    "retries": lambda n: "retry error " * (n // 12) + "1",
}


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear_on_hostile_text(kind: str) -> None:
    def seconds(text: str) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            failure_keys(find_failures(text).lines)
            times.append(time.process_time() - start)
        return min(times)

    small, large = HOSTILE[kind](40_000), HOSTILE[kind](160_000)
    assert seconds(large) <= 8 * seconds(small) + 0.05
