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
UNFORESEEN = {
    "half a surrogate": "what a tokenizer makes of half a character is its own word",
    "tools beside": "what a tool's description must hold is the tokenizer's word",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "1943535": {"equal": 69, "foreseen": 67, "missed": 2, "silent": 4},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("mistral_finetune_records", project, version), UNFORESEEN, COUNTS[version])
