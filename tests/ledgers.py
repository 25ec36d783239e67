"""Rows put into a ledger by hand."""

from __future__ import annotations

from pipeline.disk.ledger import Ledger
from pipeline.disk.rows import SessionRow


def add_session(ledger: Ledger, row: SessionRow) -> SessionRow:
    """Insert a new session; sets its id."""
    ledger.reserve_session(row)
    with ledger.transaction() as change:
        change.insert_session(row)
    ledger.inserted(row)
    return row
