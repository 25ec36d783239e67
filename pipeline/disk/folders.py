"""The output and the state folder while they are held: locked, opened, and cut back to the last commit."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from pipeline.disk.failpoints import FailPoints
from pipeline.disk.generations import Swapper
from pipeline.disk.ledger import Ledger
from pipeline.disk.lock import FolderLock
from pipeline.disk.places import Places
from pipeline.disk.preflight import check_file_system
from pipeline.disk.vault import VaultWriter
from pipeline.errors import LedgerError
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Folders:
    """What lies in both folders; `close` ends it all."""

    ledger: Ledger
    vault: VaultWriter
    places: Places
    swapper: Swapper
    _held: contextlib.ExitStack

    @classmethod
    def open(cls, settings: Settings, failpoints: FailPoints) -> Folders:
        """Take both locks and reconcile to the last commit; may be interrupted and repeated at any point.

        Raises:
            LockedError, LedgerError, OutputError: as `errors` describes them; nothing is held then.
        """
        with contextlib.ExitStack() as held:
            # Last in, first out: the locks go last, whatever fails before.
            for path in (os.path.join(settings.state, "lock"), os.path.join(settings.out, ".compactd.lock")):
                held.enter_context(FolderLock(path))
            network = check_file_system(settings.state)
            if network.status == "fail":
                raise LedgerError(f"{settings.state}: {network.found}; {network.remedy}")
            ledger = Ledger.open(os.path.join(settings.state, "ledger.db"))
            held.callback(ledger.close)
            vault = VaultWriter(
                os.path.join(settings.state, "vault"),
                level=settings.vault.level,
                frame_bytes=settings.vault.frame_bytes,
                pack_bytes=settings.vault.pack_bytes,
            )
            held.callback(vault.close)
            vault.open(ledger.committed_packs())
            failpoints.reach("recover-vault")
            places = Places(settings.out, ledger.roots)
            swapper = Swapper(ledger, places, failpoints)
            swapper.recover()
            failpoints.reach("recover-after")
            return cls(ledger, vault, places, swapper, held.pop_all())

    def close(self) -> None:
        """Close everything and give the locks back."""
        self._held.close()
