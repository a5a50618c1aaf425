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
        f"data/{case['info']['file_name']}": data,
    }
    return files, {"llamafactory": version, "gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "array in an array": "rows without a key: no form is told by them",
    "byte order mark": "datasets 4.5 refuses a mark before an array, 5.2 takes it",
    "list as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "number as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.9.5": {"equal": 328, "foreseen": 132, "missed": 6, "open": 38, "silent": 55},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("llamafactory_records", project, version), UNFORESEEN, COUNTS[version])
