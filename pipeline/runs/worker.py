"""A worker process of the backfill: reads and compacts whole sessions, sends parcels; it never writes."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pipeline.errors import SourceError
from pipeline.parcels import Parcel
from pipeline.runs.reading import Opening, SessionReading
from pipeline.settings import Settings
from pipeline.stages.chain import Chain, build_chain, verb_of
from pipeline.stages.pack import Pack


@dataclass(frozen=True, slots=True)
class Finished:
    """A session is read to its end, or failed with a text for the user."""

    session: int
    failure: str = ""


def work(connection: Connection, settings: Settings) -> None:
    """Serve openings from the connection until None comes; answers each with its parcels and one `Finished`.

    The pipe's own limit is the backpressure: sending waits while the parent is busy.
    """
    # As in the command line's own process: records are trees, so there are no cycles to look for all the time.
    gc.set_threshold(100_000)
    # Ctrl-C is the parent's business; it closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chain = build_chain(settings, verb=verb_of(settings))
    pack = Pack(settings.vault.enabled)
    try:
        while (opening := connection.recv()) is not None:
            failure = ""
            try:
                for parcel in parcels(opening, settings, chain, pack):
                    connection.send(parcel)
            except SourceError as error:
                failure = str(error)
            connection.send(Finished(opening.session, failure))
    except (EOFError, ConnectionError):
        # The parent is gone, or has ended this run; it tells why.
        return


def parcels(opening: Opening, settings: Settings, chain: Chain, pack: Pack) -> Iterator[Parcel]:
    """All parcels of one session from its opening to the end of its source."""
    reading = SessionReading(opening, settings)
    try:
        while (batch := reading.next_batch(at_end=True)) is not None:
            yield pack(chain(batch))
    finally:
        reading.close()
