"""The budget of a run, for people and for programs; a rule's page."""

from __future__ import annotations

import json

import pytest

from epochlint.report.explain import explain_text
from epochlint.report.json_report import FACTS, explain_json
from epochlint.report.rule_page import listing, page
from epochlint.rules import catalogue
from epochlint.rules.rule import Rule
from tests.helpers import check_project

FILES = {
    "a.yaml": (
        "model_name_or_path: m\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 2\nnum_train_epochs: 3\n"
        "learning_rate: 2.0e-4\nwarmup_steps: 10\nlr_scheduler_type: cosine\ndataset_name: somebody/something\n"
    )
}


def test_json_has_every_fact() -> None:
    document = json.loads(explain_json(check_project(FILES, {"gpus": 4, "records": 6400, "transformers": "4.57.6"})))
    assert (document["version"], document["skipped"]) == (1, [])
    (run,) = document["runs"]
    assert (run["path"], run["line"]) == ("a.yaml", 1)
    facts = run["facts"]
    assert set(facts) == set(FACTS)
    assert all(set(fact) == {"value", "low", "high", "origin", "formula", "path", "line"} for fact in facts.values())
    values = {name: fact["value"] for name, fact in facts.items()}
    assert (values["effective_batch"], values["steps_per_epoch"], values["total_steps"]) == (64, 100, 300)
    assert (facts["gpus"]["origin"], facts["per_device_batch"]["origin"]) == ("assumed", "written")
    assert (facts["per_device_batch"]["path"], facts["per_device_batch"]["line"]) == ("a.yaml", 2)


def test_json_says_what_is_unknown() -> None:
    (run,) = json.loads(explain_json(check_project(FILES)))["runs"]
    assert run["facts"]["records"] == {
        "value": None, "low": None, "high": None, "origin": None, "formula": None, "path": None, "line": None,
    }  # fmt: skip
    needs = {name for one in run["not_evaluated"] for name in one["needs"]}
    assert "records" in needs


def test_text_shows_sums_and_origins() -> None:
    said = explain_text(check_project(FILES, {"gpus": 4, "records": 6400, "transformers": "4.57.6"}))
    rows = {line.strip().split("  ")[0]: line for line in said.splitlines()}
    assert "64" in rows["effective batch"]
    assert "8" in rows["effective batch"]
    assert "a.yaml:2" in rows["per-device batch"]
    assert "assumed" in rows["workers (GPUs)"]
    assert "300" in rows["total steps"]


def test_text_says_what_would_help() -> None:
    said = explain_text(check_project(FILES))
    assert "--assume records=N" in said


def test_text_without_a_run() -> None:
    assert explain_text(check_project({"a.yaml": "x: 1\n"})) == "No training run found in 1 file."


@pytest.mark.parametrize("rule", catalogue.load(), ids=lambda rule: rule.code)
def test_every_rule_has_a_page(rule: object) -> None:
    assert isinstance(rule, Rule)
    code, name = rule.code, rule.name
    for word in (code, code.lower(), name):
        said = page(word, "text")
        assert said is not None
        assert said.startswith(f"{code} {name}")
        assert max(map(len, said.splitlines())) <= 120
    document = json.loads(page(code, "json") or "")
    assert (document["version"], document["code"]) == (1, code)
    assert code in listing("text")


def test_the_list_as_json() -> None:
    document = json.loads(listing("json"))
    assert document["version"] == 1
    assert [rule["code"] for rule in document["rules"]] == [rule.code for rule in catalogue.load()]


def test_a_page_that_is_not_there() -> None:
    assert page("WRM999", "text") is None
