"""SARIF: valid by the official schema, and complete for code scanning, for a finding of every rule."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from epochlint.lint import Report
from epochlint.report.sarif import check_sarif
from tests.helpers import check_project
from tests.report.bad_examples import report
from tests.rules.test_examples import PAGES

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
CONFIG = "per_device_train_batch_size: 8\nlr_scheduler_type: constant\nmax_steps: 500\nwarmup_steps: 100\n"


@cache
def _log() -> dict[str, Any]:
    log: dict[str, Any] = json.loads(check_sarif(report()))
    return log


def _run() -> dict[str, Any]:
    run: dict[str, Any] = _log()["runs"][0]
    return run


def _valid(log: object) -> None:
    errors = list(jsonschema.Draft4Validator(SCHEMA).iter_errors(log))
    assert errors == [], [(list(error.absolute_path), error.message) for error in errors[:5]]


def test_the_schema_can_refuse() -> None:
    with pytest.raises(AssertionError):
        _valid({"version": "2.1.0", "runs": [{"results": []}]})


def test_every_rule_has_a_finding_and_the_log_is_valid() -> None:
    assert {result["ruleId"] for result in _run()["results"]} == {page.code for page in PAGES}
    _valid(_log())


def test_an_empty_log_is_valid() -> None:
    _valid(json.loads(check_sarif(Report())))


def test_the_log_shows_everything_that_it_can() -> None:
    results = _run()["results"]
    assert any("fixes" in result for result in results)
    assert any("relatedLocations" in result for result in results)
    assert any("suppressions" in result for result in results)
    assert _run()["invocations"][0]["toolExecutionNotifications"]


def test_rules_are_complete_for_code_scanning() -> None:
    rules = _run()["tool"]["driver"]["rules"]
    assert len(rules) == len(PAGES)
    for rule in rules:
        for description in ("shortDescription", "fullDescription"):
            assert 0 < len(rule[description]["text"].strip()) <= 1024, (rule["id"], description)
        assert rule["help"]["text"].strip()
        assert rule["help"]["markdown"].strip()
        assert len(rule["name"]) <= 255
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert "security-severity" not in rule["properties"], "findings are no security alerts"
        assert len(rule["properties"]["tags"]) <= 20


def test_results_are_complete_for_code_scanning() -> None:
    rules = _run()["tool"]["driver"]["rules"]
    for result in _run()["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"].strip()
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        for location in [*result["locations"], *result.get("relatedLocations", ())]:
            place = location["physicalLocation"]
            uri, region = place["artifactLocation"]["uri"], place["region"]
            assert uri
            assert not uri.startswith(("/", "file:"))
            assert (region["startLine"], region["startColumn"]) >= (1, 1)
            assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def test_no_string_is_empty() -> None:
    def strings(value: object, way: tuple[object, ...] = ()) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key != "insertedContent":  # a fix may delete
                    strings(inner, (*way, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                strings(inner, (*way, index))
        else:
            assert value != "", way

    strings(_log())


def _marks(text: str) -> list[tuple[str, str]]:
    results = json.loads(check_sarif(check_project({"a.yaml": text})))["runs"][0]["results"]
    return [(one["ruleId"], one["partialFingerprints"]["primaryLocationLineHash"]) for one in results]


def test_fingerprints_survive_a_moved_line() -> None:
    before, after = _marks(CONFIG), _marks("# a new line\n\n" + CONFIG)
    assert before
    assert before == after


def test_two_runs_of_one_check_are_the_same() -> None:
    assert _marks(CONFIG) == _marks(CONFIG)


def test_names_are_written_as_uris() -> None:
    log = json.loads(check_sarif(check_project({"a b/ü #1.yaml": CONFIG})))
    uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["runs"][0]["results"]}
    assert uris == {"a%20b/%C3%BC%20%231.yaml"}
    _valid(log)


def test_suppressions_say_where_they_stand() -> None:
    (silenced,) = [one for one in _run()["results"] if "suppressions" in one]
    assert silenced["suppressions"] == [{"kind": "inSource", "justification": "as in | the <paper>"}]
