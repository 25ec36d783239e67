"""`python -m pipeline` is the command line, too."""

from __future__ import annotations

from pipeline.cli import entry

# A worker process imports this file again under another name; it must not start a second command.
if __name__ == "__main__":
    entry()
