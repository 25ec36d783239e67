"""The engine of tool-output compaction: which rule a text gets, and whether its result is taken."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.rules.base import (
    COMPACTED,
    FAILURE_FALLBACK,
    LOW_SAVINGS,
    POLICY,
    RECALLED,
    SMALL,
    STRUCTURED,
    STUB,
    CompactionResult,
    CompactionRule,
    CompactionStats,
    CompactOptions,
    Failing,
    ToolContext,
)
from pipeline.rules.builtin import BUILTIN_RULES, HTML_RULE_ID, JSON_RULE_ID
from pipeline.rules.commands import simple_commands
from pipeline.rules.dedup_elide import FALLBACK_RULE_ID, fold_and_elide, holds_elision
from pipeline.rules.failures import LastScan
from pipeline.rules.file_reads import OUTLINE_RULE_ID, outline
from pipeline.rules.guard import lost_failures, lost_from_page, lost_lines
from pipeline.rules.json_pieces import lost_from_json
from pipeline.rules.json_text import is_json_or_lines
from pipeline.rules.marks import holds_mark
from pipeline.rules.protected import Part, split_protected, splits_line
from pipeline.rules.tool_classes import file_kind, is_exempt, tool_class

_STUB_STARTS = ("<persisted-output>", "[OpenViking tool result externalized]")
_RECALLING = frozenset({"recall", "show", "restore"})
_OWN_PROGRAMS = frozenset({"compactd", "pipeline", "pipeline.cli"})

# Where a URL is the answer.
_URL_CLASSES = frozenset({"fetch", "web_search", "search"})
# An output that ends in failure keeps so many times the lines.
_ERROR_FACTOR = 2
# Rules run again on what they made, until nothing changes: a text that never comes to rest stays as it was.
_MAX_PASSES = 4
# What most lines are may show only when the noise of another program is gone.
_ROUNDS = 2

_DIFF_START = re.compile(r"\s*(?:diff --(?:git|cc|combined) |Index: |\*\*\* Begin Patch|--- [^\n]*\n\+\+\+ |@@ -[0-9])")
_DIFF_INSIDE = re.compile(r"^diff --(?:git|cc|combined) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Case:
    """All that decides about one text, fixed for all its passes."""

    tool_name: str
    options: CompactOptions
    guarded: bool
    shorten_urls: bool
    head_lines: int
    tail_lines: int
    path: str
    outlines: bool
    rules: tuple[CompactionRule, ...]


def compact_tool_output(
    tool_name: str,
    output: str,
    options: CompactOptions = CompactOptions(),  # noqa: B008 - frozen, and part of the published signature
    *,
    context: ToolContext | None = None,
) -> CompactionResult:
    """Shorten one tool result by the first rule that matches it, or by the fallback, and check what comes out.

    A rule's text is taken only if no failure is lost (P4), valid JSON stays valid, markers of a harness stay whole
    (P5), and it is smaller by `min_savings` at least (P6). Otherwise the fallback is tried, else the text stays.

    Args:
        tool_name: name of the tool as its agent calls it; gates the rules when no context is given.
        output: the text of the result.
        options: further rules, tried first, and limits.
        context: what is known about the call; None: tool name and shape alone decide.

    Returns:
        The text and its statistics. `stats.rule` is the rule that fired, or the reason why the text stays; then the
        text is `output` itself. Applied again to its own text this changes nothing.

    Source: README.md.
    """
    size = _utf8_bytes(output) if len(output) < options.min_bytes or output.isascii() else len(output)
    if size < options.min_bytes:
        return _stays(output, SMALL)
    reason = _passes(output, context)
    if reason:
        return _stays(output, reason)
    case = _case_of(tool_name, options, context)
    if case is None:
        return _stays(output, POLICY)
    text, rule = _one_pass(output, case)
    if text is output:
        return _stays(output, rule)
    for _ in range(_MAX_PASSES):
        again = text if holds_elision(text) else _one_pass(text, case)[0]
        if again == text:
            break
        text = again
    else:
        return _stays(output, LOW_SAVINGS)
    original = _utf8_bytes(output)
    compacted = _utf8_bytes(text)
    if original - compacted < max(1.0, options.min_savings * original):
        return _stays(output, LOW_SAVINGS)
    return CompactionResult(text, CompactionStats(rule, original, compacted, True))


def _stays(text: str, reason: str) -> CompactionResult:
    size = _utf8_bytes(text)
    return CompactionResult(text, CompactionStats(reason, size, size, False))


def _passes(text: str, context: ToolContext | None) -> str:
    """Why a text of enough bytes is not looked at further; "" if it is."""
    if holds_mark(text) or holds_elision(text):
        return COMPACTED
    if context is not None and context.command and _recalls(context.command):
        return RECALLED
    return STUB if text.lstrip().startswith(_STUB_STARTS) else ""


def _recalls(command: str) -> bool:
    """Whether a shell line asks compactd for an original."""
    if not any(name in command for name in _OWN_PROGRAMS):
        return False
    return any(
        words[0] in _OWN_PROGRAMS and not _RECALLING.isdisjoint(words[1:6]) for words in simple_commands(command)
    )


def _case_of(tool_name: str, options: CompactOptions, context: ToolContext | None) -> _Case | None:
    """The case of one text; None when its class stays whole."""
    group = context.tool_class if context is not None and context.tool_class else tool_class(tool_name)
    if group in options.whole_classes:
        return None
    failed = context is not None and (context.is_error or context.exit_code not in (None, 0))
    path = "" if context is None else context.path
    reads_source = group == "read" and file_kind(path) == "source"
    factor = _ERROR_FACTOR if failed else 1
    return _Case(
        tool_name=tool_name,
        options=options,
        guarded=failed or not is_exempt(group, path),
        shorten_urls=group not in _URL_CLASSES,
        head_lines=options.head_lines * factor,
        tail_lines=options.tail_lines * factor,
        path=path,
        outlines=options.outline_reads and reads_source and not failed,
        rules=_rules_for(context, options),
    )


def _one_pass(text: str, case: _Case) -> tuple[str, str]:
    """The text after one pass and the rule or reason; the very same object when it stays."""
    parts = split_protected(text)
    if len(parts) == 1 and not parts[0].whole:
        return _compact_part(text, case)
    changed: list[str] = []
    rule = ""
    reason = LOW_SAVINGS
    for part in parts:
        new, found = _compact_part(part.text, case) if _is_open(part, case) else (part.text, "")
        if part.text.endswith("\n") and not new.endswith("\n"):
            # What follows is a mark on a line of its own, and stays so.
            new += "\n"
        changed.append(new)
        if new is not part.text:
            rule = rule or found
        else:
            reason = found or reason
    if not rule:
        return text, reason
    result = "".join(changed)
    if case.guarded and splits_line(parts) and lost_failures(text, result):
        return text, FAILURE_FALLBACK
    return result, rule


def _is_open(part: Part, case: _Case) -> bool:
    return not part.whole and _utf8_bytes(part.text) >= case.options.min_bytes


def _compact_part(text: str, case: _Case) -> tuple[str, str]:
    """Shorten one piece of text that holds nothing to protect: by the rules for it, else by the fallback."""
    scan = LastScan()
    if case.outlines and (short := outline(text, case.path)) != text and _saves(text, short, case):
        return short, OUTLINE_RULE_ID
    structured = is_json_or_lines(text)
    short, rule, refused = _by_rules(text, case, scan, structured=structured)
    if rule and _saves(text, short, case):
        return short, rule
    if structured:
        return text, FAILURE_FALLBACK if refused == FAILURE_FALLBACK else STRUCTURED
    if refused in (LOW_SAVINGS, STRUCTURED):
        return text, refused
    if _is_diff(text) and not case.options.elide_diffs:
        return text, refused or POLICY
    lines = text.split("\n")
    numbers = scan.numbers(text) if case.guarded else []
    failing = _lines_at(lines, numbers)
    short = fold_and_elide(
        text,
        numbers,
        head_lines=case.head_lines,
        tail_lines=case.tail_lines,
        shorten_urls=case.shorten_urls,
        lines=lines,
    )
    if not _saves(text, short, case):
        return text, refused or LOW_SAVINGS
    if lost_lines(failing, short):
        return text, FAILURE_FALLBACK
    return short, FALLBACK_RULE_ID


def _by_rules(text: str, case: _Case, scan: LastScan, *, structured: bool) -> tuple[str, str, str]:
    """The text after all rules that are for it, each on what the ones before have left.

    Returns:
        The text; the first rule that shortened it, "" if none did; and why the last one that was for it did not:
        `LOW_SAVINGS` when it knows this kind of text and finds nothing to drop, so that the fallback, which knows it
        less, is not tried; `FAILURE_FALLBACK` when the guard refused what it made.
    """
    fired = refused = ""
    failing: Failing = scan.numbers if case.guarded else _none_fail
    for _ in range(_ROUNDS):
        before = text
        for rule in case.rules:
            if not rule.matches(case.tool_name, text):
                continue
            short = rule.compact_knowing(text, failing) if rule.compact_knowing is not None else rule.compact(text)
            if short == text:
                refused = refused or ("" if fired else LOW_SAVINGS)
            elif structured and not is_json_or_lines(short):
                refused = refused or STRUCTURED
            elif case.guarded and _loses(rule, text, short, scan):
                refused = FAILURE_FALLBACK
            elif _is_shorter(text, short):
                text, fired = short, fired or rule.id
        if text is before:
            break
    return text, fired, refused


def _loses(rule: CompactionRule, text: str, short: str, scan: LastScan) -> bool:
    """The guard: does what a rule made of a text lack a failure of it? (README.md, P4)"""
    if rule.id == HTML_RULE_ID and not lost_from_page(text, short):
        return False
    if rule.id == JSON_RULE_ID:
        return bool(lost_from_json(text, short))
    return bool(lost_lines(_lines_at(text.split("\n"), scan.numbers(text)), short))


def _none_fail(_text: str) -> list[int]:
    return []


def _lines_at(lines: list[str], numbers: list[int]) -> list[str]:
    return [lines[number] for number in numbers]


def _rules_for(context: ToolContext | None, options: CompactOptions) -> tuple[CompactionRule, ...]:
    """The rules that this call may have given reason for; the shape of its text is asked later (README.md, P5)."""
    rules = (*options.rules, *BUILTIN_RULES)
    if context is None:
        return rules
    return tuple([rule for rule in rules if rule.matches_context is None or rule.matches_context(context)])


def _is_shorter(text: str, short: str) -> bool:
    return _utf8_bytes(short) < _utf8_bytes(text)


def _saves(text: str, short: str, case: _Case) -> bool:
    if len(short) >= len(text) and short.isascii():
        return False
    before = _utf8_bytes(text)
    return before - _utf8_bytes(short) >= max(1.0, case.options.min_savings * before)


def _is_diff(text: str) -> bool:
    """Whether a text is a diff or holds one: cut in its middle it would be none."""
    return _DIFF_START.match(text) is not None or ("diff --" in text and _DIFF_INSIDE.search(text) is not None)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
