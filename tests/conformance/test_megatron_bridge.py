"""Megatron-Bridge's config and schedule, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, load, refused, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("megatron_bridge"))
NEWEST = list(load("megatron_bridge")["results"])[-1]

_RECIPE = "the recipe below the file may set it"
UNFORESEEN = {
    "batch/no": _RECIPE,
    "length/none": _RECIPE,
    "decay/grows": _RECIPE,
    "key/far override": "an unknown key with nothing close to it: CFG004, off by default",
}
# Refused by this version, and not by newer ones: epochs, and what the recipe may set.
_OLDER = {"0.3.1": ("epochs/", "style/WSD")}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object]]:
    files = {"config.yaml": text(case["config"]).replace("'2e-5'", "2e-5")}
    launch = f"torchrun --nproc_per_node={case['world']} pretrain.py --config-file config.yaml"
    files["run.sh"] = f"{launch} {case.get('overrides', '')}\n"
    return files, {"megatron-bridge": version, "records": case["n"]}


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    [
        pytest.param(version, case, happened, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" not in happened and not ("num_epochs" in str(case) and version.startswith("0.3"))
    ],
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version))
    assert value(checked, "total_steps") == happened["iterations"]
    warm = value(checked, "warmup_steps")
    odd = happened["warmup"] < 0 or happened["warmup"] % 1 or "lr_warmup_samples" in str(case)
    if "lr_warmup" in str(case) and not odd:
        assert warm == happened["warmup"]
    codes = {finding.code for finding in report.findings}
    assert "WRM005" not in codes  # every schedule warms up
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    nothing = happened["iterations"] == 0
    assert errors <= (
        {"STP008"} if nothing else {"WRM001", "WRM004", "CFG009"} if odd or happened["peak_share"] < 1 else set()
    )


@pytest.mark.parametrize(
    ("version", "name", "case"),
    refused(RUNS, lambda version, name: name.startswith((*UNFORESEEN, *_OLDER.get(version, ())))),
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


@pytest.mark.parametrize("name", ["key/misspelt", "key/misspelt of the schedule", "key/misspelt section"])
def test_a_slip_that_is_skipped_is_a_warning(name: str) -> None:
    findings = check_project(*project(load("megatron_bridge")["cases"][name])).findings
    assert ("CFG003", "warning") in {(finding.code, finding.level) for finding in findings}
