"""The programs behind a shell line are found through their wrappers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.commands import runs, simple_commands

PLAIN = "ab-_./:=@%+,~^*?{}!$ \t"
WORDS = [
    "git",
    "status",
    "'",
    '"',
    "\\",
    "&&",
    "|",
    ";",
    "\n",
    "<<EOF",
    "EOF",
    "bash",
    "-lc",
    "-c",
    "env",
    "A=b",
    "$(",
    ")",
    " ",
    ">",
]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("cd a && git status", [("cd", "a"), ("git", "status")], id="and"),
        pytest.param("uv run pytest -q 2>&1 | tail -5", [("pytest", "-q"), ("tail", "-5")], id="uv, redirect, pipe"),
        pytest.param("bash -lc 'cd a; FOO=1 python -m pytest x'", [("cd", "a"), ("pytest", "x")], id="shell script"),
        pytest.param(
            "sudo -u bob env A=b timeout 5 /usr/bin/git -C /r --no-pager status", [("git", "status")], id="chain"
        ),
        pytest.param("docker exec -it box pytest", [("pytest",)], id="docker exec"),
        pytest.param("docker compose exec -T web pytest a", [("pytest", "a")], id="compose exec"),
        pytest.param("docker compose up -d", [("docker", "compose", "up", "-d")], id="compose itself"),
        pytest.param("npx --yes vitest run", [("vitest", "run")], id="npx"),
        pytest.param("poetry run python -m unittest", [("unittest",)], id="poetry, module"),
        pytest.param("python3.12 -m pytest", [("pytest",)], id="versioned python"),
        pytest.param("coverage run -m pytest x", [("pytest", "x")], id="coverage"),
        pytest.param("./node_modules/.bin/jest --ci", [("jest", "--ci")], id="folder"),
        pytest.param("(cd web && npm test) &", [("cd", "web"), ("npm", "test")], id="subshell"),
        pytest.param("cat <<'X' > a\npytest\nX\ngo test", [("cat",), ("go", "test")], id="heredoc body is no command"),
        pytest.param("ls # pytest", [("ls",)], id="comment"),
        pytest.param("echo 'pytest; git status", [("echo", "pytest; git status")], id="unbalanced quote"),
        pytest.param('echo "a \\" b" c', [("echo", 'a " b', "c")], id="escaped quote"),
        pytest.param("if git status; then ls; fi", [("git", "status"), ("ls",)], id="keywords"),
        pytest.param("kubectl exec pod -- pytest", [("pytest",)], id="kubectl"),
        pytest.param("A=1", [], id="assignment alone"),
    ],
)
def test_wrappers_are_taken_off(command: str, expected: list[tuple[str, ...]]) -> None:
    assert simple_commands(command) == expected


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        pytest.param("git -c a=b status -sb", "git status", True, id="two words"),
        pytest.param("git log", "git status", False, id="another subcommand"),
        pytest.param("echo git status", "git status", False, id="argument"),
        pytest.param("cat x | pytest", "pytest", True, id="pipe"),
    ],
)
def test_runs_looks_at_program_and_first_words(command: str, name: str, expected: bool) -> None:
    assert runs(command, name) is expected


@given(st.lists(st.sampled_from(WORDS)).map("".join) | st.text())
def test_any_text_gives_commands_of_at_least_one_word(command: str) -> None:
    assert all(words for words in simple_commands(command))


@pytest.mark.benchmark
@pytest.mark.parametrize("unit", ["bash -c '", "'", "a ", "<<EOF\n", "sudo ", "\\", "(", "A=b "])
def test_long_lines_cost_little(unit: str) -> None:
    start = time.perf_counter()
    simple_commands(unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - start < 1


@given(st.text(PLAIN, max_size=20))
def test_a_line_of_plain_words_is_read_like_any_other(line: str) -> None:
    """The semicolon calls for the tokenizer."""
    assert simple_commands(line) == simple_commands(f"{line};")
