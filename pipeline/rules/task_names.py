"""Commands that run what others wrote down: task runners and scripts, known by the name of the task."""

from __future__ import annotations

import re

TASK_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "rake", "invoke", "inv", "nx", "turbo", "lerna"}
    | {"composer", "ant", "sbt", "lein", "mix", "rush", "moon", "hatch", "poe", "mage", "earthly", "deno", "wireit"}
    | {"bash", "sh", "zsh", "dash", "source", ".", "pwsh", "powershell", "node", "tsx", "ruby", "perl"}
)
"""Programs whose words say what is run."""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_TASK_WORDS = 5


def program_of(words: tuple[str, ...]) -> str:
    """The program of a simple command without the suffixes that Windows gives it."""
    return words[0].removesuffix(".exe").removesuffix(".cmd").removesuffix(".bat")


def names_task(words: tuple[str, ...], name: re.Pattern[str]) -> bool:
    """True if a simple command runs a task or a script that `name` is found in: `npm run build`, `./build.sh`."""
    program = program_of(words)
    if program in TASK_RUNNERS or _PYTHON.fullmatch(program) is not None:
        return any(name.search(word) is not None for word in words[1:_TASK_WORDS])
    return any(sign in program for sign in "._-") and name.search(program) is not None


def task_word(*words: str) -> re.Pattern[str]:
    """A pattern for names that hold one of the words between signs: `build` in `ci:build`, not in `rebuilding`."""
    return re.compile(rf"(?:^|[-_/:.=@])(?:{'|'.join(words)})(?:$|[-_/:.0-9])", re.IGNORECASE)
