"""Which session does SESSION mean, and which record SESSION:RECORD?"""

from __future__ import annotations

import os
import re

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SessionInfo, shown
from pipeline.errors import UsageError

MAX_CANDIDATES = 8
_RECORD = re.compile(r"(.+):([0-9]{1,18})", re.DOTALL)


def one_session(reader: LedgerReader, text: str, *, out: str) -> SessionInfo:
    """The one session that a SESSION argument means.

    Args:
        reader: the open ledger.
        text: source path, output path, unique end of a path, or `#id`.
        out: the output folder.

    Raises:
        UsageError: there is none, or several: the text names them.

    Source: README.md.
    """
    found = reader.find_session(text, out=out)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"SESSION: no session fits {text!r}; need a source path, an output path, last parts of one, or '#id'"
        )
    names = [f"#{info.id} {shown(info.source_path)}" for info in found[:MAX_CANDIDATES]]
    more = f" and {len(found) - MAX_CANDIDATES} more" if len(found) > MAX_CANDIDATES else ""
    raise UsageError(f"SESSION: need one session, {text!r} fits {len(found)}: {', '.join(names)}{more}")


def session_and_record(reader: LedgerReader, text: str, *, out: str) -> tuple[SessionInfo, int | None]:
    """The session and the record that SESSION or SESSION:RECORD means; `:N` splits only if the whole is no path.

    Raises:
        UsageError: no or several sessions.
    """
    match = _RECORD.fullmatch(text)
    if match is None or os.path.lexists(text) or reader.find_session(text, out=out):
        return one_session(reader, text, out=out), None
    return one_session(reader, match[1], out=out), int(match[2])
