"""How long an appended record takes until its row is committed, with a daemon that follows very many files.

The daemon runs as users run it. This process appends to some of the files and asks the ledger, as any reader could,
whether the append is in; the clock of one process times both.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hostile import answered, called
from workshop import Workshop, WrongResult

FILES_A_FOLDER = 100
LOOK_SECONDS = 0.0005
PATIENCE_SECONDS = 120.0
SYNC_SAMPLES = 300
SYNC_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds of each append until its commit was seen, and of single fdatasync calls on the same disk.

    `start` is how long the daemon took, from its start on, to look at all files and take in what was appended to the
    active ones by then.
    """

    start: float
    commits: Sequence[float]
    syncs: Sequence[float]


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that this part of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def make_files(folder: Path, count: int) -> list[Path]:
    """Small sessions, all alike but for their ids."""
    paths = []
    for number in range(count):
        path = folder / f"project{number // FILES_A_FOLDER:03}" / f"session{number:05}.jsonl"
        if number % FILES_A_FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(turn(f"start-{number}-{step}") for step in range(3)))
        paths.append(path)
    return paths


def turn(name: str) -> bytes:
    """A call and its result, long enough to be compacted."""
    text = "\n".join(f"{name} loaded crate {number} into hold {number * 7 % 13}" for number in range(40))
    return called(name, "Bash", {"command": "make load"}) + answered(name, text, {"stdout": text, "stderr": ""})


def delays(workshop: Workshop, source: Path, active: Sequence[Path], appends: int, every_seconds: float) -> Delays:
    """Append to the active files in turn, `appends` times in all, and wait for the commits.

    Raises:
        WrongResult: the daemon ended, or a commit never came.
    """
    syncs = list(_sync_seconds(workshop.folder))
    began = time.perf_counter()
    with _daemon(workshop, source) as daemon:
        connection = sqlite3.connect(f"file:{workshop.state / 'ledger.db'}?mode=ro", uri=True, isolation_level=None)
        with closing(connection):
            follower = _Follower(daemon, connection, source, active)
            # All files are in the daemon's queue when it starts, so none is measured before each had its turn.
            for path in active:
                follower.append(path, "first")
            follower.wait_for_all()
            start = time.perf_counter() - began
            follower.seconds.clear()
            order = random.Random(appends)
            due = time.perf_counter()
            for number in range(appends):
                due += every_seconds
                follower.look_until(due)
                follower.append(order.choice(active), f"append-{number}")
            follower.wait_for_all()
    syncs += _sync_seconds(workshop.folder)
    return Delays(start, follower.seconds, syncs)


class _Follower:
    """Appends, and looks at the ledger for their commits."""

    def __init__(
        self, daemon: subprocess.Popen[bytes], connection: sqlite3.Connection, source: Path, active: Sequence[Path]
    ) -> None:
        self.seconds: list[float] = []
        self._daemon = daemon
        self._connection = connection
        ids = {bytes(rel): id for id, rel in connection.execute("SELECT id, rel FROM session")}
        self._ids = {path: ids[os.fsencode(path.relative_to(source))] for path in active}
        self._sizes = {path: path.stat().st_size for path in active}
        self._waiting: dict[int, deque[tuple[int, float]]] = {}
        self._version = -1

    def append(self, path: Path, name: str) -> None:
        """Append one turn; the clock starts when the write has returned."""
        data = turn(name)
        with open(path, "ab", buffering=0) as file:
            file.write(data)
        began = time.perf_counter()
        self._sizes[path] += len(data)
        self._waiting.setdefault(self._ids[path], deque()).append((self._sizes[path], began))

    def look_until(self, moment: float) -> None:
        """Look for commits until then."""
        while (left := moment - time.perf_counter()) > 0:
            self._look()
            time.sleep(min(LOOK_SECONDS, left))

    def wait_for_all(self) -> None:
        """Look until all appends are committed.

        Raises:
            WrongResult: they never were.
        """
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while self._waiting:
            self._look()
            if self._daemon.poll() is not None:
                raise WrongResult(f"watch ended with exit code {self._daemon.returncode}")
            if time.perf_counter() > deadline:
                raise WrongResult(f"{len(self._waiting)} sessions without a commit in {PATIENCE_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        # Changes only when another connection has committed, and costs next to nothing.
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._version = version
        for session, waiting in list(self._waiting.items()):
            (committed,) = self._connection.execute(
                "SELECT max(src_off + src_len) FROM record WHERE session = ? AND ordinal = "
                "(SELECT max(ordinal) FROM record WHERE session = ?)",
                (session, session),
            ).fetchone()
            now = time.perf_counter()
            while waiting and waiting[0][0] <= committed:
                self.seconds.append(now - waiting.popleft()[1])
            if not waiting:
                del self._waiting[session]


@contextmanager
def _daemon(workshop: Workshop, source: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = workshop.command("watch", source, "--out", workshop.out, "--state", workshop.state)
    with open(workshop.folder / "watch.log", "wb") as log:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log, env=workshop.env)
    with daemon:
        try:
            yield daemon
        finally:
            daemon.send_signal(signal.SIGTERM)
    if daemon.returncode:
        raise WrongResult(f"watch gave exit code {daemon.returncode}")


def _sync_seconds(folder: Path) -> Iterator[float]:
    path = folder / "sync.probe"
    # macOS has no fdatasync.
    sync = getattr(os, "fdatasync", os.fsync)
    with open(path, "wb", buffering=0) as file:
        for _ in range(SYNC_SAMPLES):
            file.write(b"x" * SYNC_BYTES)
            began = time.perf_counter()
            sync(file.fileno())
            yield time.perf_counter() - began
    path.unlink()
