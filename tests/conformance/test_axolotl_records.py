"""Axolotl's own loading of awkward files, recorded, against epochlint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import explained, runs, text


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    return {"config.yaml": text(case["config"]), "data.jsonl": data}, {"axolotl": version, "gpus": 1}, ["config.yaml"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "list content": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "number as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.8.0": {"equal": 62, "foreseen": 14, "missed": 2, "open": 18, "silent": 4},
    "0.12.2": {"equal": 88, "foreseen": 23, "missed": 4, "open": 27, "silent": 5},
    "0.19.0": {"equal": 175, "foreseen": 51, "open": 73, "silent": 17},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("axolotl_records", project, version), UNFORESEEN, COUNTS[version])


PACKED = [
    pytest.param(version, case, happened, id=f"{version} {name}")
    for version, name, case, happened in runs("axolotl_records")
    if name.startswith("packs/") and "error" not in happened and "max_steps" not in case["config"]
]


@pytest.mark.parametrize(("version", "case", "happened"), PACKED)
def test_packed_steps_lie_in_the_range_that_is_told(
    version: str, case: dict[str, Any], happened: dict[str, Any]
) -> None:
    lengths = [size for size, count in case["lengths"] for _ in range(count)]
    data = "".join(json.dumps({"text": " ".join(f"w{at % 50}" for at in range(size))}) + "\n" for size in lengths)
    files = {"config.yaml": text(case["config"]), "data.jsonl": data}
    checked, _ = explained(files, {"axolotl": version, "gpus": case["world"]}, ["config.yaml"])
    steps = checked.scenarios.fact("total_steps")
    assert steps.low is None or steps.low <= happened["counted"]
    assert steps.high is None or happened["counted"] <= steps.high
