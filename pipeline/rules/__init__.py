"""Pure compaction rules: value in, value out."""
