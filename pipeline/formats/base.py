"""What the chain asks of a session format, and what it remembers of a session while it reads on."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from pipeline.records import Json, Site
from pipeline.rules.base import NO_CONTEXT, ToolContext

CALLS_KEPT = 10_000
# The usual spelling, on a day that every month has.
_UTC_DAY = re.compile(r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8]))T[0-9:.]*Z")


class Call(NamedTuple):
    """A tool call that results may answer: the tool's name and what is known for the rules."""

    tool: str
    context: ToolContext


UNKNOWN_CALL = Call("", NO_CONTEXT)


class CallMap:
    """The last calls of a session by id; ids may repeat or be missing."""

    def __init__(self, kept: int = CALLS_KEPT) -> None:
        self._kept = kept
        self._waiting = 0
        # Newest last. A list, since one id may be used by several calls of a session.
        self._open: OrderedDict[str, list[Call]] = OrderedDict()
        self._answered: OrderedDict[str, Call] = OrderedDict()

    def add(self, call_id: str, call: Call) -> None:
        """Remember a call; one without an id can never be found and is not kept."""
        if not call_id:
            return
        waiting = self._open.get(call_id)
        if waiting is None:
            self._open[call_id] = [call]
        else:
            waiting.append(call)
            self._open.move_to_end(call_id)
        self._waiting += 1
        if self._waiting > self._kept:
            self._forget_oldest()

    def answer(self, call_id: str) -> Call:
        """The nearest earlier unanswered call with this id, now answered; else the last answered one; else unknown."""
        waiting = self._open.get(call_id)
        if waiting:
            call = waiting.pop()
            self._waiting -= 1
            if not waiting:
                del self._open[call_id]
            self._answered[call_id] = call
            self._answered.move_to_end(call_id)
            if len(self._answered) > self._kept:
                self._answered.popitem(last=False)
            return call
        return self._answered.get(call_id, UNKNOWN_CALL)

    def peek(self, call_id: str) -> Call:
        """The nearest earlier call with this id, answered or not."""
        waiting = self._open.get(call_id)
        return waiting[-1] if waiting else self._answered.get(call_id, UNKNOWN_CALL)

    def _forget_oldest(self) -> None:
        call_id, waiting = next(iter(self._open.items()))
        del waiting[0]
        self._waiting -= 1
        if not waiting:
            del self._open[call_id]


@dataclass(slots=True)
class Pairing:
    """Calls of the session itself, and of the subagents whose messages are nested in progress records."""

    own: CallMap = field(default_factory=CallMap)
    nested: CallMap = field(default_factory=CallMap)


class Format(Protocol):
    """Where one format keeps tool inputs, results and copies. Adapters are stateless and pure."""

    @property
    def name(self) -> str:
        """The format's name on the command line and in the ledger."""

    @property
    def whole_document(self) -> bool:
        """The file is one JSON document and one record; else each line is a record."""

    @property
    def compacts(self) -> bool:
        """False while records of this format only pass through."""

    @property
    def summary_inputs(self) -> bool:
        """tool_input.shape "auto" means summary (true) or in-place (false)."""

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:
        """The sites of one decoded document, in document order; registers its calls and answers."""

    def day(self, document: dict[str, Json]) -> str:
        """The record's own day as YYYY-MM-DD (UTC), or ""."""


def day_of(timestamp: Json) -> str:
    """The UTC day of an ISO 8601 timestamp; "" if it is none."""
    if not isinstance(timestamp, str):
        return ""
    match = _UTC_DAY.fullmatch(timestamp)
    return match[1] if match else _converted_day(timestamp)


def _converted_day(timestamp: str) -> str:
    try:
        moment = datetime.fromisoformat(timestamp)
        return (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
    except (ValueError, OverflowError):
        return ""
