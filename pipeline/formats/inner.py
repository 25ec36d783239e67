"""JSON that a record keeps as a string: arguments of calls, outputs with their metadata."""

from __future__ import annotations

import orjson

from pipeline.formats.decode import MAX_DEPTH, is_too_deep
from pipeline.records import Json


def inner_value(text: str) -> Json:
    """The object or list that a string is the JSON text of.

    Returns:
        The decoded value; None for any other text, lone surrogates and over `MAX_DEPTH` levels included.
    """
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if len(text) > 2 * MAX_DEPTH and is_too_deep(value) else value


def inner_object(text: str) -> dict[str, Json] | None:
    """The object that a string is the JSON text of; None if it is none."""
    value = inner_value(text)
    return value if isinstance(value, dict) else None
