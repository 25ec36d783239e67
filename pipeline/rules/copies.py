"""What a session has already shown: digests of earlier texts, to know a hidden copy when it comes."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping

import xxhash

from pipeline.records import Json
from pipeline.rules.markdown import ProseCalls
from pipeline.rules.protected import behind_header

TEXTS_KEPT = 50_000
GROWING_KEPT = 1_000
_GROWS_AT_MOST = 4
# Both line-number styles of file reads: "     1→text" and "     1\ttext".
_LINE_NUMBER = re.compile(r"^ *\d+[→\t]", re.MULTILINE)
_NUMBERED = re.compile(r" *\d+[→\t]")
_REMINDER = "\n\n<system-reminder>"
# What the hidden copy of a failed result starts with.
_ERROR = "Error: "


def digest_of(text: str) -> bytes:
    """A 128-bit digest of a text; equal digests count as equal texts (restore never relies on it)."""
    return xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


class Seen:
    """Digests of the texts of a session, newest kept; `guarded` ones came from results whose failures are kept.

    `prose` are the calls that stood in prose. No form of a text under `shortest` characters is remembered.
    """

    def __init__(self, *, min_bytes: int, kept: int = TEXTS_KEPT) -> None:
        self._min = min_bytes
        self.shortest = min_bytes - len(_ERROR)
        self._kept = kept
        self._texts: OrderedDict[bytes, bool] = OrderedDict()
        self._growing: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self.prose = ProseCalls()

    def remember(self, text: str, *, guarded: bool) -> None:
        """Remember a text, and itself without surrounding blanks (results are trimmed, their copies often not)."""
        if len(text) < self._min:
            return
        self._add(digest_of(text), guarded=guarded)
        stripped = text.strip()
        if stripped is not text and len(stripped) != len(text):
            self._add(digest_of(stripped), guarded=guarded)

    def remember_result(self, text: str, *, is_read: bool, is_error: bool, guarded: bool = True) -> None:
        """Remember a visible result and the forms its copies are known to take."""
        if len(text) < self.shortest:
            return
        self.remember(text, guarded=guarded)
        if is_error:
            self.remember(_ERROR + text, guarded=guarded)
        body = behind_header(text)
        if body:
            self.remember(text[body:], guarded=guarded)
        if is_read and _NUMBERED.match(text):
            self.remember(without_line_numbers(text), guarded=False)

    def remember_input(self, value: Json) -> None:
        """Remember the long strings of a tool input (file bodies, prompts, edits) and its lists: copies are exact."""
        if isinstance(value, dict):
            for child in value.values():
                # Quicker than isinstance, and a decoded value has no other types.
                if type(child) is str:
                    if len(child) >= self._min:
                        self._add(digest_of(child), guarded=False)
                elif type(child) is list:
                    self.remember(text_of_list(child), guarded=False)
                    self._remember_strings(child)
                elif type(child) is dict:
                    self._remember_strings(child)
        else:
            self._remember_strings(value)

    def _remember_strings(self, value: Json) -> None:
        """Remember the long strings in a value; the decoder bounds its depth."""
        if isinstance(value, str):
            if len(value) >= self._min:
                self._add(digest_of(value), guarded=False)
        elif isinstance(value, dict):
            for child in value.values():
                self._remember_strings(child)
        elif isinstance(value, list):
            for child in value:
                self._remember_strings(child)

    def remember_edit(self, result: Mapping[str, Json]) -> None:
        """Remember the state of a file after an edit: the next edit repeats it as its `originalFile`."""
        original, old, new = result.get("originalFile"), result.get("oldString"), result.get("newString")
        if isinstance(original, str) and isinstance(old, str) and isinstance(new, str) and old:
            times = original.count(old) if result.get("replaceAll") else 1
            # A letter replaced by a long text wherever it stands would fill the memory.
            if times * len(new) <= _GROWS_AT_MOST * (len(original) + len(new)):
                self.remember(original.replace(old, new, times), guarded=False)

    def holds(self, text: str, *, guarded: bool) -> bool:
        """Is an equal text (blanks around it aside) earlier in the session? `guarded`: count results only."""
        if len(text) < self._min:
            return False
        known = self._texts.get(digest_of(text))
        if known is None or (guarded and not known):
            stripped = text.strip()
            known = self._texts.get(digest_of(stripped)) if len(stripped) != len(text) else known
        return known is not None and (known or not guarded)

    def grown(self, key: str, text: str) -> int:
        """How many characters of a growing output were already there the last time; 0 if it is another output."""
        before = self._growing.get(key)
        if before is not None and before[0] <= len(text) and digest_of(text[: before[0]]) == before[1]:
            return before[0]
        return 0

    def remember_growing(self, key: str, text: str) -> None:
        """Remember this state of a growing output."""
        self._growing[key] = (len(text), digest_of(text))
        self._growing.move_to_end(key)
        if len(self._growing) > GROWING_KEPT:
            self._growing.popitem(last=False)

    def _add(self, digest: bytes, *, guarded: bool) -> None:
        if guarded:
            self._texts[digest] = True
        else:
            self._texts.setdefault(digest, False)
        if len(self._texts) > self._kept:
            self._texts.popitem(last=False)


def text_of_list(values: list[Json]) -> str:
    """A list as a text to compare by: its lines if it is one of strings, else JSON."""
    lines = [value for value in values if isinstance(value, str)]
    return "\n".join(lines) if len(lines) == len(values) else json.dumps(values, ensure_ascii=False)


def without_line_numbers(text: str) -> str:
    """A file read without its line numbers and without a reminder behind it."""
    end = text.find(_REMINDER)
    return _LINE_NUMBER.sub("", text if end < 0 else text[:end])
