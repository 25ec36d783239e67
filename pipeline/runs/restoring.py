"""Bring back what was cut: a whole session, one value, or nothing any more."""

from __future__ import annotations

import os
import re
from typing import BinaryIO, cast

import orjson
import xxhash

from pipeline.disk.ledger_reader import LedgerReader
from pipeline.disk.ledger_rows import SessionInfo, shown
from pipeline.disk.naming import one_session
from pipeline.disk.packs import VaultReader
from pipeline.disk.rows import GenerationRow
from pipeline.disk.store import Store
from pipeline.errors import LedgerError, OutputError, UsageError
from pipeline.formats.decode import decode_again
from pipeline.monitor.rebuild import Rebuilder
from pipeline.parcels import signed
from pipeline.rules.base import RULES_VERSION
from pipeline.settings import Settings, output_digest

HANDLE_DIGITS = 16
_HANDLE_IN_MARK = re.compile(r"\[[^\]]* (?:recall|digest) ([0-9a-f]+)\]")


def restore(settings: Settings, session: str, generation: int | None, sink: BinaryIO) -> dict[str, int]:
    """Write the source bytes of a session, rebuilt from output, vault and ledger.

    Args:
        settings: with absolute out and state folders.
        session: SESSION as on the command line.
        generation: a superseded one; None for the current.
        sink: takes the bytes.

    Returns:
        Counts: records, source_bytes.

    Raises:
        UsageError: no such session or generation.
        LedgerError: output or vault lack something, or a record is not what was read: what the sink got is wrong.
        OutputError: the sink cannot be written.
    """
    with open_ledger(settings) as reader:
        info = one_session(reader, session, out=settings.out)
        row = generation_of(reader, info, generation)
        rebuilder = Rebuilder(reader, VaultReader(vault_folder(settings)), settings.out, info, row)
        records = length = 0
        for record in rebuilder.records():
            if record.problems:
                raise LedgerError(f"{rebuilder.path}: {record.problems[0]}; run `compactd verify`")
            hashed = xxhash.xxh3_64()
            for piece in record.source:
                hashed.update(piece)
                try:
                    sink.write(piece)
                except BrokenPipeError:
                    raise
                except OSError as error:
                    raise OutputError(f"cannot write the restored session: {error.strerror}") from error
                length += len(piece)
            if signed(hashed.intdigest()) != record.row.hash8:
                raise LedgerError(
                    f"{rebuilder.path}: record {record.row.ordinal}: what is restored is not what was read: output or "
                    "vault were changed; run `compactd verify`"
                )
            records += 1
    return {"records": records, "source_bytes": length}


def recall(settings: Settings, handle: str, raw: bool) -> bytes:
    """The original behind one mark.

    Args:
        handle: the hex digits of a mark, their beginning, or a whole mark.
        raw: the token's very bytes; else the decoded text, or the JSON of what is no string.

    Raises:
        UsageError: no or several originals have this handle.
    """
    handle = _HANDLE_IN_MARK.sub(r"\1", handle.strip())
    with open_ledger(settings) as reader:
        rows = reader.values_by_prefix(handle)
        if len(rows) != 1:
            found = "none" if not rows else ", ".join(row.digest16.hex() for row in rows[:8])
            raise UsageError(f"HANDLE: need the hex digits of one mark, {handle!r} fits {found}")
        token = VaultReader(vault_folder(settings)).value(rows[0])
    if raw or not token.startswith(b'"'):
        return token
    try:
        text = orjson.loads(token)
    except orjson.JSONDecodeError:
        text = decode_again(token, lenient=True)
    return cast(str, text).encode("utf-8", "surrogatepass")


def forget(settings: Settings, session: str) -> dict[str, int]:
    """Purge a session's outputs, rows, and the originals that no other session has.

    Returns:
        Counts: records, values.

    Raises:
        UsageError: no such session.
        LockedError: a daemon or backfill is at work.
    """
    # Before a state folder is made where none was.
    open_ledger(settings).close()
    with Store.open(settings, output_digest(settings, RULES_VERSION)) as store:
        with open_ledger(settings) as reader:
            info = one_session(reader, session, out=settings.out)
        return store.forget(info.id)


def open_ledger(settings: Settings) -> LedgerReader:
    """The ledger of these settings, for reading."""
    return LedgerReader.open(os.path.join(settings.state, "ledger.db"))


def vault_folder(settings: Settings) -> str:
    """Where the packs lie."""
    return os.path.join(settings.state, "vault")


def generation_of(reader: LedgerReader, info: SessionInfo, number: int | None) -> GenerationRow:
    """The asked or current generation of a session.

    Raises:
        UsageError: there is none.
    """
    rows = {row.generation: row for row in reader.generations(info.id)}
    wanted = info.generation if number is None else number
    if wanted not in rows:
        known = ", ".join(str(key) for key in rows) or "none"
        raise UsageError(f"{shown(info.source_path)}: need one of the generations {known}, got {wanted}")
    return rows[wanted]
