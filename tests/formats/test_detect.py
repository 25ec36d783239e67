"""A session's format: by the first record with evidence, so that the answer stays when the file grows."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.detect import HEAD_BYTES, detect, detect_bytes

CLAUDE = b'{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"hi"},"uuid":"u"}'
OPENVIKING = b'{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}], "created_at": "2026-01-05"}'
OPENCLAW = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T08:00:00.000Z","cwd":"~/farm"}'
CODEX = b'{"timestamp":"2026-01-05T08:00:00.000Z","type":"session_meta","payload":{"id":"s"}}'
CHAT = b'{"role": "system", "content": "hi"}'
GEMINI = b'{"sessionId":"s","projectHash":"0a","startTime":"2026-01-05T08:00:00.000Z","messages":[]}'
GEMINI_HEADER = b'{"sessionId":"s","projectHash":"0a","startTime":"2026-01-05T08:00:00.000Z","kind":"main"}'
GEMINI_MESSAGE = b'{"id":"m","timestamp":"2026-01-05T08:00:00.000Z","type":"gemini","content":"hi"}'


@pytest.mark.parametrize(
    ("record", "name"),
    [
        pytest.param(CLAUDE, "claude-code", id="user"),
        pytest.param(b'{"type":"progress","data":{},"sessionId":"s"}', "claude-code", id="progress"),
        pytest.param(b'{"type":"file-history-snapshot","messageId":"u"}', "claude-code", id="snapshot"),
        pytest.param(b'{"type":"queue-operation","operation":"enqueue"}', "claude-code", id="queue"),
        pytest.param(b'{"type":"summary","summary":"s","leafUuid":"u"}', "claude-code", id="summary"),
        pytest.param(OPENVIKING, "openviking", id="openviking"),
        pytest.param(OPENCLAW, "openclaw", id="header"),
        pytest.param(b'{"type":"session","id":"s","cwd":"~"}', "openclaw", id="header without version"),
        pytest.param(b'{"type":"message","id":"a","message":{"role":"toolResult"}}', "openclaw", id="message"),
        pytest.param(CODEX, "codex", id="codex"),
        pytest.param(CHAT, "chat", id="chat"),
        pytest.param(b'{"role":"assistant","content":null,"tool_calls":[]}', "chat", id="chat call"),
        pytest.param(b'{"messages":[{"role":"user","content":"hi"}]}', "chat", id="conversation"),
        pytest.param(b'{"role":"developer","content":"hi"}', "chat", id="chat of a developer"),
        pytest.param(b'{"role":"assistant","function_call":{}}', "chat", id="chat call without content"),
        pytest.param(GEMINI, "gemini", id="gemini"),
        pytest.param(GEMINI_HEADER, "gemini-jsonl", id="gemini header"),
        pytest.param(GEMINI_MESSAGE, "gemini-jsonl", id="gemini message"),
        pytest.param(b'{"$set":{"lastUpdated":"t"}}', "gemini-jsonl", id="gemini set"),
        pytest.param(b'{"$patch":{"id":"m"}}', "gemini-jsonl", id="gemini patch"),
        pytest.param(b'{"$rewindTo":"m"}', "gemini-jsonl", id="gemini rewind"),
        pytest.param(b"\xef\xbb\xbf" + CLAUDE + b"\r\n", "claude-code", id="byte order mark"),
        pytest.param(b'{"x":1}' + CODEX, "codex", id="glued"),
        pytest.param(b'{"type":"user"}', None, id="user without session"),
        pytest.param(b'{"type":"last-prompt","sessionId":"s"}', None, id="another type"),
        pytest.param(b'{"id":"m","role":"user","parts":[]}', None, id="parts of another writer"),
        pytest.param(b'{"type":"message","role":"user","content":"hi"}', None, id="chat with a type"),
        pytest.param(b'{"type":"gemini"}', None, id="gemini without id"),
        pytest.param(b'{"$set":7,"$patch":[],"$rewindTo":null}', None, id="changes of other kinds"),
        pytest.param(b'{"role":"alien","content":""}', None, id="another role"),
        pytest.param(b'{"type":["user"],"sessionId":{},"message":0}', None, id="types of other kinds"),
        pytest.param(b"{}", None, id="empty object"),
        pytest.param(b"[1]", None, id="no object"),
    ],
)
def test_a_record_tells_its_format(record: bytes, name: str | None) -> None:
    assert detect([record]) == name
    assert detect_bytes(record + b"\n") == name


@pytest.mark.parametrize(
    ("records", "name"),
    [
        pytest.param([b'{"x":1}', CODEX, CLAUDE], "codex", id="the first with evidence wins"),
        pytest.param(
            [b"\n", b"nonsense\n", b"\xff\n", b'{"a":NaN}\n', CHAT], "chat", id="undecodable ones are skipped"
        ),
        pytest.param([b'{"x":1}'] * 19 + [CHAT], "chat", id="the 20th counts"),
        pytest.param([b'{"x":1}'] * 20 + [CHAT], None, id="the 21st does not"),
        pytest.param([b"nonsense"] * 1000 + [CHAT], None, id="the search ends"),
        pytest.param([], None, id="no records"),
    ],
)
def test_the_first_evidence_decides(records: list[bytes], name: str | None) -> None:
    assert detect(records) == name


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        pytest.param(b"", "/a/messages.jsonl", "openviking", id="empty"),
        pytest.param(b"\n \n", "messages.jsonl", "openviking", id="blank lines"),
        pytest.param(b"", "/a/other.jsonl", None, id="another name"),
        pytest.param(b"", "/messages.jsonl/x", None, id="name of the folder"),
        pytest.param(CHAT, "messages.jsonl", "chat", id="content before name"),
        pytest.param(b'{"x":1}', "messages.jsonl", None, id="no evidence, but not empty"),
        pytest.param(
            b'{"id":"m","role":"user","content":"hi","created_at":"2026-01-05"}', "messages.jsonl", "openviking",
            id="message of the old kind",
        ),
    ],
)  # fmt: skip
def test_the_name_decides_for_an_empty_file(head: bytes, name: str, expected: str | None) -> None:
    assert detect_bytes(head, name) == expected


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        pytest.param(GEMINI, "/a/session-1.json", "gemini", id="document"),
        pytest.param(GEMINI, "/a/session-1.jsonl", "gemini-jsonl", id="header with messages"),
        pytest.param(GEMINI, "session-1.jsonl.zst", "gemini-jsonl", id="packed"),
        pytest.param(b"{\n" + GEMINI[1:], "session-1.jsonl", "gemini", id="over many lines"),
        pytest.param(GEMINI_HEADER, "", "gemini-jsonl", id="header alone"),
        pytest.param(b"nonsense\n" + GEMINI_HEADER, "", "gemini-jsonl", id="broken first line"),
        pytest.param(
            b'{"id":"m","type":"user","content":"hi"}\n' + GEMINI_MESSAGE, "", "gemini-jsonl", id="a user begins"
        ),
    ],
)
def test_a_gemini_session_of_lines_is_told_from_a_document(head: bytes, name: str, expected: str) -> None:
    assert detect_bytes(head, name) == detect_bytes(head + b"\n", name) == expected


@pytest.mark.parametrize("indent", [None, 0, 2, "\t"])
@pytest.mark.parametrize("cut", [None, 150, 400])
def test_a_gemini_document_is_known_by_its_head(indent: int | str | None, cut: int | None) -> None:
    messages = [{"id": f"m{number}", "type": "user", "content": CHAT.decode()} for number in range(9)]
    document = {"sessionId": "s", "projectHash": "0a", "startTime": "2026", "messages": messages}
    assert detect_bytes(json.dumps(document, indent=indent).encode()[:cut]) == "gemini"


def test_another_pretty_document_is_unknown() -> None:
    assert detect_bytes(json.dumps({"a": {"b": [1, {}]}, "c": CHAT.decode()}, indent=2).encode()) is None


@pytest.mark.parametrize(
    ("start", "name"),
    [
        pytest.param(
            b'{"sessionId":"s","type":"user","message":{"role":"user","content":"', "claude-code", id="claude"
        ),
        pytest.param(b'{"type":"message","id":"a","parentId":"b","message":{"role":"', "openclaw", id="openclaw"),
        pytest.param(b'{"timestamp":"t","type":"session_meta","payload":{"x":"', "codex", id="codex"),
        pytest.param(
            b'{"id": "m", "role": "user", "parts": [{"type": "text", "text": "', "openviking", id="openviking"
        ),
        pytest.param(b'\xef\xbb\xbf{"role": "system", "content": "', "chat", id="chat"),
        pytest.param(b'{"messages": [{"role": "user", "content": "', "chat", id="conversation"),
        pytest.param(b'{"sessionId":"s","projectHash":"0a","messages":[{"x":"', "gemini", id="gemini"),
        pytest.param(b'{"id":"m","type":"gemini","content":"', "gemini-jsonl", id="gemini message"),
        pytest.param(b'{"$set":{"messages":[{"x":"', "gemini-jsonl", id="gemini set"),
        pytest.param(b'{"sessionId":"s","projectHash":"0a","summary":"', None, id="gemini, but which kind"),
        pytest.param(b'{"x":"', None, id="no evidence"),
        pytest.param(b'["', None, id="no object"),
        pytest.param(b"", None, id="no JSON"),
    ],
)
def test_a_first_record_that_is_larger_than_the_head_is_known_by_its_keys(start: bytes, name: str | None) -> None:
    assert detect_bytes((start + b"x" * HEAD_BYTES)[:HEAD_BYTES]) == name


def test_a_cut_last_line_is_no_evidence() -> None:
    assert detect_bytes(CLAUDE[:-1]) is None
    assert detect_bytes(b'{"x":1}\n' + CHAT[:-1]) is None


@given(
    st.lists(
        st.sampled_from(
            [CLAUDE, OPENVIKING, OPENCLAW, CODEX, CHAT, GEMINI_HEADER, GEMINI_MESSAGE, b'{"x":1}', b"", b"nonsense"]
        ),
        max_size=30,
    )
)
def test_an_answer_stays_when_the_file_grows(records: list[bytes]) -> None:
    answers = [
        detect_bytes(b"".join(record + b"\n" for record in records[:count])) for count in range(len(records) + 1)
    ]
    known = [answer for answer in answers if answer]
    assert len(set(known)) <= 1
    assert answers[len(answers) - len(known) :] == known


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(head: bytes) -> None:
    assert detect_bytes(b"{" + head) in (
        None,
        "gemini",
        "chat",
        "claude-code",
        "codex",
        "openclaw",
        "openviking",
        "gemini-jsonl",
    )
