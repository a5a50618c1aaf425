"""MLX-LM's loader on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    config = {"model": "tiny", "train": True, "data": "data", "iters": 10, "num_layers": 2, "batch_size": 1}
    return {"config.yaml": text({**config, **case["config"]}), "data/train.jsonl": data}, {}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "answer only": "what a chat template makes of it is the template's word",
    "blank answer": "whether an empty text has tokens is the tokenizer's word",
    "empty answer": "whether an empty text has tokens is the tokenizer's word",
    "half a surrogate": "what a tokenizer makes of half a character is its own word",
    "nothing but odd": "whether an empty text has tokens is the tokenizer's word",
    "question only": "what a chat template makes of it is the template's word",
    "system only": "what a chat template makes of it is the template's word",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.32.2": {"equal": 195, "foreseen": 94, "missed": 10, "silent": 10},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("mlx_records", project, version), UNFORESEEN, COUNTS[version])
