"""Tool calls and results that memory plugins write into text as `[tool: NAME]` and `[tool result]`."""

from __future__ import annotations

import json
import re

from pipeline.rules.markdown import Block

_MARKER = re.compile(r"^\[tool(?:: ([^\]\r\n]+)| result)\][ \t]*\r?(?:\n|$)", re.MULTILINE)
_VALUE_END = re.compile(r"[ \t]*\r?(?:\n|\Z)")
_PARAGRAPH_END = re.compile(r"\r?\n[ \t]*\r?(?:\n|\Z)")
_DECODER = json.JSONDecoder()


def find_inlined(text: str) -> list[Block]:
    """The calls and results of a text in order.

    A marker counts only at the start of a line. A call's body is the JSON value behind its marker, else the first
    paragraph; a result's body goes to the next marker or to the end, without the empty lines there. A result has the
    tool of the call before it, "" if there is none in this text.

    Source: sessions as their writers leave them.
    """
    if "[tool" not in text:
        return []
    markers = list(_MARKER.finditer(text))
    blocks: list[Block] = []
    tool = ""
    for place, marker in enumerate(markers):
        start = marker.end()
        limit = markers[place + 1].start() if place + 1 < len(markers) else len(text)
        if marker[1] is None:
            end = start + len(text[start:limit].rstrip("\r\n"))
            blocks.append(Block("result", tool, "", start, end, text[start:end], "inlined"))
        else:
            tool = marker[1].strip()
            end = _input_end(text, start, limit)
            blocks.append(Block("call", tool, "", start, end, text[start:end], "inlined"))
    return blocks


def _input_end(text: str, start: int, limit: int) -> int:
    """The end of a call's input: of the JSON value, or of the paragraph."""
    piece = text[start:limit]
    if piece.startswith(("{", "[", '"')):
        try:
            end = _DECODER.raw_decode(piece)[1]
        except (ValueError, RecursionError):
            end = 0
        if end and _VALUE_END.match(piece, end):
            return start + end
    found = _PARAGRAPH_END.search(piece)
    return start + (found.start() if found else len(piece.rstrip("\r\n")))
