"""Makes large session files for benchmarks; the same variant, size and seed give the same bytes everywhere.

    python tests/benchmarks/generate.py VARIANT MB TARGET [--seed N] [--sessions N]

`mixed`: 79 % of the bytes are inputs of Write and Edit. `results`: half is text of results, the other half the copies
of it in `toolUseResult`. `nonascii`: the same with words of many scripts. `bloat`: `mixed` with progress records of
3 MB that nest whole messages, which are most of the bytes. `typical`: files read, edited and kept once more before
each edit, growing progress, images, subagents, in shares as real sessions have them. `openviking`: messages of parts.
The hostile variants are in `hostile.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import tool_outputs
from wordstock import Stock

MB = 1_000_000
BUFFER_BYTES = 1 << 20
BLOAT_BYTES = 3_000_000
BLOAT_SHARE = 0.0085
MAX_SKEW = 3.0

Record = dict[str, Any]


class ClaudeCode:
    """Records of one session, turn by turn."""

    def __init__(self, stock: Stock) -> None:
        self.stock = stock
        self.session = stock.uuid()
        self._parent: str | None = None
        self._count = 0

    def mixed(self) -> Iterator[Record]:
        """A turn of a session that writes much: inputs are the bulk."""
        stock = self.stock
        draw, path = stock.chance.random(), stock.path()
        if draw < 0.42:
            body = stock.code(stock.chars(11_400))
            yield from self._turn(
                "Write", {"file_path": path, "content": body}, f"File created successfully at: {path}"
            )
        elif draw < 0.77:
            size = stock.chars(2_500)
            edit = {"file_path": path, "old_string": stock.code(size * 2 // 5), "new_string": stock.code(size * 3 // 5)}
            shown = tool_outputs.numbered(stock, stock.code(150))
            yield from self._turn("Edit", {**edit, "replace_all": False}, f"The file {path} has been updated.\n{shown}")
        elif draw < 0.86:
            yield from self._turn("Bash", self._command("pytest -q"), tool_outputs.small_output(stock))
        elif draw < 0.90:
            body = tool_outputs.numbered(stock, stock.code(stock.chars(1_800)))
            yield from self._turn("Read", {"file_path": path}, body)
        elif draw < 0.92:
            yield from self._turn("Grep", {"pattern": stock.word()}, tool_outputs.matches(stock, 1 + stock.number(15)))
        else:
            yield self._said(draw < 0.97)

    def results(self) -> Iterator[Record]:
        """A turn of a session that looks at much: results and their copies are the bulk."""
        stock = self.stock
        draw, path = stock.chance.random(), stock.path()
        if draw < 0.12:
            yield from self._shell("npx vitest run", tool_outputs.vitest_run(stock, 20 + stock.number(600)))
        elif draw < 0.22:
            yield from self._shell("pytest -v", tool_outputs.pytest_run(stock, 20 + stock.number(500)))
        elif draw < 0.32:
            yield from self._shell("git status", tool_outputs.git_status(stock, 3 + stock.number(80)))
        elif draw < 0.52:
            yield from self._read(path, stock.code(stock.chars(9_000)))
        elif draw < 0.58:
            shown = tool_outputs.page(stock, 5 + stock.number(110))
            url = stock.url()
            mirror: Record = {"bytes": len(shown.encode()), "code": 200, "result": shown, "url": url}
            yield from self._turn("WebFetch", {"url": url, "prompt": "Sum it up."}, shown, mirror)
        elif draw < 0.72:
            yield from self._shell("make all 2>&1", tool_outputs.build_log(stock, 50 + stock.number(1_950)))
        elif draw < 0.80:
            yield from self._turn("Grep", {"pattern": stock.word()}, tool_outputs.matches(stock, 1 + stock.number(120)))
        elif draw < 0.84:
            yield from self.mixed()
        else:
            yield self._said(draw < 0.95)

    def bloat(self) -> Iterator[Record]:
        """A turn of `mixed`, or a progress record with everything that a subagent said so far."""
        if self.stock.chance.random() > BLOAT_SHARE:
            yield from self.mixed()
            return
        nested: list[Record] = []
        size = 0
        while size < BLOAT_BYTES:
            for record in self.mixed():
                nested.append(record)
                size += len(_line(record))
        yield self._progress({"type": "agent_progress", "agentId": self.stock.hexes(8), "normalizedMessages": nested})

    def typical(self) -> Iterator[Record]:
        """A turn with the hidden copies of real sessions: files before each edit, growing progress, images."""
        stock = self.stock
        draw, path = stock.chance.random(), stock.path()
        if draw < 0.18:
            body = stock.code(stock.chars(6_000))
            yield from self._read(path, body)
            for _ in range(stock.number(4)):
                body = yield from self._edit(path, body)
        elif draw < 0.20:
            body = stock.code(stock.chars(5_000))
            mirror: Record = {
                "type": "create",
                "filePath": path,
                "content": body,
                "structuredPatch": [],
                "originalFile": None,
            }
            done = f"File created successfully at: {path}"
            yield from self._turn("Write", {"file_path": path, "content": body}, done, mirror)
        elif draw < 0.48:
            yield from self._shell("make check", tool_outputs.small_output(stock), grows=draw < 0.30)
        elif draw < 0.52:
            yield from self._shell("pytest -v", tool_outputs.pytest_run(stock, 20 + stock.number(200)))
        elif draw < 0.56:
            text = tool_outputs.matches(stock, 1 + stock.number(60))
            mirror = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": text.count("\n")}
            yield from self._turn("Grep", {"pattern": stock.word()}, text, mirror)
        elif draw < 0.59:
            yield from self._agent()
        elif draw < 0.594:
            yield self._image()
        else:
            yield self._said(draw < 0.92)

    def _turn(self, tool: str, tool_input: Record, text: str, mirror: Record | None = None) -> Iterator[Record]:
        """A call and its result."""
        call_id = self.stock.tag("toolu_01")
        yield self._called(call_id, tool, tool_input)
        yield self._answered(call_id, text, mirror)

    def _shell(self, command: str, text: str, *, grows: bool = False) -> Iterator[Record]:
        call_id = self.stock.tag("toolu_01")
        yield self._called(call_id, "Bash", self._command(command))
        for part in range(1, 4 if grows else 1):
            shown = text[: len(text) * part // 4]
            data = {"type": "bash_progress", "output": shown[-200:], "fullOutput": shown, "elapsedTimeSeconds": part}
            yield {**self._progress(data), "parentToolUseID": call_id}
        mirror = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        yield self._answered(call_id, text, mirror)

    def _read(self, path: str, body: str) -> Iterator[Record]:
        count = body.count("\n") + 1
        file = {"filePath": path, "content": body, "numLines": count, "startLine": 1, "totalLines": count}
        shown = tool_outputs.numbered(self.stock, body)
        return self._turn("Read", {"file_path": path}, shown, {"type": "text", "file": file})

    def _edit(self, path: str, body: str) -> Generator[Record, None, str]:
        """Replace a piece of a file; returns the file as it is then."""
        stock = self.stock
        start = stock.number(max(1, len(body) - 400))
        old, new = body[start : start + 60 + stock.number(340)], stock.code(60 + stock.number(500))
        patch = {"oldStart": 1, "lines": [f"-{line}" for line in old.split("\n")] + [f"+{new}"]}
        change = {"filePath": path, "oldString": old, "newString": new, "replaceAll": False}
        mirror = {**change, "originalFile": body, "structuredPatch": [patch], "userModified": False}
        done = f"The file {path} has been updated."
        yield from self._turn("Edit", {"file_path": path, "old_string": old, "new_string": new}, done, mirror)
        return body[:start] + new + body[start + len(old) :]

    def _agent(self) -> Iterator[Record]:
        """A subagent: the task, its messages as progress, its report."""
        stock = self.stock
        call_id, prompt, report = stock.tag("toolu_01"), stock.prose(1_200), stock.prose(1_500)
        yield self._called(call_id, "Task", {"description": stock.prose(30), "prompt": prompt})
        for _ in range(3):
            for message in self.mixed():
                data = {"type": "agent_progress", "agentId": "a1", "prompt": prompt, "message": message}
                yield {**self._progress({**data, "normalizedMessages": []}), "parentToolUseID": call_id}
        content = [{"type": "text", "text": report}]
        yield self._answered(call_id, report, {"status": "completed", "prompt": prompt, "content": content})

    def _image(self) -> Record:
        pixels = self.stock.chance.getrandbits(8 * 60_000).to_bytes(60_000, "big").hex()
        source = {"type": "base64", "media_type": "image/png", "data": pixels}
        return self._record("user", {"role": "user", "content": [{"type": "image", "source": source}]})

    def _said(self, by_model: bool) -> Record:
        text = self.stock.prose(self.stock.chars(330))
        if by_model:
            return self._assistant({"type": "text", "text": text})
        return self._record("user", {"role": "user", "content": text})

    def _command(self, command: str) -> Record:
        return {"command": f"cd /opt/harbourmaster && {command}", "description": self.stock.prose(40)}

    def _called(self, call_id: str, tool: str, tool_input: Record) -> Record:
        return self._assistant({"type": "tool_use", "id": call_id, "name": tool, "input": tool_input})

    def _answered(self, call_id: str, text: str, mirror: Record | None) -> Record:
        content: Any = text if self.stock.chance.random() < 0.7 else [{"type": "text", "text": text}]
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content, "is_error": False}
        record = self._record("user", {"role": "user", "content": [block]})
        return {**record, "toolUseResult": mirror} if mirror else record

    def _assistant(self, block: Record) -> Record:
        stock = self.stock
        usage = {"input_tokens": stock.number(9), "cache_read_input_tokens": stock.number(99_999)}
        usage |= {"cache_creation_input_tokens": stock.number(9_999), "output_tokens": stock.number(2_000)}
        message: Record = {"model": "model-4", "id": stock.tag("msg_01"), "type": "message", "role": "assistant"}
        message |= {"content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return {**self._record("assistant", message), "requestId": stock.tag("req_01")}

    def _progress(self, data: Record) -> Record:
        return {**self._record("progress", None), "data": data, "toolUseID": self.stock.tag("progress-")}

    def _record(self, kind: str, message: Record | None) -> Record:
        self._count += 1
        minute = self._count // 4
        record: Record = {"parentUuid": self._parent, "isSidechain": False, "userType": "external"}
        record |= {"cwd": "/opt/harbourmaster", "sessionId": self.session, "version": "2.1.9", "gitBranch": "main"}
        record |= {"type": kind, "message": message, "uuid": self.stock.uuid()}
        day, hour = 1 + minute // 1440 % 28, minute // 60 % 24
        record["timestamp"] = f"2026-01-{day:02}T{hour:02}:{minute % 60:02}:{self._count * 7 % 60:02}.250Z"
        if message is None:
            del record["message"]
        self._parent = record["uuid"]
        return record


class OpenViking:
    """Messages of one OpenViking session: tool parts with and without their results, and inlined calls."""

    def __init__(self, stock: Stock) -> None:
        self.stock = stock
        self._count = 0

    def messages(self) -> Iterator[Record]:
        """A turn."""
        stock = self.stock
        draw, call_id, path = stock.chance.random(), stock.tag("call_"), stock.path()
        if draw < 0.3:
            body = stock.code(stock.chars(6_000))
            made = f"File created successfully at: {path}"
            yield self._message("assistant", self._tool(call_id, "write", {"file_path": path, "content": body}, made))
        elif draw < 0.6:
            text = tool_outputs.small_output(stock)
            yield self._message("assistant", self._tool(call_id, "bash", {"command": "make check"}, None))
            yield self._message("user", self._tool(call_id, "bash", None, text))
        elif draw < 0.75:
            shown = tool_outputs.numbered(stock, stock.code(stock.chars(4_000)))
            yield self._message("assistant", self._tool(call_id, "read", {"file_path": path}, shown))
        elif draw < 0.85:
            inlined = json.dumps({"file_path": path, "content": stock.code(1_500)}, indent=2)
            yield self._message("assistant", {"type": "text", "text": f"I go on.\n\n[tool: write]\n{inlined}"})
        else:
            yield self._message("user", {"type": "text", "text": stock.prose(stock.chars(400))})

    def _tool(self, call_id: str, name: str, tool_input: Record | None, output: str | None) -> Record:
        part: Record = {"type": "tool", "tool_id": call_id, "tool_name": name, "tool_uri": "", "skill_uri": ""}
        part["tool_status"] = "running" if output is None else "completed"
        if tool_input:
            part["tool_input"] = tool_input
        if output:
            part["tool_output"] = output
        return part

    def _message(self, role: str, part: Record) -> Record:
        self._count += 1
        created = f"2026-01-{1 + self._count // 5000 % 28:02}T08:00:00.000Z"
        return {"id": f"msg_{self._count}", "role": role, "parts": [part], "created_at": created}


def _turns(variant: str, seed: int) -> Callable[[], Iterator[Record]]:
    """What makes the next records of a session.

    Raises:
        ValueError: there is no such variant.
    """
    if variant == "openviking":
        return OpenViking(Stock(seed)).messages
    session = ClaudeCode(Stock(seed, nonascii=variant == "nonascii"))
    turns = {
        "mixed": session.mixed,
        "results": session.results,
        "nonascii": session.results,
        "bloat": session.bloat,
        "typical": session.typical,
    }
    if variant not in turns:
        raise ValueError(f"variant: need one of {', '.join(VARIANTS)}, got {variant!r}")
    return turns[variant]


VARIANTS = ("mixed", "results", "nonascii", "bloat", "typical", "openviking")


def lines(variant: str, seed: int = 1) -> Iterator[bytes]:
    """The records of a session without end, each with its line end."""
    turn = _turns(variant, seed)
    line = _spaced_line if variant == "openviking" else _line
    while True:
        for record in turn():
            yield line(record)


def write_session(path: str, variant: str, size: int, seed: int = 1) -> int:
    """Write whole records until the file has `size` bytes or more; the bytes written."""
    written = 0
    with open(path, "wb", buffering=BUFFER_BYTES) as file:
        for line in lines(variant, seed):
            if written >= size:
                break
            written += file.write(line)
    return written


def write_sessions(folder: str, variant: str, size: int, count: int, seed: int = 1) -> int:
    """Write `count` sessions of unequal sizes below a folder, about `size` bytes together; the bytes written."""
    chance = Stock(seed).chance
    weights = [chance.uniform(1.0, MAX_SKEW) for _ in range(count)]
    written = 0
    for number, weight in enumerate(weights):
        path = os.path.join(folder, f"project{number % 7}", f"session{number:05}.jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        written += write_session(path, variant, int(size * weight / sum(weights)), seed * 100_003 + number)
    return written


def _line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _spaced_line(record: Record) -> bytes:
    # As OpenViking writes: Python's default separators, no escapes for other scripts.
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def main(argv: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="generate.py", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("mb", type=float, help="millions of bytes, at least")
    parser.add_argument("target", help="the file to write; with --sessions a folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=0, help="write so many files")
    arguments = parser.parse_args(argv)
    size = int(arguments.mb * MB)
    if arguments.sessions:
        write_sessions(arguments.target, arguments.variant, size, arguments.sessions, arguments.seed)
    else:
        write_session(arguments.target, arguments.variant, size, arguments.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
