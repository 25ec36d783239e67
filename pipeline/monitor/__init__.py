"""Ledger rows turned into what people read: statistics, views, verification."""
