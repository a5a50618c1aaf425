"""Axolotl's own functions and schemas in four versions, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("axolotl"))

# Refusals that are not foreseen, with the reason.
UNFORESEEN = {
    "refused/no model": "a file without base_model is no Axolotl config",
    "refused/no rate": "a config in parts gets its rate elsewhere",
    "refused/unknown rl": "rl words differ by version",
    "refused/unknown scheduler": "schedulers of plugins are free words",
    "refused/text split": "a word instead of a number is a placeholder",
    "refused/epochs text": "a word instead of a number is a placeholder",
}


def project(case: dict[str, Any], version: str) -> tuple[dict[str, str], dict[str, object]]:
    files = {"config.yaml": text(case["config"]), "data.jsonl": rows(case["n"])}
    if case.get("test_n"):
        files["test.jsonl"] = rows(case["test_n"])
    return files, {"axolotl": version, "gpus": case["world"]}


def counted() -> list[Any]:
    return [
        pytest.param(version, case, happened, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" not in happened
        and not name.startswith(("grpo/", "type/"))
        and not (name.startswith("world/") and "parallel" in name and version < "0.15")  # other factors then
        and case["config"].get("sample_packing") is not True
    ]


@pytest.mark.parametrize(("version", "case", "happened"), counted())
def test_counts(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    files, assume = project(case, version)
    checked, _ = explained(files, assume, ["config.yaml"])
    limit = happened["args"].get("max_steps")
    if isinstance(limit, int) and limit > 0:
        assert value(checked, "total_steps") == limit
    elif "total" in happened:  # with several workers only Axolotl's own count was recorded
        assert value(checked, "total_steps") == max(0, happened["total"])
    assert value(checked, "records") == happened["records"]
    if "warmup" in happened:
        assert value(checked, "warmup_steps") == happened["warmup"]
    assert value(checked, "accumulation") == happened["accumulation"]


def refused() -> list[Any]:
    return [
        pytest.param(version, case, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" in happened and version == "0.19.0" and name not in UNFORESEEN
    ]


@pytest.mark.parametrize(("version", "case"), refused())
def test_refusals_are_said_before(version: str, case: dict[str, Any]) -> None:
    files, assume = project(case, version)
    findings = check_project(files, assume, ["config.yaml"]).findings
    assert any(finding.level == "error" for finding in findings), findings


def test_what_is_not_foreseen_is_refused_indeed() -> None:
    """The list of exceptions holds nothing that is accepted in every version."""
    failing = {name for _, name, _, happened in RUNS if "error" in happened}
    assert set(UNFORESEEN) <= failing


def accepted() -> list[Any]:
    return [
        pytest.param(version, case, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" not in happened and version == "0.19.0"
    ]


@pytest.mark.parametrize(("version", "case"), accepted())
def test_what_is_accepted_is_not_called_refused(version: str, case: dict[str, Any]) -> None:
    files, assume = project(case, version)
    findings = check_project(files, assume, ["config.yaml"]).findings
    assert not [finding for finding in findings if finding.code in ("CFG011", "CFG005")]
