"""The only room that opens files: sources, outputs, vault, ledger, lock."""
