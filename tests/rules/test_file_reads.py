"""An outline has the head of a file, its imports and what it declares, with the numbers its lines had."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import is_linear, is_subsequence, size

from pipeline.rules.file_reads import outline

HEAD = "\n".join(f"# line {n}" for n in range(1, 11))
PYTHON = f'''{HEAD}
import math
from a import b

LIMIT = 3
OTHER = 4
MORE = 5


@cached
class Crate(Box):
    """A crate."""

    size = 3
    depth = 4

    async def pack(
        self,
        count: int,
    ) -> list[int]:
        for one in range(count):
            yield one
        return None

def end():
    return 1
'''
OUTLINE = f"""{HEAD}
import math
from a import b
… [6 lines elided] …
@cached
class Crate(Box):
… [5 lines elided] …
    async def pack(
        self,
        count: int,
    ) -> list[int]:
… [4 lines elided] …
def end():
    return 1
"""


def numbered(text: str, style: str) -> str:
    return "\n".join(style.format(n) + line for n, line in enumerate(text.split("\n")[:-1], 1)) + "\n"


def test_python() -> None:
    assert outline(PYTHON, "/srv/a.py") == OUTLINE
    assert outline(PYTHON.replace("\n", "\r\n"), "/srv/a.py") == OUTLINE.replace("\n", "\r\n")


@pytest.mark.parametrize("style", ["{:6}→", "{:6}\t", "{}\t", "{}: "])
def test_numbers_of_either_style_stay(style: str) -> None:
    whole = dict(zip(PYTHON.split("\n"), numbered(PYTHON, style).split("\n"), strict=True))
    expected = [line if line.startswith("…") or not line else whole[line] for line in OUTLINE.split("\n")]
    assert outline(numbered(PYTHON, style), "a.py").split("\n") == expected


BODY = ["    x = 1;", "    if (x) {", "      call(x);", "    }"]


@pytest.mark.parametrize(
    ("path", "declarations"),
    [
        ("a.ts", ["import { a } from 'b'", "export class Crate<T> {", "  private async pack(count: number): void {"]),
        ("a.tsx", ["export function Table({ rows }: Props) {", "const pack = async (n) => {", "export type Row = {"]),
        ("a.js", ["const fs = require('fs')", "function* walk(x) {"]),
        ("a.go", ["package main", "func (c *Crate) Pack(n int) error {", "type Crate struct {"]),
        (
            "a.rs",
            ["use std::fmt;", "#[derive(Debug)]", "pub(crate) async fn pack(n: u8) -> u8 {", "impl<T> Crate<T> {"],
        ),
        ("A.java", ["package a.b;", "public final class Crate {", "    public static void pack(int n) {"]),
        ("a.kt", ["import a.b", "data class Crate(val n: Int)", "    override fun pack(n: Int): Int {"]),
        ("a.c", ["#include <stdio.h>", "struct crate {", "static int pack(struct crate *c)", "unpack (int count)"]),
        ("a.cs", ["using System;", "    public async Task<int> Pack(int n)", "internal record Crate(int N)"]),
        ("a.rb", ["require 'json'", "class Crate", "  def pack(n)"]),
        ("a.sh", ["source lib.sh", "pack() {", "function end {"]),
        ("a.lua", ["local json = require('json')", "local function pack(n)"]),
    ],
)
def test_other_languages(path: str, declarations: list[str]) -> None:
    lines = HEAD.split("\n")
    expected = HEAD.split("\n")
    for line in declarations:
        lines += [line, *BODY]
        expected += [line, "… [4 lines elided] …"]
    assert outline("\n".join(lines), path).split("\n") == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param(PYTHON, "notes.md", id="no source"),
        pytest.param(PYTHON, "", id="no path"),
        pytest.param(OUTLINE, "a.py", id="an outline"),
        pytest.param("x = 1\n" * 90, "a.py", id="nothing declared"),
        pytest.param("def f():\n    pass\n" * 20, "a.py", id="bodies of a line"),
    ],
)
def test_what_has_no_outline_stays(text: str, path: str) -> None:
    assert outline(text, path) == text


LINES = st.sampled_from(
    [
        "import a",
        "def f(",
        "    x,",
        ") -> int:",
        "class C:",
        "    return 1",
        "",
        "\r",
        "@d",
        "x = [",
        "é…",
        "… [3 lines elided] …",
        "    raise ValueError",
        "func f() {",
        "}",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=60), st.sampled_from(["a.py", "a.go", "a.ts", "a.c"]), st.booleans())
def test_the_laws_hold(lines: list[str], path: str, with_numbers: bool) -> None:
    """Reads of source are outside of promise P4: failures in them are code."""
    text = "\n".join(lines)
    if with_numbers:
        text = numbered(text + "\n", "{:6}→")
    short = outline(text, path)
    assert size(short) <= size(text)
    assert outline(short, path) == short
    kept = [line for line in short.split("\n") if not line.startswith("… [")]
    assert is_subsequence(kept, text.split("\n"))


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["def f(\n", "a" * 50 + " ", "(" * 60 + "\n", "int a b c ", "1→def f():\n", "public static "]
)
@pytest.mark.parametrize("path", ["a.py", "a.c", "a.ts", "a.rs"])
def test_time_is_linear(unit: str, path: str) -> None:
    assert is_linear(
        lambda text: outline(text, path), lambda chars: "def f():\nfunction f()\n" + unit * (chars // len(unit))
    )
