"""Where benchmarks work: generated data that is made once, folders for output and state, the commands as jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import floors
from generate import MB, write_session, write_sessions
from measure import Job

REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "tests" / "samples"


class WrongResult(Exception):
    """A command gave a result that is wrong, so its time says nothing."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder with room for some times `mb` megabytes; `pairs` is how often each comparison is run."""

    folder: Path
    mb: float
    pairs: int

    @property
    def env(self) -> dict[str, str]:
        """The environment of all commands: this package, no settings of the user, compiled code as when installed."""
        left = ("COMPACTD_", "OPENVIKING_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left)}
        return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}

    @property
    def out(self) -> Path:
        """Output folder of backfills."""
        return self.folder / "out"

    @property
    def state(self) -> Path:
        """State folder of backfills."""
        return self.folder / "state"

    def session(self, variant: str, mb: float | None = None) -> Path:
        """A generated session, in a folder of its own; made when it is not there yet."""
        size = self.mb if mb is None else mb
        path = self.folder / "data" / f"{variant}-{size:g}" / "session.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_suffix(".part")
            write_session(str(made), variant, int(size * MB))
            made.rename(path)
        return path

    def sessions(self, variant: str, count: int, mb: float | None = None) -> Path:
        """A folder of generated sessions of unequal sizes; made when it is not there yet."""
        size = self.mb if mb is None else mb
        folder = self.folder / "data" / f"{variant}-{size:g}-in-{count}"
        if not folder.exists():
            made = folder.with_suffix(".part")
            shutil.rmtree(made, ignore_errors=True)
            write_sessions(str(made), variant, int(size * MB), count)
            made.rename(folder)
        return folder

    def command(self, *arguments: str | Path, vault: bool = True) -> list[str]:
        """A command of compactd with this workshop's configuration."""
        config = self.folder / ("with-vault.toml" if vault else "without-vault.toml")
        config.write_text(f"[vault]\nenabled = {str(vault).lower()}\n")
        name, *rest = map(str, arguments)
        return [sys.executable, "-m", "pipeline", name, *rest, "--config", str(config)]

    def compact(self, source: Path, target: Path) -> Job:
        """`compactd compact SOURCE -o TARGET`."""
        return Job(self.command("compact", source, "-o", target), partial(_remove, target), self.env)

    def floor(self, kind: str, source: Path, target: Path) -> Job:
        """One of the floors, file to file."""
        command = [sys.executable, floors.__file__, kind, str(source), str(target)]
        return Job(command, partial(_remove, target), self.env)

    def backfill(self, source: Path, *, jobs: int = 1, vault: bool = True) -> Job:
        """`compactd backfill SOURCE` into empty folders."""
        folders = ("--out", self.out, "--state", self.state)
        return Job(self.command("backfill", source, "--jobs", str(jobs), *folders, vault=vault), self.clear, self.env)

    def clear(self) -> None:
        """Remove output and state."""
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def output(self) -> Path:
        """The one output that the last backfill wrote.

        Raises:
            WrongResult: there is not exactly one.
        """
        found = [path for path in self.out.rglob("*.jsonl") if ".generations" not in path.parts]
        if len(found) != 1:
            raise WrongResult(f"{self.out}: need one output, got {len(found)}")
        return found[0]

    def verify(self) -> None:
        """Let `compactd verify` check the last backfill.

        Raises:
            WrongResult: it found a difference.
        """
        command = self.command("verify", "--out", self.out, "--state", self.state)
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, check=False)
        if done.returncode:
            raise WrongResult(f"verify gave {done.returncode}: {done.stderr.strip()[-2000:]}")

    def check_compacted(self, source: Path, target: Path) -> None:
        """Has the compacted session as many records as its source, and fewer bytes?

        Raises:
            WrongResult: it has not.
        """
        if _lines_of(source) != _lines_of(target):
            raise WrongResult(f"{target}: need {_lines_of(source)} records, got {_lines_of(target)}")
        if target.stat().st_size >= source.stat().st_size:
            raise WrongResult(f"{target}: need fewer than {source.stat().st_size} bytes")


def same_but_for_verbs(one: Path, other: Path) -> bool:
    """Are two outputs equal but for the verb of their marks? The one-shot filter keeps nothing to recall."""
    with open(one, "rb") as first, open(other, "rb") as second:
        return all(
            a.replace(b"compactd digest ", b"compactd recall ") == b.replace(b"compactd digest ", b"compactd recall ")
            for a, b in zip(first, second, strict=True)
        )


def _lines_of(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
