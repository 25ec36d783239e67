"""Output and state folders of a test that runs commands in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CONFIG = Path(__file__).parent.parent / "config" / "compactd.toml"
Run = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True)
class Kept:
    """Output and state folders, and the options that name them; the configuration is the shipped one."""

    base: Path

    @property
    def out(self) -> Path:
        return self.base / "out"

    @property
    def state(self) -> Path:
        return self.base / "state"

    @property
    def options(self) -> Sequence[str]:
        return ["--config", str(CONFIG), "--out", str(self.out), "--state", str(self.state)]
