"""Stage 3: plan the edits that shrink tool results and every hidden copy of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from pipeline.records import STAGE_RESULT, Decision, Json, Note, Plan, Record, Site, Treat, Where
from pipeline.rules.base import COMPACTED, LOW_SAVINGS, NO_RULE, POLICY, SMALL, STUB, CompactOptions, ToolContext
from pipeline.rules.copies import Seen, text_of_list
from pipeline.rules.failures import failure_lines
from pipeline.rules.images import image_of, image_text
from pipeline.rules.marks import holds_mark, where_for
from pipeline.rules.output import compact_tool_output
from pipeline.rules.overlay import rule_of
from pipeline.rules.prose import compact_prose, observe_prose
from pipeline.rules.tool_classes import is_exempt
from pipeline.settings import CopySettings, RuleSettings, ToolInputSettings, ToolResultSettings
from pipeline.stages.base import Batch, SessionState

# A mark with its line break, and some digits: what an edit has to win at least.
MARK_BYTES = 72
KEPT_LINES_HEAD = 10
KEPT_LINES_TAIL = 5
KEPT_HEAD_CHARS = 1000
COPY_RULE = "copy"
LIST_RULE = "elide-list"
FILE_RULE = "elide-file"
# Whose `content` is a file body, and whose lists of lines the failure guarantee leaves out (README.md, P4).
FILE_CLASSES = frozenset({"read", "write", "edit", "notebook"})
LIST_CLASSES = frozenset({"search", "list", "edit", "write"})
IMAGE_RULE = "image"
# Looking up a member of an enumeration is slow, and these are asked for at each site.
_INPUT, _TEXT, _MIRROR, _FILE, _COPY_ONLY = Treat.INPUT, Treat.TEXT, Treat.MIRROR, Treat.FILE, Treat.COPY_ONLY


def result_options(settings: ToolResultSettings, rules: Iterable[RuleSettings] = ()) -> CompactOptions:
    """The rules' options as the settings say: policies become classes that stay whole, `rules` come first."""
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
        rules=tuple(rule_of(rule) for rule in rules),
        min_bytes=settings.min_bytes,
        min_savings=settings.min_savings,
        head_lines=settings.head_lines,
        tail_lines=settings.tail_lines,
        whole_classes=frozenset(whole),
        elide_diffs=settings.diffs == "elide",
        outline_reads=settings.file_reads == "outline",
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
        seen = state.seen
        remember_first(record, seen)
        for site in record.sites:
            if site.treat is not _INPUT:
                site.decisions = [self.decide(site, seen)]
                if site.treat is not _TEXT:
                    remember(site, seen)
        remember_edits(record, seen)

    def decide(self, site: Site, seen: Seen) -> Decision:
        """The note of one site and, if it is to be edited, the plan."""
        if not self.results.enabled:
            return _left(site, POLICY)
        kind = _KINDS.get(site.treat)
        if kind is not None and not isinstance(site.value, kind):
            # No writer puts such a value there; whoever did keeps it.
            return _left(site, NO_RULE)
        return _DECISIONS[site.treat](self, site, seen)

    def text(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """A visible result: rules and guard; never a reference."""
        assert isinstance(site.value, str)
        # Most results end here; the rules would say the same.
        if len(site.value) < self.options.min_bytes and utf8(site.value) < self.options.min_bytes:
            return _left(site, SMALL)
        return self._by_rules(site, site.value)

    def mirror(self, site: Site, seen: Seen) -> Decision:
        """A hidden copy of a result: a reference to an equal one that is as well guarded, else like a visible text."""
        return self._copy_or_rules(site, seen, guarded=keeps_failures(site.context))

    def file(self, site: Site, seen: Seen) -> Decision:
        """A hidden file body: a reference to any equal; else what a tool read by the rules, other states elided."""
        if site.context.tool_class not in FILE_CLASSES:
            # Something of an unknown tool that looks like a file: it may hold failures.
            return self._copy_or_rules(site, seen, guarded=True)
        if site.context.tool_class == "read":
            return self._copy_or_rules(site, seen, guarded=False)
        text = site.value
        assert isinstance(text, str)
        reason = self._why_whole(text)
        if reason:
            return _left(site, reason)
        if self._is_copy(text, seen, guarded=False):
            return _reference(site, text)
        # A part of a JSON text would be none.
        head = "" if text.lstrip()[:1] in ("{", "[") else _head_of(text)
        return _planned(site, text, head, Where.LAST_LINE if head else Where.WHOLE, FILE_RULE)

    def copy_only(self, site: Site, seen: Seen) -> Decision:
        """A prompt, plan or list of tasks: a reference, or whole."""
        value = site.value
        assert isinstance(value, (str, list))
        text = value if isinstance(value, str) else text_of_list(value)
        reason = self._why_whole(text)
        if not reason and self._is_copy(text, seen, guarded=False):
            return _reference(site, text)
        return _left(site, reason or POLICY)

    def contained(self, site: Site, seen: Seen) -> Decision:
        """A part of another text in the same record: a reference when it is worth one."""
        value = site.value
        if not self.copies.enabled:
            return self.lines(site, seen) if isinstance(value, list) else self.mirror(site, seen)
        assert isinstance(value, (str, list))
        text = value if isinstance(value, str) else text_of_list(value)
        reason = self._why_whole(text)
        return _left(site, reason) if reason else _reference(site, text)

    def growing(self, site: Site, seen: Seen) -> Decision:
        """Output so far: what the progress record before held is a reference, the rest is compacted."""
        assert isinstance(site.value, str)
        text = site.value
        reason = self._why_whole(text)
        if reason:
            return _left(site, reason)
        known = seen.grown(site.call_id, text)
        if text[known:].strip() and text[known] != "\n":
            # A line that was not complete then is not in the state before.
            known = text.rfind("\n", 0, known) + 1
        if not self.copies.enabled or known < self.copies.min_bytes:
            return self._by_rules(site, text)
        rest = text[known:]
        if not rest.strip():
            return _reference(site, text)
        result = compact_tool_output(site.tool, rest, self.options, context=site.context)
        return _planned(site, text, result.text.lstrip("\n"), Where.LAST_LINE, COPY_RULE)

    def lines(self, site: Site, seen: Seen) -> Decision:
        """A list of lines: a reference when the joined lines were seen before, else head and tail stay."""
        lines = site.value
        assert isinstance(lines, list)
        joined = text_of_list(lines)
        reason = self._why_whole(joined)
        if reason:
            return _left(site, reason)
        if self._is_copy(joined, seen, guarded=False):
            return _reference(site, joined)
        if len(lines) <= KEPT_LINES_HEAD + KEPT_LINES_TAIL:
            return _left(site, LOW_SAVINGS)
        middle = lines[KEPT_LINES_HEAD:-KEPT_LINES_TAIL]
        failing: list[Json] = []
        if site.context.tool_class not in LIST_CLASSES:
            failing = [line for line in middle if isinstance(line, str) and failure_lines(line)]
        kept = lines[:KEPT_LINES_HEAD] + failing + lines[-KEPT_LINES_TAIL:]
        lost = text_of_list([line for line in middle if line not in failing] if failing else middle)
        return _planned(site, lines, kept, Where.JSON_ELEMENT, LIST_RULE, lost=lost)

    def image(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """A base64 image becomes a text that tells type and size; its block becomes one of text."""
        image = image_of(site.value, site.media)
        if image is None:
            return _left(site, NO_RULE)
        reason = self._why_whole(image.data)
        if reason:
            return _left(site, reason)
        text = image_text(image)
        if not image.text_type:
            return _planned(site, site.value, text, Where.LAST_LINE, IMAGE_RULE)
        block: dict[str, Json] = {"type": image.text_type, "text": text}
        return _planned(site, site.value, block, Where.BLOCK_TEXT, IMAGE_RULE, lost=image.data)

    def stub(self, site: Site, seen: Seen) -> Decision:  # noqa: ARG002 - the table's form
        """An externalised output's stand-in stays whole."""
        return _left(site, STUB)

    def markdown(self, site: Site, seen: Seen) -> Decision:
        """Prose with tool blocks: calls and results in it are compacted, the rest stays."""
        text = site.value
        assert isinstance(text, str)
        if holds_mark(text):
            observe_prose(text, seen.prose)
            return _left(site, COMPACTED)
        found = compact_prose(
            text, self.options, max_chars=self.inputs.max_chars, inputs=self.inputs.enabled, calls=seen.prose
        )
        if found.mark_at < 0:
            largest = max(found.stats, key=lambda stat: stat.original_bytes, default=None)
            return _left(site, largest.rule if largest else NO_RULE)
        site.tool = found.tool
        head, tail = found.text[: found.mark_at] + "\n", found.text[found.mark_at :]
        decision = _planned(site, text, head, Where.SPLIT, found.rule, lost=_difference(text, found.text))
        if decision[1] is not None:
            decision[1].tail = tail
        return decision

    def _copy_or_rules(self, site: Site, seen: Seen, *, guarded: bool) -> Decision:
        assert isinstance(site.value, str)
        text = site.value
        reason = self._why_whole(text)
        if reason:
            return _left(site, reason)
        if self._is_copy(text, seen, guarded=guarded):
            return _reference(site, text)
        return self._by_rules(site, text)

    def _why_whole(self, text: str) -> str:
        """Why a hidden text stays whatever it repeats; "" if it may be edited."""
        if len(text) < self.copies.min_bytes:
            return SMALL
        return COMPACTED if holds_mark(text) else ""

    def _is_copy(self, text: str, seen: Seen, *, guarded: bool) -> bool:
        return self.copies.enabled and seen.holds(text, guarded=guarded)

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


# What a treatment is for; a place may hold anything.
_KINDS: dict[Treat, type | tuple[type, ...]] = {
    Treat.COPY_ONLY: (str, list),
    Treat.CONTAINED: (str, list),
    Treat.TEXT: str,
    Treat.MARKDOWN: str,
    Treat.MIRROR: str,
    Treat.FILE: str,
    Treat.GROWING: str,
    Treat.LINES: list,
}


def observe(batch: Batch) -> None:
    """Take decoded records into the session's memory without deciding anything: how a session is opened again."""
    for record in batch.records:
        if record.sites:
            remember_first(record, batch.state.seen)
            for site in record.sites:
                if site.treat is Treat.MARKDOWN:
                    assert isinstance(site.value, str)
                    observe_prose(site.value, batch.state.seen.prose)
                remember(site, batch.state.seen)
            remember_edits(record, batch.state.seen)


def keeps_failures(context: ToolContext) -> bool:
    """Is what this call gave under the failure guarantee, so that an equal text may refer to it? (README.md, P4)"""
    return not is_exempt(context.tool_class, context.path)


def remember_first(record: Record, seen: Seen) -> None:
    """Remember what is no copy itself: inputs and visible results."""
    for site in record.sites:
        treat, value = site.treat, site.value
        if treat is _INPUT:
            seen.remember_input(value)
        elif treat is _TEXT and isinstance(value, str) and len(value) >= seen.shortest:
            context = site.context
            seen.remember_result(
                value,
                is_read=context.tool_class == "read",
                is_error=context.is_error,
                guarded=keeps_failures(context),
            )


def remember(site: Site, seen: Seen) -> None:
    """Remember a hidden text or list, so that its later repetitions are known."""
    treat, value = site.treat, site.value
    if isinstance(value, list):
        if treat is not Treat.CONTAINED:
            seen.remember(text_of_list(value), guarded=False)
    elif isinstance(value, str):
        if treat is _MIRROR:
            seen.remember(value, guarded=keeps_failures(site.context))
        elif treat is _FILE or treat is _COPY_ONLY:
            seen.remember(value, guarded=False)
        elif treat is Treat.GROWING:
            seen.remember_growing(site.call_id, value)


def remember_edits(record: Record, seen: Seen) -> None:
    """Remember the file states that this record's edits lead to."""
    for document in record.documents:
        value = document.value
        if isinstance(value, dict) and "toolUseResult" in value and isinstance(value["toolUseResult"], dict):
            seen.remember_edit(value["toolUseResult"])


def _left(site: Site, reason: str) -> Decision:
    return Note(STAGE_RESULT, site.tool, "", reason), None


def _reference(site: Site, text: str) -> Decision:
    """A mark in the place of a text, or in the list that `text` is the form of to compare by: types stay."""
    if isinstance(site.value, list):
        return _planned(site, site.value, [], Where.JSON_ELEMENT, COPY_RULE, lost=text, copy=True)
    return _planned(site, text, "", Where.WHOLE, COPY_RULE, lost=text, copy=True)


def _head_of(text: str) -> str:
    """The first lines of a text, without the last line break; short even if they are long."""
    end = -1
    for _ in range(KEPT_LINES_HEAD):
        found = text.find("\n", end + 1, KEPT_HEAD_CHARS)
        if found < 0:
            break
        end = found
    return text[:KEPT_HEAD_CHARS] if end < 0 else text[:end]


def _difference(before: str, after: str) -> tuple[int, int]:
    # A line that counts others is none of those that were there.
    elisions = after.count("\n… [") + after.startswith("… [") - before.count("\n… [") - before.startswith("… [")
    lines = before.count("\n") - after.count("\n") + max(0, elisions)
    return max(0, lines), utf8(before) - utf8(after)


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
    """A plan, unless the new value with its mark would not be smaller (README.md, P6)."""
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
    return note, Plan(site.document, site.path, old, new, where, lines, size, note, copy, inside=site.inside)


def utf8(text: str) -> int:
    """Length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
