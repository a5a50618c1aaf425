"""LitGPT's LoRA fine-tuning, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("litgpt"))

# Case -> why its error is not foreseen.
UNFORESEEN = {
    "epochs/absent": "recorded without the defaults of the command line",
    "max/without epochs": "recorded without the defaults of the command line",
    "unknown/key": "TrainArgs' fields differ by version",
    "unsupported/no new tokens": "a setting of generation: not among what epochlint reads",
    "warmup/fraction above 1": "said as a warning",
}


def project(case: dict[str, Any]) -> dict[str, str]:
    told: dict[str, Any] = {"json_path": "data.json"}
    files = {"data.jsonl": rows(case["n"])}
    told["json_path"] = "data.jsonl"
    if "folder" in case:
        train, held = case["folder"]
        files = {"data/train.jsonl": rows(train), "data/val.jsonl": rows(held)}
        told["json_path"] = "data"
    if "val_split_fraction" in case:
        told["val_split_fraction"] = case["val_split_fraction"]
    config = {
        "checkpoint_dir": "checkpoints/tiny",
        "out_dir": "out",
        "devices": case["devices"],
        "lora_r": 8,
        "data": {"class_path": "litgpt.data.JSON", "init_args": told},
        "train": case["train"],
        "eval": case["eval"],
        "optimizer": {"class_path": "torch.optim.AdamW", "init_args": {"lr": 0.001}},
    }
    return {**files, "config.yaml": text(config)}


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["devices"] == 1 and name != "batch/defaults of the class"
    ],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(project(case), {}, ["config.yaml"])
    assert value(checked, "records") == happened["records"]
    assert value(checked, "accumulation") == happened["accumulation"]
    assert value(checked, "total_steps") == happened["updates"]
    if "peak_step" in happened and case["train"].get("lr_warmup_steps"):
        warmup = case["train"]["lr_warmup_steps"]
        assert value(checked, "warmup_steps") == warmup


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["devices"] > 1
    ],
)
def test_the_batch_is_divided_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(project(case), {}, ["config.yaml"])
    assert value(checked, "accumulation") == happened["accumulation"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened and name not in UNFORESEEN],
)
def test_refusals_are_said_before(case: dict[str, Any]) -> None:
    findings = check_project(project(case), {}).findings
    assert any(finding.level == "error" for finding in findings), findings
