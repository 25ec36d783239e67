"""[[rule]] tables: what they may say, where they come from, and which of them are trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept import Run
from test_config import FLAGS, load_text

from pipeline.config import load
from pipeline.errors import ConfigError
from pipeline.settings import RuleSettings, RuleTest, Settings, output_digest
from pipeline.trust import RULE_FILE, project_file

RULE = """\
[[rule]]
id = "deploy"
tools = ["Bash"]
command = 'deploy\\.sh'
drop = ['^uploading ']
replace = [{pattern = 'part ([0-9]+)', with = 'p\\1'}]
[[rule.test]]
command = "./deploy.sh"
input = "uploading a large thing\\nuploading another thing\\npart 7\\n"
output = "… [2 lines elided] …\\np7\\n"
"""


def test_a_table_becomes_a_rule(tmp_path: Path) -> None:
    (rule,) = load_text(tmp_path, RULE).settings.rules
    test = RuleTest(
        "uploading a large thing\nuploading another thing\npart 7\n",
        "… [2 lines elided] …\np7\n",
        command="./deploy.sh",
    )
    assert rule == RuleSettings(
        "deploy",
        ("Bash",),
        r"deploy\.sh",
        drop=("^uploading ",),
        replace=(("part ([0-9]+)", r"p\1"),),
        tests=(test,),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = 3", "rule: need tables"),
        ("[[rule]]\ndrop = ['a']", "rule 1: need an id, got none"),
        ("[[rule]]\nid = 'a'\ndorp = ['a']", "rule 1: need one of id, command.*got 'dorp'"),
        ("[[rule]]\nid = 'a'\ndrop = 'a'", "rule 1.drop: need a list of texts, got 'a'"),
        ("[[rule]]\nid = 'a'\ndrop = ['(?=a)']", r"rule 1.drop: need a pattern of RE2.*'\(\?=a\)'"),
        ("[[rule]]\nid = 'a'\ncommand = '('", "rule 1.command: need a pattern"),
        ("[[rule]]\nid = 'a'\nreplace = [{pattern = 'a', with = '\\1'}]", "rule 1.replace: need only groups"),
        ("[[rule]]\nid = 'a'\nreplace = [{pattern = '(', with = 'b'}]", "rule 1.replace: need a pattern"),
        ("[[rule]]\nid = 'a'\n[[rule.test]]\ninput = 'a'", "rule 1.test 1: need output, got none"),
        ("[[rule]]\nid = 'a'\n[[rule]]\nid = 'a'", "rule 2.id: need an id of its own, got 'a' again"),
        ("[[rule]]\nid = 3", "rule 1.id: need a text, got 3"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_text(tmp_path, text)


def test_rules_are_part_of_what_the_output_depends_on_and_their_tests_are_not() -> None:
    def digest(*rules: RuleSettings) -> str:
        return output_digest(Settings(rules=rules), 1)

    first, second = RuleSettings("a", drop=("x",)), RuleSettings("b", drop=("y",))
    assert len({digest(), digest(first), digest(second), digest(first, second), digest(second, first)}) == 5
    assert digest(first) == digest(RuleSettings("a", drop=("x",), tests=(RuleTest("a", "b"),)))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a rule file, a folder below it, and a user's config folder of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / "project"
    (project / "deep" / "er").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / RULE_FILE).write_text(RULE)
    return project


def rules_at(folder: Path) -> tuple[list[str], str]:
    loaded = load(flags=FLAGS, environ={}, project=str(folder))
    return [rule.id for rule in loaded.settings.rules], loaded.untrusted


def test_a_projects_rules_hold_once_they_are_trusted_and_until_they_change(project: Path, run: Run) -> None:
    path = project / RULE_FILE
    assert rules_at(project / "deep" / "er") == ([], str(path))
    assert run("config", "trust", str(path))[0] == 0
    assert rules_at(project / "deep" / "er") == (["deploy"], "")
    path.write_text(RULE.replace("uploading ", "."))
    assert rules_at(project) == ([], str(path))
    path.write_text(RULE)
    assert rules_at(project) == (["deploy"], "")


def test_the_same_content_elsewhere_is_not_trusted(project: Path, run: Run) -> None:
    assert run("config", "trust", str(project / RULE_FILE))[0] == 0
    other = project / "deep"
    (other / RULE_FILE).write_text(RULE)
    assert rules_at(other) == ([], str(other / RULE_FILE))


def test_the_search_ends_at_the_top_of_a_repository(project: Path) -> None:
    assert project_file(str(project / "deep")) == str(project / RULE_FILE)
    (project / "deep" / ".git").write_text("gitdir: elsewhere")
    assert project_file(str(project / "deep" / "er")) is None


def test_a_projects_rules_come_before_the_users(project: Path, run: Run) -> None:
    run("config", "trust", str(project / RULE_FILE))
    config = project.parent / "config" / "compactd"
    (config / "compactd.toml").write_text("[[rule]]\nid = 'mine'\ndrop = ['a']\n")
    assert rules_at(project)[0] == ["deploy", "mine"]
    assert rules_at(project.parent)[0] == ["mine"]


def test_a_rule_whose_test_fails_is_neither_fine_nor_trusted(project: Path, run: Run) -> None:
    path = project / RULE_FILE
    path.write_text(RULE.replace("p7", "p8"))
    code, _, error = run("config", "trust", str(path))
    assert code == 1
    assert "rule deploy: test 1: need '… [2 lines elided] …\\np8\\n', got '… [2 lines elided] …\\np7\\n'" in error
    assert rules_at(project) == ([], str(path))
    code, _, error = run("config", "check", "--config", str(path), "--out", "/o", "--state", "/s")
    assert code == 1
    assert "rule deploy: test 1:" in error


def test_a_projects_file_has_rules_and_nothing_else(project: Path, run: Run) -> None:
    path = project / RULE_FILE
    path.write_text("out = '/elsewhere'\n" + RULE)
    code, _, error = run("config", "trust", str(path))
    assert code == 2
    assert "need only [[rule]] tables, got 'out'" in error


def test_whoever_compacts_is_told_of_rules_that_are_not_used(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "a.jsonl").write_text('{"type":"summary"}\n')
    code, _, error = run("compact", "a.jsonl")
    assert code == 0
    assert f"{project / RULE_FILE}: its rules are not used" in error
