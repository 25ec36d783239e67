"""Settings come whole or not at all: each value checked, each with its origin."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import Loaded, load
from pipeline.errors import ConfigError
from pipeline.formats.registry import FORMATS, UNKNOWN
from pipeline.keys import FORMAT_NAMES, KINDS, SECTIONS, TOP
from pipeline.monitor.rule_tests import problems_of
from pipeline.settings import RootSettings, Settings

SHIPPED = Path(__file__).parent.parent / "config" / "compactd.toml"
FLAGS = {"out": "/o", "state": "/s"}


def load_text(folder: Path, text: str, **environ: str) -> Loaded:
    path = folder / "compactd.toml"
    path.write_text(text)
    return load(path=str(path), flags=FLAGS, environ=environ)


def test_the_shipped_file_holds_every_key_with_its_default() -> None:
    document = tomllib.loads(SHIPPED.read_text())
    defaults = asdict(Settings())
    assert document == {section: defaults[section] for section in SECTIONS}


def test_the_shipped_file_tells_of_paths_and_roots_in_comments() -> None:
    lines = SHIPPED.read_text().splitlines()
    for start in ("# out = ", "# state = ", "# [[root]]", "# path = ", "# format = ", "# include = "):
        assert any(line.startswith(start) for line in lines), start


def test_the_commented_root_of_the_shipped_file_has_the_default_patterns(tmp_path: Path) -> None:
    text = SHIPPED.read_text()
    start = text.index("# [[root]]")
    table = text[start : text.index("\n\n", start)].replace("# ", "")
    assert load_text(tmp_path, table).settings.roots[0].include == RootSettings("").include


def test_the_commented_rule_of_the_shipped_file_passes_its_test(tmp_path: Path) -> None:
    text = SHIPPED.read_text()
    start = text.index("# [[rule]]")
    table = text[start : text.index("\n\n", start)].replace("# ", "")
    (rule,) = load_text(tmp_path, table).settings.rules
    assert len(rule.tests) == 1
    assert problems_of([rule]) == []


def test_every_key_of_the_settings_is_checked() -> None:
    assert {name: list(kinds) for name, kinds in KINDS.items()} == {
        name: [field.name for field in fields(cls)] for name, cls in SECTIONS.items()
    }
    assert {field.name for field in fields(Settings)} == {*TOP, "roots", "rules", *SECTIONS}


def test_every_known_format_may_be_named() -> None:
    assert set(FORMAT_NAMES) == {"auto", *FORMATS} - {UNKNOWN}


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    loaded = load(environ={})
    assert loaded.path == ""
    assert loaded.looked_at.startswith(str(tmp_path))
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.settings.out.startswith(str(tmp_path))
    assert loaded.settings.state.startswith(str(tmp_path))
    assert loaded.settings.out != loaded.settings.state
    assert asdict(loaded.settings) | {"out": "", "state": ""} == asdict(Settings())


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        'out = "from-file"\nstate = "from-file-too"\n[copies]\nmin_bytes = 1\n'
        "[commit]\nmax_records = 7\nmax_bytes = 8\n"
    )
    environ = {"COMPACTD_OUT": "/env", "COMPACTD_STATE": "/env-too", "COMPACTD_COMMIT__MAX_BYTES": "9"}
    loaded = load(path=str(path), flags={"out": "/flag", "state": None}, environ=environ)
    settings = loaded.settings
    assert (settings.out, settings.state) == ("/flag", "/env-too")
    assert (settings.commit.max_bytes, settings.commit.max_records, settings.copies.min_bytes) == (9, 7, 1)
    assert settings.commit.sync_threads == Settings().commit.sync_threads
    assert {key: origin for key, origin in loaded.origins.items() if origin != "default"} == {
        "out": "flag --out",
        "state": "environment COMPACTD_STATE",
        "commit.max_bytes": "environment COMPACTD_COMMIT__MAX_BYTES",
        "commit.max_records": str(path),
        "copies.min_bytes": str(path),
    }


def test_paths_of_the_file_are_relative_to_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('out = "o"\nstate = "../s"\n[[root]]\npath = "r"\n')
    settings = load(path=str(path), environ={}).settings
    assert settings.out == str(tmp_path / "o")
    assert settings.state == str(tmp_path.parent / "s")
    assert settings.roots == (RootSettings(str(tmp_path / "r")),)


def test_paths_of_flags_are_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load(flags={"out": "o"}, environ={"COMPACTD_STATE": "s"}).settings
    assert (settings.out, settings.state) == (str(tmp_path / "o"), str(tmp_path / "s"))


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[vault]\nlevel = 9\n")
    loaded = load(flags=FLAGS, environ={"COMPACTD_CONFIG": str(path)})
    assert (loaded.path, loaded.settings.vault.level) == (str(path), 9)


def test_a_root_has_path_format_and_patterns(tmp_path: Path) -> None:
    text = '[[root]]\npath = "/a"\n[[root]]\npath = "/b"\nformat = "codex"\ninclude = ["*.jsonl"]\n'
    loaded = load_text(tmp_path, text)
    assert loaded.settings.roots == (RootSettings("/a"), RootSettings("/b", "codex", ("*.jsonl",)))
    assert loaded.origins["root"] == loaded.path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "[reader]\nmax_record_bytes = '64k'",
            "reader.max_record_bytes: need a whole number above 0, got '64k'",
            id="text for a number",
        ),
        pytest.param(
            "[reader]\nmax_record_bytes = 0", "reader.max_record_bytes: need a whole number above 0, got 0", id="zero"
        ),
        pytest.param(
            "[reader]\nbatch_records = true",
            "reader.batch_records: need a whole number above 0, got True",
            id="bool for a number",
        ),
        pytest.param(
            "[reader]\nbatch_records = 2.0", "reader.batch_records: need a whole number above 0, got 2.0", id="float"
        ),
        pytest.param(
            "[reader]\nbatch_bytes = 99999999999999",
            "reader.batch_bytes: need a whole number above 0, at most 1099511627776, got 99999999999999",
            id="too large",
        ),
        pytest.param(
            "[tool_input]\nmax_chars = -1",
            "tool_input.max_chars: need a whole number, 0 or more, got -1",
            id="negative",
        ),
        pytest.param("[vault]\nlevel = 23", "vault.level: need a whole number from 1 to 22, got 23", id="range"),
        pytest.param(
            "[vault]\nenabled = 'yes'", "vault.enabled: need true or false, got 'yes'", id="text for a switch"
        ),
        pytest.param(
            "[tool_result]\nmin_savings = 1.5",
            "tool_result.min_savings: need a number from 0 to 1, got 1.5",
            id="ratio",
        ),
        pytest.param(
            "[tool_result]\nmin_savings = nan", "tool_result.min_savings: need a number from 0 to 1, got nan", id="nan"
        ),
        pytest.param(
            "[tool_result]\ndiffs = 'cut'", "tool_result.diffs: need one of whole, elide, got 'cut'", id="choice"
        ),
        pytest.param(
            "[watch]\nsweep_seconds = 0",
            "watch.sweep_seconds: need a number of seconds above 0, at most 86400, got 0",
            id="no time",
        ),
        pytest.param(
            "[tool_input.policies]\nBash = 'short'",
            "tool_input.policies: need a table of tool names, each \"summary\" or \"full\", got {'Bash': 'short'}",
            id="policy",
        ),
        pytest.param("[copies]\nsize = 1", "copies: need one of enabled, min_bytes, got 'size'", id="unknown key"),
        pytest.param(
            "[readers]\nx = 1",
            "need one of out, state, root, rule, tool_input, tool_result, copies, reader, commit, watch, vault, "
            "got 'readers'",
            id="unknown section",
        ),
        pytest.param("reader = 5", "reader: need a table, [reader], got 5", id="no table"),
        pytest.param("out = 5", "out: need a path, got 5", id="path"),
        pytest.param('state = ""', "state: need a path, got ''", id="empty path"),
        pytest.param("[root]\npath = '/a'", "root: need tables, [[root]], got {'path': '/a'}", id="root as a table"),
        pytest.param("[[root]]\nformat = 'auto'", "root 1: need a path, got none", id="root without a path"),
        pytest.param(
            "[[root]]\npath = '/a'\n[[root]]\npath = '/b'\nkind = 1",
            "root 2: need one of path, format, include, got 'kind'",
            id="unknown key of a root",
        ),
        pytest.param(
            "[[root]]\npath = '/a'\ninclude = '*'",
            "root 1.include: need a list of patterns such as \"**/*.jsonl\", got '*'",
            id="include",
        ),
        pytest.param("out = ", "need TOML, got: Invalid value (at line 1, column 7)", id="no TOML"),
    ],
)
def test_what_is_wrong_is_told_with_place_need_and_what_came(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, text)
    told = str(caught.value).partition(": ")
    assert told[0] == str(tmp_path / "compactd.toml")
    # Pythons differ in how they word the end of a document.
    assert told[2].startswith(message.partition(" (at")[0])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param(
            "COMPACTD_READER__MAX_RECORD_BYTES",
            "64k",
            "COMPACTD_READER__MAX_RECORD_BYTES: need a whole number above 0, got '64k'",
            id="text",
        ),
        pytest.param("COMPACTD_VAULT__ENABLED", "", "COMPACTD_VAULT__ENABLED: need true or false, got ''", id="empty"),
        pytest.param(
            "COMPACTD_READER__MAX_RECORD_BYTES",
            "9" * 5000,
            "COMPACTD_READER__MAX_RECORD_BYTES: need a whole number above 0, got '9999",
            id="huge",
        ),
        pytest.param("COMPACTD_READER__SIZE", "1", "COMPACTD_READER__SIZE: need COMPACTD_<SECTION>__<KEY>", id="key"),
        pytest.param("COMPACTD_READERS", "1", "COMPACTD_READERS: need COMPACTD_<SECTION>__<KEY>", id="no section"),
        pytest.param("COMPACTD_Out", "/o", "COMPACTD_Out: need COMPACTD_<SECTION>__<KEY>", id="case"),
        pytest.param(
            "COMPACTD_ROOT", "/o", "COMPACTD_ROOT: need COMPACTD_<SECTION>__<KEY>", id="roots are of the file"
        ),
        pytest.param(
            "OPENVIKING_TOOL_INPUT_COMPACTION",
            "perhaps",
            "OPENVIKING_TOOL_INPUT_COMPACTION: need true or false, got 'perhaps'",
            id="historic",
        ),
        pytest.param("COMPACTD_CONFIG", "/no/such.toml", "/no/such.toml: need a config file, it is missing", id="file"),
    ],
)
def test_the_environment_is_checked_like_the_file(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags=FLAGS, environ={name: value})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "value", "section", "key", "expected"),
    [
        pytest.param("COMPACTD_VAULT__ENABLED", "false", "vault", "enabled", False, id="switch"),
        pytest.param("COMPACTD_COPIES__MIN_BYTES", "12", "copies", "min_bytes", 12, id="whole"),
        pytest.param("COMPACTD_WATCH__SWEEP_SECONDS", "3", "watch", "sweep_seconds", 3.0, id="seconds"),
        pytest.param("COMPACTD_TOOL_INPUT__SHAPE", "summary", "tool_input", "shape", "summary", id="choice"),
        pytest.param(
            "COMPACTD_TOOL_INPUT__POLICIES",
            '{Deploy = "summary"}',
            "tool_input",
            "policies",
            {"Deploy": "summary"},
            id="table",
        ),
        pytest.param("OPENVIKING_TOOL_INPUT_COMPACTION", "false", "tool_input", "enabled", False, id="historic switch"),
        pytest.param("OPENVIKING_TOOL_INPUT_MAX_CHARS", "0", "tool_input", "max_chars", 0, id="historic cap"),
    ],
)
def test_a_variable_sets_its_key(name: str, value: str, section: str, key: str, expected: Any) -> None:
    loaded = load(flags=FLAGS, environ={name: value})
    assert getattr(getattr(loaded.settings, section), key) == expected
    assert loaded.origins[f"{section}.{key}"] == f"environment {name}"


def test_the_own_name_wins_over_the_historic_one() -> None:
    environ = {"OPENVIKING_TOOL_INPUT_MAX_CHARS": "5", "COMPACTD_TOOL_INPUT__MAX_CHARS": "6"}
    assert load(flags=FLAGS, environ=environ).settings.tool_input.max_chars == 6


def test_out_and_state_are_two_folders() -> None:
    with pytest.raises(ConfigError, match="out: need another folder than state, got '/o' for both"):
        load(flags={"out": "/o", "state": "/o/"}, environ={})


def test_a_file_that_is_no_utf8_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b'out = "\xff"')
    with pytest.raises(ConfigError, match="need UTF-8, got byte 0xff at 7"):
        load(path=str(path), environ={})


def test_a_folder_is_no_config_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read: Is a directory"):
        load(path=str(tmp_path), environ={})


@given(st.sampled_from([f"{section}.{key}" for section, kinds in KINDS.items() for key in kinds]), st.text(max_size=20))
def test_no_text_of_a_variable_does_anything_but_set_its_key_or_be_refused(key: str, text: str) -> None:
    name = "COMPACTD_" + key.replace(".", "__").upper()
    section, _, field = key.partition(".")
    loaded: Loaded | None = None
    refused = ""
    try:
        loaded = load(flags=FLAGS, environ={name: text})
    except ConfigError as error:
        refused = str(error)
    if loaded is None:
        assert refused.startswith(f"{name}: need ")
        return
    assert loaded.origins[key] == f"environment {name}"
    rest = asdict(loaded.settings)
    value = rest[section].pop(field)
    defaults = asdict(Settings(out="/o", state="/s"))
    assert type(value) is type(defaults[section].pop(field))
    assert rest == defaults
