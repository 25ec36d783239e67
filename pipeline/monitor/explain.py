"""What the rules make of one text, step by step: to try a rule out, or to see why nothing fired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.monitor.show import WHY
from pipeline.monitor.tables import count, percent, ratio
from pipeline.records import Json
from pipeline.rules.base import CompactionResult, CompactionRule, ToolContext
from pipeline.rules.builtin import BUILTIN_RULES
from pipeline.rules.failures import failure_lines
from pipeline.rules.marks import utf8_bytes
from pipeline.rules.output import compact_tool_output
from pipeline.rules.tool_classes import context_of, is_exempt
from pipeline.settings import Settings
from pipeline.stages.compact_result import result_options

OTHER_CALL, OTHER_SHAPE, FITS = "other-call", "other-shape", "fits"
MAX_FAILURES = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One rule by itself: does it fit, and what would it make of the text (UTF-8 bytes)?"""

    rule: str
    outcome: str
    compacted_bytes: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A text, what each rule says of it, and what comes out in the end.

    `failures` are the lines that have to stay; None where the guarantee does not hold.
    """

    text: str
    context: ToolContext
    steps: tuple[Step, ...]
    failures: tuple[str, ...] | None
    result: CompactionResult


def explain(
    text: str,
    tool: str,
    settings: Settings,
    *,
    command: str = "",
    path: str = "",
    exit_code: int | None = None,
    is_error: bool = False,
) -> Explanation:
    """Try each rule alone, in order, and then all as the chain does for a result of this call."""
    given: dict[str, Json] = {key: value for key, value in (("command", command), ("path", path)) if value}
    context = context_of(tool, given, exit_code=exit_code, is_error=is_error, keep_input=True)
    options = result_options(settings.tool_result, settings.rules)
    steps = tuple(_step(rule, text, tool, context) for rule in (*options.rules, *BUILTIN_RULES))
    result = compact_tool_output(tool, text, options, context=context)
    failed = is_error or exit_code not in (None, 0)
    exempt = is_exempt(context.tool_class, context.path) and not failed
    return Explanation(text, context, steps, None if exempt else tuple(failure_lines(text)), result)


def _step(rule: CompactionRule, text: str, tool: str, context: ToolContext) -> Step:
    size = utf8_bytes(text)
    if rule.matches_context is not None and not rule.matches_context(context):
        return Step(rule.id, OTHER_CALL, size)
    if not rule.matches(tool, text):
        return Step(rule.id, OTHER_SHAPE, size)
    return Step(rule.id, FITS, utf8_bytes(rule.compact(text)))


def lines_of(found: Explanation) -> Iterator[str]:
    """The explanation for people; the text that comes out is not in it."""
    stats = found.result.stats
    context = found.context
    known = [f"class {context.tool_class or 'unknown'}"]
    known += [f"command {context.command!r}"] if context.command else []
    known += [f"path {context.path!r}"] if context.path else []
    known += [f"exit code {context.exit_code}"] if context.exit_code is not None else []
    yield f"known of the call: {', '.join(known)}"
    for step in found.steps:
        if step.outcome == FITS:
            saved = stats.original_bytes - step.compacted_bytes
            size = f"{count(stats.original_bytes)} -> {count(step.compacted_bytes)} bytes"
            yield f"  {step.rule}: fits, alone {size}, would save {percent(saved, stats.original_bytes)}"
        else:
            what = "the call is another" if step.outcome == OTHER_CALL else "the text has another shape"
            yield f"  {step.rule}: does not fit, {what}"
    yield from _failures(found.failures)
    saved = stats.original_bytes - stats.compacted_bytes
    if stats.applied:
        yield (
            f"all together, {stats.rule} first: {count(stats.original_bytes)} -> {count(stats.compacted_bytes)} bytes, "
            f"saved {percent(saved, stats.original_bytes)}"
        )
    else:
        yield f"left as it is, {count(stats.original_bytes)} bytes: {stats.rule}"
        if stats.rule in WHY:
            yield f"  {WHY[stats.rule]}"


def _failures(failures: tuple[str, ...] | None) -> Iterator[str]:
    if failures is None:
        yield "no failure line has to stay: searches, listings and reads of source are left out of that guarantee"
        return
    yield f"failure lines that have to stay: {count(len(failures))}"
    for line in failures[:MAX_FAILURES]:
        yield f"  {line.strip()}"
    if len(failures) > MAX_FAILURES:
        yield f"  and {count(len(failures) - MAX_FAILURES)} more"


def document(found: Explanation) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows (a rule each) and total of the --json document, with the text that comes out."""
    stats = found.result.stats
    rows = [{"rule": step.rule, "outcome": step.outcome, "output_bytes": step.compacted_bytes} for step in found.steps]
    saved = stats.original_bytes - stats.compacted_bytes
    return rows, {
        "rule": stats.rule,
        "applied": stats.applied,
        "failures": None if found.failures is None else list(found.failures),
        "source_bytes": stats.original_bytes,
        "output_bytes": stats.compacted_bytes,
        "saved_bytes": saved,
        "saved_ratio": ratio(saved, stats.original_bytes),
        "text": found.result.text,
    }
