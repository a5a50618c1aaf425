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
    "list as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "list content": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "nested nulls": "datasets 4.5 stumbles over a null among the objects of a list, 5.2 does not",
    "number as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "thinking parts": "datasets before 4.7 refuses a column of several types, newer ones take it",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.8.0": {"equal": 163, "foreseen": 81, "missed": 18, "open": 85, "silent": 35},
    "0.12.2": {"equal": 303, "foreseen": 111, "missed": 21, "open": 119, "silent": 35},
    "0.19.0": {"equal": 311, "foreseen": 111, "missed": 13, "open": 118, "silent": 36},
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
