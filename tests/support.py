"""What several tests need: sessions made of plain records, a small-batch configuration, the command as a process."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

SAMPLES = Path(__file__).parent / "samples"
SAMPLE_SESSIONS = sorted(SAMPLES.rglob("*.json*"))

SMALL_STEPS = """\
[reader]
batch_bytes = 4096
batch_records = 4

[commit]
max_bytes = 16384
max_records = 12
"""


def call(number: int, name: str, tool_input: object) -> bytes:
    """A Claude Code record with one tool call."""
    return orjson.dumps(
        {
            "parentUuid": f"u{number - 1}",
            "sessionId": "s1",
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"t{number}", "name": name, "input": tool_input}],
            },
            "uuid": f"u{number}",
            "timestamp": "2026-01-05T08:00:00.000Z",
        }
    )


def result(number: int, call_number: int, content: object, **more: object) -> bytes:
    """A Claude Code record with the result of a call; `more` are further top-level members."""
    return orjson.dumps(
        {
            "parentUuid": f"u{number - 1}",
            "sessionId": "s1",
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"tool_use_id": f"t{call_number}", "type": "tool_result", "content": content}],
            },
            "uuid": f"u{number}",
            "timestamp": "2026-01-05T08:00:01.000Z",
            **more,
        }
    )


def log_lines(count: int, seed: int = 0) -> str:
    """A log in which no two lines are alike."""
    return "\n".join(
        f"step {seed}.{n}: took the {n * 7919 % 1009}th crate to shelf {n * 31 % 97}" for n in range(count)
    )


def session(turns: int, *, seed: int = 0) -> list[bytes]:
    """Records of a session with writes, edits, long logs and their copies."""
    records: list[bytes] = []
    for turn in range(turns):
        number = 4 * turn + 1
        body = log_lines(60, seed * 1000 + turn)
        path = f"/srv/shed/file{turn}.py"
        records.append(call(number, "Write", {"file_path": path, "content": body}))
        made = f"File created successfully at: {path}"
        records.append(
            result(number + 1, number, made, toolUseResult={"type": "create", "filePath": path, "content": body})
        )
        output = log_lines(150, seed * 1000 + turn + 500)
        records.append(call(number + 2, "Bash", {"command": f"make part{turn}", "description": "build it"}))
        records.append(
            result(number + 3, number + 2, output, toolUseResult={"stdout": output, "stderr": "", "isImage": False})
        )
    return records


def lines(records: Iterable[bytes]) -> bytes:
    """The records as the bytes of a file."""
    return b"".join(record + b"\n" for record in records)


@dataclass(frozen=True)
class Place:
    """Source, output and state folders of one test, and a configuration with small steps."""

    base: Path

    @property
    def source(self) -> Path:
        return self.base / "sessions"

    @property
    def out(self) -> Path:
        return self.base / "out"

    @property
    def state(self) -> Path:
        return self.base / "state"

    def make(self) -> Place:
        self.source.mkdir(parents=True)
        (self.base / "compactd.toml").write_text(SMALL_STEPS)
        return self

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run the command in a process of its own, with this place's folders."""
        return subprocess.run(
            self.command(*arguments), capture_output=True, env={**os.environ, **(env or {})}, check=False, timeout=120
        )

    def command(self, *arguments: str) -> list[str]:
        folders = ["--config", str(self.base / "compactd.toml"), "--out", str(self.out), "--state", str(self.state)]
        return [sys.executable, "-m", "pipeline", *arguments, *folders]

    def outputs(self) -> dict[str, bytes]:
        """The outputs' bytes by path below the output folder."""
        return {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in sorted(self.out.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }

    def rows(self) -> dict[str, list[Any]]:
        """The ledger's rows of current generations, without ids that depend on the order of commits."""
        with sqlite3.connect(f"file:{self.state / 'ledger.db'}?mode=ro", uri=True) as ledger:
            found = {
                name: ledger.execute(sql).fetchall()
                for name, sql in {
                    "record": "SELECT s.rel, ordinal, src_off, src_len, out_off, out_len, hash8, o.text, r.text "
                    "FROM record JOIN session s ON s.id = session AND s.generation = record.generation "
                    "LEFT JOIN name o ON o.id = outcome LEFT JOIN name r ON r.id = reason ORDER BY 1, 2",
                    "site": "SELECT s.rel, ordinal, n, t.text, u.text, w.text, applied, off_in_output_record, "
                    "bytes_after, bytes_before, v.digest16 FROM site "
                    "JOIN session s ON s.id = session AND s.generation = site.generation "
                    "LEFT JOIN name t ON t.id = tool LEFT JOIN name u ON u.id = rule LEFT JOIN name w ON w.id = reason "
                    "LEFT JOIN value v ON v.id = site.value ORDER BY 1, 2, 3",
                }.items()
            }
        ledger.close()
        return found


def write_sessions(folder: Path, counts: Sequence[int]) -> None:
    """Write a session file for each count of turns."""
    for number, turns in enumerate(counts):
        path = folder / f"project{number % 2}" / f"s{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(session(turns, seed=number)))
