"""NeMo Automodel's step scheduler and schedule of rates, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, load, refused, runs, text, trained, value
from tests.helpers import check_project

RUNS = [one for one in runs("nemo_automodel") if "step_scheduler" in one[2]["config"]]
NEWEST = list(load("nemo_automodel")["results"])[-1]

UNFORESEEN = {
    "key/far": "an unknown key with nothing close to it: CFG004, off by default",
    "epochs/'three'": "a word instead of a number is a placeholder",
}
# Refused by this version, and by newer ones not.
_OLDER = {
    "0.4.0": ("checkpoint/not at epochs", "key/target", "length/n7", "warmup/62", "warmup/63", "warmup/None"),
    "0.7.0": (),
}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object]]:
    files = {"config.yaml": text(case["config"])}
    launch = f"torchrun --nproc-per-node={case['world']} examples/llm_finetune/finetune.py --config config.yaml"
    files["run.sh"] = f"{launch} {case.get('overrides', '')}\n"
    return files, {"nemo-automodel": version, "records": case["n"]}


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    trained(RUNS),
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version))
    assert value(checked, "total_steps") == happened["updates"]
    held = "validation_dataset" in case["config"]
    assert value(checked, "evaluations") == (happened["counts"][0] if held else 0)
    warm = value(checked, "warmup_steps")
    if "warmup" in happened and version == NEWEST:
        assert warm == happened["warmup"] or (warm is None and happened["warmup"] == -5)
    assert "WRM005" not in {finding.code for finding in report.findings}  # every schedule warms up
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    never = happened.get("peak_share", 1) < 0.9
    odd = happened.get("warmup") in (0.1, -5)
    assert errors <= ({"WRM001"} if never else {"WRM004", "CFG009"} if odd else set())


@pytest.mark.parametrize(
    ("version", "name", "case"),
    refused(RUNS, lambda version, name: name.startswith((*UNFORESEEN, *_OLDER[version]))),
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []
