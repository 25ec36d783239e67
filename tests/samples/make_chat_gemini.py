"""Writes a chat session and two Gemini sessions below a folder; every run gives the same bytes.

The tide calculator of `make_samples.py` once more, with every place where the formats keep inputs, results and copies:
arguments as strings and as objects, parallel and growing conversations, the older function calls on one side; changed
files, matches, terminal lines, images, results that stand apart and rewritten messages on the other.
`python tests/samples/make_chat_gemini.py FOLDER`.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from typing import Any

from make_samples import (
    PROJECT,
    Json,
    hexes,
    install_text,
    listing_text,
    log_text,
    module_text,
    page_text,
    pytest_text,
    status_text,
    uuid,
)

RUN = "python -m pytest -v tests/test_heights.py"
FAILURE = [("test_springs[Newlyn]", "assert height == 5.62", "AssertionError: assert 5.26 == 5.62")]
RULES = "\n".join(f"- Rule {number}: no term without its source, no height without its datum." for number in range(20))


def main(folder: str) -> None:
    """Write the sessions into a folder."""
    os.makedirs(folder, exist_ok=True)
    for name, data in sessions(random.Random(20260107)).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def sessions(chance: random.Random) -> dict[str, bytes]:
    """Name -> bytes of each session."""
    chat = Chat(chance)
    tell_chat(chat, chance)
    document = Gemini(chance)
    tell_gemini(document, chance)
    lines = Gemini(chance)
    tell_gemini(lines, chance)
    return {
        "chat.jsonl": b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in chat.records),
        # Pretty-printed and without a last line end, as the program writes it.
        "gemini.json": json.dumps(document.document(), ensure_ascii=False, indent=2).encode(),
        "gemini-lines.jsonl": b"".join(packed(record).encode() + b"\n" for record in lines.lines()),
    }


def packed(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def image(chance: random.Random) -> str:
    """Base64 of something that may be an image."""
    return base64.b64encode(chance.randbytes(900)).decode()


# --- chat ------------------------------------------------------------------------------------------------------------


class Chat:
    """Builds the records of a chat session."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.records: list[Json] = []

    def say(self, role: str, content: object) -> Json:
        """A message without calls."""
        message: Json = {"role": role, "content": content}
        self.records.append(message)
        return message

    def call(self, *calls: Json) -> Json:
        """A message with calls alone."""
        message: Json = {"role": "assistant", "content": None, "tool_calls": list(calls)}
        self.records.append(message)
        return message

    def result(self, call: Json, content: object, **more: object) -> Json:
        """The result of a call."""
        message: Json = {"role": "tool", "tool_call_id": call["id"], "content": content, **more}
        self.records.append(message)
        return message

    def function(self, name: str, values: Json, *, spaced: bool = False, call_id: str = "") -> Json:
        """A call as services give it: the arguments are a string, in whatever spacing the model chose."""
        arguments = json.dumps(values) if spaced else packed(values)
        own = {"arguments": arguments, "name": name}
        return {"function": own, "id": call_id or f"call_{hexes(self._chance, 24)}", "type": "function"}


def tell_chat(chat: Chat, chance: random.Random) -> None:
    """The story of the chat session."""
    system = {"role": "system", "content": f"You keep tide tables.\n{RULES}"}
    chat.records.append(system)
    url = f"data:image/png;base64,{image(chance)}"
    look = [{"type": "text", "text": "Make the heights right."}, {"type": "image_url", "image_url": {"url": url}}]
    chat.say("user", look)
    run = chat.function("bash", {"command": RUN}, spaced=True)
    chat.call(run)
    chat.result(run, "Exit code: 1\n" + pytest_text(chance, 120, FAILURE), name="bash")

    write = chat.function("write", {"path": f"{PROJECT}/tidecalc/speeds.py", "content": module_text(chance, "s", 14)})
    status = chat.function("bash", {"command": "git status"})
    chat.call(write, status)
    chat.result(status, status_text(chance, 40), name="bash")
    chat.result(write, f"Successfully wrote {PROJECT}/tidecalc/speeds.py", name="write")

    # The id of the first call once more, for another one.
    install = chat.function("bash", {"command": "pip install -e '.[grid]'"}, call_id=run["id"])
    chat.call(install)
    chat.result(install, install_text(chance, 30))
    fetch: Json = {"id": "call_fetch", "name": "web_fetch", "arguments": {"url": "https://tides.example.org/today"}}
    chat.call(fetch)
    chat.result(fetch, page_text(chance, 40))
    patch: Json = {"id": "call_patch", "type": "custom", "custom": {"name": "apply_patch", "input": patch_text(chance)}}
    chat.call(patch)
    chat.result(patch, "Done!")

    arguments = json.dumps({"command": "journalctl -u tidecalc --no-pager"})
    chat.records.append({"role": "assistant", "function_call": {"name": "bash", "arguments": arguments}})
    chat.records.append({"role": "function", "name": "bash", "content": log_text(chance, 120)})
    torn = '{"command": "cat ' + listing_text(chance, 40)
    chat.records.append({"role": "assistant", "function_call": {"name": "bash", "arguments": torn}})
    block = f"[[tool-result]] bash (call_a)\n```text\n{status_text(chance, 30)}\n```"
    chat.say("assistant", f"I looked before.\n\n{block}")

    # One conversation a line, each the one before and more.
    ask = {"role": "user", "content": f"And now the gauges, in the order of these rules:\n{RULES}"}
    one, two = chat.function("bash", {"command": "python gauges.py"}), chat.function("grep", {"pattern": "datum"})
    shot = {"type": "image_url", "image_url": {"url": url}}
    story: list[Json] = [system, ask, {"role": "assistant", "content": None, "tool_calls": [one]}]
    story.append({"role": "tool", "tool_call_id": one["id"], "content": log_text(chance, 90)})
    chat.records.append({"messages": list(story), "created_at": "2026-01-07T08:00:00Z"})
    story.append({"role": "assistant", "content": "The datum is missing.", "tool_calls": [two]})
    found = [{"type": "text", "text": listing_text(chance, 30)}, shot]
    story.append({"role": "tool", "tool_call_id": two["id"], "content": found})
    chat.records.append({"messages": list(story), "created_at": "2026-01-07T08:01:00Z"})
    story.append({"role": "assistant", "content": "All gauges have a datum now. 潮汐表已更新。"})
    chat.records.append({"messages": list(story), "created_at": "2026-01-07T08:02:00Z"})


def patch_text(chance: random.Random) -> str:
    """A patch as plain text."""
    added = "".join(f"+{line}\n" for line in module_text(chance, "terms", 8).splitlines())
    return f"*** Begin Patch\n*** Add File: tidecalc/terms.py\n{added}*** End Patch"


# --- Gemini ----------------------------------------------------------------------------------------------------------


class Gemini:
    """Builds the messages of a Gemini session."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._seconds = 0
        self.header: Json = {
            "sessionId": uuid(chance),
            "projectHash": hexes(chance, 64),
            "startTime": "2026-01-07T08:00:00.000Z",
            "lastUpdated": "2026-01-07T08:40:00.000Z",
        }
        self.messages: list[Json] = []

    def document(self) -> Json:
        """The session as one object."""
        return {**self.header, "messages": self.messages}

    def lines(self) -> list[Json]:
        """The session as it grew: each message without results first, then with them; then what changed later."""
        lines: list[Json] = [{**self.header, "kind": "main"}]
        for message in self.messages:
            lines.append({key: value for key, value in message.items() if key != "toolCalls"})
            if "toolCalls" in message:
                lines.append(message)
            lines.append({"$set": {"lastUpdated": message["timestamp"]}})
        last = self.messages[-1]
        lines.append({"$rewindTo": last["id"]})
        lines.append({"$set": {"messages": self.messages[:-1], "lastUpdated": last["timestamp"]}})
        lines.append({"$set": {"messages": self.messages[:-1], "lastUpdated": last["timestamp"]}})
        owner = next(message for message in self.messages if "toolCalls" in message)
        call_id = owner["toolCalls"][0]["id"]
        masked = response(call_id, owner["toolCalls"][0]["name"], {"output": log_text(self._chance, 60)})
        change = {"id": owner["id"], "toolCalls": [{"id": call_id, "result": [masked]}]}
        lines.append({"$patch": {"updates": [change], "removeIds": [], "orderIds": [owner["id"]]}})
        return lines

    def add(self, kind: str, content: object, **more: object) -> None:
        """A message."""
        self._seconds += 7
        stamp = f"2026-01-07T08:{self._seconds // 60 % 60:02}:{self._seconds % 60:02}.000Z"
        message: Json = {"id": uuid(self._chance), "timestamp": stamp, "type": kind, "content": content}
        self.messages.append(message | more)

    def use(self, name: str, args: Json, output: str, display: object, **more: Any) -> str:
        """A message with one call and its result; gives the call's id."""
        call_id = f"{name}-{self._chance.randrange(10**12)}-{hexes(self._chance, 12)}"
        failed = more.get("status", "success") != "success"
        result = [response(call_id, name, {"error" if failed else "output": output})]
        record: Json = {"id": call_id, "name": name, "args": args, "result": result, "status": "success"}
        record |= {"displayName": name, "description": f"Uses {name}", "resultDisplay": display} | more
        thoughts = [{"subject": "Heights", "description": "The datum may be missing. " * 8, "timestamp": "t"}]
        tokens = {"input": self._chance.randrange(9, 900), "output": 7, "cached": 0, "total": 100.0}
        self.add("gemini", "", thoughts=thoughts, tokens=tokens, model="sample-1", toolCalls=[record])
        return call_id


def response(call_id: str, name: str, body: Json) -> Json:
    """A part with a result."""
    return {"functionResponse": {"id": call_id, "name": name, "response": body}}


def tell_gemini(gemini: Gemini, chance: random.Random) -> None:
    """The story of a Gemini session."""
    shot = {"inlineData": {"mimeType": "image/png", "data": image(chance)}}
    gemini.add("user", [{"text": f"Make the heights right.\n{RULES}"}, shot])
    gemini.add("info", "Update available.")
    path = f"{PROJECT}/tidecalc/terms.py"
    source = module_text(chance, "terms", 20)
    gemini.use("read_file", {"absolute_path": path}, source, "")

    new = source.replace("math.radians", "math.fmod", 2)
    changed: Json = {"fileDiff": diff_text(source), "fileName": "terms.py", "filePath": path}
    changed |= {"originalContent": source, "newContent": new, "diffStat": {"model_added_lines": 2}}
    old = source[source.index("def ") : source.index("def ") + 1200]
    values = {"file_path": path, "old_string": old, "new_string": old.replace("math.radians", "math.fmod", 2)}
    gemini.use("replace", values, f"Successfully modified file: {path}", changed)
    table = module_text(chance, "speeds", 14)
    written = {"fileDiff": diff_text(table), "fileName": "speeds.py", "originalContent": "", "newContent": table}
    gemini.use("write_file", {"file_path": f"{PROJECT}/speeds.py", "content": table}, "Successfully wrote.", written)

    run = pytest_text(chance, 100, FAILURE)
    told = f"Command: {RUN}\nDirectory: (root)\nOutput: {run}\nError: (none)\nExit Code: 1\nSignal: (none)"
    long = f"cat {listing_text(chance, 4)}".replace("\n", " ")
    first = gemini.use("run_shell_command", {"command": RUN}, told, run)
    gemini.add("user", [response(first, "run_shell_command", {"output": told})])
    status = status_text(chance, 40)
    shown = [[{"text": line, "bold": False, "fg": "", "bg": ""}] for line in status.split("\n")]
    gemini.use("run_shell_command", {"command": long}, f"Output: {status}", shown, description=long)

    listed = listing_text(chance, 60)
    files: Json = {"summary": "Found 60 files", "files": listed.split("\n")}
    gemini.use("glob", {"pattern": "tables/**"}, f"Found 60 files:\n{listed}", files)
    matches = [
        {"filePath": f"p{number}.csv", "lineNumber": number, "line": f"  datum {number}"} for number in range(40)
    ]
    text = "\n".join(f"File: p{number}.csv\nL{number}: datum {number}\n---" for number in range(40))
    gemini.use("grep_search", {"pattern": "datum"}, text, {"summary": "Found 40 matches", "matches": matches})
    todos = [{"description": f"Give {number} a datum and a source", "status": "pending"} for number in range(12)]
    gemini.use("write_todos", {"todos": todos}, "Successfully updated the todo list.", {"todos": todos})
    gemini.use("web_fetch", {"url": "https://tides.example.org/today"}, page_text(chance, 30), "Content fetched.")
    failed = "Error: Operation timed out.\n" + log_text(chance, 30)
    gemini.use("web_fetch", {"url": "https://tides.example.org/x"}, failed, failed, status="error")

    report = f"Every port has a table.\n{listing_text(chance, 20)}"
    activity = [{"id": "a1", "type": "thought", "content": "Look at each table. " * 9, "status": "completed"}]
    progress = {"isSubagentProgress": True, "agentName": "codebase_investigator", "recentActivity": activity}
    gemini.use("codebase_investigator", {"objective": "Look for gaps"}, report, progress | {"result": report})
    picture = {"id": "i1", "name": "read_file", "response": {"output": "Binary content provided."}, "parts": [shot]}
    record = {"id": "i1", "name": "read_file", "args": {"file_path": "map.png"}, "status": "success"}
    both = [{"functionResponse": picture}, response(first, "run_shell_command", {"output": told}), shot]
    gemini.add("gemini", "", toolCalls=[record | {"result": both}])

    call = {"functionCall": {"id": "c9", "name": "run_shell_command", "args": {"command": "git status"}}}
    gemini.add("gemini", [{"text": "I think.", "thought": True}, call | {"thoughtSignature": hexes(chance, 200)}])
    gemini.add("user", [response("c9", "run_shell_command", {"output": status_text(chance, 30)})])
    block = f"[[tool-result]] bash (call_a)\n```text\n{install_text(chance, 20)}\n```"
    gemini.add("gemini", f"I looked before.\n\n{block}")
    gemini.add("gemini", "All height tests pass. 潮汐表已更新。")


def diff_text(text: str) -> str:
    """A diff that adds every line of a text."""
    lines = text.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"Index: a.py\n{'=' * 67}\n--- a.py\tCurrent\n+++ a.py\tProposed\n@@ -0,0 +1,{len(lines)} @@\n{added}"


if __name__ == "__main__":
    main(sys.argv[1])
