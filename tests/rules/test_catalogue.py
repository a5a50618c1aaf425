"""The catalogue: up to date, complete, chosen by codes, names and families; the user's own rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from epochlint.rules import catalogue
from epochlint.rules.page import RuleFileError, rule_files

ROOT = Path(__file__).parents[2]


def test_the_compiled_file_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "compile_rules.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_rule_lies_where_its_code_says() -> None:
    rules = catalogue.load()
    assert [rule.code for rule in rules] == sorted({rule.code for rule in rules})
    for path in rule_files(str(ROOT / "rules")):
        page = catalogue.page(os.path.basename(path).partition("-")[0])
        assert page is not None
        assert os.path.relpath(path, ROOT / "rules") == os.path.join(
            page.family.lower(), f"{page.code}-{page.name}.yaml"
        )
        assert page.code.startswith(page.family)
        assert page.why, f"{page.code} does not say why"
        assert page.fix, f"{page.code} does not say what to do"
        assert page.evidence, f"{page.code} has no evidence"
        assert page.family in catalogue.families()


def test_what_a_rule_replaces_exists() -> None:
    codes = {rule.code for rule in catalogue.load()}
    assert {code for rule in catalogue.load() for code in rule.supersedes} <= codes


def test_choosing() -> None:
    def codes(*select: str, ignore: tuple[str, ...] = ()) -> set[str]:
        return {rule.code for rule in catalogue.chosen(select, ignore)}

    usual = codes()
    assert {"CFG004", "BAT007", "NUM001"}.isdisjoint(usual)
    assert "WRM001" in usual
    assert codes("WRM001") == {"WRM001"}
    assert codes("warmup-exceeds-run", "cfg004") == {"WRM001", "CFG004"}
    assert codes("CFG") >= {"CFG001", "CFG011"}
    assert "CFG004" not in codes("CFG")
    assert "CFG004" in codes("CFG", "unknown-key")
    assert codes("ALL") == usual
    assert codes(ignore=("WRM",)) == {code for code in usual if not code.startswith("WRM")}
    assert codes(ignore=("warmup-exceeds-run",)) == usual - {"WRM001"}
    assert codes("WRM", ignore=("WRM001",)) == {code for code in usual if code.startswith("WRM")} - {"WRM001"}
    assert catalogue.unknown(["WRM001", "wrm", "ALL", "warmup-exceeds-run", "WRM999", "warmup-what"]) == [
        "WRM999",
        "warmup-what",
    ]


def test_finding_a_rule() -> None:
    for word in ("WRM001", "wrm001", "warmup-exceeds-run"):
        found = catalogue.find(word)
        assert found is not None
        assert found.code == "WRM001"
    assert catalogue.find("WRM999") is None
    assert catalogue.page("WRM999") is None


OWN = """\
code: OWN001
name: own-rule
family: OWN
summary: Our house rule.
when: total_steps < 500
level: warning
message: "{total_steps:step} are too few for us"
"""


def test_own_rules_stand_beside_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    rules = catalogue.load([str(tmp_path)])
    assert "OWN001" in {rule.code for rule in rules}
    (tmp_path / "own.yaml").write_text(OWN.replace("OWN001", "WRM001").replace("own-rule", "our-warmup"))
    replaced = catalogue.find("WRM001", catalogue.load([str(tmp_path)]))
    assert replaced is not None
    assert replaced.summary == "Our house rule."


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("total_steps <", "totl_steps <"), 5, "did you mean `total_steps`"),
        (("{total_steps:step}", "{totl:step}"), 7, "unknown name `totl`"),
        (("level: warning", "level: loud"), 6, "level"),
        (("level: warning\n", ""), 1, "give either `level` or `tiers`"),
        (("family: OWN", "family: OWN\nfamly: X"), 4, "famly"),
        (("code: OWN001", "code: 1"), 1, "code"),
        (("name: own-rule\n", ""), 1, "name"),
        (("when: total_steps < 500\n", ""), 1, "every run would be reported"),
        (("summary: Our", "summary: [Our"), 5, ""),
        (("when:", "observation: nothing_like_it\nwhen:"), 5, "unknown observation"),
        (("level:", "at: [observation]\nlevel:"), 6, "`observation` needs a rule on an observation"),
        ((OWN, "- a list"), 1, "a mapping"),
        ((OWN, ""), 1, "a mapping"),
        ((OWN, "a: \x07"), 1, ""),
    ],
)
def test_a_mistake_in_an_own_rule_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, message: str
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace(*change))
    with pytest.raises(RuleFileError) as told:
        catalogue.load([str(tmp_path)])
    assert str(told.value).startswith(f"{path}:")
    assert message in told.value.message
    assert told.value.line == line


def test_one_code_for_two_rules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(OWN)
    (tmp_path / "b.yaml").write_text(OWN.replace("own-rule", "other"))
    with pytest.raises(RuleFileError, match="OWN001 is taken by"):
        catalogue.load([str(tmp_path)])


def test_a_check_loads_neither_yaml_nor_pydantic_nor_ast() -> None:
    code = (
        "import sys; before = set(sys.modules); from epochlint.rules import catalogue, engine; catalogue.load(); "
        "print(sorted({'ast', 'yaml', 'pydantic', 'typing', 'dataclasses'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
