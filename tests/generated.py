"""Sessions as hypothesis makes them up: calls, results, copies, progress, with odd ids, spacing and escapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

FAILURES = (
    "TypeError: cannot read 'crates' of undefined",
    "ModuleNotFoundError: No module named 'orchard'",
    "--- FAIL: TestPress (0.02s)",
    "not ok 7 - barrel is full",
    "src/press.c:41:9: error: expected ';' before 'return'",
    "npm ERR! code ELIFECYCLE",
    "panic: runtime error: index out of range [5] with length 3",
    "bash: juice: command not found",
    "FAILED tests/test_shed.py::test_doors - AssertionError: assert 3 == 4",
)
Value = Any
"""JSON to be; typed loosely, as the records are taken apart and bent."""


@dataclass
class Session:
    """A session that grows record by record; every choice comes from `random`."""

    random: Random
    records: list[bytes] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """1-based record, and a failure line that one of its visible results holds."""
    texts: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def new_id(self) -> str:
        """A call id; now and then one that was used before, or none."""
        self.count += 1
        return self.random.choice(["", "t1", "same"]) if self.random.random() < 0.1 else f"t{self.count}"

    def add(self, record: Value) -> None:
        """Write a record in one of many spellings; now and then on the line of the one before."""
        random = self.random
        if random.random() < 0.8:
            comma, colon = (",", ":")
        else:
            comma, colon = random.choice([(", ", ": "), (" ,", " : "), (",\t", ":"), (",", ":\r ")])
        data = json.dumps(record, ensure_ascii=random.random() < 0.2, separators=(comma, colon))
        try:
            line = data.encode()
        except UnicodeEncodeError:
            line = json.dumps(record, separators=(comma, colon)).encode()
        if random.random() < 0.1:
            line = line.replace(b"/", b"\\/")
        if random.random() < 0.05:
            line = line[:-1] + b',"version":1.0,"version":"2.1.9"}'
        if random.random() < 0.03 and self.records:
            self.records[-1] = self.records[-1].rstrip(b"\r\n") + line + b"\n"
            return
        self.records.append(line + (b"\r\n" if random.random() < 0.05 else b"\n"))

    def fails(self, text: str) -> str:
        """A text with a failure line of its own somewhere in it, to be looked for in the next record's result."""
        self.count += 1
        line = f"{self.random.choice(FAILURES)} @{self.count}x"
        lines = text.split("\n")
        lines.insert(self.random.randint(0, len(lines)), line)
        self.failures.append((len(self.records) + 1, line))
        return "\n".join(lines)


def text(session: Session) -> str:
    """A text as tools write it; often one that was there before."""
    random = session.random
    if session.texts and random.random() < 0.2:
        return random.choice(session.texts)
    session.count += 1
    seed = session.count
    kind = random.randrange(14)
    rows = random.choice([3, 20, 70, 160])
    log = [f"step {seed}.{n}: took the {n * 7919 % 1009}th crate to shelf {n * 31 % 97}" for n in range(rows)]
    made = {
        0: "\n".join(log),
        1: "\n".join(log) + "\n",
        2: "\n" + "\n".join(["the same line again"] * rows) + "\n\n",
        3: json.dumps([{"id": n, "name": f"crate {n}", "full": n % 2 == 0} for n in range(rows)]),
        4: "\n".join(f"     {n}→    value_{seed}_{n} = {n}" for n in range(1, rows)),
        5: "\r\n".join(log),
        6: "äöü € 𝄞 \u2028 \x00 " * rows,
        7: "half \ud83d a pair " * rows if random.random() < 0.3 else "ok",
        8: "On branch main\n\nChanges not staged for commit:\n"
        + "\n".join(f"\tmodified:   a{n}.py" for n in range(rows)),
        9: f"diff --git a/x{seed} b/x{seed}\n--- a/x{seed}\n+++ b/x{seed}\n@@ -1 +1,{rows} @@\n"
        + "\n".join(f"+line {n}" for n in range(rows)),
        10: "<html><body>" + "".join(f"<p class='x'>par {n}</p>" for n in range(rows)) + "</body></html>",
        11: "before\n[copy, 600 bytes: compactd recall 0123456789abcdef]\n" + "\n".join(log),
        12: "\n".join([*log[:20], "a line (×3)", "… [12 lines elided] …", *log[20:]]),
        13: "x" * (1990 + rows) + "…[+100 chars]",
    }[kind]
    session.texts.append(made)
    return made


def log_text(session: Session) -> str:
    """A plain log, with a failure in it half of the time."""
    session.count += 1
    made = "\n".join(
        f"load {session.count}.{n} took {n * 13 % 71} crates" for n in range(session.random.randint(1, 150))
    )
    return session.fails(made) if session.random.random() < 0.5 else made


# Claude Code


def claude_call(session: Session, name: str, tool_input: Value) -> str:
    call_id = session.new_id()
    session.add(_envelope(session, "assistant", [{"type": "text", "text": "I look."}, _use(call_id, name, tool_input)]))
    return call_id


def claude_result(session: Session, call_id: str, content: Value, mirror: Value, *, is_error: bool = False) -> None:
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
    if is_error:
        block["is_error"] = True
    record = _envelope(session, "user", [block])
    if mirror is not None:
        record["toolUseResult"] = mirror
    session.add(record)


def _use(call_id: str, name: str, tool_input: Value) -> Value:
    return {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}


def _envelope(session: Session, kind: str, content: Value) -> dict[str, Value]:
    session.count += 1
    return {
        "parentUuid": f"u{session.count - 1}",
        "sessionId": "s1",
        "type": kind,
        "message": {"role": kind, "content": content, "usage": {"input_tokens": 3, "cost": 0.000005}},
        "uuid": f"u{session.count}",
        "timestamp": "2026-01-05T08:00:00.000Z",
    }


def bash(session: Session) -> None:
    call_id = claude_call(session, "Bash", {"command": session.random.choice(["make", "git status", "cat notes.log"])})
    if session.random.random() < 0.4:
        output = log_text(session)
    else:
        output = text(session)
    bent = session.random.choice([output, output, output + "\n", "\n" + output, output[:-1], ""])
    claude_result(session, call_id, output, {"stdout": bent, "stderr": output[-600:], "isImage": False})


def failed_bash(session: Session) -> None:
    call_id = claude_call(session, "Bash", {"command": "make check", "description": text(session)})
    output = "Exit code 2\n" + log_text(session)
    claude_result(session, call_id, output, "Error: " + output, is_error=True)


def read(session: Session) -> None:
    path = session.random.choice(["/srv/a.py", "/srv/run.log", "/srv/b.md"])
    body = session.files.get(path, "") or text(session)
    session.files[path] = body
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(body.split("\n"), 1))
    numbered += session.random.choice(["", "\n\n<system-reminder>\nlook out\n</system-reminder>\n"])
    call_id = claude_call(session, "Read", {"file_path": path})
    claude_result(session, call_id, numbered, {"type": "text", "file": {"filePath": path, "content": body}})


def write(session: Session) -> None:
    path, body = f"/srv/made{session.random.randrange(3)}.py", text(session)
    call_id = claude_call(session, "Write", {"file_path": path, "content": body})
    before = session.files.get(path) or session.random.choice([None, text(session)])
    mirror: Value = {"type": "update", "filePath": path, "content": body, "structuredPatch": [], "originalFile": before}
    session.files[path] = body
    claude_result(session, call_id, f"The file {path} has been updated.", mirror)


def edit(session: Session) -> None:
    path = session.random.choice(["/srv/a.py", "/srv/made1.py"])
    before = session.files.get(path) or text(session)
    old = before[10 : session.random.choice([60, 900])] or "x"
    new = text(session)
    call_id = claude_call(session, "Edit", {"file_path": path, "old_string": old, "new_string": new})
    session.files[path] = before.replace(old, new, 1)
    hunk = {"oldStart": 1, "lines": ["-" + line for line in old.split("\n")] + ["+" + x for x in new.split("\n")]}
    mirror = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": [hunk],
        "userModified": False,
        "replaceAll": False,
    }
    claude_result(session, call_id, "done", mirror)


def search(session: Session) -> None:
    names = [f"/srv/shed/part{n}.py" for n in range(session.random.choice([2, 40]))]
    call_id = claude_call(session, "Glob", {"pattern": "**/*.py"})
    head = session.random.choice(["", f"Found {len(names)} files\n"])
    claude_result(session, call_id, head + "\n".join(names), {"filenames": names, "numFiles": len(names)})


def blocks(session: Session) -> None:
    call_id = claude_call(session, "mcp__shed__list", {"query": "doors", "deep": {"list": [text(session), 1.0]}})
    content = [{"type": "text", "text": text(session)}, {"type": "text", "text": ""}, {"type": "tool_reference"}]
    claude_result(session, call_id, content, session.random.choice([content, None]))


def image(session: Session) -> None:
    data = "iVBORw0KGgo" + "A" * session.random.choice([90, 4000]) + "=="
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    call_id = claude_call(session, "Read", {"file_path": "/srv/door.png"})
    mirror = {"type": "image", "file": {"base64": data, "type": "image/png", "originalSize": 9}}
    claude_result(
        session, call_id, [block, {"type": "text", "text": "a door"}], session.random.choice([mirror, [block]])
    )


def todos(session: Session) -> None:
    items = [{"content": f"paint door {n}", "status": "pending", "activeForm": "painting"} for n in range(12)]
    call_id = claude_call(session, "TodoWrite", {"todos": items})
    claude_result(session, call_id, "Todos have been modified", {"oldTodos": [], "newTodos": items})


def task(session: Session) -> None:
    random = session.random
    prompt, report = text(session), text(session)
    call_id = claude_call(session, "Task", {"prompt": prompt, "description": "look"})
    history: list[Value] = []
    for _ in range(random.randrange(4)):
        inner = session.new_id()
        history.append(
            _envelope(session, "assistant", [_use(inner, "Write", {"file_path": "a", "content": text(session)})])
        )
        answer = {"tool_use_id": inner, "type": "tool_result", "content": text(session)}
        history.append(_envelope(session, "user", [answer, {"type": "text", "text": text(session)}]))
        data = {"type": "agent_progress", "prompt": prompt, "message": history[-1]}
        data["normalizedMessages"] = list(history) if random.random() < 0.7 else []
        _progress(session, call_id, data)
    mirror = {"status": "completed", "prompt": prompt, "agentId": "a1", "content": [{"type": "text", "text": report}]}
    claude_result(session, call_id, [{"type": "text", "text": report}], mirror)


def long_command(session: Session) -> None:
    call_id = claude_call(session, "Bash", {"command": "cat > a.py <<'END'\n" + text(session) + "\nEND\nmake"})
    output = text(session)
    for part in range(1, 4):
        full = output[: len(output) * part // 3]
        _progress(session, call_id, {"type": "bash_progress", "output": full[-300:], "fullOutput": full})
    claude_result(session, call_id, output, {"stdout": output, "stderr": ""})


def _progress(session: Session, call_id: str, data: Value) -> None:
    record = _envelope(session, "progress", [])
    del record["message"]
    session.add({**record, "data": data, "toolUseID": "p0", "parentToolUseID": call_id})


def prose(session: Session) -> None:
    body = text(session)
    said = '[[tool]] bash (c1)\n```json\n{"command": "make"}\n```\n'
    said += f"\n[[tool-result]] bash (c1)\n```text\n{body}\n```\n"
    session.add(_envelope(session, "assistant", [{"type": "text", "text": "See:\n\n" + said}]))
    session.add(_envelope(session, "user", session.random.choice(["thanks", said])))


def attachment(session: Session) -> None:
    body = text(session)
    record = _envelope(session, "attachment", [])
    del record["message"]
    names = [f"mcp__shed__tool_number_{n}" for n in range(30)]
    record["attachment"] = session.random.choice(
        [
            {"type": "hook_success", "command": "lint", "stdout": body, "content": body},
            {
                "type": "file",
                "filename": "/srv/a.py",
                "content": {"type": "text", "file": {"filePath": "a", "content": body}},
            },
            {"type": "deferred_tools_delta", "addedLines": names, "addedNames": names},
        ]
    )
    session.add({**record, "planContent": body})


def other(session: Session) -> None:
    line = session.random.choice([b"\n", b"not json\n", b"[1]\n", b'{"type":"summary","leafUuid":"u1"}\n', b"\xff\n"])
    session.records.append(line)


CLAUDE_TURNS: tuple[Callable[[Session], None], ...] = (
    *(bash, failed_bash, read, write, edit, search, blocks, image, todos, task, long_command, prose, attachment, other),
)


# OpenViking


def _message(session: Session, role: str, parts: Value) -> None:
    session.count += 1
    session.add({"id": f"m{session.count}", "role": role, "parts": parts, "created_at": "2026-01-05T08:00:00.000Z"})


def _tool(call_id: str, name: str, status: str, more: Value) -> Value:
    return {"type": "tool", "tool_id": call_id, "tool_name": name, "tool_uri": "", "tool_status": status, **more}


def one_part(session: Session) -> None:
    tool_input = session.random.choice([{"command": "make"}, {"file_path": "/srv/a.py", "content": text(session)}])
    name = "bash" if "command" in tool_input else "write"
    output = log_text(session) if name == "bash" else text(session)
    part = _tool(session.new_id(), name, "completed", {"tool_input": tool_input, "tool_output": output})
    _message(session, "assistant", [{"type": "text", "text": "I look."}, part])


def two_parts(session: Session) -> None:
    call_id = session.new_id()
    tool_input = {"command": "make check"}
    _message(session, "assistant", [_tool(call_id, "bash", "running", {"tool_input": tool_input})])
    _message(session, "user", [_tool(call_id, "bash", "error", {"tool_output": log_text(session), "duration_ms": 5.0})])


def stub(session: Session) -> None:
    output = "[OpenViking tool result externalized]\n" + text(session)
    more = {"tool_output": output, "tool_output_truncated": True, "tool_output_sha256": "0a"}
    _message(session, "assistant", [_tool(session.new_id(), "bash", "completed", more)])


def inlined(session: Session) -> None:
    called = json.dumps({"file_path": "/srv/a.py", "content": text(session)}, indent=2, ensure_ascii=False)
    said = session.random.choice(
        [f"[tool: write]\n{called}", '[tool: bash]\n{\n  "command": "make"\n}', "[tool: bash]\nls"]
    )
    _message(session, "assistant", [{"type": "text", "text": "I look.\n\n" + said}])
    _message(session, "user", [{"type": "text", "text": "[tool result]\n" + text(session)}])


def context(session: Session) -> None:
    parts = [{"type": "context", "uri": "viking://user", "abstract": text(session)}, {"type": "odd"}, 7]
    _message(session, "assistant", parts)
    session.add({"id": "old", "role": "user", "content": "[tool: bash]\nls\n\n[tool result]\n" + text(session)})


OPENVIKING_TURNS: tuple[Callable[[Session], None], ...] = (one_part, two_parts, stub, inlined, context, other)


def _built(turns: tuple[Callable[[Session], None], ...], choices: list[int], seed: int) -> Session:
    session = Session(Random(seed))
    for choice in choices:
        turns[choice](session)
    return session


def claude_sessions(turns: int = 12) -> st.SearchStrategy[Session]:
    """Claude Code sessions of a few turns."""
    numbers = st.lists(st.integers(0, len(CLAUDE_TURNS) - 1), min_size=4, max_size=turns)
    return st.builds(lambda choices, seed: _built(CLAUDE_TURNS, choices, seed), numbers, st.integers(0, 2**32))


def openviking_sessions(turns: int = 12) -> st.SearchStrategy[Session]:
    """OpenViking sessions of a few turns."""
    numbers = st.lists(st.integers(0, len(OPENVIKING_TURNS) - 1), min_size=4, max_size=turns)
    return st.builds(lambda choices, seed: _built(OPENVIKING_TURNS, choices, seed), numbers, st.integers(0, 2**32))
