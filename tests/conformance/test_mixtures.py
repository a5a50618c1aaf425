"""Mixtures of alignment-handbook, open-r1 and Axolotl's shards, recorded, against epochlint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.recorded import explained, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("mixtures"))

_FOLDER = "a folder's splits are looked up by their names"
UNFORESEEN = {
    "mixer/another split's name": _FOLDER,
    "mixture/no sets": "an empty list is a template's",
    "shards/an empty one": "the part is empty only where there are so few rows",
}


def project(case: dict[str, Any]) -> tuple[dict[str, str], dict[str, object], list[str]]:
    """The config with its sets, what is assumed beside it, and where to look."""
    files = {}
    for name, splits in case["sets"].items():
        for split, count in splits.items():
            line = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
            if "item" in case:
                line = {"instruction": "a", "input": "", "output": "b"}  # type: ignore[dict-item] # another form
            files[f"{name}/{split}.jsonl"] = "".join(json.dumps({**line, "n": row}) + "\n" for row in range(count))
    config: dict[str, Any] = {"num_train_epochs": 1, "per_device_train_batch_size": 1, "learning_rate": 1e-5}
    if "item" in case:
        config = {"base_model": "m", "num_epochs": 1, "micro_batch_size": 1, "gradient_accumulation_steps": 1,
                  "learning_rate": 1e-5, "sequence_len": 512, "val_set_size": 0,
                  "datasets": [{**case["item"], "path": "a/train.jsonl"}]}  # fmt: skip
    elif "dataset_mixture" in case:
        config.update(model_name_or_path="m", dataset_mixture=case["dataset_mixture"], output_dir="out")
    else:
        config.update(model_name_or_path="m", output_dir="out", dataset_mixer=case["dataset_mixer"])
        config["dataset_splits"] = case.get("dataset_splits", ["train", "test"])
        if "dataset_configs" in case:
            config["dataset_configs"] = case["dataset_configs"]
    files["config.yaml"] = text(config)
    return files, {"gpus": 1}, ["config.yaml"]


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [
        pytest.param(name, case, happened, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" not in happened
    ],
)
def test_rows_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case))
    rows = happened["rows"].get("train")
    if "two training splits" in name:
        assert value(checked, "records") is None
    elif rows is not None:
        assert value(checked, "records") == rows
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors <= ({"STP008"} if not rows else set())


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" in happened and name not in UNFORESEEN
    ],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


def test_a_misspelt_weight_is_ignored() -> None:
    case = next(case for _, name, case, _ in RUNS if name == "mixture/key unknown")
    findings = check_project(*project(case)).findings
    assert [(one.code, one.level) for one in findings if one.code.startswith("CFG")] == [("CFG003", "warning")]
