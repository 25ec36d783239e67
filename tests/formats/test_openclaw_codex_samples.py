"""Whole sessions of both formats: every place is found, and each site holds what lies at its path."""

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
from pipeline.formats.codex import Codex
from pipeline.formats.openclaw import OpenClaw
from pipeline.records import Site, Treat

Value = Any
ADAPTERS: dict[str, Format] = {"openclaw": OpenClaw(), "codex": Codex()}
HISTORY = "payload.replacement_history.*."
PLACES = {
    "openclaw": {
        ("message.content.*.arguments", Treat.INPUT),
        ("message.content.*.partialArgs", Treat.CONTAINED),
        ("message.content.*.partialArgs", Treat.COPY_ONLY),
        ("message.content.*.partialJson", Treat.CONTAINED),
        ("message.content.*.text", Treat.TEXT),
        ("message.content.*", Treat.IMAGE),
        ("message.command", Treat.INPUT),
        ("message.output", Treat.TEXT),
        ("message.details.aggregated", Treat.CONTAINED),
        ("message.details.diff", Treat.FILE),
        ("message.details.truncation.content", Treat.CONTAINED),
        ("message.details.tail", Treat.CONTAINED),
        ("message.details.text", Treat.CONTAINED),
        ("message.details.results", Treat.CONTAINED),
        ("message.details.sessions.*.label", Treat.MIRROR),
        ("message.details.error", Treat.MIRROR),
        ("message.details.plan", Treat.COPY_ONLY),
    },
    "codex": {
        ("payload.arguments", Treat.INPUT),
        ("payload.input", Treat.INPUT),
        ("payload.action", Treat.INPUT),
        ("payload.output", Treat.TEXT),
        ("payload.output.*", Treat.IMAGE),
        ("payload.content.*", Treat.IMAGE),
        ("payload.images.*", Treat.IMAGE),
        ("payload.user_instructions", Treat.COPY_ONLY),
        ("payload.command.*", Treat.COPY_ONLY),
        ("payload.parsed_cmd.*.cmd", Treat.COPY_ONLY),
        ("payload.aggregated_output", Treat.MIRROR),
        ("payload.changes.*.content", Treat.FILE),
        ("payload.changes.*.unified_diff", Treat.COPY_ONLY),
        ("payload.invocation.arguments", Treat.INPUT),
        ("payload.result.Ok.content.*.text", Treat.MIRROR),
        (HISTORY + "content.*", Treat.IMAGE),
        (HISTORY + "arguments", Treat.INPUT),
        (HISTORY + "output", Treat.MIRROR),
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sessions that the script writes."""
    return write(tmp_path_factory.mktemp("sessions"))


def write(folder: Path) -> Path:
    subprocess.run([sys.executable, str(SAMPLES / "make_openclaw_codex.py"), str(folder)], check=True)
    return folder


def records(folder: Path, name: str) -> Iterator[tuple[Value, list[Site]]]:
    """Each record of a format's session, with its sites."""
    pairing = Pairing()
    (path,) = (folder / name).rglob("*.jsonl")
    for line in path.read_bytes().splitlines():
        value = json.loads(line)
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
    again = {path.relative_to(tmp_path): path.read_bytes() for path in write(tmp_path).rglob("*.jsonl")}
    assert again == {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert len(again) == 2


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_place_is_found_and_no_other(name: str, folder: Path) -> None:
    found = set()
    for _, sites in records(folder, name):
        for site in sites:
            path = ["*" if isinstance(step, int) or "." in step else step for step in site.path]
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
def test_what_is_opaque_is_in_no_site(name: str, folder: Path) -> None:
    for _, sites in records(folder, name):
        for site in sites:
            assert not any(
                isinstance(step, str) and step.endswith(("ignature", "encrypted_content", "usage"))
                for step in site.path
            )


ODD: list[Value] = [None, 7, True, "x" * 600, [], {}, ["a", 7, None], {"type": ["x"], "content": 7, "output": [[]]}]


def holders(value: Value) -> Iterator[tuple[Value, str | int]]:
    """Every place below a value, as the list or object and the key in it."""
    for step in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, step
        if isinstance(value[step], (dict, list)):
            yield from holders(value[step])


@pytest.mark.parametrize("name", ADAPTERS)
def test_no_odd_value_in_any_place_leads_a_site_astray(name: str, folder: Path) -> None:
    kinds = {Treat.INPUT: (str, dict), Treat.COPY_ONLY: (str, list), Treat.CONTAINED: (str, list)}
    for value, _ in records(folder, name):
        for owner, step in holders(value):
            kept = owner[step]
            for odd in ODD:
                owner[step] = odd
                for site in ADAPTERS[name].sites(value, Pairing()):
                    found = at(value, site.path)
                    assert site.value == (found if site.inside is None else at(json.loads(found), site.inside))
                    assert isinstance(site.value, kinds.get(site.treat, (str, dict)))
                    assert site.treat in (*kinds, Treat.IMAGE) or isinstance(site.value, str)
            owner[step] = kept
