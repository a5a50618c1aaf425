"""ms-swift's arguments, data and runs, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("swift"))
VERSIONS = {"ms-swift": "4.6.0", "transformers": "5.15.0"}

# Case -> why its error is not foreseen.
UNFORESEEN = {
    "sample/#0": "a sample of no rows",
    "split/eval no as false": "ms-swift's command line turns words into flags: yes and no are its own matter",
    "split/0.5 of 1": "one row cannot be split: seen only in tests",
    "value/no data": "flags may bring the data",
    "value/null": "null becomes the word None on ms-swift's command line, which some fields take",
    "value/packing without flash attention": "attention depends on what is installed",
    "value/unknown file": "data that is not there may be elsewhere, or on the hub",
}


def project(case: dict[str, Any]) -> dict[str, str]:
    files = {name: rows(count, "messages") for name, count in case["files"].items()}
    return {
        **files,
        "config.yaml": text({"model": "tiny", "use_hf": True, **case["config"]}),
        "train.sh": "swift sft config.yaml\n",
    }


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(project(case), {**VERSIONS, "gpus": case["world"]}, ["train.sh"])
    assert value(checked, "accumulation") == happened["args"]["gradient_accumulation_steps"]
    if "records" in happened and "interleave_prob" not in case["config"]:
        assert value(checked, "records") == happened["records"]
    if "total" in happened and "interleave_prob" not in case["config"]:
        assert value(checked, "total_steps") == happened["total"]
        assert value(checked, "warmup_steps") == happened["warmup"]
        # Where an epoch's end is the run's end, the work is done twice: counted once.
        if case["config"].get("eval_strategy") != "no":
            assert value(checked, "evaluations") == len(set(happened.get("evaluations", [])))
        assert value(checked, "checkpoints") == len(set(happened.get("checkpoints", [])))


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened and name not in UNFORESEEN],
)
def test_refusals_are_said_before(case: dict[str, Any]) -> None:
    findings = check_project(project(case), {**VERSIONS, "gpus": case["world"]}).findings
    assert any(finding.level == "error" for finding in findings), findings
