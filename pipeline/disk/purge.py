"""Takes originals out of the vault for good: `forget`, and the clean-up of what nothing refers to."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from pipeline.disk.entries import EDITS, decode_edits
from pipeline.disk.ledger import Ledger
from pipeline.disk.vault import VaultWriter
from pipeline.errors import OutputError


def purge_values(
    writer: VaultWriter,
    ledger: Ledger,
    value_ids: Iterable[int],
    *,
    out_paths: Collection[bytes] = (),
    sessions: Iterable[int] = (),
) -> list[int]:
    """Write the packs that hold these originals again without them, and drop the old packs.

    Crash-safe: the entries that stay go to new packs, then one ledger transaction moves their rows and forgets the
    old packs, then the old files go; what a crash leaves of either is removed by `VaultWriter.open`. Needs as much
    free space as the packs that are written again have. Entries without a ledger row are not kept.

    Args:
        writer: open, with nothing pending.
        value_ids: value rows to delete; no site outside `sessions` may refer to them.
        out_paths: outputs whose edit lists go, too ("root name/path" in bytes): all packs are read to find them.
        sessions: sessions whose rows are deleted in the same transaction.

    Returns:
        The packs that were dropped.

    Raises:
        OutputError: disk full and the like; nothing has changed then, unless only the old files could not be removed.
        LedgerError: a pack is damaged; nothing has changed.
    """
    doomed = set(value_ids)
    packs = {row.pack for row in ledger.values(doomed)}
    if out_paths:
        packs |= _packs_with_edits(writer, set(ledger.committed_packs()) - packs, out_paths)
    done = False
    try:
        # The entries that stay must not go to a pack that is about to be dropped.
        writer.start_pack()
        for pack in sorted(packs):
            _write_again(writer, ledger, pack, doomed, out_paths)
        rows = writer.flush()
        for fd in writer.fds_to_sync():
            _sync(fd, writer.folder)
        with ledger.transaction() as tx:
            for session in sessions:
                tx.drop_session(session)
            tx.move_values(rows)
            tx.delete_values(doomed)
            tx.delete_packs(packs)
            tx.put_packs(writer.lengths())
        done = True
    finally:
        if not done:
            writer.rollback()
    writer.committed()
    writer.drop_packs(packs)
    return sorted(packs)


def _write_again(
    writer: VaultWriter, ledger: Ledger, pack: int, doomed: set[int], out_paths: Collection[bytes]
) -> None:
    ids = {(row.frame, row.off): row.id for row in ledger.values_in_pack(pack)}
    for entry in writer.entries(pack):
        if entry.kind == EDITS:
            if decode_edits(entry.data).out_path not in out_paths:
                writer.add_record_edits(entry.data)
            continue
        id = ids.get((entry.frame, entry.off))
        if id is not None and id not in doomed:
            writer.add(id, entry.digest16, entry.data)


def _packs_with_edits(writer: VaultWriter, packs: set[int], out_paths: Collection[bytes]) -> set[int]:
    return {
        pack
        for pack in packs
        if any(entry.kind == EDITS and decode_edits(entry.data).out_path in out_paths for entry in writer.entries(pack))
    }


def _sync(fd: int, folder: str) -> None:
    try:
        os.fdatasync(fd)
    except OSError as error:
        raise OutputError(f"{folder}: cannot flush the vault to disk: {error.strerror}") from error
