"""Generated sessions are the same everywhere, and are what their variants promise."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import floors
import hostile
import pytest
from generate import VARIANTS, lines, write_session, write_sessions

KB = 1000


def take(variant: str, size: int, seed: int = 1) -> list[bytes]:
    """Records of about so many bytes together."""
    records: list[bytes] = []
    for line in lines(variant, seed):
        records.append(line)
        size -= len(line)
        if size <= 0:
            break
    return records


def shares(records: Iterable[bytes]) -> Counter[str]:
    """Bytes of inputs of Write and Edit, results, copies and progress, as parts of all."""
    found: Counter[str] = Counter()
    total = 0
    for line in records:
        record = json.loads(line)
        total += len(line)
        found["copies"] += _size(record.get("toolUseResult"))
        found["progress"] += _size(record.get("data"))
        content = record.get("message", {}).get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("name") in ("Write", "Edit"):
                found["inputs"] += _size(block["input"])
            found["results"] += _size(block.get("content"))
    return Counter({name: round(100 * size / total) for name, size in found.items()})


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode()) if value else 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seed_gives_the_same_bytes_each_time_and_another_seed_others(variant: str, tmp_path: Path) -> None:
    digests = []
    for number, seed in enumerate((7, 7, 8)):
        path = tmp_path / str(number)
        assert write_session(str(path), variant, 100 * KB, seed) == path.stat().st_size
        digests.append(hashlib.sha256(path.read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("variant", "part", "least", "most"),
    [
        pytest.param("mixed", "inputs", 74, 84, id="mixed: inputs"),
        pytest.param("results", "results", 45, 55, id="results: visible"),
        pytest.param("results", "copies", 40, 52, id="results: hidden"),
        pytest.param("typical", "copies", 30, 50, id="typical: hidden"),
        pytest.param("typical", "progress", 9, 22, id="typical: progress"),
    ],
)
def test_the_bytes_are_where_the_variant_says(variant: str, part: str, least: int, most: int) -> None:
    assert least <= shares(take(variant, 6000 * KB))[part] <= most


def test_bloat_nests_whole_messages_in_records_of_three_megabytes() -> None:
    largest = max(take("bloat", 8000 * KB), key=len)
    nested = json.loads(largest)["data"]["normalizedMessages"]
    assert 3000 * KB <= len(largest) <= 4000 * KB
    assert len(nested) > 100
    assert all("content" in record["message"] for record in nested)


def test_nonascii_has_many_scripts() -> None:
    assert not all(line.isascii() for line in take("nonascii", 50 * KB))


def test_sessions_are_linked_as_real_ones_are() -> None:
    records = [json.loads(line) for line in take("typical", 500 * KB)]
    assert [record["parentUuid"] for record in records[1:]] == [record["uuid"] for record in records[:-1]]


def test_a_folder_of_sessions_has_unequal_sizes(tmp_path: Path) -> None:
    written = write_sessions(str(tmp_path), "mixed", 300 * KB, 5)
    sizes = [path.stat().st_size for path in tmp_path.rglob("*.jsonl")]
    assert (len(sizes), sum(sizes)) == (5, written)
    assert max(sizes) > min(sizes)


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_hostile_records_have_about_the_size_that_was_asked_for(kind: str) -> None:
    size = sum(map(len, hostile.KINDS[kind](400 * KB)))
    assert 200 * KB <= size <= 1500 * KB


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_floors_keep_all_records_and_drop_the_bulk(variant: str, tmp_path: Path) -> None:
    source, bare, split = (str(tmp_path / name) for name in ("source", "bare", "split"))
    size = write_session(source, variant, 300 * KB)
    assert floors.rewrite(source, bare, lines=False) == 0
    assert floors.rewrite(source, split, lines=True) > 0
    written = Path(bare).read_bytes()
    assert written == Path(split).read_bytes()
    assert len(written) < 0.9 * size
    with open(source, "rb") as file:
        kept = [json.loads(line).get("uuid") for line in islice(file, 50)]
    assert [json.loads(line).get("uuid") for line in written.split(b"\n")[: len(kept)]] == kept
