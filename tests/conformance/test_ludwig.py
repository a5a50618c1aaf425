"""Ludwig's configs of language models, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("ludwig"))
NEWEST = list(load("ludwig")["results"])[-1]

UNFORESEEN = {
    "value/type": "a type with nothing close to it may be a newer version's",
    "value/model type": "another type of model is not taken for a language model's config",
}

# Case -> errors about a config that is taken: 0 and -1 pass its schema, and train nothing or not at all.
SAID = {
    "value/rate 0": {"CFG009"},
    "value/rate -1": {"CFG009"},
    "value/rate 2": {"CFG009"},
    "value/accumulation 0": {"CFG009"},
    "warmup/fraction 1": {"WRM001"},
}


def project(case: dict[str, Any]) -> tuple[dict[str, str], dict[str, object]]:
    """The config; its data are named on the command line, so only their rows are known."""
    return {"config.yaml": text(case["config"])}, {"records": case["n"], "gpus": 1}


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [pytest.param(name, case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_counts_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case))
    if not isinstance(happened["rate"], str):
        assert value(checked, "learning_rate") == happened["rate"]
    if name == "value/batch text":  # its schema lets it pass
        return
    if happened["accumulation"] == 1 and isinstance(happened["batch"], int) and name != "value/split two":
        assert value(checked, "records") == happened["records"]
        assert value(checked, "steps_per_epoch") == happened["steps_per_epoch"]
        assert value(checked, "total_steps") == happened["total"]
        if value(checked, "warmup_steps") is not None:
            assert value(checked, "warmup_steps") == happened["warmup"]
        assert (value(checked, "warmup_steps") is None) == (
            "warmup_evaluations" in str(case["config"]) or "one_cycle" in str(case["config"])
        )
    else:  # updates come unevenly, or the batch is found on the machine
        assert value(checked, "total_steps") is None
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors == SAID.get(name, set())


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case)).findings
    errors = [finding.code for finding in findings if finding.level == "error"]
    assert (errors == []) == (name in UNFORESEEN)


@pytest.mark.parametrize("name", ["key/misspelt", "key/misspelt accumulation", "key/schedule"])
def test_keys_of_the_trainer_are_dropped(name: str) -> None:
    """Recorded at 0.17.8: its schema lets unknown keys pass."""
    recording = load("ludwig")
    assert "error" not in recording["results"][NEWEST]["runs"][name]
    files, assume = project(recording["cases"][name])
    whole = files["config.yaml"].replace("gradient_accumulation_steps: 1", "").replace("learning_rate: 0.0001", "")
    findings = check_project({"config.yaml": whole}, assume, select=["CFG003", "CFG004"]).findings
    assert {finding.code for finding in findings} & {"CFG003", "CFG004"}


@pytest.mark.parametrize(("braces", "refused"), [("{{{{{}}}}}", False), ("{{{}}}", True)])
def test_doubled_braces_name_no_column(braces: str, refused: bool) -> None:
    """`check_prompt_requirements` (0.9 to 0.17.8) takes the text up to the first closing brace, `{answer`, for one."""
    case = dict(load("ludwig")["cases"]["value/template with the answer"])
    case["config"] = {**case["config"], "prompt": {"template": "{prompt} " + braces.format("answer")}}
    findings = check_project(*project(case)).findings
    assert any("which is the answer" in finding.message for finding in findings) == refused
