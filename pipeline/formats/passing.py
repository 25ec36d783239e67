"""Formats that are known but only pass through, and files of no known format."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.formats.base import Pairing
from pipeline.records import Json, Site


@dataclass(frozen=True, slots=True)
class Passing:
    """A format without sites: every record leaves as its very bytes."""

    name: str
    whole_document: bool = False
    compacts: bool = False
    summary_inputs: bool = False

    def sites(self, document: dict[str, Json], pairing: Pairing) -> list[Site]:  # noqa: ARG002 - the protocol's form
        """No sites."""
        return []

    def day(self, document: dict[str, Json]) -> str:  # noqa: ARG002 - the protocol's form
        """No day: the commit's day counts."""
        return ""
