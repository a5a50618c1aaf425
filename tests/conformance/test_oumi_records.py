"""Oumi's own data sets of files on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    config = {
        "model": {"model_name": "org/tiny", "model_max_length": 256},
        "data": {"train": {"datasets": [case["dataset"]]}},
        "training": {"trainer_type": "TRL_SFT", "num_train_epochs": 1, "per_device_train_batch_size": 2,
                     "learning_rate": 1e-5, "output_dir": "out"},
    }  # fmt: skip
    files = {"config.yaml": text(config), case["dataset"]["dataset_path"]: data}
    return files, {"oumi": version, "gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "array in an array": "rows without a key: no form is told by them",
    "half a surrogate": "what a tokenizer makes of half a character is its own word",
    "one object": "the keys of a single object are taken for records",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.9": {"equal": 122, "foreseen": 91, "missed": 6, "silent": 5},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("oumi_records", project, version), UNFORESEEN, COUNTS[version])
