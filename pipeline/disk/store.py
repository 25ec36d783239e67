"""The commit protocol: outputs and vault are appended and flushed, then one transaction makes them count.

Order of one commit (reliability.md, 4): append outputs -> write vault frames -> fdatasync all in parallel -> one SQLite
transaction with ledger rows, checkpoints and committed lengths. The transaction is the only truth; at start everything
is cut back to it.
"""

from __future__ import annotations

import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pipeline.disk.entries import EditSpan, RecordEdits, encode_edits
from pipeline.disk.failpoints import FailPoints
from pipeline.disk.generations import Swapper, remove_outputs
from pipeline.disk.identity import Identity, tail_hash
from pipeline.disk.ledger import Ledger
from pipeline.disk.lock import FolderLock
from pipeline.disk.outputs import Output, Outputs, sync, sync_folder
from pipeline.disk.places import Places
from pipeline.disk.preflight import check_file_system
from pipeline.disk.purge import purge_values
from pipeline.disk.reader import read_at
from pipeline.disk.rows import (
    GenerationRow,
    RecordTuple,
    RollupSums,
    SessionRow,
    SiteTuple,
    ValueRow,
    day_number,
)
from pipeline.disk.vault import VaultWriter
from pipeline.errors import LedgerError
from pipeline.parcels import Checkpoint, Parcel, RecordValues, SiteValues
from pipeline.settings import Settings

SECONDS_A_DAY = 86_400


@dataclass(slots=True)
class _Writing:
    """A session that is being written: its rows as committed, and what came since.

    `row_off`: where the next record's output begins; it lags behind the output's length inside a too long record.
    `src_off` is where that record begins in the source, `src_end` where the next parcel has to begin.
    """

    session: SessionRow
    generation: GenerationRow
    out_path: bytes
    path: str
    row_off: int
    src_off: int
    src_end: int
    checkpoint: Checkpoint | None = None
    finishes: bool = False


@dataclass(slots=True)
class _Pending:
    """Rows of the next commit."""

    records: list[tuple[int, int, int, RecordValues]] = field(default_factory=list)
    """session, generation, offset in the output, and the record."""
    sites: list[tuple[int, int, int, SiteValues]] = field(default_factory=list)
    """session, generation, value id, and the site."""
    source_bytes: int = 0


class Store:
    """Outputs, vault and ledger of one state folder. One thread at a time; holds both folders' locks."""

    def __init__(self, settings: Settings, config: str, failpoints: FailPoints) -> None:
        self._settings = settings
        self._config = config
        self._failpoints = failpoints
        self._locks = [
            FolderLock(os.path.join(settings.state, "lock")),
            FolderLock(os.path.join(settings.out, ".compactd.lock")),
        ]
        self._outputs = Outputs(failpoints)
        self._pool = ThreadPoolExecutor(settings.commit.sync_threads, "sync")
        self._writing: dict[int, _Writing] = {}
        self._pending = _Pending()
        self._ledger: Ledger
        self._vault: VaultWriter
        self._swapper: Swapper
        self._places: Places

    @classmethod
    def open(cls, settings: Settings, config: str) -> Store:
        """Take the locks, open ledger and vault, and cut everything back to the last commit.

        Args:
            settings: with absolute out and state folders.
            config: digest of settings and rules version, noted with each new generation.

        Raises:
            LockedError, LedgerError, OutputError: as `errors` describes them.
        """
        store = cls(settings, config, FailPoints.from_environment())
        try:
            store._recover()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close everything; what was not committed is cut back at the next start."""
        with contextlib.ExitStack() as stack:
            # Last in, first out: the locks go last, whatever fails before.
            for lock in self._locks:
                stack.callback(lock.release)
            if hasattr(self, "_ledger"):
                stack.callback(self._ledger.close)
            if hasattr(self, "_vault"):
                stack.callback(self._vault.close)
            stack.callback(self._outputs.close_all)
            self._pool.shutdown()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def config(self) -> str:
        """The digest that new generations are noted with."""
        return self._config

    @property
    def ledger(self) -> Ledger:
        """The ledger, for questions between commits."""
        return self._ledger

    @property
    def failpoints(self) -> FailPoints:
        """Where tests can have this process killed."""
        return self._failpoints

    @property
    def places(self) -> Places:
        """Where outputs lie."""
        return self._places

    @property
    def pending_bytes(self) -> int:
        """Source bytes appended since the last commit."""
        return self._pending.source_bytes

    @property
    def pending_records(self) -> int:
        """Records appended since the last commit."""
        return len(self._pending.records)

    @property
    def must_commit(self) -> bool:
        """No further output can be opened before a commit."""
        return self._outputs.full

    @property
    def vault_bytes(self) -> int:
        """Committed bytes of all packs."""
        return sum(self._ledger.committed_packs().values())

    def append(self, parcel: Parcel) -> None:
        """Append a parcel's bytes to its output and keep its rows for the next commit.

        Raises:
            OutputError: the bytes could not be written; everything since the last commit has to be done again.
            LedgerError: the output is not what the ledger says.
        """
        writing = self._writing_of(parcel)
        if writing.finishes:
            # The generation takes its place before anything is added that may be half a record.
            self.commit()
            writing = self._writing_of(parcel)
        output = self._output(writing)
        begins = parcel.checkpoint.src_off - parcel.source_bytes
        if begins != writing.src_end:
            # A reading that was given up inside of a too long record: another one reads that record again.
            assert begins == writing.src_off, "a batch that does not begin where the last one ended"
            self._outputs.cut(output, writing.row_off)
        writing.src_end = parcel.checkpoint.src_off
        self._outputs.append(output, parcel.output)
        self._add_rows(writing, parcel)
        self._pending.source_bytes += parcel.source_bytes
        if parcel.complete:
            writing.src_off = parcel.checkpoint.src_off
            writing.checkpoint = parcel.checkpoint
        writing.finishes = writing.finishes or parcel.finishes

    def commit(self) -> None:
        """Make everything that was appended count.

        Raises:
            OutputError: it does not count; open the store again, which cuts back to the last commit.
            LedgerError: the ledger was removed or replaced, or is damaged.
        """
        touched = [writing for writing in self._writing.values() if writing.checkpoint or writing.finishes]
        if not touched and not self._pending.records:
            return
        values = self._vault.flush() if self._settings.vault.enabled else []
        self._failpoints.reach("vault-after-flush")
        self._sync()
        self._failpoints.reach("sync-after")
        self._ledger.assert_in_place()
        generations = [self._next_row(writing) for writing in touched]
        self._failpoints.reach("commit-begin")
        self._transact(generations, touched, values)
        self._failpoints.reach("commit-after")
        self._vault.committed()
        for writing, row in zip(touched, generations, strict=True):
            writing.generation = row
            if writing.checkpoint is not None:
                # For a generation that takes its place only now: what its source looked like.
                _seen(writing.session, writing.checkpoint, writing.session.generation)
            writing.checkpoint = None
            self._outputs.committed(self._output(writing), row.out_len)
        self._pending = _Pending()
        for writing in touched:
            if writing.finishes:
                self._finish(writing)

    def _transact(self, generations: list[GenerationRow], touched: list[_Writing], values: list[ValueRow]) -> None:
        sums = RollupSums()
        with self._ledger.transaction() as change:
            records, sites = self._rows()
            sums.add(records, sites)
            change.insert_values(values)
            change.insert_records(records)
            change.insert_sites(sites)
            change.add_rollup(sums)
            self._failpoints.reach("commit-rows")
            for writing, row in zip(touched, generations, strict=True):
                change.put_generation(row)
                if writing.checkpoint is not None and row.state == "current":
                    change.update_session(_seen(writing.session, writing.checkpoint, row.generation))
            change.put_packs(self._vault.lengths())
            self._failpoints.reach("commit-before-end")

    def _sync(self) -> None:
        """fdatasync of all outputs and packs that grew, in parallel; then the folders of new files."""
        dirty = self._outputs.dirty()
        jobs = [(output.fd, output.path) for output in dirty]
        jobs += [(fd, self._vault.folder) for fd in self._vault.fds_to_sync()]
        for future in [self._pool.submit(sync, fd, shown) for fd, shown in jobs]:
            future.result()
        for output in dirty:
            if output.created:
                sync_folder(output.path)

    def _writing_of(self, parcel: Parcel) -> _Writing:
        writing = self._writing.get(parcel.session)
        if parcel.starts:
            if writing is not None and (writing.checkpoint or writing.finishes):
                self.commit()
            return self._start(parcel)
        if writing is None:
            session = self._ledger.session_row(parcel.session)
            generation = self._ledger.generation(parcel.session, parcel.generation)
            assert session is not None
            assert generation is not None
            writing = self._writing[parcel.session] = self._opened(session, generation)
        assert writing.generation.generation == parcel.generation, "a batch of another generation"
        return writing

    def _start(self, parcel: Parcel) -> _Writing:
        """Begin a generation: the first goes to the output itself, later ones beside it until they are complete."""
        session = self._ledger.session_row(parcel.session)
        assert session is not None
        state = "current" if parcel.generation == 1 else "building"
        row = GenerationRow(parcel.session, parcel.generation, state, parcel.format, self._config)
        old = self._writing.pop(parcel.session, None)
        if old is not None and old.generation.state == "building":
            self._outputs.close(old.path)
        writing = self._opened(session, row)
        # What an attempt before may have left behind.
        self._outputs.close(writing.path)
        known = self._ledger.generation(parcel.session, parcel.generation) is not None
        if known or state == "building":
            # An attempt that was not finished; only its own file is removed.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(writing.path)
        elif os.path.lexists(writing.path) or not self._places.holds(writing.path):
            raise LedgerError(
                f"{writing.path}: need this place for an output, something else is there; "
                "move it away, or give another --out"
            )
        with self._ledger.transaction() as change:
            change.drop_generation(parcel.session, parcel.generation)
            change.put_generation(row)
        self._writing[parcel.session] = writing
        return writing

    def _opened(self, session: SessionRow, generation: GenerationRow) -> _Writing:
        out_path = self._places.of(session)
        path = self._places.path(out_path, building=generation.state == "building")
        src_off = generation.src_off
        return _Writing(session, generation, out_path, path, generation.out_len, src_off, src_off)

    def _output(self, writing: _Writing) -> Output:
        row = writing.generation
        return self._outputs.open(writing.path, row.out_len, row.out_marker_len, row.out_marker_hash)

    def _add_rows(self, writing: _Writing, parcel: Parcel) -> None:
        session, generation = parcel.session, parcel.generation
        edits: dict[int, list[EditSpan]] = {}
        for site in parcel.sites:
            value = 0
            ordinal, _, stage, tool, rule, _, applied, off, after, before, digest = site
            if applied and self._settings.vault.enabled:
                value = self._keep(digest, parcel.originals[digest])
                edits.setdefault(ordinal, []).append(EditSpan(off, after, before, digest[:16], stage, tool, rule))
            self._pending.sites.append((session, generation, value, site))
        for record in parcel.records:
            ordinal, _, src_len, out_len, hash8, *_ = record
            self._pending.records.append((session, generation, writing.row_off, record))
            writing.row_off += out_len
            if spans := edits.get(ordinal):
                self._vault.add_record_edits(
                    encode_edits(RecordEdits(writing.out_path, generation, ordinal, src_len, hash8, tuple(spans)))
                )

    def _rows(self) -> tuple[list[RecordTuple], list[SiteTuple]]:
        """The pending rows with the ids of their words; inside the transaction, which may add words."""
        today = int(time.time() // SECONDS_A_DAY)
        name = self._ledger.name_id
        records: list[RecordTuple] = []
        for session, generation, out_off, record in self._pending.records:
            ordinal, src_off, src_len, out_len, hash8, day, outcome, reason = record
            when = day_number(day) if day else today
            records.append(
                (
                    session,
                    generation,
                    ordinal,
                    src_off,
                    src_len,
                    out_off,
                    out_len,
                    hash8,
                    when,
                    name(outcome),
                    name(reason),
                )
            )
        sites: list[SiteTuple] = []
        for session, generation, value, site in self._pending.sites:
            ordinal, n, stage, tool, rule, why, applied, off, after, before, _ = site
            sites.append(
                (
                    session,
                    generation,
                    ordinal,
                    n,
                    name(stage),
                    name(tool),
                    name(rule),
                    name(why),
                    int(applied),
                    off,
                    after,
                    before,
                    value,
                )
            )
        return records, sites

    def _keep(self, digest: bytes, original: bytes) -> int:
        """The value id of an original: the known one if the vault holds the same bytes, else a new one."""
        pending = self._vault.find_pending(digest, original)
        if pending is not None:
            return pending
        for row in self._ledger.value_by_digest(digest[:16]):
            if self._vault.same(row, original):
                return row.id
        number = self._ledger.next_value_id()
        self._vault.add(number, digest, original)
        return number

    def _next_row(self, writing: _Writing) -> GenerationRow:
        row = writing.generation
        checkpoint = writing.checkpoint
        if checkpoint is None:
            return row
        output = self._output(writing)
        marker_len, marker_hash = tail_hash(read_at(output.fd, output.path), writing.row_off)
        return GenerationRow(
            row.session,
            row.generation,
            row.state,
            row.format,
            row.config,
            checkpoint.src_off,
            writing.row_off,
            checkpoint.records,
            checkpoint.head_len,
            checkpoint.head_hash,
            checkpoint.marker_len,
            checkpoint.marker_hash,
            marker_len,
            marker_hash,
            checkpoint.open_tail,
        )

    def _finish(self, writing: _Writing) -> None:
        """The generation has caught up with its source: it takes the place of the one before."""
        writing.finishes = False
        if writing.generation.state != "building":
            return
        self._outputs.close(writing.path)
        self._outputs.close(self._places.path(writing.out_path))
        self._swapper.swap(writing.session, writing.generation)
        del self._writing[writing.session.id]

    def _recover(self) -> None:
        """Reconcile to the last commit; may be interrupted and repeated at any point."""
        for lock in self._locks:
            lock.acquire()
        network = check_file_system(self._settings.state)
        if network.status == "fail":
            raise LedgerError(f"{self._settings.state}: {network.found}; {network.remedy}")
        self._ledger = Ledger.open(os.path.join(self._settings.state, "ledger.db"))
        vault = self._settings.vault
        self._vault = VaultWriter(
            os.path.join(self._settings.state, "vault"),
            level=vault.level,
            frame_bytes=vault.frame_bytes,
            pack_bytes=vault.pack_bytes,
        )
        self._vault.open(self._ledger.committed_packs())
        self._failpoints.reach("recover-vault")
        self._places = Places(self._settings.out, self._ledger.roots)
        self._swapper = Swapper(self._ledger, self._places, self._failpoints)
        self._swapper.recover()
        self._failpoints.reach("recover-after")

    # Questions and changes of the catalog, between commits.

    def move_session(self, session: SessionRow, root: int, rel: bytes, out_rel: bytes) -> SessionRow:
        """The session's source lies elsewhere now: its output moves with it."""
        self.commit()
        self._forget_writing(session.id)
        return self._swapper.move(session, root, rel, out_rel)

    def drop_tail(self, row: GenerationRow, identity: Identity) -> GenerationRow:
        """Take back the last record, which had no line end; `identity` is the source's at its start.

        Returns:
            The generation's new row: the next read begins with that record.
        """
        self.commit()
        self._forget_writing(row.session)
        return self._swapper.drop_tail(row, identity)

    def forget(self, session: int) -> dict[str, int]:
        """Purge a session: its outputs, its rows, and the originals that no other session has.

        The files go first: after a crash the session is still known and can be forgotten again.

        Returns:
            Counts: records, values.
        """
        self.commit()
        self._forget_writing(session)
        row = self._ledger.session_row(session)
        assert row is not None
        out_path = self._places.of(row)
        records = sum(generation.records for generation in self._ledger.generations(session))
        remove_outputs(self._places, out_path)
        # With those of generations whose rows are gone already.
        values = sorted({*self._ledger.unshared_values(session), *self._ledger.unreferenced_values()})
        purge_values(self._vault, self._ledger, values, out_paths=[out_path], sessions=[session])
        return {"records": records, "values": len(values)}

    def abandon(self, session: int) -> None:
        """Give up what was appended for one session since the last commit; the others are not touched."""
        self._pending.records = [row for row in self._pending.records if row[0] != session]
        self._pending.sites = [row for row in self._pending.sites if row[0] != session]
        self._forget_writing(session)

    def _forget_writing(self, session: int) -> None:
        writing = self._writing.pop(session, None)
        if writing is not None:
            self._outputs.close(writing.path)


def _seen(session: SessionRow, checkpoint: Checkpoint, generation: int) -> SessionRow:
    """The session's row with what its source looked like at a checkpoint."""
    session.generation = generation
    session.dev, session.inode = checkpoint.dev, checkpoint.inode
    session.size, session.mtime_ns = checkpoint.size, checkpoint.mtime_ns
    return session
