"""ms-swift's loader on awkward files, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import records
from tests.conformance.recorded import text

VERSIONS = {"ms-swift": "4.6.0", "transformers": "5.15.0"}


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    files = {"config.yaml": text({"model": "tiny", **case["config"]}), "data.jsonl": data}
    files["train.sh"] = f"swift {case['command']} config.yaml\n"
    return files, {**VERSIONS, "gpus": 1}, ["train.sh"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN: dict[str, str] = {}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "4.6.0": {"equal": 302, "foreseen": 51, "open": 160, "silent": 48},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("swift_records", project, version), UNFORESEEN, COUNTS[version])
