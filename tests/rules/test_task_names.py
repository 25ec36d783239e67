"""Tasks and scripts are known by the words of their names."""

from __future__ import annotations

import pytest

from pipeline.rules.commands import simple_commands
from pipeline.rules.task_names import names_task, program_of, task_word

BUILD = task_word("build", "compile")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("npm run build", True, id="npm script"),
        pytest.param("npm run web:build", True, id="part of a name"),
        pytest.param("make -C sub build", True, id="make target"),
        pytest.param("./scripts/build.sh --fast", True, id="script"),
        pytest.param("bash ci/build.sh", True, id="script of a shell"),
        pytest.param("python3 build.py", True, id="script of Python"),
        pytest.param("./gradlew.bat assemble", False, id="other task"),
        pytest.param("cat build.log", False, id="a file is no task"),
        pytest.param("rebuilding now", False, id="within a word"),
        pytest.param("build", False, id="a program of that name is no script"),
    ],
)
def test_a_task_is_called_by_name(command: str, expected: bool) -> None:
    assert any(names_task(words, BUILD) for words in simple_commands(command)) is expected


@pytest.mark.parametrize("name", ["gradlew", "gradlew.bat", "gradlew.cmd", "gradlew.exe"])
def test_suffixes_of_windows_are_no_part_of_a_program(name: str) -> None:
    assert program_of((name, "build")) == "gradlew"
