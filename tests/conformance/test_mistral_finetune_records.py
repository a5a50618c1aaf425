"""mistral-finetune's loader on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    config = {"model_id_or_path": "tiny", "run_dir": "run", "seq_len": 256, "max_steps": 10, **case["config"]}
    return {"config.yaml": text(config), "data.jsonl": data}, {"gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN: dict[str, str] = {}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "1943535": {"equal": 39, "foreseen": 42, "silent": 2},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("mistral_finetune_records", project, version), UNFORESEEN, COUNTS[version])
