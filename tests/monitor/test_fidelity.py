"""What is still visible after compaction is measured, and a rule that loses something is seen by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from home import Home
from kept import Kept, Run
from support import call, lines, log_lines, result

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.packs import VaultReader
from pipeline.monitor.extracts import KINDS, Items, add_items, failure_lines, no_items, prose_of
from pipeline.monitor.fidelity import Fidelity, measure
from pipeline.settings import RuleSettings, Settings

LOG = log_lines(120) + "\nwrote /srv/barn/lots.db\nsee https://barn.example/lots/7 for 4711 more\n" + log_lines(120, 1)
FAILING = LOG + "\nerror: lot 7 is missing\n"


def items_in(value: Any) -> Items:
    found = no_items()
    add_items(value, found)
    return found


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("paths", "see src/barn/gate.py and ./a/b or C:\\farm\\x.txt, not 3/4", ["src/barn/gate.py", "./a/b"]),
        ("commands", {"command": "make all\n\ncd barn"}, ["make all", "cd barn"]),
        ("commands", {"arguments": '{"command": ["ls"]}'}, ["ls"]),
        ("failures", "all fine\nE   TypeError: no\n0 errors\nbuild failed", ["E   TypeError: no", "build failed"]),
        ("numbers", "12 lots, 3.5 kg, v2x", ["12", "3.5"]),
        ("urls", "at https://barn.example/a?b=1, or http://x.example.", ["https://barn.example/a?b=1,"]),
    ],
)
def test_items_that_a_reader_looks_for(kind: str, value: Any, expected: list[str]) -> None:
    assert set(map(hash, expected)) <= items_in(value)[KINDS.index(kind)]


def test_failure_lines_that_are_none() -> None:
    assert list(failure_lines("no failures\n0 errors, 0 failed\n3 passed")) == []


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"type": "user", "message": {"role": "user", "content": "look\nhere"}}, ["look", "here"]),
        (
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I do"}]}},
            ["I do"],
        ),
        (
            {
                "type": "user",
                "message": {"role": "user", "content": [{"type": "tool_result", "content": "out"}]},
                "toolUseResult": {"stdout": "out"},
            },
            [],
        ),
        ({"role": "user", "parts": [{"type": "text", "text": "a\n[tool: bash]\nls"}]}, ["a"]),
        (
            {"role": "assistant", "content": "a\n[[tool-result]] bash\n```text\nout\n```\nb"},
            ["a", "b"],
        ),
        ({"role": "tool", "content": "out"}, []),
        ({"type": "event_msg", "payload": {"type": "user_message", "message": "hello"}}, ["hello"]),
        ({"messages": [{"type": "user", "content": "ask"}, {"type": "gemini", "content": "say"}]}, ["ask", "say"]),
    ],
)
def test_prose_is_what_people_and_models_say(record: Any, expected: list[str]) -> None:
    assert list(prose_of(record)) == expected


def measured(home: Home) -> Fidelity:
    found = Fidelity()
    with LedgerReader.open(str(home.state / "ledger.db")) as reader:
        for info in reader.sessions():
            row = reader.generation(info.id, info.generation)
            assert row is not None
            measure(found, reader, VaultReader(str(home.state / "vault")), str(home.out), info, row)
    return found


def test_prose_and_failures_are_all_there_and_the_rest_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path, Settings())
    said = {"type": "user", "sessionId": "s1", "uuid": "u9", "message": {"role": "user", "content": "Look at lot 7."}}
    path = home.write(
        "a.jsonl", lines([call(1, "Bash", {"command": "./stock.sh"}), result(2, 1, FAILING), json_line(said)])
    )
    home.backfill(path)
    found = measured(home)
    assert (found.sessions, found.records) == (1, 3)
    assert (found.all.kept["prose"], found.all.total["prose"]) == (1, 1)
    assert found.all.kept["failures"] == found.all.total["failures"] >= 1
    assert found.all.kept["commands"] == found.all.total["commands"] == 1
    assert found.all.kept["numbers"] < found.all.total["numbers"]
    ((rule, tool), shares), *_ = found.edits.items()
    assert (rule, tool) == ("dedup-elide", "Bash")
    assert shares.kept["paths"] == 0 < shares.total["paths"]
    assert shares.kept["failures"] == shares.total["failures"]


def test_a_rule_that_loses_what_matters_is_seen(tmp_path: Path) -> None:
    """A broken rule: it replaces the paths of all lines, which the guard of failures has no reason to refuse."""
    broken = RuleSettings("broken", replace=((r"\S+/\S+", "-"), (r"[0-9]+", "0")), fold=(".",))
    text = "\n".join(f"stored crate {n} at /srv/barn/shelf{n}/crate.bin" for n in range(50))
    session = lines([call(1, "Bash", {"command": "./stock.sh"}), result(2, 1, text)])
    shares = []
    for rules in ((), (broken,)):
        home = Home(tmp_path / str(len(rules)), Settings(rules=rules))
        home.backfill(home.write("a.jsonl", session))
        found = measured(home)
        shares.append(found.all.kept["paths"] / found.all.total["paths"])
    assert shares[0] == 1.0
    assert shares[1] < 0.5


def json_line(record: Any) -> bytes:
    return json.dumps(record).encode()


def test_the_command_prints_shares_by_rule_and_all_together(kept: Kept, run: Run, document: Any) -> None:
    code, out, _ = run("fidelity", *kept.options)
    assert code == 0
    assert "prose kept: 100.0 %" in out
    assert out.splitlines()[2].split()[:4] == ["rule", "tool", "paths", "%"]
    found = document("fidelity", *kept.options)
    assert found["total"]["prose"]["ratio"] == 1.0
    assert {"rule", "tool", *KINDS} <= set(found["rows"][0])
