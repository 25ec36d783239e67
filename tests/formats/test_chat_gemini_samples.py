"""Whole sessions of these formats: every place is found, and each site holds what lies at its path."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import SAMPLES

from pipeline.formats.base import Format, Pairing
from pipeline.formats.chat import Chat
from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.gemini import Gemini, GeminiLines
from pipeline.records import Site, Treat

Value = Any
ADAPTERS: dict[str, Format] = {"chat.jsonl": Chat(), "gemini.json": Gemini(), "gemini-lines.jsonl": GeminiLines()}
CALL = "toolCalls.*."
SHOWN = CALL + "resultDisplay."
GEMINI = {
    (CALL + "args", Treat.INPUT),
    (CALL + "result.*.functionResponse.response.output", Treat.TEXT),
    (CALL + "result.*.functionResponse.response.output", Treat.MIRROR),
    (CALL + "result.*.functionResponse.response.error", Treat.TEXT),
    (CALL + "result.*.functionResponse.parts.*.inlineData.data", Treat.IMAGE),
    (CALL + "result.*.inlineData.data", Treat.IMAGE),
    (CALL + "description", Treat.CONTAINED),
    (CALL + "resultDisplay", Treat.CONTAINED),
    (SHOWN + "fileDiff", Treat.FILE),
    (SHOWN + "originalContent", Treat.FILE),
    (SHOWN + "newContent", Treat.FILE),
    (SHOWN + "files", Treat.CONTAINED),
    (SHOWN + "matches", Treat.CONTAINED),
    (SHOWN + "todos", Treat.COPY_ONLY),
    (SHOWN + "recentActivity", Treat.COPY_ONLY),
    (SHOWN + "result", Treat.CONTAINED),
    ("content.*.inlineData.data", Treat.IMAGE),
    ("content.*.functionCall.args", Treat.INPUT),
    ("content.*.functionResponse.response.output", Treat.MIRROR),
    ("content", Treat.MARKDOWN),
}
SET = "$set.messages.*."
PLACES = {
    "chat.jsonl": {
        ("tool_calls.*.function.arguments", Treat.INPUT),
        ("tool_calls.*.arguments", Treat.INPUT),
        ("tool_calls.*.custom.input", Treat.INPUT),
        ("function_call.arguments", Treat.INPUT),
        ("content", Treat.TEXT),
        ("content", Treat.MARKDOWN),
        ("content.*.image_url.url", Treat.IMAGE),
        ("messages.*.tool_calls.*.function.arguments", Treat.INPUT),
        ("messages.*.content", Treat.TEXT),
        ("messages.*.content", Treat.MIRROR),
        ("messages.*.content.*.text", Treat.TEXT),
        ("messages.*.content.*.text", Treat.MIRROR),
        ("messages.*.content.*.image_url.url", Treat.IMAGE),
    },
    "gemini.json": {(f"messages.*.{path}", treat) for path, treat in GEMINI},
    "gemini-lines.jsonl": {
        *GEMINI,
        *((SET + path, Treat.MIRROR if treat is Treat.TEXT else treat) for path, treat in GEMINI),
        ("$patch.updates.*.toolCalls.*.result.*.functionResponse.response.output", Treat.MIRROR),
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sessions that the script writes."""
    return write(tmp_path_factory.mktemp("sessions"))


def write(folder: Path) -> Path:
    subprocess.run([sys.executable, str(SAMPLES / "make_chat_gemini.py"), str(folder)], check=True)
    return folder


def records(folder: Path, name: str) -> Iterator[tuple[Value, list[Site]]]:
    """Each record of a session, with its sites."""
    pairing = Pairing()
    data = (folder / name).read_bytes()
    for record in [data] if ADAPTERS[name].whole_document else data.splitlines():
        value = json.loads(record)
        yield value, ADAPTERS[name].sites(value, pairing)


def at(value: Value, path: tuple[str | int, ...]) -> Value:
    for step in path:
        value = value[step]
    return value


def order_of(value: Value, path: tuple[str | int, ...]) -> list[int]:
    """The place of a path in its document: the position among the members at each level."""
    places: list[int] = []
    for step in path:
        places.append(list(value).index(step) if isinstance(value, dict) else int(step))
        value = value[step]
    return places


def test_the_script_writes_the_sessions_again_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    again = {path.name: path.read_bytes() for path in write(tmp_path).iterdir()}
    assert again == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(again) == set(ADAPTERS)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_session_is_known_by_its_content_and_name(name: str, folder: Path) -> None:
    head = (folder / name).read_bytes()[:HEAD_BYTES]
    assert detect_bytes(head) == detect_bytes(head, name) == ADAPTERS[name].name


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_place_is_found_and_no_other(name: str, folder: Path) -> None:
    found = set()
    for _, sites in records(folder, name):
        for site in sites:
            path = ["*" if isinstance(step, int) else step for step in site.path]
            found.add((".".join(path), site.treat))
    assert found == PLACES[name]


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_site_holds_what_lies_at_its_path(name: str, folder: Path) -> None:
    for value, sites in records(folder, name):
        for site in sites:
            found = at(value, site.path)
            assert site.value == (found if site.inside is None else at(json.loads(found), site.inside))


@pytest.mark.parametrize("name", ADAPTERS)
def test_sites_come_in_document_order_and_do_not_overlap(name: str, folder: Path) -> None:
    for value, sites in records(folder, name):
        orders = [order_of(value, site.path) for site in sites]
        assert orders == sorted(orders)
        assert not any(after[: len(before)] == before for before, after in pairwise(orders))


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_a_reader_needs_is_in_no_site(name: str, folder: Path) -> None:
    for _, sites in records(folder, name):
        for site in sites:
            assert not {"id", "thoughts", "tokens", "usage", "thoughtSignature", "status"} & set(site.path)


ODD: list[Value] = [None, 7, "x" * 600, [], {}, ["a", 7, None], {"type": ["x"], "content": 7, "text": [[]], "id": {}}]


def holders(value: Value) -> Iterator[tuple[Value, str | int]]:
    """Every place below a value, as the list or object and the key in it."""
    for step in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, step
        if isinstance(value[step], (dict, list)):
            yield from holders(value[step])


def small_records(folder: Path, name: str) -> Iterator[tuple[Value, Value]]:
    """Each record, and a part of it that a message is: in a document of all messages any other would do as well."""
    for value, _ in records(folder, name):
        messages = value.get("messages") or value.get("$set", {}).get("messages") or [value]
        for message in messages if len(messages) < 9 else messages[::9]:
            yield (value | {"messages": [message]} if "messages" in value else message), message


@pytest.mark.parametrize("name", ADAPTERS)
def test_no_odd_value_in_any_place_leads_a_site_astray(name: str, folder: Path) -> None:
    kinds = {Treat.INPUT: (str, dict), **dict.fromkeys((Treat.COPY_ONLY, Treat.CONTAINED, Treat.LINES), (str, list))}
    for value, message in small_records(folder, name):
        for owner, step in holders(message):
            if isinstance(owner, list) and isinstance(step, int) and step > 2:
                continue
            kept = owner[step]
            for odd in ODD:
                owner[step] = odd
                for site in ADAPTERS[name].sites(value, Pairing()):
                    found = at(value, site.path)
                    assert site.value == (found if site.inside is None else at(json.loads(found), site.inside))
                    assert isinstance(site.value, kinds.get(site.treat, str))
            owner[step] = kept
