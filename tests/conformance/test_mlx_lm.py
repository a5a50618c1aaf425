"""MLX-LM's training, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("mlx"))

# Case -> why its error is not foreseen.
UNFORESEEN = {
    "rows/n0 b1": "a file without records yet",
    "schedule/unknown": "schedules of newer versions",
    "value/layers 16": "the model is not read",
    "value/no data folder": "data that is not there may be elsewhere",
    "value/no train": "not a training run",
    "value/unknown optimizer": "optimizers of newer versions",
    "value/iters as text": "a word instead of a number is a placeholder",
    "value/rate as text": "a word instead of a number is a placeholder",
    "value/unknown type": "types of newer versions",
}


def project(case: dict[str, Any]) -> dict[str, str]:
    files = {"config.yaml": text(case["config"])}
    for name, count in zip(("train", "valid", "test"), case["rows"], strict=True):
        files[f"data/{name}.jsonl"] = rows(count, "messages")
    files["train.sh"] = " ".join(["mlx_lm.lora", "--config", "config.yaml", *case["flags"]]) + "\n"
    return files


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(project(case), {}, ["train.sh"])
    assert value(checked, "total_steps") == happened["updates"]
    every, last = case["config"]["steps_per_eval"], max(happened["validations"], default=0)
    if case["rows"][1]:  # an empty file of validation data counts as none
        assert value(checked, "evaluations") == sum(at % every == 0 or at == last for at in happened["validations"])
    warmup = (case["config"].get("lr_schedule") or {}).get("warmup", 0)
    if isinstance(warmup, int):
        assert value(checked, "warmup_steps") == warmup


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened and name not in UNFORESEEN],
)
def test_refusals_are_said_before(case: dict[str, Any]) -> None:
    findings = check_project(project(case), {}).findings
    assert any(finding.level == "error" for finding in findings), findings
