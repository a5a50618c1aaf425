"""torchtune's data sets on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text
from tests.conformance.test_torchtune import config


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    told = config({"batch_size": 2, "gradient_accumulation_steps": 1, "epochs": 1, "max_steps_per_epoch": None})
    told["dataset"] = case["dataset"]
    told["tokenizer"]["max_seq_len"] = 256
    files = {"config.yaml": text(told), case["dataset"]["data_files"]: data}
    files["train.sh"] = "tune run lora_finetune_single_device --config config.yaml\n"
    return files, {"gpus": 1}, ["train.sh"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN: dict[str, str] = {}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.6.1": {"equal": 234, "foreseen": 184, "open": 55, "silent": 31},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("torchtune_records", project, version), UNFORESEEN, COUNTS[version])
