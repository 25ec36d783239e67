"""The commit protocol: outputs and vault are appended and flushed, then one transaction makes them count.

A new output first: one transaction names all that were started -> their files are made (`Starts`). Then each commit:
write vault frames -> fdatasync all in parallel -> one transaction with ledger rows, checkpoints and committed lengths.
The last one is the only truth; at start everything is cut back to it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.disk.failpoints import FailPoints
from pipeline.disk.folders import Folders
from pipeline.disk.generations import BUILDING, CURRENT, remove_outputs
from pipeline.disk.identity import Identity, tail_hash
from pipeline.disk.ledger import Ledger
from pipeline.disk.outputs import Output, Outputs, sync, sync_folder
from pipeline.disk.pending import Pending
from pipeline.disk.purge import purge_session
from pipeline.disk.reader import read_at
from pipeline.disk.rows import GenerationRow, RollupSums, SessionRow, ValueRow
from pipeline.disk.starts import Starts
from pipeline.disk.writing import Writing, Writings
from pipeline.errors import LedgerError, OutputError, SessionError
from pipeline.parcels import Checkpoint, Parcel
from pipeline.settings import Settings


class Store:
    """Outputs, vault and ledger of one state folder. One thread at a time; holds both folders' locks."""

    def __init__(self, settings: Settings, config: str, failpoints: FailPoints, folders: Folders) -> None:
        self._config = config
        self._failpoints = failpoints
        self._folders = folders
        self._ledger, self._vault = folders.ledger, folders.vault
        self._places, self._swapper = folders.places, folders.swapper
        self._outputs = Outputs(failpoints)
        self._pool = ThreadPoolExecutor(settings.commit.sync_threads, "sync")
        self._writings = Writings()
        self._starts = Starts(self._ledger, self._places, self._outputs, failpoints)
        self._broken = ""
        self.failed: dict[int, str] = {}
        """Sessions that were given up since the store was opened, and why."""
        self._pending = Pending(self._ledger, self._vault if settings.vault.enabled else None)

    @classmethod
    def open(cls, settings: Settings, config: str) -> Store:
        """Take the locks, open ledger and vault, and cut everything back to the last commit.

        Args:
            settings: with absolute out and state folders.
            config: digest of settings and rules version, noted with each new generation.

        Raises:
            LockedError, LedgerError, OutputError: as `errors` describes them.
        """
        failpoints = FailPoints.from_environment()
        return cls(settings, config, failpoints, Folders.open(settings, failpoints))

    def close(self) -> None:
        """Close everything; what was not committed is cut back at the next start."""
        try:
            self._pool.shutdown()
            self._outputs.close_all()
        finally:
            self._folders.close()

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
    def pending_bytes(self) -> int:
        """Source bytes appended since the last commit."""
        return self._pending.source_bytes

    @property
    def pending_records(self) -> int:
        """Records appended since the last commit."""
        return self._pending.records

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
            SessionError: the output is not what the ledger says; the session was given up, the others were not touched.
            OutputError: the bytes could not be written; everything since the last commit has to be done again.
            LedgerError: ledger or vault cannot be used; as above.
        """
        with self._whole(parcel.session):
            self._append(parcel)

    def _append(self, parcel: Parcel) -> None:
        writing = self._writing_of(parcel)
        if writing.finishes:
            # The generation takes its place before anything is added that may be half a record.
            self._commit()
            writing = self._writing_of(parcel)
        output = self._output(writing)
        begins = parcel.checkpoint.src_off - parcel.source_bytes
        if begins != writing.src_end:
            # A reading that was given up inside of a too long record: another one reads that record again.
            assert begins == writing.src_off, "a batch that does not begin where the last one ended"
            self._outputs.cut(output, writing.row_off)
        writing.src_end = parcel.checkpoint.src_off
        self._outputs.append(output, parcel.output)
        writing.row_off = self._pending.add(parcel, writing.out_path, writing.row_off)
        if parcel.complete:
            writing.src_off = parcel.checkpoint.src_off
            writing.checkpoint = parcel.checkpoint
        writing.finishes = writing.finishes or parcel.finishes
        self._writings.note(writing)
        if self._starts.due:
            self._starts.make()

    def commit(self) -> None:
        """Make everything that was appended count, but for sessions whose output was changed meanwhile.

        Raises:
            OutputError: it does not count; open the store again, which cuts back to the last commit.
            LedgerError: the ledger was removed or replaced, or is damaged; as above.
        """
        with self._whole():
            self._commit()

    def _commit(self) -> None:
        for writing in self._writings.touched():
            try:
                self._output(writing)
            except SessionError as error:
                self.failed[writing.session.id] = str(error)
                self.abandon(writing.session.id)
        touched = self._writings.touched()
        if not touched:
            return
        try:
            self._make_count(touched)
        except SessionError as error:
            # Changed while it was committed: not the fault of whoever asked for this commit.
            raise LedgerError(str(error)) from error

    def _make_count(self, touched: Sequence[Writing]) -> None:
        self._starts.make()
        values = self._vault.flush()
        self._failpoints.reach("vault-after-flush")
        self._sync()
        self._failpoints.reach("sync-after")
        self._ledger.assert_in_place()
        generations = [self._next_row(writing) for writing in touched]
        self._failpoints.reach("commit-begin")
        self._transact(generations, touched, values)
        self._failpoints.reach("commit-after")
        self._vault.committed()
        self._pending.clear()
        self._settle(generations, touched)

    @contextlib.contextmanager
    def _whole(self, session: int = 0) -> Iterator[None]:
        """What fails half-way leaves a store that nothing may be appended to; only a `session` can stop alone."""
        if self._broken:
            raise OutputError(f"not written after: {self._broken}")
        try:
            yield
        except SessionError as error:
            if not session:
                self._broken = str(error)
                raise
            self.failed[session] = str(error)
            self.abandon(session)
            raise
        except BaseException as error:
            self._broken = str(error) or type(error).__name__
            raise

    def _sync(self) -> None:
        """fdatasync of all outputs and packs that grew, in parallel; then the folders of new files."""
        dirty = self._outputs.dirty()
        jobs = [(output.fd, output.path) for output in dirty]
        jobs += [(fd, self._vault.folder) for fd in self._vault.fds_to_sync()]
        for future in [self._pool.submit(sync, fd, shown) for fd, shown in jobs]:
            future.result()
        for folder in {os.path.dirname(output.path) for output in dirty if output.created}:
            sync_folder(folder)

    def _next_row(self, writing: Writing) -> GenerationRow:
        """The generation's row with the checkpoint of what was appended."""
        checkpoint = writing.checkpoint
        if checkpoint is None:
            return writing.generation
        output = self._output(writing)
        marker_len, marker_hash = tail_hash(read_at(output.fd, output.path), writing.row_off)
        return replace(
            writing.generation,
            src_off=checkpoint.src_off,
            out_len=writing.row_off,
            records=checkpoint.records,
            head_len=checkpoint.head_len,
            head_hash=checkpoint.head_hash,
            marker_len=checkpoint.marker_len,
            marker_hash=checkpoint.marker_hash,
            out_marker_len=marker_len,
            out_marker_hash=marker_hash,
            open_tail=checkpoint.open_tail,
        )

    def _transact(
        self, generations: Sequence[GenerationRow], touched: Sequence[Writing], values: Sequence[ValueRow]
    ) -> None:
        sums = RollupSums()
        with self._ledger.transaction() as change:
            for writing, row in zip(touched, generations, strict=True):
                change.put_generation(row)
                if writing.checkpoint is not None and row.state == CURRENT:
                    change.update_session(_seen(writing.session, writing.checkpoint, row.generation))
            records, sites = self._pending.record_rows(), self._pending.site_rows()
            sums.add(records, sites)
            change.insert_values(values)
            change.insert_records(records)
            change.insert_sites(sites)
            change.add_rollup(sums)
            self._failpoints.reach("commit-rows")
            change.put_packs(self._vault.lengths())
            self._failpoints.reach("commit-before-end")

    def _settle(self, generations: Sequence[GenerationRow], touched: Sequence[Writing]) -> None:
        """Go on from the commit; generations that have caught up with their source take their place."""
        for writing, row in zip(touched, generations, strict=True):
            writing.generation = row
            if writing.checkpoint is not None:
                # For a generation that takes its place only now: what its source looked like.
                _seen(writing.session, writing.checkpoint, writing.session.generation)
            writing.checkpoint = None
            self._outputs.committed(self._output(writing), row.out_len)
        for writing in touched:
            if writing.finishes:
                self._finish(writing)
        self._writings.settle()

    def _finish(self, writing: Writing) -> None:
        """The generation has caught up with its source: it takes the place of the one before."""
        writing.finishes = False
        if writing.generation.state != BUILDING:
            return
        self._outputs.close(writing.path)
        self._outputs.close(self._places.path(writing.out_path))
        self._swapper.swap(writing.session, writing.generation)
        self._writings.drop(writing.session.id)

    def _writing_of(self, parcel: Parcel) -> Writing:
        writing = self._writings.get(parcel.session)
        if parcel.starts:
            if writing is not None and writing.touched:
                self._commit()
            return self._start(parcel)
        if writing is None:
            session = self._ledger.session_row(parcel.session)
            generation = self._ledger.generation(parcel.session, parcel.generation)
            assert session is not None
            assert generation is not None
            writing = self._writings.add(self._opened(session, generation))
        assert writing.generation.generation == parcel.generation, "a batch of another generation"
        return writing

    def _start(self, parcel: Parcel) -> Writing:
        """Begin a generation: the first goes to the output itself, later ones beside it until they are complete."""
        session = self._ledger.session_row(parcel.session)
        assert session is not None
        old = self._writings.drop(parcel.session)
        if old is not None and (old.generation.state == BUILDING or parcel.session in self._starts):
            self._outputs.close(old.path)
        state = CURRENT if parcel.generation == 1 else BUILDING
        row = GenerationRow(parcel.session, parcel.generation, state, parcel.format, self._config + parcel.given)
        writing = self._opened(session, row)
        self._starts.add(writing)
        return self._writings.add(writing)

    def _opened(self, session: SessionRow, generation: GenerationRow) -> Writing:
        out_path = self._places.of(session)
        path = self._places.path(out_path, building=generation.state == BUILDING)
        src_off = generation.src_off
        return Writing(session, generation, out_path, path, generation.out_len, src_off, src_off)

    def _output(self, writing: Writing) -> Output:
        row = writing.generation
        return self._outputs.open(writing.path, row.out_len, row.out_marker_len, row.out_marker_hash)

    # Questions and changes of the catalog, between commits.

    def check_output(self, session: SessionRow, generation: GenerationRow) -> None:
        """Is the output of a settled session still there, as long as it was written? It costs a stat.

        Raises:
            SessionError: no.
        """
        path = self._places.path(self._places.of(session))
        try:
            size = os.stat(path, follow_symlinks=False).st_size
        except OSError:
            size = -1
        if size != generation.out_len:
            came = "it is gone" if size < 0 else f"it has {size}"
            raise SessionError(
                f"{path}: need an output of {generation.out_len} bytes, {came}; put it back, or let "
                "`compactd backfill --recompact` make it anew"
            )

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
        records = sum(generation.records for generation in self._ledger.generations(session))
        remove_outputs(self._places, self._places.of(row))
        return {"records": records, "values": purge_session(self._vault, self._ledger, session)}

    def abandon(self, session: int) -> None:
        """Give up what was appended for one session since the last commit; the others are not touched."""
        self._pending.drop(session)
        self._forget_writing(session)

    def _forget_writing(self, session: int) -> None:
        self._starts.drop(session)
        writing = self._writings.drop(session)
        if writing is not None:
            self._outputs.close(writing.path)


def _seen(session: SessionRow, checkpoint: Checkpoint, generation: int) -> SessionRow:
    """The session's row with what its source looked like at a checkpoint."""
    session.generation = generation
    session.dev, session.inode = checkpoint.dev, checkpoint.inode
    session.size, session.mtime_ns = checkpoint.size, checkpoint.mtime_ns
    return session
