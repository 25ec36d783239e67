"""Stage 3: plan the edits that shrink tool results and every hidden copy of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pipeline.records import STAGE_RESULT, Decision, Json, Note, Plan, Record, Site, Treat, Where
from pipeline.rules.base import COMPACTED, LOW_SAVINGS, POLICY, SMALL, STUB, CompactOptions
from pipeline.rules.copies import Seen
from pipeline.rules.marks import holds_mark, where_for
from pipeline.rules.output import compact_tool_output
from pipeline.rules.prose import compact_prose
from pipeline.settings import CopySettings, ToolInputSettings, ToolResultSettings
from pipeline.stages.base import Batch, SessionState

# A mark with its line break, and some digits: what an edit has to win at least.
MARK_BYTES = 72
KEPT_LINES_HEAD = 10
KEPT_LINES_TAIL = 5
COPY_RULE = "copy"


def result_options(settings: ToolResultSettings) -> CompactOptions:
    """The rules' options as the settings say: policies become classes that stay whole."""
    whole = set(CompactOptions().whole_classes)
    for policy, class_ in (
        (settings.file_reads, "read"),
        (settings.searches, "search"),
        (settings.listings, "list"),
        (settings.reports, "agent"),
    ):
        if policy == "whole":
            whole.add(class_)
        else:
            whole.discard(class_)
    return CompactOptions(
        min_bytes=settings.min_bytes,
        min_savings=settings.min_savings,
        head_lines=settings.head_lines,
        tail_lines=settings.tail_lines,
        whole_classes=frozenset(whole),
        elide_diffs=settings.diffs == "elide",
    )


@dataclass(frozen=True, slots=True)
class CompactResult:
    """Plan the edits of the results and copies of a batch; records without any pass as they are."""

    results: ToolResultSettings
    copies: CopySettings
    inputs: ToolInputSettings
    options: CompactOptions
    name: ClassVar[str] = "compact-result"

    def __call__(self, batch: Batch) -> Batch:
        for record in batch.records:
            if record.sites:
                self._decide(record, batch.state)
        return batch

    def _decide(self, record: Record, state: SessionState) -> None:
        """Visible texts are remembered first, so that a copy ahead of its text in the record is known as one."""
        remember_first(record, state.seen)
        for site in record.sites:
            if site.treat is not Treat.INPUT:
                site.decisions.append(self.decide(site, state.seen))
                remember(site, state.seen)
        remember_edits(record, state.seen)

    def decide(self, site: Site, seen: Seen) -> Decision:
        """The note of one site and, if it is to be edited, the plan."""
        if not self.results.enabled:
            return _left(site, POLICY)
        return _DECISIONS[site.treat](self, site, seen)

    def text(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """A visible result: rules and guard; never a reference."""
        assert isinstance(site.value, str)
        return self._by_rules(site, site.value)

    def mirror(self, site: Site, seen: Seen) -> Decision:
        """A hidden copy of a result: a reference to a guarded equal, else like a visible text."""
        return self._copy_or_rules(site, seen, guarded=True)

    def file(self, site: Site, seen: Seen) -> Decision:
        """A hidden file body: a reference to any equal, else elided."""
        return self._copy_or_rules(site, seen, guarded=False)

    def copy_only(self, site: Site, seen: Seen) -> Decision:
        """A prompt or plan: a reference, or whole."""
        assert isinstance(site.value, str)
        if self._is_copy(site.value, seen, guarded=False):
            return _reference(site, site.value)
        return _left(site, SMALL if len(site.value) < self.copies.min_bytes else POLICY)

    def contained(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """A part of another text in the same record: a reference when it is worth one."""
        assert isinstance(site.value, str)
        if self.copies.enabled and len(site.value) >= self.copies.min_bytes and not holds_mark(site.value):
            return _reference(site, site.value)
        return _left(site, SMALL)

    def growing(self, site: Site, seen: Seen) -> Decision:
        """Output so far: what the progress record before held is a reference, the rest is compacted."""
        assert isinstance(site.value, str)
        text = site.value
        if holds_mark(text):
            return _left(site, COMPACTED)
        known = seen.grown(site.call_id, text)
        if not self.copies.enabled or known < self.copies.min_bytes:
            return self._by_rules(site, text)
        rest = text[known:]
        if not rest.strip():
            return _reference(site, text)
        result = compact_tool_output(site.tool, rest, self.options, context=site.context)
        return _planned(site, text, result.text.lstrip("\n"), Where.LAST_LINE, COPY_RULE)

    def lines(self, site: Site, seen: Seen) -> Decision:
        """A list of lines: a reference when the joined lines were a result, else head and tail stay."""
        lines = site.value
        assert isinstance(lines, list)
        joined = "\n".join(str(line) for line in lines)
        size = len(joined)
        if size < self.copies.min_bytes:
            return _left(site, SMALL)
        if holds_mark(joined):
            return _left(site, COMPACTED)
        if self._is_copy(joined, seen, guarded=False):
            return _planned(site, lines, [], Where.JSON_ELEMENT, COPY_RULE, lost=joined, copy=True)
        if len(lines) <= KEPT_LINES_HEAD + KEPT_LINES_TAIL:
            return _left(site, LOW_SAVINGS)
        cut = lines[KEPT_LINES_HEAD:-KEPT_LINES_TAIL]
        kept = lines[:KEPT_LINES_HEAD] + lines[-KEPT_LINES_TAIL:]
        lost = "\n".join(str(line) for line in cut)
        if len(lost) < MARK_BYTES * 2:
            return _left(site, LOW_SAVINGS)
        return _planned(site, lines, kept, Where.JSON_ELEMENT, "elide-list", lost=lost)

    def image(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """A base64 image becomes a text that tells type and size."""
        if isinstance(site.value, dict):
            source = site.value.get("source")
            assert isinstance(source, dict)
            data, media = str(source.get("data")), str(source.get("media_type", "image"))
            if len(data) < self.copies.min_bytes:
                return _left(site, SMALL)
            block: dict[str, Json] = {"type": "text", "text": _image_text(media, data)}
            return _planned(site, site.value, block, Where.BLOCK_TEXT, "image", lost=data)
        assert isinstance(site.value, str)
        if len(site.value) < self.copies.min_bytes:
            return _left(site, SMALL)
        if holds_mark(site.value):
            return _left(site, COMPACTED)
        return _planned(site, site.value, _image_text("base64", site.value), Where.LAST_LINE, "image")

    def stub(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """An externalised output's stand-in stays whole."""
        return _left(site, STUB)

    def markdown(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """Prose with tool blocks: calls and results in it are compacted, the rest stays."""
        assert isinstance(site.value, str)
        if holds_mark(site.value):
            return _left(site, COMPACTED)
        found = compact_prose(site.value, self.options, max_chars=self.inputs.max_chars, inputs=self.inputs.enabled)
        if found is None:
            return _left(site, SMALL)
        head, tail, rule = found
        decision = _planned(site, site.value, head, Where.SPLIT, rule, lost=_difference(site.value, head + tail))
        if decision[1] is not None:
            decision[1].tail = tail
        return decision

    def _copy_or_rules(self, site: Site, seen: Seen, *, guarded: bool) -> Decision:
        assert isinstance(site.value, str)
        text = site.value
        if len(text) < self.copies.min_bytes:
            return _left(site, SMALL)
        if holds_mark(text):
            return _left(site, COMPACTED)
        if self._is_copy(text, seen, guarded=guarded):
            return _reference(site, text)
        return self._by_rules(site, text)

    def _is_copy(self, text: str, seen: Seen, *, guarded: bool) -> bool:
        return self.copies.enabled and not holds_mark(text) and seen.holds(text, guarded=guarded)

    def _by_rules(self, site: Site, text: str) -> Decision:
        result = compact_tool_output(site.tool, text, self.options, context=site.context)
        if not result.stats.applied:
            return _left(site, result.stats.rule)
        return _planned(site, text, result.text, where_for(result.text), result.stats.rule)


_DECISIONS: dict[Treat, Callable[[CompactResult, Site, Seen], Decision]] = {
    Treat.TEXT: CompactResult.text,
    Treat.MARKDOWN: CompactResult.markdown,
    Treat.MIRROR: CompactResult.mirror,
    Treat.FILE: CompactResult.file,
    Treat.COPY_ONLY: CompactResult.copy_only,
    Treat.CONTAINED: CompactResult.contained,
    Treat.GROWING: CompactResult.growing,
    Treat.LINES: CompactResult.lines,
    Treat.IMAGE: CompactResult.image,
    Treat.STUB: CompactResult.stub,
}


def observe(batch: Batch) -> None:
    """Take decoded records into the session's memory without deciding anything: how a session is opened again."""
    for record in batch.records:
        if record.sites:
            remember_first(record, batch.state.seen)
            for site in record.sites:
                remember(site, batch.state.seen)
            remember_edits(record, batch.state.seen)


def remember_first(record: Record, seen: Seen) -> None:
    """Remember what is no copy itself: inputs and visible results."""
    for site in record.sites:
        if site.treat is Treat.INPUT:
            seen.remember_input(site.value)
        elif site.treat is Treat.TEXT and isinstance(site.value, str):
            context = site.context
            seen.remember_result(site.value, is_read=context.tool_class == "read", is_error=context.is_error)


def remember(site: Site, seen: Seen) -> None:
    """Remember a hidden text, so that its later repetitions are known."""
    if not isinstance(site.value, str):
        return
    if site.treat is Treat.MIRROR:
        seen.remember(site.value, guarded=True)
    elif site.treat in (Treat.FILE, Treat.COPY_ONLY):
        seen.remember(site.value, guarded=False)
    elif site.treat is Treat.GROWING:
        seen.remember_growing(site.call_id, site.value)


def remember_edits(record: Record, seen: Seen) -> None:
    """Remember the file states that this record's edits lead to."""
    for document in record.documents:
        if isinstance(document.value, dict) and isinstance(result := document.value.get("toolUseResult"), dict):
            seen.remember_edit(result)


def _left(site: Site, reason: str) -> Decision:
    return Note(STAGE_RESULT, site.tool, "", reason), None


def _reference(site: Site, text: str) -> Decision:
    return _planned(site, text, "", Where.WHOLE, COPY_RULE, lost=text, copy=True)


def _difference(before: str, after: str) -> tuple[int, int]:
    return max(0, before.count("\n") - after.count("\n")), utf8(before) - utf8(after)


def _planned(
    site: Site,
    old: Json,
    new: Json,
    where: Where,
    rule: str,
    *,
    lost: str | tuple[int, int] | None = None,
    copy: bool = False,
) -> Decision:
    """A plan, unless the new value with its mark would not be smaller (design, P6)."""
    if isinstance(lost, tuple):
        lines, size = lost
    elif lost is not None:
        lines, size = lost.count("\n") + 1, utf8(lost)
    else:
        assert isinstance(old, str)
        assert isinstance(new, str)
        lines, size = _difference(old, new)
    if size <= MARK_BYTES:
        return _left(site, LOW_SAVINGS)
    note = Note(STAGE_RESULT, site.tool, rule, "", applied=True)
    return note, Plan(site.document, site.path, old, new, where, lines, size, note, copy)


def _image_text(media: str, data: str) -> str:
    return f"[image {media}, {len(data) * 3 // 4} bytes]"


def utf8(text: str) -> int:
    """Length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
