"""Imports flow one way, pure rooms touch nothing of the world, importing a module does no work."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import pipeline

PACKAGE = Path(pipeline.__file__).parent
VALUES = {"errors", "records", "settings", "parcels", "keys"}
"""Modules that are at the bottom: values, their checks, errors."""

# Room or top module -> what it may import besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "records": set(),
    "settings": set(),
    "parcels": {"records"},
    "keys": {"settings"},
    "config": VALUES | {"rule_tables", "trust"},
    "rule_tables": VALUES | {"rules"},
    "trust": {"errors"},
    "rules": VALUES,
    "formats": VALUES | {"rules"},
    "stages": VALUES | {"rules", "formats"},
    "disk": VALUES | {"rules", "formats"},
    "monitor": VALUES | {"rules", "formats", "stages", "disk"},
    "runs": VALUES | {"rules", "formats", "stages", "disk", "monitor"},
    "commands": VALUES | {"config", "disk", "monitor", "runs", "trust"},
    "cli": VALUES | {"commands", "monitor", ""},
    "__main__": {"cli"},
    # The face hands on names of the rooms.
    "": VALUES | {"rules", "runs"},
}
PURE_ROOMS = ("rules", "formats", "stages")
HARMLESS = {
    *(
        "__future__",
        "bisect",
        "collections",
        "dataclasses",
        "datetime",
        "enum",
        "fnmatch",
        "functools",
        "gc",
        "hashlib",
    ),
    *(
        "html",
        "itertools",
        "json",
        "math",
        "operator",
        "orjson",
        "re",
        "re2",
        "string",
        "types",
        "typing",
        "unicodedata",
    ),
    "xxhash",
}
"""What a pure room may import from outside: all of it turns values into values."""
PUMP = "stages/pump.py"
"""The one loop that runs the stages: it may wait and measure."""
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval"}


@dataclass(frozen=True)
class Import:
    """One import: in which file and line, of which module, and whether only the type checker sees it."""

    file: str
    line: int
    module: str
    typing_only: bool

    @property
    def room(self) -> str:
        """The importing room, or module at the top; "" is the package's face."""
        return room_of(self.file.removesuffix(".py").replace("/", "."))

    @property
    def target(self) -> str | None:
        """The imported room; None if it is none of ours."""
        top, _, rest = self.module.partition(".")
        return room_of(rest) if top == "pipeline" else None


def room_of(dotted: str) -> str:
    """`rules.base` is in the room `rules`, `__init__` is the face."""
    first = dotted.partition(".")[0]
    return "" if first == "__init__" else first


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package, by its path below it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_bytes())


def imports() -> Iterator[Import]:
    """Every import of the package, those inside functions included."""
    for file, tree in trees():
        typing_only = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield Import(file, node.lineno, name.name, id(node) in typing_only)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}:{node.lineno}: import by the full name"
                names = [f"pipeline.{name.name}" for name in node.names] if node.module == "pipeline" else []
                known = [name for name in names if (PACKAGE / name.partition(".")[2]).is_dir()]
                for module in known or [node.module or ""]:
                    yield Import(file, node.lineno, module, id(node) in typing_only)


def test_imports_flow_one_way() -> None:
    wrong = [
        f"{found.file}:{found.line}: {found.room or 'the face'} imports {found.module}"
        for found in imports()
        if found.target is not None
        and not found.typing_only
        and found.target != found.room
        and found.target not in MAY_IMPORT[found.room]
    ]
    assert wrong == []


def test_every_room_is_known_to_this_test() -> None:
    assert {room_of(file.removesuffix(".py").replace("/", ".")) for file, _ in trees()} == set(MAY_IMPORT)


def test_stages_and_disk_do_not_know_each_other_not_even_for_types() -> None:
    pairs = {(found.room, found.target) for found in imports()}
    assert not pairs & {("stages", "disk"), ("disk", "stages")}


def test_pure_rooms_import_nothing_that_touches_the_world() -> None:
    wrong = [
        f"{found.file}:{found.line}: {found.module}"
        for found in imports()
        if found.room in PURE_ROOMS and found.file != PUMP and found.target is None
        if found.module.partition(".")[0] not in HARMLESS
    ]
    assert wrong == []


def test_pure_rooms_open_and_print_nothing() -> None:
    wrong = [
        f"{file}:{node.lineno}: {node.func.id}"
        for file, tree in trees()
        if file.startswith(tuple(f"{room}/" for room in PURE_ROOMS))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORLDLY_CALLS
    ]
    assert wrong == []


def test_files_are_opened_below_disk_only() -> None:
    """Besides: the settings read their own files before there is a disk room, and the command line ends quietly."""
    temporary = {"mkstemp", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile"}
    found = {
        (file, ast.unparse(node.func))
        for file, tree in trees()
        if not file.startswith("disk/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    opening = {"open", "os.open", "os.fdopen", "io.open", *temporary, *(f"tempfile.{name}" for name in temporary)}
    assert {file for file, call in found if call in opening} <= {"config.py", "trust.py", "cli.py"}
    assert ("runs/oneshot.py", "open_any") in found


def test_the_init_of_a_room_is_a_docstring() -> None:
    inits = {file: tree.body for file, tree in trees() if file.endswith("/__init__.py")}
    assert len(inits) == len([room for room in MAY_IMPORT if (PACKAGE / room).is_dir() and room])
    for file, body in inits.items():
        assert len(body) == 1, file
        assert isinstance(body[0], ast.Expr), file


def test_every_module_says_what_it_is_for() -> None:
    assert [file for file, tree in trees() if not ast.get_docstring(tree)] == []


def test_no_module_waits_prints_or_reads_when_it_is_imported() -> None:
    """Statements at the top of a module are imports, definitions, constants and what only types or a start need."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    allowed = (ast.Import, ast.ImportFrom, *definitions, ast.Assign, ast.AnnAssign, ast.If)
    wrong = [
        f"{file}:{node.lineno}"
        for file, tree in trees()
        for node in tree.body
        if not isinstance(node, allowed) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    assert wrong == []


@pytest.mark.parametrize("heavy", ["rich", "anyio", "watchfiles", "zstandard", "orjson", "asyncio", "platformdirs"])
def test_the_command_line_starts_without(heavy: str) -> None:
    """What `--version`, help and `stats --json` never need is not imported at the top of their modules."""
    light = {"cli.py", "keys.py", "config.py", "settings.py", "errors.py", "__init__.py", "monitor/tables.py"}
    light |= {"monitor/stats.py", "disk/queries.py", "disk/sqlite.py", "disk/rows.py", "disk/totals.py"}
    light |= {f"disk/ledger_{part}.py" for part in ("reader", "rows", "sums")}
    light |= {file for file, _ in trees() if file.startswith("commands/")}
    at_top = {
        file
        for file, tree in trees()
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names])
        if module.partition(".")[0] == heavy
    }
    assert at_top & light == set()


def test_this_test_reads_real_modules() -> None:
    """The checks above are not true only because nothing was found."""
    found = list(imports())
    assert len(found) > 100
    assert {"rules", "formats", "stages", "disk", "runs"} <= {one.room for one in found}
    assert "orjson" in {one.module for one in found}
    assert sys.stdlib_module_names >= HARMLESS - {"orjson", "re2", "xxhash"}
