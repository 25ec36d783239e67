"""Pure knowledge of session formats: where calls, results and copies are, and where their bytes are."""
