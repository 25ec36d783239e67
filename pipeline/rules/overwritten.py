"""Lines that a program overwrote by carriage returns: of each only the last state is seen."""

from __future__ import annotations

from collections.abc import Collection


def holds_overwritten(text: str) -> bool:
    r"""Whether a "\r" stands in `text` that is not part of a line's end."""
    return "\r" in text and text.count("\r") > text.count("\r\n")


def last_states(text: str, whole: Collection[int]) -> str:
    r"""Leave of each overwritten line what a terminal shows last.

    Args:
        text: a tool output; lines end at "\n", and any "\r" before it stays.
        whole: 0-based numbers of lines that stay as they are (failures).

    Returns:
        The shorter text with as many lines; the text itself when nothing was overwritten.
    """
    if not holds_overwritten(text):
        return text
    lines = text.split("\n")
    changed = False
    for number, line in enumerate(lines):
        if "\r" in line and number not in whole:
            lines[number] = last_state(line)
            changed = changed or len(lines[number]) < len(line)
    return "\n".join(lines) if changed else text


def last_state(line: str) -> str:
    """The last state of a line that has something in it, with the line's end; the line itself when it has but one."""
    body = line.rstrip("\r")
    shown = body.rstrip()
    if "\r" not in body or not shown:
        return line
    end = body.find("\r", len(shown))
    return body[shown.rfind("\r") + 1 : end if end >= 0 else len(body)] + line[len(body) :]
