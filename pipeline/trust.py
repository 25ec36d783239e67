"""Rule files of projects are used only after someone has looked at them: what is trusted is a file's very content."""

from __future__ import annotations

import os

from pipeline.errors import ConfigError

RULE_FILE = "compactd.rules.toml"
"""What a project's rule file is called."""
TRUSTED = "trusted"
"""The list beside the user's configuration: a line each with SHA-256 and path."""


def project_file(folder: str) -> str | None:
    """The rule file of the project around a folder: the nearest one, not beyond the top of a repository."""
    here = os.path.abspath(folder)
    while True:
        path = os.path.join(here, RULE_FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(here)
        if above == here or os.path.lexists(os.path.join(here, ".git")):
            return None
        here = above


def is_trusted(path: str, data: bytes, config_folder: str) -> bool:
    """Whether just this content was trusted at just this place."""
    return _entry(path, data) in _entries(config_folder)


def trust(path: str, data: bytes, config_folder: str) -> None:
    """Remember a file's content as trusted, in place of what was trusted at its path before.

    Raises:
        ConfigError: the list cannot be written.
    """
    kept = [entry for entry in _entries(config_folder) if entry.partition(" ")[2] != _name(path)]
    target = os.path.join(config_folder, TRUSTED)
    import tempfile  # not needed to start

    try:
        os.makedirs(config_folder, mode=0o700, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=config_folder, prefix=".trusted-")
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join(f"{entry}\n" for entry in (*kept, _entry(path, data))))
        os.replace(name, target)
    except OSError as error:
        raise ConfigError(f"{target}: cannot write: {error.strerror}") from error


def _entry(path: str, data: bytes) -> str:
    import hashlib  # not needed to start

    return f"{hashlib.sha256(data).hexdigest()} {_name(path)}"


def _name(path: str) -> str:
    """The real path, on one line whatever is in it."""
    return os.path.realpath(path).replace("\n", "\\n")


def _entries(config_folder: str) -> list[str]:
    path = os.path.join(config_folder, TRUSTED)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().split("\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror}") from error
