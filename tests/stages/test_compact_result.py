"""What becomes of results and of each kind of hidden copy."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import orjson
import pytest
from support import call, log_lines, result

from pipeline.runs.lines import CompactedRecord, compact_lines
from pipeline.settings import CopySettings, Settings, ToolResultSettings
from pipeline.stages.compact_result import result_options

LOG = log_lines(150)
BODY = log_lines(60, 7)
NUMBERED = "\n".join(f"{n:6}→{line}" for n, line in enumerate(BODY.split("\n"), 1))
Value = Any


def compacted(*records: bytes, config: Settings | None = None) -> list[CompactedRecord]:
    return list(compact_lines(records, format="claude-code", config=config))


def mirror_of(record: CompactedRecord) -> Value:
    return orjson.loads(record.output)["toolUseResult"]


def text_of(record: CompactedRecord) -> Value:
    return orjson.loads(record.output)["message"]["content"][0]["content"]


def is_reference(value: object, size: int) -> bool:
    return isinstance(value, str) and value.startswith(f"[copy, {size} bytes: compactd digest ") and value.endswith("]")


def run(command: str, content: object, mirror: object, **config: Value) -> CompactedRecord:
    records = (call(1, "Bash", {"command": command}), result(2, 1, content, toolUseResult=mirror))
    return compacted(*records, **config)[1]


def test_a_visible_text_is_shortened_and_its_copies_are_references() -> None:
    done = run("make", LOG, {"stdout": "\n" + LOG + "\n", "stderr": LOG[: len(LOG) // 2], "interrupted": False})
    assert len(text_of(done)) < len(LOG) / 2
    assert text_of(done).split("\n")[-1].startswith("[cut ")
    mirror = mirror_of(done)
    assert is_reference(mirror["stdout"], len(LOG) + 2)
    assert is_reference(mirror["stderr"], len(LOG) // 2)
    assert mirror["interrupted"] is False
    assert [(note.rule, note.applied) for note in done.sites] == [("dedup-elide", True), ("copy", True), ("copy", True)]


def test_a_copy_ahead_of_its_text_is_known_too() -> None:
    record = orjson.loads(result(2, 1, LOG))
    turned = orjson.dumps({"toolUseResult": {"stdout": "x" + LOG[1:], "stderr": LOG}, **record})
    assert is_reference(mirror_of(compacted(call(1, "Bash", {"command": "make"}), turned)[1])["stderr"], len(LOG))


def hostile(kind: str, size: int) -> Value:
    """A hidden result of about so many bytes that tempts to search, to copy or to remember too much."""
    if kind == "fields":
        return {f"field{n}": f"{n:9}" * 10 for n in range(size // 100)}
    if kind == "replace":
        half = size // 2
        return {"originalFile": "a" * half, "oldString": "a", "newString": "b" * half, "replaceAll": True}
    if kind == "blocks":
        return [{"type": "text", "text": "x" * 80} for _ in range(size // 100)]
    return {"stdout": "ab" * (size // 2) + "b"}


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", ["fields", "replace", "blocks", "almost"])
def test_hostile_records_take_linear_time(kind: str) -> None:
    """Four times the size takes about four times as long; the ratio here has room for a busy machine."""

    def seconds(size: int) -> float:
        text = "ab" * (size // 2)
        records = [call(1, "Edit", {"file_path": "/a"}), result(2, 1, text, toolUseResult=hostile(kind, size))]
        start = time.process_time()
        compacted(*records)
        return time.process_time() - start

    assert min(seconds(1_000_000) for _ in range(2)) < 9 * min(seconds(250_000) for _ in range(3)) + 0.05


def test_a_visible_text_is_never_a_reference() -> None:
    records = [call(1, "Bash", {"command": "make"}), result(2, 1, LOG), call(3, "Bash", {"command": "make"})]
    done = compacted(*records, result(4, 3, LOG))
    assert text_of(done[1]) == text_of(done[3])


def test_an_original_file_refers_to_the_state_that_the_edit_before_left() -> None:
    first: Value = {"originalFile": BODY, "oldString": "crate", "newString": "barrel", "replaceAll": False}
    second = {**first, "originalFile": BODY.replace("crate", "barrel", 1)}
    edit = {"file_path": "/a.py", "old_string": "crate", "new_string": "barrel"}
    records = [call(1, "Edit", edit), result(2, 1, "done", toolUseResult=first)]
    done = compacted(*records, call(3, "Edit", edit), result(4, 3, "done", toolUseResult=second))
    assert is_reference(mirror_of(done[3])["originalFile"], len(second["originalFile"]))
    only = mirror_of(done[1])["originalFile"].split("\n")
    assert only[:-1] == BODY.split("\n")[:10]
    assert only[-1].startswith(f"[cut 50 lines, {len(BODY) - len(chr(10).join(only[:-1]))} bytes: ")


@pytest.mark.parametrize("body", ['{"a": "' + BODY.replace("\n", "\\n") + '"}', "x" * 5000])
def test_the_only_copy_of_a_file_is_cut_whatever_it_holds(body: str) -> None:
    records = [call(1, "Edit", {"file_path": "/a"}), result(2, 1, "done", toolUseResult={"originalFile": body})]
    left = mirror_of(compacted(*records)[1])["originalFile"]
    assert left.startswith("[cut ") if body[0] == "{" else left.startswith("x" * 1000 + "\n[cut ")


def test_a_file_read_is_known_without_its_numbers() -> None:
    read = call(1, "Read", {"file_path": "/a.log"})
    done = compacted(read, result(2, 1, NUMBERED, toolUseResult={"file": {"filePath": "/a.log", "content": BODY}}))
    assert is_reference(mirror_of(done[1])["file"]["content"], len(BODY))


def test_a_file_read_that_differs_from_its_text_keeps_its_failures() -> None:
    read = call(1, "Read", {"file_path": "/a.log"})
    other = {"file": {"filePath": "/a.log", "content": LOG.replace("\n", "\nTypeError: no crate\n", 1) + LOG}}
    left = mirror_of(compacted(read, result(2, 1, NUMBERED, toolUseResult=other))[1])["file"]["content"].split("\n")
    assert "TypeError: no crate" in left
    assert left[-1].startswith("[cut ")


def test_file_names_in_the_text_leave_an_empty_list_and_a_mark() -> None:
    names = [f"/srv/shed/part{n}.py" for n in range(60)]
    done = run("ls", "Found 60 files\n" + "\n".join(names), {"filenames": names, "numFiles": 60})
    assert [is_reference(name, len("\n".join(names))) for name in mirror_of(done)["filenames"]] == [True]


def test_a_long_hunk_keeps_its_first_and_last_lines() -> None:
    hunk = [f"+line {n} of many" for n in range(60)]
    (left,) = mirror_of(run("make", "done", {"structuredPatch": [{"oldStart": 1, "lines": hunk}]}))["structuredPatch"]
    assert left["oldStart"] == 1
    assert left["lines"][:-1] == hunk[:10] + hunk[-5:]
    assert left["lines"][-1].startswith("[cut 45 lines, ")


def test_a_list_of_tasks_refers_to_the_input() -> None:
    todos = [{"content": f"paint door {n}", "status": "pending"} for n in range(20)]
    records = [
        call(1, "TodoWrite", {"todos": todos}),
        result(2, 1, "ok", toolUseResult={"oldTodos": [], "newTodos": todos}),
    ]
    mirror = mirror_of(compacted(*records)[1])
    assert mirror["oldTodos"] == []
    assert len(mirror["newTodos"]) == 1
    assert mirror["newTodos"][0].startswith("[copy, ")


def test_a_prompt_is_whole_once_and_then_a_reference() -> None:
    data = {"type": "agent_progress", "prompt": BODY, "normalizedMessages": []}
    progress = orjson.dumps({"type": "progress", "data": data, "parentToolUseID": "t9", "uuid": "u1"})
    done = compacted(progress, progress)
    assert done[0].output is progress
    assert is_reference(orjson.loads(done[1].output)["data"]["prompt"], len(BODY))


def test_growing_output_keeps_what_is_new() -> None:
    tick = "\n".join(LOG.split("\n")[:40])
    records = [
        orjson.dumps(
            {"type": "progress", "data": {"type": "bash_progress", "fullOutput": full}, "parentToolUseID": "t1"}
        )
        for full in (tick, tick, tick + "\nTypeError: no crate\nlast")
    ]
    outputs = [orjson.loads(record.output)["data"]["fullOutput"] for record in compacted(*records)]
    assert outputs[0] == tick
    assert is_reference(outputs[1], len(tick))
    assert outputs[2].split("\n")[:-1] == ["TypeError: no crate", "last"]


DATA = "iVBORw0KGgo" + "A" * 4000 + "="
BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}


@pytest.mark.parametrize(
    ("mirror", "words"),
    [
        pytest.param({"file": {"base64": DATA, "type": "image/png"}}, "[image image/png, 3008 bytes]", id="base64"),
        pytest.param({"file": {"base64": DATA}}, "[image base64, 3008 bytes]", id="no media type"),
        pytest.param(
            {"stdout": "data:image/gif;base64," + DATA, "isImage": True}, "[image image/gif, 3008 bytes]", id="data URL"
        ),
    ],
)
def test_a_base64_string_becomes_media_type_size_and_mark(mirror: Value, words: str) -> None:
    done = run("make", "ok", mirror)
    values = mirror_of(done)
    value = values["stdout"] if "stdout" in values else values["file"]["base64"]
    assert value.split("\n")[0] == words
    assert value.split("\n")[1].startswith("[cut ")


def test_an_image_block_becomes_a_text_block() -> None:
    done = run("make", [BLOCK], [BLOCK])
    for block in (text_of(done)[0], mirror_of(done)[0]):
        assert set(block) == {"type", "text"}
        assert block["text"].split("\n")[0] == "[image image/png, 3008 bytes]"


def test_inlined_results_of_a_later_message_know_their_command() -> None:
    run_text = "\n".join(
        ["collected 9 items", *(f"tests/test_{n}.py ..... [{n}%]" for n in range(60)), "== 9 passed in 1s =="]
    )
    texts = ['[tool: bash]\n{\n  "command": "pytest"\n}', "[tool result]\n" + run_text]
    records = [
        orjson.dumps({"id": f"m{n}", "role": "user", "parts": [{"type": "text", "text": text}], "created_at": ""})
        for n, text in enumerate(texts)
    ]
    done = list(compact_lines(records, format="openviking"))[1]
    assert [(note.tool, note.rule) for note in done.sites] == [("bash", "test-output")]
    assert orjson.loads(done.output)["parts"][0]["text"].startswith("[tool result]\n")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(Settings(tool_result=ToolResultSettings(enabled=False)), ["passthrough-policy"] * 2, id="off"),
        pytest.param(Settings(copies=CopySettings(enabled=False)), ["", ""], id="copies by the rules"),
        pytest.param(
            Settings(copies=CopySettings(min_bytes=100_000)), ["", "passthrough-small"], id="short copies stay"
        ),
    ],
)
def test_settings_switch_results_and_copies_off(config: Settings, expected: list[str]) -> None:
    done = run("make", LOG, {"stdout": LOG}, config=config)
    assert [note.reason for note in done.sites] == expected
    assert all(note.rule != "copy" for note in done.sites)


def test_policies_make_classes_whole() -> None:
    usual = result_options(ToolResultSettings()).whole_classes
    changed = ToolResultSettings(file_reads="whole", searches="whole", listings="whole", reports="elide", diffs="elide")
    options = result_options(dataclasses.replace(changed, head_lines=3))
    assert options.whole_classes == (usual | {"read", "search", "list"}) - {"agent"}
    assert (options.elide_diffs, options.head_lines) == (True, 3)
