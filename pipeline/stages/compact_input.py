"""Stage 2: plan the edits that shrink tool inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pipeline.formats.base import Format
from pipeline.records import STAGE_INPUT, Decision, Note, Plan, Site, Treat
from pipeline.rules.base import COMPACTED, POLICY, SMALL
from pipeline.rules.marks import holds_mark_value
from pipeline.rules.tool_input import InputCut, plan_input
from pipeline.settings import ToolInputSettings
from pipeline.stages.base import Batch

# Looking up a member of an enumeration is slow, and this is asked for at each site.
_INPUT = Treat.INPUT


@dataclass(frozen=True, slots=True)
class CompactInput:
    """Plan the cuts of each tool input of a batch; records without any pass as they are."""

    settings: ToolInputSettings
    name: ClassVar[str] = "compact-input"

    def __call__(self, batch: Batch) -> Batch:
        shape = input_shape(batch.state.format, self.settings)
        for record in batch.records:
            for site in record.sites:
                if site.treat is _INPUT:
                    site.decisions = self.decide(site, shape)
        return batch

    def decide(self, site: Site, shape: Literal["summary", "in-place"]) -> list[Decision]:
        """A note and plan for each cut of one input; one note without a plan if nothing is cut."""
        if not self.settings.enabled:
            return [(Note(STAGE_INPUT, site.tool, "", POLICY), None)]
        cuts = plan_input(
            site.tool, site.value, shape=shape, max_chars=self.settings.max_chars, policies=self.settings.policies
        )
        if not cuts:
            return [(Note(STAGE_INPUT, site.tool, "", COMPACTED if holds_mark_value(site.value) else SMALL), None)]
        return [_decision(site, cut) for cut in cuts]


def _decision(site: Site, cut: InputCut) -> Decision:
    path, old, new, where, lost_lines, lost_bytes, rule = cut
    note = Note(STAGE_INPUT, site.tool, rule, "", True)
    inside = site.inside
    if inside is None:
        path = site.path + path
    else:
        path, inside = site.path, inside + path
    return note, Plan(site.document, path, old, new, where, lost_lines, lost_bytes, note, inside=inside)


def input_shape(format_: Format, settings: ToolInputSettings) -> Literal["summary", "in-place"]:
    """The shape of compacted inputs: the format's own unless the settings name one."""
    if settings.shape == "auto":
        return "summary" if format_.summary_inputs else "in-place"
    return settings.shape
