"""What tools answer in generated sessions: test runs, logs, listings, pages; each long enough to be worth a rule."""

from __future__ import annotations

from wordstock import Stock

LEVELS = ("INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN")


def numbered(stock: Stock, text: str) -> str:
    """A file body as reading tools show it."""
    gap = "→" if stock.nonascii else "\t"
    return "\n".join(f"{number:6}{gap}{line}" for number, line in enumerate(text.split("\n"), 1))


def pytest_run(stock: Stock, tests: int) -> str:
    """A verbose run with a failure in a hundred tests, its traceback and the summary."""
    out = [
        f"{' test session starts ':=^80}",
        "platform linux -- Python 3.12.4, pytest-8.3.2",
        f"collected {tests} items",
    ]
    failed = []
    for number in range(tests):
        name = f"tests/test_{stock.word()}.py::test_{stock.verb()}_{stock.word()}"
        bad = stock.chance.random() < 0.01
        out.append(f"{name} {'FAILED' if bad else 'PASSED'} [{100 * number // tests:3}%]")
        if bad:
            failed.append(name)
    out += ["", f"{' FAILURES ':=^80}"] if failed else []
    for name in failed:
        want, got = stock.number(900), stock.number(900)
        out += [f"{' ' + name.rpartition(':')[2] + ' ':_^80}", f">       assert {stock.word()} == {want}"]
        out += [
            f"E       AssertionError: assert {got} == {want}",
            f"{name.partition(':')[0]}:{got}: AssertionError",
            "",
        ]
    out += [f"FAILED {name} - AssertionError" for name in failed]
    out.append(f"{f' {len(failed)} failed, {tests - len(failed)} passed in {stock.number(90)}.31s ':=^80}")
    return "\n".join(out)


def vitest_run(stock: Stock, files: int) -> str:
    """A run that prints a line a test file, failures among them."""
    out = [f" RUN  v2.1.{stock.number(9)} /opt/harbourmaster", ""]
    failed = 0
    for _ in range(files):
        name = f"src/{stock.word()}/{stock.word()}.test.ts"
        if stock.chance.random() < 0.015:
            failed += 1
            out += [f" ❯ {name} (9 tests | 1 failed) {stock.number(900)}ms"]
            out += [
                f"   × {stock.word()} > {stock.verb()} the {stock.word()}",
                "     → expected 3 to be 4 // Object.is",
            ]
        else:
            out.append(f" ✓ {name} ({1 + stock.number(30)} tests) {stock.number(900)}ms")
    out += ["", f" Test Files  {failed} failed | {files - failed} passed ({files})", "   Duration  8.14s"]
    return "\n".join(out)


def git_status(stock: Stock, files: int) -> str:
    """The long form of git status."""
    out = ["On branch main", "Your branch is up to date with 'origin/main'.", "", "Changes not staged for commit:"]
    out += ['  (use "git add <file>..." to update what will be committed)']
    out += ['  (use "git restore <file>..." to discard changes in working directory)']
    out += [f"\tmodified:   {stock.word()}/{stock.verb()}_{stock.word()}.py" for _ in range(files)]
    out += ["", "Untracked files:", '  (use "git add <file>..." to include in what will be committed)']
    out += [f"\t{stock.word()}/{stock.word()}.txt" for _ in range(files // 2)]
    out += ["", 'no changes added to commit (use "git add" and/or "git commit -a")']
    return "\n".join(out)


def page(stock: Stock, sections: int) -> str:
    """A fetched page as it came."""
    out = ["<!DOCTYPE html><html><head><title>Tides</title><style>body{margin:0}</style></head><body>"]
    for _ in range(sections):
        out.append(
            f'<section class="{stock.word()}-{stock.number(99)}"><h2 id="{stock.word()}">{stock.word()}</h2>'
            f'<p>{stock.prose(220)} See <a href="{stock.url()}">{stock.word()}</a> &amp; more.</p>'
            f"<ul><li>{stock.word()}</li><li>{stock.verb()}&nbsp;{stock.word()}</li></ul></section>"
        )
    return "\n".join(out) + "<script>track('page')</script></body></html>"


def build_log(stock: Stock, lines: int) -> str:
    """A log with time stamps, repeated lines, addresses, and an error in a hundred lines."""
    out: list[str] = []
    random = stock.chance.random
    minute = stock.number(600)
    while len(out) < lines:
        # One number decides and feeds the line; most of the text of such sessions is made here.
        draw = random()
        minute += draw < 0.2
        stamp = f"2026-01-07T{minute // 60 % 24:02}:{minute % 60:02}:{int(draw * 60):02}.{int(draw * 977):03}Z"
        if draw < 0.01:
            out.append(f"{stamp} ERROR {stock.word()}: cannot {stock.verb()} the {stock.word()}: {stock.sentence()}")
        elif draw < 0.015:
            out += ["Traceback (most recent call last):", f'  File "{stock.path()}", line {stock.number(900)}']
            out += [f"    {stock.verb()}({stock.word()})", f"KeyError: '{stock.word()}'"]
        elif draw < 0.05:
            out += [f"waiting for the {stock.word()} ..."] * (2 + stock.number(25))
        elif draw < 0.1:
            out.append(f"{stamp} GET {stock.url()} 200")
        else:
            level = LEVELS[int(draw * 1000) % len(LEVELS)]
            line = f"{stamp} {level} {stock.word()}.{stock.verb()} {stock.word()} id={stock.hexes(12)}"
            out.append(stock.far(f"{line} took {int(draw * 500)}ms"))
    return "\n".join(out)


def matches(stock: Stock, lines: int) -> str:
    """What a search in code finds."""
    return "\n".join(
        f"{stock.path()}:{stock.number(999)}:    {stock.word()}_{stock.word()} = {stock.verb()}({stock.word()})"
        for _ in range(lines)
    )


def small_output(stock: Stock) -> str:
    """What most commands print: not much."""
    kind = stock.number(10)
    if kind < 3:
        return vitest_run(stock, 3 + stock.number(20))
    if kind < 5:
        return git_status(stock, 2 + stock.number(12))
    return build_log(stock, 2 + stock.number(36))
