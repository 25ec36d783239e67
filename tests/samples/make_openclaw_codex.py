"""Writes an OpenClaw session and a Codex rollout below a folder; every run gives the same bytes.

The tide calculator of `make_samples.py` once more, with every place where the two formats keep inputs, results and
copies: details, raw streams of arguments, a command of the user and images on one side; the three shapes of outputs,
patches, events before and after what they repeat, instructions of each turn and a compacted history on the other.
`python tests/samples/make_openclaw_codex.py FOLDER`.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys

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
    """Write both sessions below a folder."""
    for path, data in sessions(random.Random(20260106)).items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(data)


def sessions(chance: random.Random) -> dict[str, bytes]:
    """Relative path -> bytes of each session."""
    claw, codex = OpenClaw(chance), Codex(chance)
    tell_claw(claw, chance)
    tell_codex(codex, chance)
    day = "2026/01/06"
    return {
        f"openclaw/agents/main/sessions/{claw.session}.jsonl": claw.data(),
        f"codex/sessions/{day}/rollout-2026-01-06T08-00-00-{codex.session}.jsonl": codex.data(),
    }


def packed(value: object) -> str:
    """JSON without spaces, as both programs write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def picture(chance: random.Random) -> str:
    """The base64 of something that looks like an image."""
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chance.randbytes(3000)).decode()


class Session:
    """Lines of a session, each some seconds after the one before."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.session = uuid(chance)
        self.lines: list[str] = []

    def data(self) -> bytes:
        """The file."""
        return "".join(line + "\n" for line in self.lines).encode()

    def stamp(self) -> str:
        """The time of the next record."""
        seconds = 7 * len(self.lines)
        return f"2026-01-06T08:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


# --- OpenClaw --------------------------------------------------------------------------------------------------------


class OpenClaw(Session):
    """Builds the records of an OpenClaw session, each linked to the one before."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._parent: str | None = None
        self.lines.append(
            packed({"type": "session", "version": 3, "id": self.session, "timestamp": self.stamp(), "cwd": PROJECT})
        )

    def add(self, kind: str, fields: Json) -> None:
        """A record of the tree."""
        own = hexes(self.chance, 8)
        head = {"type": kind, "id": own, "parentId": self._parent, "timestamp": self.stamp()}
        # Costs as the writer spells them, which Python does not.
        self.lines.append(packed(head | fields).replace("5e-06", "0.000005"))
        self._parent = own

    def say(self, role: str, text: str) -> None:
        """A message of user or assistant."""
        self.add("message", {"message": {"role": role, "content": [{"type": "text", "text": text}]}})

    def call(self, name: str, arguments: Json, stream: tuple[str, str] | None = None) -> str:
        """A call; gives its id. `stream` is the name of the raw stream of the arguments, and its text."""
        number = f"call_{hexes(self.chance, 16)}"
        block: Json = {"type": "toolCall", "id": number, "name": name, "arguments": arguments}
        thought: Json = {"type": "thinking", "thinking": "Let me see.", "thinkingSignature": hexes(self.chance, 200)}
        content = [thought, block | (dict([stream]) if stream else {})]
        usage = {"input": 9, "output": 9, "cost": {"input": 0.000005, "total": 0.000105}}
        self.add("message", {"message": {"role": "assistant", "content": content, "model": "m", "usage": usage}})
        return number

    def result(self, number: str, tool: str, content: str | list[Json], details: Json, *, failed: bool = False) -> None:
        """The result of a call."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message: Json = {"role": "toolResult", "toolCallId": number, "toolName": tool, "content": blocks}
        self.add("message", {"message": message | {"details": details, "isError": failed}})


def tell_claw(claw: OpenClaw, chance: random.Random) -> None:
    """The story of the OpenClaw session."""
    claw.say("user", "Why does Newlyn miss its spring height?")
    arguments: Json = {"command": f"cd {PROJECT} && {RUN}", "timeout": 60}
    number = claw.call("exec", arguments, ("partialArgs", json.dumps(arguments)))
    output = pytest_text(chance, 60, FAILURE)
    details = {"status": "completed", "exitCode": 1, "durationMs": 900, "aggregated": output + "\n", "cwd": PROJECT}
    claw.result(number, "exec", f"{output}\n\nCommand exited with code 1", details)

    table = module_text(chance, "speeds", 8)
    arguments = {"path": f"{PROJECT}/speeds.py", "content": table}
    number = claw.call("write", arguments, ("partialJson", json.dumps(arguments)))
    claw.result(number, "write", f"Successfully wrote {len(table)} bytes", {})
    arguments = {"path": f"{PROJECT}/terms.py", "content": module_text(chance, "terms", 4)}
    number = claw.call("write", arguments, ("partialArgs", json.dumps(arguments)[:-40]))
    claw.result(number, "write", "Successfully wrote the file", {})

    diff = "\n".join(f"{sign}{line:4} speed = {chance.random():.7f}" for line in range(60) for sign in "-+")
    number = claw.call("edit", {"path": f"{PROJECT}/speeds.py", "oldText": "speed = 1", "newText": "speed = 2"})
    claw.result(number, "edit", "Successfully replaced text", {"diff": diff, "firstChangedLine": 1})

    log = log_text(chance, 90)
    number = claw.call("bash", {"command": "journalctl -u tidecalc"})
    note = "\n\n[Showing the last lines. Full output: /tmp/pi-bash.log]"
    claw.result(number, "bash", log + note, {"truncation": {"content": log, "truncated": True, "totalLines": 400}})
    number = claw.call("process", {"action": "poll", "sessionId": "swift-tide"})
    claw.result(number, "process", log[-900:], {"status": "running", "tail": log[-900:]})

    page = page_text(chance, 20)
    fetched: Json = {"url": "https://tides.example.org/today", "status": 200, "text": page}
    number = claw.call("web_fetch", {"url": fetched["url"]})
    claw.result(number, "web_fetch", json.dumps(fetched, indent=2), fetched)
    found = {
        "results": [{"path": f"memory/{n}.md", "snippet": listing_text(chance, 8), "score": 0.5} for n in range(4)]
    }
    number = claw.call("memory_search", {"query": "datum"})
    claw.result(number, "memory_search", json.dumps(found, indent=2), found)
    number = claw.call("sessions_list", {})
    listed = {"count": 2, "sessions": [{"key": f"agent:{n}", "label": listing_text(chance, 9)} for n in range(2)]}
    claw.result(number, "sessions_list", "2 sessions", listed)
    number = claw.call("gateway", {"action": "restart"})
    claw.result(number, "gateway", "failed", {"status": "error", "error": log_text(chance, 12)}, failed=True)

    steps = [{"step": f"Check the datum of port {n}", "status": "pending"} for n in range(20)]
    number = claw.call("update_plan", {"plan": steps})
    claw.result(number, "update_plan", [], {"status": "updated", "plan": steps})
    number = claw.call("read", {"path": f"{PROJECT}/chart.png"})
    image: Json = {"type": "image", "data": picture(chance), "mimeType": "image/png"}
    claw.result(number, "read", [{"type": "text", "text": "Read image file [image/png]"}, image], {})

    command: Json = {"role": "bashExecution", "command": "git status", "output": status_text(chance, 40), "exitCode": 0}
    claw.add("message", {"message": command | {"cancelled": False, "truncated": False}})
    summary = "The datum of Newlyn was wrong. " * 20
    claw.add("compaction", {"summary": summary, "firstKeptEntryId": "a", "details": {"readFiles": ["terms.py"]}})
    claw.result("call_of_another_file", "exec", install_text(chance, 12), {"exitCode": 1})
    claw.say("assistant", "Newlyn had the datum of Oban. 已修复。")


# --- Codex -----------------------------------------------------------------------------------------------------------


class Codex(Session):
    """Builds the records of a Codex rollout."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.items: list[Json] = []
        head = {"id": self.session, "cwd": PROJECT, "cli_version": "0.104.0", "base_instructions": {"text": RULES}}
        self.add("session_meta", head)

    def add(self, kind: str, payload: Json) -> None:
        """A record."""
        self.lines.append(packed({"timestamp": self.stamp(), "type": kind, "payload": payload}))

    def item(self, kind: str, **fields: object) -> None:
        """A response item."""
        self.items.append({"type": kind} | fields)
        self.add("response_item", self.items[-1])

    def event(self, kind: str, **fields: object) -> None:
        """An event."""
        self.add("event_msg", {"type": kind} | fields)

    def call(self, name: str, arguments: Json, *, spaced: bool = False) -> str:
        """A function call; gives its id."""
        number = f"call_{hexes(self.chance, 12)}"
        text = json.dumps(arguments) if spaced else packed(arguments)
        self.item("function_call", name=name, arguments=text, call_id=number)
        return number

    def output(self, number: str, output: object) -> None:
        """The output of a function call."""
        self.item("function_call_output", call_id=number, output=output)

    def ended(self, number: str, command: list[str], output: str, code: int) -> None:
        """The event of a finished command."""
        parsed = [{"type": "unknown", "cmd": command[-1]}]
        more = {"stdout": "", "stderr": "", "formatted_output": "", "exit_code": code, "status": "completed"}
        self.event(
            "exec_command_end", call_id=number, command=command, parsed_cmd=parsed, aggregated_output=output, **more
        )


def tell_codex(codex: Codex, chance: random.Random) -> None:
    """The story of the rollout."""
    turn = {"cwd": PROJECT, "model": "m", "effort": "medium", "user_instructions": RULES}
    codex.add("turn_context", turn)
    image = f"data:image/png;base64,{picture(chance)}"
    text = "Why does Newlyn miss its spring height? " * 20
    codex.item(
        "message",
        role="user",
        content=[{"type": "input_text", "text": text}, {"type": "input_image", "image_url": image}],
    )
    codex.event("user_message", message=text, images=[image], local_images=[])
    codex.event("agent_reasoning", text="Let me see.")
    codex.item(
        "reasoning", summary=[{"type": "summary_text", "text": "Let me see."}], encrypted_content=hexes(chance, 300)
    )

    number = codex.call("exec_command", {"cmd": RUN, "workdir": PROJECT})
    output = pytest_text(chance, 60, FAILURE)
    codex.ended(number, ["/bin/bash", "-lc", RUN], output, 1)
    codex.output(number, f"Chunk ID: 7d75e2\nWall time: 0.8 seconds\nProcess exited with code 1\nOutput:\n{output}")

    script = f"cat > speeds.py <<'EOF'\n{module_text(chance, 'speeds', 6)}EOF"
    number = codex.call("shell", {"command": ["bash", "-lc", script], "timeout_ms": 1000})
    log = log_text(chance, 60)
    codex.output(number, packed({"output": log, "metadata": {"exit_code": 0, "duration_seconds": 100.0}}))
    codex.ended(number, ["bash", "-lc", script], log, 0)
    number = codex.call("shell_command", {"command": "pip install -e '.[grid]'"}, spaced=True)
    codex.output(number, f"Exit code: 1\nWall time: 6.3 seconds\nOutput:\n{install_text(chance, 15)}")

    lines = module_text(chance, "terms", 5).split("\n")
    patch = "\n".join(["*** Begin Patch", "*** Add File: terms.py", *(f"+{line}" for line in lines), "*** End Patch"])
    number = f"call_{hexes(chance, 12)}"
    codex.item("custom_tool_call", status="completed", call_id=number, name="apply_patch", input=patch)
    changes: Json = {
        "terms.py": {"type": "add", "content": "\n".join(lines)},
        "speeds.py": {
            "type": "update",
            "unified_diff": "@@ -1,9 +1,9 @@\n" + "-a = 1\n+a = 2\n" * 50,
            "move_path": None,
        },
    }
    done = "Success. Updated the following files:\nA terms.py\nM speeds.py\n"
    codex.event("patch_apply_end", call_id=number, stdout=done, stderr="", success=True, changes=changes)
    output = packed({"output": done, "metadata": {"exit_code": 0, "duration_seconds": 0.0}})
    codex.item("custom_tool_call_output", call_id=number, output=output)

    arguments: Json = {"team": "tides", "note": RULES}
    number = codex.call("mcp__tracker__list", arguments, spaced=True)
    content = [{"type": "text", "text": log_text(chance, 40)}]
    invocation = {"server": "tracker", "tool": "list", "arguments": arguments}
    codex.output(number, content[0]["text"])
    codex.event("mcp_tool_call_end", call_id=number, invocation=invocation, result={"Ok": {"content": content}})
    codex.item("web_search_call", status="completed", action={"type": "search", "query": "datum of Newlyn"})
    number = codex.call("view_image", {"path": "chart.png"})
    codex.output(number, [{"type": "input_image", "image_url": image}])

    codex.add("compacted", {"message": "", "replacement_history": codex.items[:7]})
    codex.add("turn_context", turn)
    codex.add("compacted", {"message": "", "replacement_history": codex.items[:1]})
    codex.event("agent_message", message="Newlyn had the datum of Oban.")


if __name__ == "__main__":
    main(sys.argv[1])
