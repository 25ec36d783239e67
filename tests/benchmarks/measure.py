"""Runs commands as child processes and tells what they took: cpu, wall time and peak memory, by `os.wait4`.

`python tests/benchmarks/measure.py COMMAND...` prints the same for one command. Linux counts the memory of the process
that starts a child as the child's own, until it has started; so a small helper process, this file again, starts them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# `ru_maxrss` is in bytes on macOS and in KiB elsewhere.
RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """What one command took: seconds of user and system time together, seconds on the clock, bytes.

    `cpu_seconds` has all processes of the command, `peak_bytes` is that of its largest one.
    """

    code: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    errors: str


class CommandFailed(Exception):
    """A measured command gave another exit code than 0; its time says nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command to measure; `prepare` runs before it and is not measured."""

    command: Sequence[str]
    prepare: Callable[[], None] = lambda: None
    env: Mapping[str, str] | None = None

    def run(self) -> Usage:
        """Prepare and run it once.

        Raises:
            CommandFailed: with what the command wrote to standard error.
        """
        self.prepare()
        return measure(self.command, env=self.env)


def measure(command: Sequence[str], *, env: Mapping[str, str] | None = None, check: bool = True) -> Usage:
    """Run a command with its standard output thrown away.

    Args:
        command: the program's full path and its arguments.
        env: the whole environment; None for this process's own.
        check: raise when the command fails.

    Raises:
        CommandFailed: it gave another exit code than 0, and `check` is on.
    """
    helper = [sys.executable, "-I", "-S", __file__, *command]
    done = subprocess.run(helper, stdin=subprocess.DEVNULL, capture_output=True, env=env, check=True)
    code, cpu, wall, peak = done.stdout.split()
    usage = Usage(int(code), float(cpu), float(wall), int(peak), done.stderr.decode("utf-8", "replace"))
    if check and usage.code:
        raise CommandFailed(f"exit code {usage.code} of {' '.join(command)}\n{usage.errors}")
    return usage


def in_turn(first: Job, second: Job, count: int) -> list[tuple[Usage, Usage]]:
    """Run two jobs `count` times each, pair by pair and each second time in the other order.

    A machine that gets slower for a while then does so for both halves of a pair.
    """
    pairs = []
    for number in range(count):
        if number % 2:
            usage = second.run()
            pairs.append((first.run(), usage))
        else:
            usage = first.run()
            pairs.append((usage, second.run()))
    return pairs


def cpu_ratio(pairs: Sequence[tuple[Usage, Usage]]) -> float:
    """How much more cpu the second job takes: the median of the pairs' own ratios."""
    return median(second.cpu_seconds / first.cpu_seconds for first, second in pairs)


def wall_ratio(pairs: Sequence[tuple[Usage, Usage]]) -> float:
    """The same of the clock."""
    return median(second.wall_seconds / first.wall_seconds for first, second in pairs)


def _main(command: Sequence[str]) -> None:
    """Run the command; one line on standard output: exit code, cpu and wall seconds, peak bytes."""
    # The command's own output goes nowhere, its errors where this process's go.
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], tuple(command), os.environ, file_actions=nowhere)
    try:
        _, status, used = os.wait4(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        raise
    wall = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    print(code, f"{used.ru_utime + used.ru_stime:.6f} {wall:.6f}", used.ru_maxrss * RSS_UNIT_BYTES)


if __name__ == "__main__":
    _main(sys.argv[1:])
