"""LLaMA-Factory's own loader on awkward files, recorded, against epochlint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    files = {
        "config.yaml": text(case["config"]),
        "data/dataset_info.json": json.dumps({"a": case["info"]}),
        "data/data.jsonl": data,
    }
    return files, {"llamafactory": version, "gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "number as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.9.5": {"equal": 164, "foreseen": 51, "missed": 2, "open": 23, "silent": 29},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("llamafactory_records", project, version), UNFORESEEN, COUNTS[version])
