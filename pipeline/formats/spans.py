"""Where edited values lie in a record's bytes, and the record with new bytes in their place, checked by decoding it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from pipeline.formats.decode import decode_again, encode_value, encode_with_json
from pipeline.formats.scanner import scan_spans
from pipeline.records import Document, Json, Path

Span = tuple[int, int]
Make = Callable[[int, bytes], tuple[Json, bytes]]

# A search for a long needle is slow, so only this much of a token is searched for and the rest compared.
NEEDLE_BYTES = 48
# Places that begin alike are compared whole this often at most, or the time would grow with their number.
_MAX_HITS = 4
_BLANKS = b" \t\r\n"


@dataclass(slots=True)
class Spliced:
    """A document with new values in place.

    `spans` are the old tokens' places in the record, in the order of the wanted paths; `originals` and `news` their
    old and new bytes. `exact` tells that the scanner was needed. `output` replaces the document's bytes.
    """

    spans: list[Span]
    originals: list[bytes]
    news: list[bytes]
    exact: bool
    output: bytes


def apply_checked(raw: bytes, document: Document, wanted: Sequence[tuple[Path, Json]], make: Make) -> Spliced | None:
    """Replace the values at some paths of a document; every byte outside of them stays.

    The result is decoded and compared with what was meant, so a place found wrongly cannot do harm: then the keys of
    the parents lead the search, and at last the exact scanner.

    Args:
        raw: the record.
        document: one of its documents. Afterwards its `value` holds the new values; the old ones if None came back.
        wanted: paths and their present values, in document order, none within another.
        make: called with the index in `wanted` and the old token's bytes; gives the new value and its bytes. An edit
            is given up by giving back the old ones. It is called again for each index if a place was wrong.

    Returns:
        None when the new values cannot be put in place: the record then stays as it is.

    Source: README.md, "Architecture".
    """
    for careful in (False, True):
        found = _locate(raw, document, wanted, careful=careful)
        if found is None:
            break
        result = _attempt(raw, document, wanted, *found, make, exact=False)
        if result is not None:
            return result
    try:
        spans = scan_spans(raw, document.start, document.end, [path for path, _ in wanted])
    except ValueError:
        return None
    return _attempt(raw, document, wanted, spans, [raw[first:last] for first, last in spans], make, exact=True)


def splice(raw: bytes, spans: Sequence[Span], news: Sequence[bytes], start: int = 0, end: int | None = None) -> bytes:
    """The bytes `raw[start:end]` with the spans replaced; spans are in order and do not overlap."""
    parts: list[bytes] = []
    at = start
    for (first, last), new in zip(spans, news, strict=True):
        parts += (raw[at:first], new)
        at = last
    parts.append(raw[at:end])
    return b"".join(parts)


def locate(raw: bytes, document: Document, wanted: Sequence[tuple[Path, Json]]) -> list[Span] | None:
    r"""Find the tokens of some values by searching for `"key":` and the encoded value.

    `"key":` with its bare quotes cannot be part of a string, so a hit is a real member; only an equal copy of the
    value under an equal key can be mistaken for it.

    Args:
        raw: the record.
        document: one of its documents.
        wanted: paths and values, in document order, none within another.

    Returns:
        Spans in `raw`, in the order of `wanted`, nearly always the right ones; None when one was not found: numbers,
        odd spacing, unusual escapes and keys are left to the scanner. The time is linear.

    Source: README.md, "Architecture".
    """
    found = _locate(raw, document, wanted, careful=True)
    return found[0] if found else None


def _locate(
    raw: bytes, document: Document, wanted: Sequence[tuple[Path, Json]], *, careful: bool
) -> tuple[list[Span], list[bytes]] | None:
    """Spans and their bytes. `careful`: the cursor moves past the keys of the parents first, so past most copies."""
    cursor, end = document.start, document.end
    # The first key of the document shows how its writer separates keys and values.
    colon = raw.find(b'":', cursor, end) + 1
    spaced = raw[colon + 1 : colon + 2] == b" "
    sign = '": ' if spaced else '":'
    ascii_only: bool | None = None
    spans: list[Span] = []
    tokens: list[bytes] = []
    before: Path = ()
    for path, value in wanted:
        # Most values are such strings, and for them the tests cost nothing.
        if type(value) is str and value.isascii():
            token = orjson.dumps(value)
        else:
            token = _token(value, spaced=spaced)
            if not token.isascii():
                if ascii_only is None:
                    ascii_only = raw.isascii()
                if ascii_only:
                    token = encode_with_json(value, ascii_only=True, spaced=spaced)
        if not token or not path:
            return None
        if careful:
            cursor = _behind_parents(raw, cursor, end, before, path)
            before = path
        step = path[-1]
        if type(step) is str:
            start = _find_member(raw, f'"{step}{sign}'.encode("utf-8", "surrogatepass"), token, cursor, end)
        else:
            start = _find_element(raw, token, cursor, end)
        if start < 0:
            return None
        cursor = start + len(token)
        spans.append((start, cursor))
        tokens.append(token)
    return spans, tokens


def _token(value: Json, *, spaced: bool) -> bytes:
    """The likely bytes of a value; empty for numbers and the like, whose ends a comparison does not show."""
    if type(value) is str:
        try:
            return orjson.dumps(value)
        except TypeError:  # lone surrogates
            return encode_with_json(value, ascii_only=False)
    if type(value) is dict or type(value) is list:
        return encode_with_json(value, ascii_only=False, spaced=True) if spaced else encode_value(value)
    return b""


def _behind_parents(raw: bytes, cursor: int, end: int, before: Path, path: Path) -> int:
    """The cursor behind the keys of those parents that the path before did not have.

    The first such key from the cursor on lies at or before the right one, so nothing is skipped.
    """
    same = 0
    for step, earlier in zip(path, before, strict=False):
        if step != earlier:
            break
        same += 1
    for step in path[same:-1]:
        if isinstance(step, str):
            cursor = max(cursor, raw.find(f'"{step}":'.encode("utf-8", "surrogatepass"), cursor, end))
    return cursor


def _find_member(raw: bytes, lead: bytes, token: bytes, cursor: int, end: int) -> int:
    """The start of the token as the value of a key, from the cursor on; -1 when it is not found."""
    head = lead + token[:NEEDLE_BYTES]
    for _ in range(_MAX_HITS):
        hit = raw.find(head, cursor, end)
        if hit < 0:
            return -1
        start = hit + len(lead)
        if raw.startswith(token, start, end):
            return start
        cursor = start
    return -1


def _find_element(raw: bytes, token: bytes, cursor: int, end: int) -> int:
    """The start of the token as an element of a list, from the cursor on; -1 when it is not found."""
    head = token[:NEEDLE_BYTES]
    for _ in range(_MAX_HITS):
        start = raw.find(head, cursor, end)
        if start < 0:
            return -1
        if raw[start - 2 : start].rstrip(_BLANKS).endswith((b"[", b",")) and raw.startswith(token, start, end):
            return start
        cursor = start + 1
    return -1


def _attempt(
    raw: bytes,
    document: Document,
    wanted: Sequence[tuple[Path, Json]],
    spans: list[Span],
    tokens: list[bytes],
    make: Make,
    *,
    exact: bool,
) -> Spliced | None:
    """Splice at these spans; None, and the document's value as before, when the result is not what was meant."""
    news: list[bytes] = []
    undo: list[tuple[Any, str | int, Json]] = []
    # A document of its own step, so that the empty path needs no case.
    top: list[Json] = [document.value]
    plain = True
    for index, token in enumerate(tokens):
        value, data = make(index, token)
        news.append(data)
        owner: Any = top
        last: str | int = 0
        for step in wanted[index][0]:
            owner, last = owner[last], step
        undo.append((owner, last, owner[last]))
        owner[last] = value
        plain = plain and type(value) is str
    if exact:
        output = _splice_in_order(raw, document, spans, news)
    else:
        output = splice(raw, spans, news, document.start, document.end)
    document.value = top[0]
    try:
        decoded = decode_again(output, lenient=document.lenient)
        if decoded == document.value and (plain or _equal_kinds(decoded, undo, wanted)):
            return Spliced(spans, tokens, news, exact, output)
    except (ValueError, RecursionError):
        pass
    for owner, last, old in reversed(undo):
        owner[last] = old
    document.value = top[0]
    return None


def _splice_in_order(raw: bytes, document: Document, spans: list[Span], news: list[bytes]) -> bytes:
    """Splice spans in any order: a repeated key has its first place among the keys, but the last one's value.

    Gives no bytes, so nothing that decodes, when spans overlap.
    """
    order = sorted(range(len(spans)), key=spans.__getitem__)
    if any(spans[first][1] > spans[second][0] for first, second in pairwise(order)):
        return b""
    in_order, news = [spans[index] for index in order], [news[index] for index in order]
    return splice(raw, in_order, news, document.start, document.end)


def _equal_kinds(decoded: Json, undo: list[tuple[Any, str | int, Json]], wanted: Sequence[tuple[Path, Json]]) -> bool:
    """Look closer at the new values, since 1 == True == 1.0 in Python; all other bytes are the same."""
    for (owner, last, _), (path, _) in zip(undo, wanted, strict=True):
        value: Any = decoded
        for step in path:
            value = value[step]
        if encode_value(value) != encode_value(owner[last]):
            return False
    return True
