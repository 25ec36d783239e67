"""The policy `outline` for reads of source: imports and the heads of classes and functions stay, bodies are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import re2

from pipeline.rules.dedup_elide import holds_elision
from pipeline.rules.marks import utf8_bytes
from pipeline.rules.noise import encoded, line_pattern

HEAD_LINES = 10
"""The first lines of a file stay."""
MIN_ELIDED_LINES = 3
MAX_SIGNATURE_LINES = 12
OUTLINE_RULE_ID = "outline"
"""Name of what is done to reads of source files when the configuration asks for outlines."""
MIN_DECLARATIONS = 2
"""A text with fewer has no outline."""

# What reading tools put before a line: its number, then an arrow, a tab, a colon or a bar.
_NUMBERED = re.compile(r"[ \t]*[0-9]+(?:→|\t|: |\| ?)")

_MODIFIERS = (
    r"(?:(?:export|default|declare|abstract|async|public|private|protected|internal|static|readonly|override|final|sealed"
    r"|open|inline|virtual|const|constexpr|extern|unsafe|pub(?:\([a-z ]+\))?|data|partial|synchronized|native|suspend"
    r"|fileprivate|mutating|local|required|convenience|explicit|friend) +)*"
)
_PYTHON = (
    r"[ \t]*(?:from [^\n]+ import|import )[^\n]*",
    r"[ \t]*@[A-Za-z_][^\n]*",
    r"[ \t]*(?:async +)?def +[^\n]*",
    r"[ \t]*class +[^\n]*",
)
_SCRIPT = (
    r"import [^\n]*|export +(?:\*|\{)[^\n]*|(?:const|let|var) [^\n=]+= *require\([^\n]*",
    rf"[ \t]*{_MODIFIERS}(?:function|class|interface|enum|namespace|module|type +[A-Za-z_$][A-Za-z0-9_$<>, ]*=)[ *]"
    r"[^\n]*",
    r"(?:export +)?(?:default +)?(?:const|let|var) +[A-Za-z_$][^\n=]*= *(?:async *)?"
    r"(?:function\b|[A-Za-z_$]+ *=>|\()[^\n]*",
    rf"[ \t]+{_MODIFIERS}(?:(?:get|set) +)?[#A-Za-z_$][A-Za-z0-9_$]*(?:<[^\n]*>)?\([^\n;]*\)(?: *:[^\n;]+)? *\{{",
    r"[ \t]*@[A-Z][A-Za-z]*[^\n]*",
)
_GO = (r"package [^\n]*", r"import [^\n]*", r"func [^\n]*", r"type [^\n]*", r'\t"[^"\n]+"')
_RUST = (
    r"[ \t]*(?:pub(?:\([a-z ]+\))? +)?(?:use|mod|extern crate) [^\n]*",
    rf"[ \t]*{_MODIFIERS}(?:fn|struct|enum|trait|impl|type|union|macro_rules!)[ <][^\n]*",
    r"[ \t]*#!?\[[^\n]*",
)
_CURLY = (
    r"(?:import|package|using|namespace|module|use|require|include|require_once|include_once)\b[^\n]*",
    r"# *(?:include|import)\b[^\n]*",
    rf"[ \t]*{_MODIFIERS}(?:class|interface|enum|record|struct|object|trait|protocol|extension|union|typedef|template"
    r"|fun|func|function|def|init|annotation|namespace|type)[ <(][^\n]*",
    r"[ \t]+(?:(?:public|private|protected|internal|static|override|abstract|final|virtual|async) +)+"
    r"[A-Za-z_][^\n;=]*\([^\n;]*",
    # With the type before the name, or alone on the line above.
    r"(?:[A-Za-z_][A-Za-z0-9_:<>,*& ~]* [*&]*)?[A-Za-z_~][A-Za-z0-9_:~]* ?\([^\n;]*",
    r"[ \t]*@[A-Z][A-Za-z]*[^\n]*",
)
_RUBY = (r"[ \t]*(?:require|require_relative|include|extend|attr_[a-z]+|alias_method|module|class|def)\b[^\n]*",)
_SHELL = (
    r"[ \t]*(?:function +)?[A-Za-z_][A-Za-z0-9_-]* *\(\)[ \t]*[{(]?[ \t]*\r?$",
    r"function +[^\n]*",
    r"(?:source|\.) [^\n]*",
)
_LUA = (r"[ \t]*(?:local +)?function[ (][^\n]*", r"[^\n]*\brequire[ (\"'][^\n]*")
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("py pyi pyx", _PYTHON),
    ("js mjs cjs jsx ts mts cts tsx vue svelte astro", _SCRIPT),
    ("go", _GO),
    ("rs", _RUST),
    ("java kt kts scala groovy cs swift php dart c h cc cpp cxx hh hpp hxx m mm zig", _CURLY),
    ("rb cr ex exs", _RUBY),
    ("sh bash zsh", _SHELL),
    ("lua", _LUA),
)
_DECLARATIONS: Mapping[str, re2._Regexp] = MappingProxyType(
    {
        suffix: pattern
        for suffixes, lines in _FAMILIES
        for pattern in [line_pattern(lines, whole=r"^{}")]
        for suffix in suffixes.split()
    }
)
# What looks like the head of a method and is a statement.
_STATEMENT = re.compile(
    r"[ \t]*(?:\} *)?(?:if|for|while|switch|catch|return|else|do|with|foreach|until|elif|unless|when|match|lock|assert"
    r"|throw|await|yield|new|delete|case)\b"
)


def outline(text: str, path: str) -> str:
    r"""What a source file declares: its first lines, imports, and the heads of its classes and functions.

    Runs of three other lines or more become `… [N lines elided] …`. Line numbers that a tool put before the lines stay
    with the lines that stay, in either style (`     1→`, `1\t`). A head over several lines stays whole, up to twelve.

    Args:
        text: what a reading tool gave; lines end at "\n".
        path: the file that was read; its suffix tells the language.

    Returns:
        The outline; the text itself when the language is not known, there is too little to outline, or lines were
        elided before.
    """
    pattern = _DECLARATIONS.get(_suffix(path))
    if pattern is None or holds_elision(text):
        return text
    lines = text.split("\n")
    bare = _without_numbers(lines)
    found = _declarations(bare, pattern)
    if len(found) < MIN_DECLARATIONS:
        return text
    kept = bytearray(len(lines))
    kept[:HEAD_LINES] = b"\1" * min(HEAD_LINES, len(lines))
    for number in found:
        end = _head_end(bare, number)
        kept[number:end] = b"\1" * (end - number)
    if not lines[-1]:
        kept[-1] = 1
    short = "\n".join(_without_bodies(lines, kept))
    return short if utf8_bytes(short) < utf8_bytes(text) else text


def _suffix(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].rpartition(".")[2].lower()


def _without_numbers(lines: list[str]) -> list[str]:
    """The lines as they are in the file; most have to have a number for any to lose it."""
    numbers = [_NUMBERED.match(line) for line in lines]
    if 10 * sum(number is not None for number in numbers) < 9 * sum(map(bool, lines)):
        return lines
    return [line if number is None else line[number.end() :] for line, number in zip(lines, numbers, strict=True)]


def _declarations(lines: list[str], pattern: re2._Regexp) -> list[int]:
    """The numbers of the lines that declare or import something."""
    data = encoded("\n".join(lines))
    numbers: list[int] = []
    at = number = 0
    for match in pattern.finditer(data):
        start = match.start()
        number += data.count(b"\n", at, start)
        at = start
        if not numbers or numbers[-1] != number:
            numbers.append(number)
    return [number for number in numbers if _STATEMENT.match(lines[number]) is None]


def _head_end(lines: list[str], start: int) -> int:
    """Where a declaration's head ends: with its line, or where the brackets that it opens are closed."""
    depth = 0
    for at in range(start, min(len(lines), start + MAX_SIGNATURE_LINES)):
        depth += sum(map(lines[at].count, "([")) - sum(map(lines[at].count, ")]"))
        if depth <= 0:
            return at + 1
    return start + 1


def _without_bodies(lines: list[str], kept: bytearray) -> Iterator[str]:
    at = 0
    while at < len(lines):
        if kept[at]:
            yield lines[at]
            at += 1
            continue
        end = kept.find(1, at)
        end = end if end >= 0 else len(lines)
        note = f"… [{end - at} lines elided] …" + ("\r" if lines[at].endswith("\r") else "")
        if end - at < MIN_ELIDED_LINES or utf8_bytes(note) > sum(utf8_bytes(line) + 1 for line in lines[at:end]) - 1:
            yield from lines[at:end]
        else:
            yield note
        at = end
