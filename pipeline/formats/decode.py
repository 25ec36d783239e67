"""Bytes of a record to JSON documents, and values back to bytes; hostile bytes end in a reason, never in a crash."""

from __future__ import annotations

import gc
import json
import re
from itertools import accumulate
from math import isinf
from typing import NoReturn

import orjson

from pipeline.records import BLANK, NOT_JSON, NOT_OBJECT, NOT_UTF8, NUL_RUN, TOO_DEEP, Document, Json

MAX_DEPTH = 400
"""Levels of nesting a document may have: below Python's recursion limit, so whoever walks a value may recurse."""
MAX_GLUED = 10_000
"""Documents that one record may have; real ones have two or three."""

_BOM = b"\xef\xbb\xbf"
# Possessive, and a string without an end runs to the end of the text: linear on any bytes.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INFINITY = re.compile(r'"(?:[^"\\]++|\\.)*+"|Infinity')
# An escape of a character outside ASCII.
_WIDE_ESCAPE = re.compile(rb"\\u(?!00[0-7])")
_LONGEST_INT = 19
_INT_RANGE = range(-(2**63), 2**64)


def decode_record(raw: bytes) -> tuple[list[Document], str]:
    """Find the JSON objects of one record.

    Args:
        raw: the record's bytes, line end included; a byte order mark at the start is allowed.

    Returns:
        The documents with their byte spans in `raw`, and "". Usually there is one; records glued on one line are
        several. Without a document: an empty list and the reason, one of `records.BLANK`, `NUL_RUN`, `NOT_UTF8`,
        `NOT_JSON` (also over `MAX_GLUED` documents), `NOT_OBJECT` (one JSON value that is no object), `TOO_DEEP`
        (over `MAX_DEPTH` levels). No bytes make it raise.

    Source: README.md, P1.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _decode_odd(raw)
    if type(value) is not dict:
        return [], NOT_OBJECT
    # Each level takes two bytes at least.
    if len(raw) > 2 * MAX_DEPTH and is_too_deep(value):
        return [], TOO_DEEP
    return [Document(raw.find(b"{"), raw.rfind(b"}") + 1, value)], ""


def decode_again(data: bytes, *, lenient: bool) -> Json:
    """Decode one document with the decoder that a document of the same record had.

    Raises:
        ValueError: `data` is not one JSON value.
        RecursionError: the nesting is too deep for the lenient decoder.
    """
    value: Json = _LENIENT.decode(data.decode()) if lenient else orjson.loads(data)
    return value


def is_too_deep(value: Json) -> bool:
    """Tell whether a decoded value has over `MAX_DEPTH` levels of lists and objects, without recursion.

    Walks level by level, a C call each: what a list or an object refers to are its keys and values.
    """
    of = gc.get_referents
    # Nearly all records end within these eight levels: no loop for them.
    level = of(*of(*of(*of(*of(*of(*of(*of(value))))))))
    if not level:
        return False
    depth = 8
    while level and depth < MAX_DEPTH:
        level = of(*level)
        depth += 1
    return any(type(item) is dict or type(item) is list for item in level)


def encode_value(value: Json, *, like: bytes = b"") -> bytes:
    r"""Encode a value as compact JSON.

    Args:
        value: any decoded value; lone surrogates and infinite numbers (`1e400`) included.
        like: the token that the value replaces. If its bytes are ASCII and it has escapes of other characters,
            the value is escaped to ASCII, too.

    Returns:
        UTF-8 bytes that decode to the value. Infinity is written as `1e999`.
    """
    try:
        data = orjson.dumps(value)
    except TypeError:  # lone surrogates, over 254 levels
        return encode_with_json(value, ascii_only=True)
    # Asked last: a search through a long token costs more than all else here.
    if like and not data.isascii() and like.isascii() and _WIDE_ESCAPE.search(like):
        return encode_with_json(value, ascii_only=True)
    # orjson writes null for infinity.
    if type(value) is not str and b"null" in data and _has_infinity(value):
        return encode_with_json(value, ascii_only=True)
    return data


def encode_with_json(value: Json, *, ascii_only: bool, spaced: bool = False) -> bytes:
    """Encode as Python's json does, with its spaces after comma and colon if `spaced`; lone surrogates are escaped."""
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    if "Infinity" in text:
        text = _INFINITY.sub(lambda match: match[0] if match[0].startswith('"') else "1e999", text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _decode_odd(raw: bytes) -> tuple[list[Document], str]:
    """Decode what the fast decoder refused, or say why not."""
    base = len(_BOM) if raw.startswith(_BOM) else 0
    body = raw[base:]
    if not body.strip():
        return [], BLANK
    # JSON has no raw NUL. Two in a row: a hole in the file (a copy was truncated under its writer), not UTF-16.
    if b"\0\0" in body or not body.strip(b"\0 \t\r\n"):
        return [], NUL_RUN
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return [], NOT_UTF8
    # The decoder below recurses, so the depth is bounded first.
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _bracket_depth(body) > MAX_DEPTH:
        return [], TOO_DEEP
    try:
        values = _lenient_values(text)
    except ValueError:
        return [], NOT_JSON
    except RecursionError:
        return [], TOO_DEEP
    if any(type(value) is not dict for _, _, value in values):
        return [], NOT_OBJECT if len(values) == 1 else NOT_JSON
    return _documents(values, text, raw, base), ""


def _bracket_depth(body: bytes) -> int:
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _lenient_values(text: str) -> list[tuple[int, int, Json]]:
    """All JSON values of a text with their spans in code points; nothing but blanks may lie between them."""
    values: list[tuple[int, int, Json]] = []
    at = _end_of_space(text, 0)
    while at < len(text):
        value, end = _LENIENT.raw_decode(text, at)
        values.append((at, end, value))
        if len(values) > MAX_GLUED:
            raise ValueError(f"need at most {MAX_GLUED} documents in a record")
        at = _end_of_space(text, end)
    return values


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _documents(values: list[tuple[int, int, Json]], text: str, raw: bytes, base: int) -> list[Document]:
    documents: list[Document] = []
    ascii_only = text.isascii()
    seen, offset = 0, base
    for start, end, value in values:
        offset += start - seen if ascii_only else len(text[seen:start].encode())
        length = end - start if ascii_only else len(text[start:end].encode())
        documents.append(_document(offset, offset + length, raw, value))
        seen, offset = end, offset + length
    return documents


def _document(start: int, end: int, raw: bytes, value: Json) -> Document:
    """The document as the fast decoder sees it if it can, so that its check is fast, too."""
    try:
        return Document(start, end, orjson.loads(raw[start:end]))
    except orjson.JSONDecodeError:
        return Document(start, end, value, lenient=True)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"not JSON: {constant}")


def _number(digits: str) -> int | float:
    """Beyond 64 bits a float, as in the fast decoder; int() would be slow or raise for thousands of digits."""
    if len(digits) <= _LONGEST_INT + 2:
        number = int(digits)
        if number in _INT_RANGE:
            return number
    return float(digits)


_LENIENT = json.JSONDecoder(parse_constant=_refuse, parse_int=_number)


def _has_infinity(value: Json) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, float):
            if isinf(item):
                return True
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return False
