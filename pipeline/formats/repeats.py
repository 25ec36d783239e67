"""Whether a hidden text repeats the visible one of its record."""

from __future__ import annotations

SMALLEST_PART = 64
"""One part in so many of the visible text: many strings that each searched all of it would take for ever."""


def stands_in(part: str, whole: str) -> bool:
    """True if a hidden text, blanks around it aside, is a part of the visible one; small parts are not looked for."""
    part = part.strip()
    return bool(part) and len(part) * SMALLEST_PART >= len(whole) and part in whole
