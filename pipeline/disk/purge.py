"""Takes originals out of the vault for good: `forget`, and the clean-up of what nothing refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pipeline.disk.entries import EDITS, RecordEdits, decode_edits
from pipeline.disk.ledger import Ledger
from pipeline.disk.outputs import sync
from pipeline.disk.vault import VaultWriter

Doomed = Callable[[RecordEdits], bool]
"""True for an edit list that has to go."""


def purge_session(writer: VaultWriter, ledger: Ledger, session: int) -> int:
    """Remove a session's rows, its edit lists, and the originals that no other session has.

    Returns:
        How many originals went.

    Raises:
        OutputError, LedgerError: as `purge_values`.
    """
    # With those of generations whose rows are gone already.
    values = {*ledger.unshared_values(session), *ledger.unreferenced_values()}
    purge_values(writer, ledger, values, doomed=edit_lists_of(ledger, session), sessions=[session])
    return len(values)


def edit_lists_of(ledger: Ledger, session: int) -> Doomed:
    """Which edit lists are those of a session: written for a place where its output lies, or lay before a move.

    Another session may have had its output there, too: a list is kept that fits one of its records.
    """
    paths = {path: [id for id in ledger.sessions_at(path) if id != session] for path in ledger.out_paths(session)}

    def doomed(edits: RecordEdits) -> bool:
        others = paths.get(edits.out_path)
        if others is None:
            return False
        key = (edits.generation, edits.ordinal, edits.src_len, edits.hash8)
        return not any(ledger.has_record(other, *key) for other in others)

    return doomed


def purge_values(
    writer: VaultWriter,
    ledger: Ledger,
    value_ids: Iterable[int],
    *,
    doomed: Doomed | None = None,
    sessions: Iterable[int] = (),
) -> list[int]:
    """Write the packs that hold these originals again without them, and drop the old packs.

    Crash-safe: the entries that stay go to new packs, then one ledger transaction moves their rows and forgets the
    old packs, then the old files go; what a crash leaves of either is removed by `VaultWriter.open`. Needs as much
    free space as the packs that are written again have. Entries without a ledger row are not kept.

    Args:
        writer: open, with nothing pending.
        value_ids: value rows to delete; no site outside `sessions` may refer to them.
        doomed: edit lists that go, too; all packs are read to find them.
        sessions: sessions whose rows are deleted in the same transaction.

    Returns:
        The packs that were dropped.

    Raises:
        OutputError: disk full and the like; nothing has changed then, unless only the old files could not be removed.
        LedgerError: a pack is damaged; nothing has changed.
    """
    gone = set(value_ids)
    packs = {row.pack for row in ledger.values(gone)}
    if doomed is not None:
        packs |= _packs_with_edits(writer, set(ledger.committed_packs()) - packs, doomed)
    done = False
    try:
        # The entries that stay must not go to a pack that is about to be dropped.
        writer.start_pack()
        for pack in sorted(packs):
            _write_again(writer, ledger, pack, gone, doomed)
        rows = writer.flush()
        for fd in writer.fds_to_sync():
            sync(fd, writer.folder)
        with ledger.transaction() as tx:
            for session in sessions:
                tx.drop_session(session)
            tx.move_values(rows)
            tx.delete_values(gone)
            tx.delete_packs(packs)
            tx.put_packs(writer.lengths())
        done = True
    finally:
        if not done:
            writer.rollback()
    writer.committed()
    writer.drop_packs(packs)
    return sorted(packs)


def _write_again(writer: VaultWriter, ledger: Ledger, pack: int, gone: set[int], doomed: Doomed | None) -> None:
    ids = {(row.frame, row.off): row.id for row in ledger.values_in_pack(pack)}
    for entry in writer.entries(pack):
        if entry.kind == EDITS:
            if doomed is None or not doomed(decode_edits(entry.data)):
                writer.add_record_edits(entry.data)
            continue
        id = ids.get((entry.frame, entry.off))
        if id is not None and id not in gone:
            writer.add(id, entry.digest16, entry.data)


def _packs_with_edits(writer: VaultWriter, packs: set[int], doomed: Doomed) -> set[int]:
    return {
        pack
        for pack in packs
        if any(entry.kind == EDITS and doomed(decode_edits(entry.data)) for entry in writer.entries(pack))
    }
