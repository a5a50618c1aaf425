"""LitGPT's JSON data on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    config = {
        "checkpoint_dir": "checkpoints/tiny",
        "out_dir": "out",
        "devices": 1,
        "lora_r": 8,
        "data": {"class_path": "litgpt.data.JSON", "init_args": {"json_path": case["name"], **case["data"]}},
        "train": {"global_batch_size": 2, "micro_batch_size": 1, "epochs": 1, "max_seq_length": 256},
    }
    return {"config.yaml": text(config), case["name"]: data}, {"litgpt": version}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN: dict[str, str] = {}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.5.13": {"equal": 50, "foreseen": 87, "silent": 3},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("litgpt_records", project, version), UNFORESEEN, COUNTS[version])
