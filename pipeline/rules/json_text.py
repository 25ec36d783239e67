"""Whether a text is JSON, so that a cut would break it."""

from __future__ import annotations

import re

import orjson

_NOT_FINITE = re.compile(r"(?<=[\[:, \t\r\n])-?(?:NaN|Infinity)(?=[\], \t\r\n}])")
_ELISION = re.compile(r'"… \[[0-9]{1,12} lines elided\] …"\r?')
# What the decoder refuses although others read it: nesting, halves of surrogate pairs, numbers beyond a double.
_ITS_LIMITS = ("depth", "ecursion", "surrogate", "infinity")


def is_json(text: str) -> bool:
    """Whether a text is one JSON object or array, white space around it aside.

    Also true when the decoder gives up at a limit of its own, and for NaN and Infinity, which lenient readers know.
    """
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return False
    return _parses(bare) or (("NaN" in bare or "Infinity" in bare) and _parses(_NOT_FINITE.sub("0", bare)))


def is_json_or_lines(text: str) -> bool:
    """Whether a text is a JSON object or array, or lines that are one each."""
    bare = text.strip()
    if bare[:1] not in ("{", "[") or bare[-1:] not in ("}", "]"):
        return False
    if is_json(bare):
        return True
    lines = bare.split("\n")
    # The last one first: a log that happens to open with a bracket is told quickly.
    return len(lines) > 1 and all(is_json(line) or _is_elision(line) for line in reversed(lines) if line.strip())


def _is_elision(line: str) -> bool:
    """Whether lines of JSON were counted here: a JSON string."""
    return _ELISION.fullmatch(line) is not None


def _parses(text: str) -> bool:
    try:
        orjson.loads(text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        return any(word in str(error) for word in _ITS_LIMITS)
    return True
