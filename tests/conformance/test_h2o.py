"""H2O LLM Studio's experiments, recorded, against epochlint."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("h2o"))
NEWEST = list(load("h2o")["results"])[-1]

UNFORESEEN = {
    "value/rate word": "a word instead of a number is a placeholder",
    "value/evaluation 2": "more than one pass between two evaluations: whether it is evaluated at all is not told",
    "data/no such column": "the columns of the data are not compared with the names",
    "data/no such file": "a file that is not here may be where it is trained",
    "data/one row": "two rows are trained on, one is not: nobody has so few",
    "problem/unknown": "a problem type may be a newer version's",
    "problem/missing": "a type that is not there may be added by the program",
    "missing/dataset/train_dataframe": "the path's default may be given by the program",
    "steps/n15 b4 a1 e1 w8": "fewer than two rows a GPU: nobody has so few",
}

# Case -> errors about an experiment that is taken.
SAID = {
    "value/accumulation -2": {"CFG009"},
    "value/rate 0": {"CFG009"},
    "warmup/5": {"WRM001"},
}


def project(case: dict[str, Any]) -> dict[str, str]:
    """The YAML and its tables."""
    files = {"config.yaml": text(case["config"])}
    for name, count in (("train.csv", case["n"]), ("valid.csv", 20)):
        files[name] = "instruction,output,rejected\n" + "".join(f"q{i},a,b\n" for i in range(count))
    return files


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [
        pytest.param(name, case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and name not in ("defaults", "missing/llm_backbone")  # not told as H2O's
    ],
)
def test_trains_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(project(case), {}, ["config.yaml"])
    if name in (
        "split/trained on too",
        "missing/environment/gpus",
        "value/accumulation -2",
        "value/accumulation fraction",
    ):
        assert value(checked, "total_steps") in (None, happened["updates"])
        return
    assert value(checked, "records") == happened["records"]
    assert value(checked, "gpus") == happened["world"]
    assert value(checked, "total_steps") == happened["updates"]
    if value(checked, "evaluations") is not None:
        assert value(checked, "evaluations") == len(happened["evaluations"])
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors == SAID.get(name, set())


@pytest.mark.parametrize(("share", "steps"), [("0.25", 6.25), ("1", 25), ("5", 125)])
def test_warmup_is_given_in_passes(share: str, steps: float) -> None:
    """Recorded: the rate is highest at the first update after it."""
    case = load("h2o")["cases"][f"warmup/{share}"]
    checked, _ = explained(project(case), {}, ["config.yaml"])
    assert value(checked, "warmup_steps") == steps
    peak = load("h2o")["results"][NEWEST]["runs"][f"warmup/{share}"]["peak_step"]
    assert peak == min(50, ceil(steps) + 1)


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(project(case), {}, ["config.yaml"]).findings
    errors = [finding.code for finding in findings if finding.level == "error"]
    assert (errors == []) == (name in UNFORESEEN)


def test_misspelt_keys_are_dropped() -> None:
    case = load("h2o")["cases"]["key/misspelt accumulation"]
    del case["config"]["training"]["grad_accumulation"]
    findings = check_project(project(case), {}, ["config.yaml"]).findings
    assert ("CFG003", "warning") in {(finding.code, finding.level) for finding in findings}


@pytest.mark.parametrize("epochs", [".nan", ".inf"])
def test_epochs_that_no_run_can_have_stop_nothing(epochs: str) -> None:
    config = f"llm_backbone: a\ntraining: {{epochs: {epochs}}}\ndataset: {{train_dataframe: a.csv}}\n"
    assert len(check_project({"config.yaml": config}).runs) == 1
