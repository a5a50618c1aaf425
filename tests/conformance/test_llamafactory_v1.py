"""LLaMA-Factory's newer format (`USE_V1`) against its recorded runs (0.9.5): batches, steps, checkpoints, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("llamafactory_v1"))

# Case -> why its error is not foreseen.
UNFORESEEN = {"padding free": "attention depends on the model and on what is installed"}


def project(case: dict[str, Any]) -> dict[str, str]:
    config = {"model": "org/tiny", "model_class": "llm", **case["config"]}
    return {"config.yaml": text(config), "data.jsonl": rows(case["n"], "messages")}


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    assumed = {"llamafactory": "0.9.5", "gpus": case["world"], "records": case["n"]}
    checked, report = explained(project(case), assumed, ["config.yaml"])
    assert value(checked, "accumulation") == happened["accumulation"]
    assert value(checked, "effective_batch") == happened["global_batch"]
    assert value(checked, "steps_per_epoch") == happened["steps_per_epoch"]
    assert value(checked, "total_steps") == happened.get("steps", happened["total"])
    assert value(checked, "checkpoints") == len(happened.get("checkpoints", ()))
    assert not [finding for finding in report.findings if finding.code in ("CFG001", "CFG011")]


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_refusals_are_said_before(name: str, case: dict[str, Any]) -> None:
    findings = check_project(project(case), {"llamafactory": "0.9.5", "gpus": case["world"]}, ["config.yaml"]).findings
    assert any(finding.level == "error" for finding in findings) is (name not in UNFORESEEN), findings
