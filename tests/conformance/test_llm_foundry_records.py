"""LLM Foundry's finetuning loader on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    config = {
        "model": {"name": "hf_causal_lm", "pretrained_model_name_or_path": "org/tiny"},
        "train_loader": {"name": "finetuning", "dataset": case["dataset"], "drop_last": False},
        "max_duration": "1ep",
        "global_train_batch_size": 2,
        "device_train_microbatch_size": 1,
        "optimizer": {"name": "decoupled_adamw", "lr": 1e-5},
        "scheduler": {"name": "constant"},
    }
    files = {"config.yaml": text(config), case["dataset"]["hf_kwargs"]["data_files"]: data}
    return files, {"llm-foundry": version, "gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "answer, question, answer": "what a chat template makes of it is the template's word",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.22.0": {"equal": 82, "foreseen": 153, "missed": 2, "open": 71, "silent": 85},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("llm_foundry_records", project, version), UNFORESEEN, COUNTS[version])
