"""The pure part of the chain in one place: batch in, batch out; also driven without asyncio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.settings import Settings
from pipeline.stages.base import Batch, Stage
from pipeline.stages.compact_input import CompactInput
from pipeline.stages.compact_result import CompactResult, observe, result_options
from pipeline.stages.decode import Decode
from pipeline.stages.splice import Splice


@dataclass(frozen=True, slots=True)
class Chain:
    """The pure stages in their order."""

    stages: Sequence[Stage]

    def __call__(self, batch: Batch) -> Batch:
        for stage in self.stages:
            batch = stage(batch)
        return batch


def build_chain(settings: Settings, *, verb: str) -> Chain:
    """The chain that these settings ask for; `verb` is "recall" in daemon and backfill, "digest" in the filter."""
    options = result_options(settings.tool_result, settings.rules)
    result = CompactResult(settings.tool_result, settings.copies, settings.tool_input, options)
    return Chain((Decode(), CompactInput(settings.tool_input), result, Splice(verb)))


def verb_of(settings: Settings) -> str:
    """The word in the marks of outputs that are kept: without a vault there is nothing to recall."""
    return "recall" if settings.vault.enabled else "digest"


def replay(batch: Batch) -> None:
    """Let records pass that were compacted before, only to remember what they held."""
    observe(Decode()(batch))
