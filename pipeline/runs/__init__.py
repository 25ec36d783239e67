"""Builds the chain and runs it: filter, backfill, daemon."""
