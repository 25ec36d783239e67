"""One row of the report, and the words that its details share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from measure import Usage


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value; `target` None is shown for comparison only. Values are at most their target to meet it."""

    name: str
    value: float
    unit: str
    target: float | None
    detail: str = ""

    @property
    def meets(self) -> bool | None:
        """Does the value meet its target? None if there is none."""
        return None if self.target is None else self.value <= self.target


def kilobytes(size: int) -> str:
    """Bytes for a detail."""
    return f"{size / 1000:,.0f} kB"


def cpu(usage: Usage) -> str:
    """The cpu of one command, for a detail."""
    return f"cpu {usage.cpu_seconds:.2f} s"


def wall_ms(usages: Sequence[Usage]) -> float:
    """Median of the clock, in milliseconds."""
    return 1000 * median(usage.wall_seconds for usage in usages)


def cpu_of(pairs: Sequence[tuple[Usage, Usage]]) -> str:
    """Medians of the cpu of both sides, for a detail."""
    first, second = (median(pair[side].cpu_seconds for pair in pairs) for side in (0, 1))
    return f"{first:.2f} s, {second:.2f} s"


def wall_of(pairs: Sequence[tuple[Usage, Usage]]) -> str:
    """Medians of the clock of both sides, for a detail."""
    first, second = (median(pair[side].wall_seconds for pair in pairs) for side in (0, 1))
    return f"{first:.2f} s, {second:.2f} s"
