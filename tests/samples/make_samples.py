"""Writes the bundled sample sessions beside this file; every run gives the same bytes.

One piece of work on an imaginary tide calculator, told as a Claude Code session with a subagent and as an OpenViking
session with an archive; two scripts beside this one tell it in the other formats, and are called here. It has what
sessions are large by: written and edited files with their hidden copies, test runs with failures between hundreds of
green lines, installs, listings, a fetched page, growing progress records.
Change this file, never the sessions: `python tests/samples/make_samples.py`.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROJECT = "/opt/tidecalc"
PORTS = (
    *("Aberdeen", "Bergen", "Cuxhaven", "Dieppe", "Esbjerg", "Fishguard", "Galway", "Harwich", "Immingham"),
    *("Kirkwall", "Lerwick", "Milford", "Newlyn", "Oban", "Portrush", "Reykjavik", "Stornoway", "Tobermory"),
    *("Ullapool", "Vlissingen", "Whitby", "Yarmouth"),
)
CONSTITUENTS = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "Mf", "Mm", "Ssa", "M4", "MS4", "MN4", "M6")

Json = dict[str, Any]


def main(folder: str) -> None:
    """Write all sessions below a folder."""
    chance = random.Random(20260105)
    for path, data in sessions(chance).items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(data)
    # They use the texts below.
    import make_chat_gemini
    import make_openclaw_codex

    make_openclaw_codex.main(folder)
    make_chat_gemini.main(os.path.join(folder, "chat-and-gemini"))


def sessions(chance: random.Random) -> dict[str, bytes]:
    """Relative path -> bytes of each session."""
    claude = ClaudeCode(chance)
    tell(claude, chance)
    live, archive = OpenViking(chance, "live"), OpenViking(chance, "archive")
    tell_short(archive, chance)
    tell_long(live, chance)
    main_file = f"claude-code/-opt-tidecalc/{claude.session}"
    return {
        f"{main_file}.jsonl": claude.data(),
        f"{main_file}/subagents/agent-{claude.agent}.jsonl": claude.subagent(chance),
        "openviking/messages.jsonl": live.data(),
        "openviking/history/archive_001/messages.jsonl": archive.data(),
    }


# --- texts -----------------------------------------------------------------------------------------------------------


def module_text(chance: random.Random, name: str, functions: int) -> str:
    """A Python module, long enough that nobody wants it three times."""
    lines = [f'"""Harmonic analysis of tides: {name}."""', "", "import math", ""]
    for number in range(functions):
        wave = chance.choice(CONSTITUENTS)
        speed = f"{chance.uniform(0.5, 90):.7f}"
        lines += [
            f"def {wave.lower()}_term_{number}(hours: float, amplitude: float, phase: float) -> float:",
            f'    """Height in metres that {wave} adds at a time, counted in hours since the epoch of the port."""',
            f"    angle = math.radians({speed} * hours - phase)",
            "    # Long series drift without the reduction to one turn.",
            "    angle = math.remainder(angle, math.tau)",
            "    return amplitude * math.cos(angle)",
            "",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def numbered(text: str) -> str:
    """A file as the Read tool shows it."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.rstrip("\n").split("\n"), 1))


def pytest_text(chance: random.Random, passed: int, failures: list[tuple[str, str, str]]) -> str:
    """A verbose test run: green lines, then each failure with its traceback, then the summary."""
    lines = [
        "============================= test session starts ==============================",
        "platform linux -- Python 3.11.9, pytest-8.2.2, pluggy-1.5.0",
        f"rootdir: {PROJECT}",
        f"collected {passed + len(failures)} items",
        "",
    ]
    failed_at = {chance.randrange(passed): failure for failure in failures}
    for number in range(passed):
        port = chance.choice(PORTS)
        percent = 100 * number // passed
        lines.append(f"tests/test_heights.py::test_height_at[{port}-{number}] PASSED" + f"[{percent:3}%]".rjust(12))
        if number in failed_at:
            lines.append(f"tests/test_heights.py::{failed_at[number][0]} FAILED" + f"[{percent:3}%]".rjust(12))
    lines += ["", "=================================== FAILURES ==================================="]
    for name, statement, error in failed_at.values():
        line = chance.randrange(40, 400)
        lines += [
            f"_ {name} _".center(80, "_"),
            "",
            f"    def {name.partition('[')[0]}(port: str) -> None:",
            "        table = load_table(port)",
            f">       {statement}",
            f"E       {error}",
            "",
            f"tests/test_heights.py:{line}: {error.partition(':')[0]}",
        ]
    lines.append("=========================== short test summary info ============================")
    lines += [f"FAILED tests/test_heights.py::{name} - {error}" for name, _, error in failed_at.values()]
    seconds = f"{chance.uniform(2, 9):.2f}"
    lines.append(f"=================== {len(failed_at)} failed, {passed} passed in {seconds}s ====================")
    return "\n".join(lines)


def install_text(chance: random.Random, packages: int) -> str:
    """An install with a progress line a package, and one package that cannot be built."""
    lines = [f"Looking in indexes: https://pypi.example.org/simple?{hexes(chance, 90)}"]
    for number in range(packages):
        name = f"{chance.choice(CONSTITUENTS).lower()}-{chance.choice(PORTS).lower()}"
        version = f"{chance.randrange(4)}.{chance.randrange(20)}.{chance.randrange(9)}"
        lines += [
            f"Collecting {name}=={version}",
            f"  Downloading {name}-{version}-py3-none-any.whl ({chance.randrange(9, 900)} kB)",
            f"     {'━' * 40} {chance.randrange(9, 900)}.0/{chance.randrange(9, 900)}.0 kB 4.1 MB/s eta 0:00:00",
        ]
        if number == packages // 2:
            lines += [
                "  error: subprocess-exited-with-error",
                "  × Building wheel for fes-grid (pyproject.toml) did not run successfully.",
                "  │ exit code: 1",
                "  gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
            ]
    lines.append("ERROR: Failed building wheel for fes-grid")
    return "\n".join(lines)


def status_text(chance: random.Random, files: int) -> str:
    """`git status` with many files."""
    names = [f"tables/{chance.choice(PORTS).lower()}/{year}.csv" for year in range(1950, 1950 + files)]
    return "\n".join(
        [
            "On branch harmonic-terms",
            "Your branch is ahead of 'origin/harmonic-terms' by 2 commits.",
            '  (use "git push" to publish your local commits)',
            "",
            "Changes not staged for commit:",
            '  (use "git add <file>..." to update what will be committed)',
            '  (use "git restore <file>..." to discard changes in working directory)',
            *(f"\tmodified:   {name}" for name in names),
            "",
            "Untracked files:",
            '  (use "git add <file>..." to include in what will be committed)',
            *(f"\tcache/{hexes(chance, 12)}.bin" for _ in range(files // 2)),
            "",
            'no changes added to commit (use "git add" and/or "git commit -a")',
        ]
    )


def page_text(chance: random.Random, rows: int) -> str:
    """An HTML page with a table in it."""
    style = "".join(f".c{number}{{color:#{hexes(chance, 6)};padding:{number % 9}px}}" for number in range(40))
    body = "".join(
        f'<tr class="c{number % 40}"><td>'
        f'<a href="https://tides.example.org/ports/{port.lower()}?ref={hexes(chance, 60)}">'
        f"{port}</a></td><td>{chance.uniform(0.2, 7):.2f} m</td></tr>\n"
        for number, port in enumerate(chance.choice(PORTS) for _ in range(rows))
    )
    return (
        f"<!DOCTYPE html>\n<html><head><title>High waters</title><style>{style}</style>"
        f"<script>window.page={{id:'{hexes(chance, 32)}'}};</script></head>\n<body><h1>High waters of the day</h1>"
        f"<table>\n{body}</table></body></html>"
    )


def log_text(chance: random.Random, lines: int) -> str:
    """A log: the same few lines over and over, a retry storm, and one real trouble."""
    out: list[str] = []
    for number in range(lines):
        stamp = f"2026-01-05T08:{number // 60 % 60:02}:{number % 60:02}Z"
        if number % 97 == 96:
            out.append(
                f"{stamp} ERROR fetch: deadline exceeded after {chance.randrange(900, 1100)} ms, attempt {number}"
            )
        else:
            out.append(f"{stamp} INFO gauge {chance.choice(PORTS)}: height {chance.uniform(-1, 8):.2f} m, 0 errors")
    out.insert(lines // 2, "KeyError: 'Immingham' has no datum for 1953")
    return "\n".join(out)


def listing_text(chance: random.Random, files: int) -> str:
    """Paths, one a line."""
    return "\n".join(f"{PROJECT}/tables/{chance.choice(PORTS).lower()}/{1900 + number}.csv" for number in range(files))


def hexes(chance: random.Random, digits: int) -> str:
    """So many random hex digits."""
    return f"{chance.getrandbits(4 * digits):0{digits}x}"


def uuid(chance: random.Random) -> str:
    """A random id in the usual form."""
    text = hexes(chance, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


# --- Claude Code -----------------------------------------------------------------------------------------------------


class ClaudeCode:
    """Builds the records of a Claude Code session, each linked to the one before."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.session = uuid(chance)
        self.agent = hexes(chance, 7)
        self._lines: list[bytes] = []
        self._parent: str | None = None
        self._seconds = 0

    def data(self) -> bytes:
        """The file; its last record has no line end, as real files often do."""
        return b"\n".join(self._lines)

    def add(self, record: Json) -> str:
        """A record that is a link of the chain; gives its uuid."""
        self._seconds += 7
        own = uuid(self._chance)
        envelope: Json = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": PROJECT,
            "sessionId": self.session,
            "version": "2.1.14",
            "gitBranch": "harmonic-terms",
        }
        stamp = f"2026-01-05T08:{self._seconds // 60 % 60:02}:{self._seconds % 60:02}.000Z"
        self.raw(packed(envelope | record | {"uuid": own, "timestamp": stamp}))
        self._parent = own
        return own

    def raw(self, line: bytes) -> None:
        """A line as it is."""
        self._lines.append(line)

    def prompt(self, text: str) -> None:
        """What the user asks for."""
        self.add({"type": "user", "message": {"role": "user", "content": text}})

    def say(self, text: str) -> None:
        """What the assistant says."""
        self.add({"type": "assistant", "message": self._message([{"type": "text", "text": text}])})

    def call(self, tool: str, values: Json) -> str:
        """A tool call; gives its id."""
        number = f"toolu_{hexes(self._chance, 24)}"
        block = {"type": "tool_use", "id": number, "name": tool, "input": values}
        self.add({"type": "assistant", "message": self._message([block])})
        return number

    def result(self, number: str, text: str, copy: object, *, error: bool = False) -> None:
        """A tool result with its hidden copy."""
        block: Json = {"tool_use_id": number, "type": "tool_result", "content": text}
        if error:
            block["is_error"] = True
        self.add({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": copy})

    def progress(self, number: str, data: Json) -> None:
        """A record that a running tool leaves."""
        self.add({"type": "progress", "data": data, "toolUseID": "bash-progress-1", "parentToolUseID": number})

    def subagent(self, chance: random.Random) -> bytes:
        """The subagent's own file."""
        lines: list[bytes] = []
        parent: str | None = None
        found = listing_text(chance, 160)
        number = f"toolu_{hexes(chance, 24)}"
        messages: list[Json] = [
            {"role": "user", "content": "List all tables and say which years are missing."},
            self._message(
                [{"type": "tool_use", "id": number, "name": "Glob", "input": {"pattern": "tables/**/*.csv"}}]
            ),
            {"role": "user", "content": [{"tool_use_id": number, "type": "tool_result", "content": found}]},
            self._message([{"type": "text", "text": "No year is missing between 1900 and 2059."}]),
        ]
        for message in messages:
            own = uuid(chance)
            record: Json = {"parentUuid": parent, "isSidechain": True, "sessionId": self.session, "agentId": self.agent}
            kind = message["role"]
            lines.append(packed(record | {"type": kind, "message": message, "uuid": own, "cwd": PROJECT}))
            parent = own
        return b"\n".join(lines) + b"\n"

    def _message(self, content: list[Json]) -> Json:
        return {
            "model": "sample-model",
            "id": f"msg_{hexes(self._chance, 20)}",
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": None,
            "usage": {"input_tokens": 4, "output_tokens": self._chance.randrange(9, 900)},
        }


def tell(claude: ClaudeCode, chance: random.Random) -> None:
    """The story of the Claude Code session."""
    snapshot = {"messageId": uuid(chance), "trackedFileBackups": {}, "timestamp": "2026-01-05T08:00:00.000Z"}
    claude.raw(packed({"type": "file-history-snapshot", "messageId": snapshot["messageId"], "snapshot": snapshot}))
    claude.prompt("Add the missing harmonic terms and make the height tests pass.")
    path = f"{PROJECT}/tidecalc/terms.py"

    source = module_text(chance, "terms", 24)
    lines = source.count("\n")
    number = claude.call("Read", {"file_path": path})
    file = {"filePath": path, "content": source, "numLines": lines, "startLine": 1, "totalLines": lines}
    claude.result(number, numbered(source), {"type": "text", "file": file})

    claude.say("The speeds are written out in each function. I move them to a table of their own.")
    table = module_text(chance, "speeds", 14)
    number = claude.call("Write", {"file_path": f"{PROJECT}/tidecalc/speeds.py", "content": table})
    done = f"File created successfully at: {PROJECT}/tidecalc/speeds.py"
    copy: Json = {
        "type": "create",
        "filePath": f"{PROJECT}/tidecalc/speeds.py",
        "content": table,
        "structuredPatch": [],
    }
    claude.result(number, done, copy | {"originalFile": None})

    old = source[source.index("def ") : source.index("def ") + 1200]
    new = old.replace("math.radians", "math.fmod", 2)
    number = claude.call("Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": False})
    copy = {"filePath": path, "oldString": old, "newString": new, "originalFile": source, "userModified": False}
    claude.result(number, f"The file {path} has been updated.", copy | {"structuredPatch": []})

    command = "python -m pytest -v tests/test_heights.py"
    failures = [
        ("test_height_at[Immingham-1953]", "assert table.datum == 3.9", "KeyError: 'Immingham'"),
        ("test_springs[Newlyn]", "assert height == 5.62", "AssertionError: assert 5.26 == 5.62"),
    ]
    output = pytest_text(chance, 150, failures)
    number = claude.call("Bash", {"command": command, "description": "Run the height tests"})
    for part in (2, 3, 4):
        text = output[: part * len(output) // 5]
        shown = text[-400:]
        data: Json = {"type": "bash_progress", "output": shown, "fullOutput": text, "elapsedTimeSeconds": part}
        claude.progress(number, data | {"totalLines": text.count("\n")})
    failed = f"Exit code 1\n{output}"
    claude.result(number, failed, f"Error: {failed}", error=True)

    shell(claude, "git status", status_text(chance, 60))
    shell(claude, "pip install -e '.[grid]'", install_text(chance, 40))
    shell(claude, "curl -s https://tides.example.org/today", page_text(chance, 60))
    shell(claude, "journalctl -u tidecalc --since today --no-pager", log_text(chance, 240))

    prompt = "List all tables and say which years are missing."
    number = claude.call("Task", {"description": "Look for gaps", "prompt": prompt, "subagent_type": "Explore"})
    report = "No year is missing between 1900 and 2059."
    block = [{"type": "text", "text": report}]
    claude.result(number, report, {"status": "completed", "prompt": prompt, "content": block, "totalToolUseCount": 1})

    # Two records that a crash of the writer left on one line: they pass as they are.
    half = packed({"type": "summary", "summary": "Tide terms", "leafUuid": uuid(chance)})
    claude.raw(half + half)
    shell(claude, command, pytest_text(chance, 90, []))
    claude.say("All height tests pass; the datum of Immingham was missing for 1953.")


def shell(claude: ClaudeCode, command: str, output: str) -> None:
    """A Bash call and its result."""
    number = claude.call("Bash", {"command": command, "description": "Look"})
    claude.result(number, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False})


# --- OpenViking ------------------------------------------------------------------------------------------------------


class OpenViking:
    """Builds the messages of an OpenViking session."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self._chance = chance
        self._name = name
        self._lines: list[bytes] = []

    def data(self) -> bytes:
        """The file."""
        return b"".join(line + b"\n" for line in self._lines)

    def add(self, role: str, parts: list[Json]) -> None:
        """A message."""
        number = len(self._lines) + 1
        stamp = f"2026-01-05T09:{number % 60:02}:00.000Z"
        message = {"id": f"msg_{self._name}_{number}", "role": role, "parts": parts, "created_at": stamp}
        self._lines.append(json.dumps(message, ensure_ascii=False).encode())

    def tool(self, name: str, values: Json, output: str, *, status: str = "completed") -> None:
        """A call and its result in one part, as the writer leaves it when the tool is done."""
        part: Json = {"type": "tool", "tool_id": f"call_{hexes(self._chance, 10)}", "tool_name": name, "tool_uri": ""}
        part |= {"skill_uri": "", "tool_status": status, "tool_input": values, "tool_output": output}
        self.add("assistant", [{"type": "text", "text": f"I use {name}."}, part])


def tell_short(viking: OpenViking, chance: random.Random) -> None:
    """What was archived."""
    viking.add("user", [{"type": "text", "text": "Which ports have no table?"}])
    viking.tool("glob", {"pattern": "tables/**"}, listing_text(chance, 150))
    viking.add("assistant", [{"type": "text", "text": "Every port has its tables."}])


def tell_long(viking: OpenViking, chance: random.Random) -> None:
    """What is live: tool parts, and calls and results that a plugin put into the text."""
    viking.add("user", [{"type": "text", "text": "Write the report on the gauges."}])
    report = module_text(chance, "report", 22)
    viking.tool("write_file", {"file_path": "report.py", "content": report}, "ok")
    viking.tool("bash", {"command": "python report.py"}, log_text(chance, 200), status="error")
    call = json.dumps({"command": "git status"}, indent=2)
    viking.add("assistant", [{"type": "text", "text": f"I look at the tree.\n\n[tool: bash]\n{call}"}])
    viking.add("user", [{"type": "text", "text": f"[tool result]\n{status_text(chance, 50)}"}])
    viking.tool("web_fetch", {"url": "https://tides.example.org/today"}, page_text(chance, 50))
    viking.tool(
        "bash", {"command": "pytest -v"}, pytest_text(chance, 100, [("test_neaps[Oban]", "f()", "ValueError: NaN")])
    )
    viking.add("assistant", [{"type": "text", "text": "Oban has a gap; the report says so. 潮汐表已更新。"}])


def packed(value: Json) -> bytes:
    """JSON without spaces, as Claude Code writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
