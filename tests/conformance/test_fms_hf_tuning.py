"""fms-hf-tuning, recorded, against epochlint: its JSON alone and in a ConfigMap."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, value
from tests.helpers import check_project

RUNS = [run for run in runs("fms_hf_tuning") if not run[1].startswith("launch/")]
NEWEST = list(load("fms_hf_tuning")["results"])[-1]
FORMS = ("alone", "map")

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tuning\ndata:\n  config.json: |\n"

_COLUMNS = "it depends on the columns of the data, which may hold tokens already"
UNFORESEEN = {
    "value/rate word": "a word instead of a number is a placeholder",
    "missing/template": _COLUMNS,
    "missing/field": _COLUMNS,
    "missing/both": _COLUMNS,
    "data/both templates": _COLUMNS,
    "data/no such column": "the columns of the data are not compared with the text field",
    "missing/data": "without a path to data nothing tells that the file is fms-hf-tuning's",
    "data/empty": "an empty file is taken for a placeholder: DAT005 notes it",
    "launch/": "the flags of accelerate in this block are not compared with accelerate's",
    "missing/file": "a file that is not here may be where it is trained",
}

# Case -> errors that say of a run that is made what the trainer does not: it trains nothing, it never reaches its rate,
# the whole model is trained.
SAID = {
    "value/rate 0": {"CFG009"},
    "value/peft method": {"CFG009"},
    "value/peft qlora": {"CFG009"},
    "tuning/upper case": {"CFG009"},
    "warmup/longer": {"WRM001"},
    "warmup/ratio 1.0": {"WRM001"},
    "key/gone": {"VER001"},
    "steps/max_steps 0": {"STP008"},
}


def project(case: dict[str, Any], form: str = "alone") -> dict[str, str]:
    """The JSON with its data beside it, or the JSON in the ConfigMap of a job."""
    config = json.dumps(case["config"], indent=2)
    files = {"config.json": config}
    if form == "map":
        files = {"map.yaml": MAP + "".join(f"    {line}\n" for line in config.splitlines())}
    line = json.dumps({"text": "a question ### Response: an answer"}) + "\n"
    counts = {"train.jsonl": case.get("n", 40), "valid.jsonl": case.get("eval_n", 0)}
    return {**files, **{name: line * count for name, count in counts.items() if count or name in config}}


ASSUME: dict[str, object] = {"fms-hf-tuning": NEWEST, "gpus": 1}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [pytest.param(name, case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any], form: str) -> None:
    checked, report = explained(project(case, form), ASSUME)
    if name in ("data/packed", "value/flag as text"):  # how much is packed hangs on the tokens; "false" packs too
        assert value(checked, "total_steps") is None
        return
    assert value(checked, "total_steps") == happened["total"]
    assert value(checked, "effective_batch") == happened["batch"] * happened["accumulation"]
    if happened["total"] and name != "value/save steps 0":
        assert value(checked, "checkpoints") == len(happened["checkpoints"])
    assert value(checked, "evaluations") == len(happened["evaluations"])
    assert (value(checked, "tuning") == "full") == (happened["tuning"] == "full")
    if not case["config"].get("lr_scheduler_type", "").startswith("constant"):
        assert value(checked, "warmup_steps") == happened["warmup"]
    assert {finding.code for finding in report.findings if finding.level == "error"} == SAID.get(name, set())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=name)
        for _, name, case, happened in RUNS
        if "error" in happened and name not in UNFORESEEN
    ],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any], form: str) -> None:
    findings = check_project(project(case, form), ASSUME).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


def test_processes_hang_on_the_pod() -> None:
    """With the same arguments the image starts 1 or 8 processes: the number of GPUs that it finds."""
    recorded = load("fms_hf_tuning")["results"][NEWEST]["runs"]
    case = load("fms_hf_tuning")["cases"]['launch/8 GPUs {"num_processes": 4}']
    assert {recorded[f'launch/{gpus} GPUs {{"num_processes": 4}}']["processes"] for gpus in (1, 8)} == {1, 8}
    checked, _ = explained(project(case), {"fms-hf-tuning": NEWEST})
    assert checked.scenarios.fact("gpus").value is None


def test_an_empty_block_for_the_launcher_is_refused() -> None:
    case = load("fms_hf_tuning")["cases"]["launch/2 GPUs null"]
    assert "error" in load("fms_hf_tuning")["results"][NEWEST]["runs"]["launch/2 GPUs null"]
    findings = check_project(project(case), ASSUME).findings
    assert {finding.code for finding in findings if finding.level == "error"} == {"CFG011"}
