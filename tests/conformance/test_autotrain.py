"""AutoTrain's configs for language models, recorded, against epochlint."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("autotrain"))
NEWEST = list(load("autotrain")["results"])[-1]
ASSUME: dict[str, object] = {"autotrain": NEWEST, "gpus": 1}

_WORD = "a word instead of a number is a placeholder"
_SPLIT = "a validation split only stops runs on data of the hub: EVL002 tells that it is forgotten"
UNFORESEEN = {
    **{f"value/{name}": _WORD for name in ("epochs word", "rate word", "seed text")},
    "value/block list": "a list of block sizes: only some trainers take it",
    "value/template": "whether a template fits depends on the data",
    "dpo/evaluated/json": _SPLIT,
    "dpo/evaluated by steps/json": _SPLIT,
    "orpo/saved": _SPLIT,
    "data/no such column": "the columns of the data are not compared with the mapping",
    "data/": "a file that is not here may be where it is trained",
    "task/far": "the tasks of other models are not listed here",
    "missing/task": "without a task nothing tells that the file is AutoTrain's",
    "backend/unknown": "the kinds of machines are not listed here",
}

# Case -> errors about a run that is made: it trains nothing, or without a rate.
SAID = {
    "value/beta 0": {"PRF003"},
    "value/rate 0": {"CFG009"},
    "value/epochs 0": {"STP008"},
    "value/epochs -1": {"STP008"},
}


def project(case: dict[str, Any]) -> dict[str, str]:
    """The config and its data."""
    files = {"config.yaml": text(case["config"])}
    for name, count in (("train", case["n"]), ("validation", case["eval_n"])):
        made = [{"prompt": f"p{i}", "text": "a b c", "rejected_text": "a b"} for i in range(count)]
        if case["ending"] == "csv":
            table = io.StringIO()
            writer = csv.DictWriter(table, ["prompt", "text", "rejected_text"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(made)
            files[f"data/{name}.csv"] = table.getvalue()
        elif made:
            files[f"data/{name}.{case['ending']}"] = "".join(json.dumps(row) + "\n" for row in made)
    return files


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [pytest.param(name, case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(project(case), ASSUME, ["config.yaml"])
    assert value(checked, "effective_batch") == happened["batch"] * happened["accumulation"]
    assert value(checked, "evaluations") == len(happened["evaluations"]) == 0
    assert value(checked, "checkpoints") == len(happened["checkpoints"]) == 0
    if name.startswith(("sft", "generic")):  # texts are joined to blocks
        assert value(checked, "total_steps") is None
    else:
        assert value(checked, "total_steps") == max(0, happened["total"])
        if happened["total"] > 0:
            assert value(checked, "warmup_steps") == happened["warmup"]
    assert (value(checked, "tuning") == "full") == (happened["tuning"] == "full")
    assert {finding.code for finding in report.findings if finding.level == "error"} == SAID.get(name, set())


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(project(case), ASSUME, ["config.yaml"]).findings
    errors = [finding.code for finding in findings if finding.level == "error" or finding.code == "WRM004"]
    assert (errors == []) == any(name.startswith(start) for start in UNFORESEEN)


def test_a_split_is_never_evaluated() -> None:
    """Recorded: with local files the run goes on without it, with data of the hub it stops."""
    recording = load("autotrain")
    happened = recording["results"][NEWEST]["runs"]
    assert happened["dpo/evaluated/jsonl"]["evaluations"] == []
    assert "error" in happened["dpo/evaluated/json"]
    findings = check_project(project(recording["cases"]["dpo/evaluated/jsonl"]), ASSUME, ["config.yaml"]).findings
    assert ("EVL002", "warning") in {(finding.code, finding.level) for finding in findings}


def test_misspelt_keys_are_dropped() -> None:
    case = load("autotrain")["cases"]["key/misspelt accumulation"]
    del case["config"]["params"]["gradient_accumulation"]
    findings = check_project(project(case), ASSUME, ["config.yaml"]).findings
    assert ("CFG003", "warning") in {(finding.code, finding.level) for finding in findings}
