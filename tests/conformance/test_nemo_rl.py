"""NeMo-RL's trainers, recorded, against epochlint."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, refused, runs, trained, value
from tests.helpers import check_project

RUNS = list(runs("nemo_rl"))
NEWEST = "7ea279ab"
_VERSIONS = {NEWEST: "0.8.0"}  # not published yet: what stands in its place

_SCHEMA = "what a schema lists as required is another list in each version"
UNFORESEEN = {
    "sft/key/far override": "an unknown key with nothing close to it: CFG004, off by default",
    "sft/key/unwritten override": "an unknown key with nothing close to it: CFG004, off by default",
    "sft/backend/Megatron half written": _SCHEMA,
    "sft/warmup/alone": "up to 0.6 one schedule without a list was taken",
    "sft/warmup/unknown class": "a class of PyTorch's that other versions may have",
    "sft/cluster/tp 4 with log-probabilities": "a variable of the environment switches the check off",
    "sft/checkpoint/unknown metric": "which metrics a validation has is known to its code alone",
    "sft/checkpoint/metric without its part": "refused at the first checkpoint from 0.4 on: older configs are so",
    "sft/inherit/no such file": "the file may be elsewhere",
    "sft/inherit/itself": "a file that inherits from itself is taken as one whose parts are not here",
    "sft/inherit/no algorithm": "without a section of an algorithm nobody can tell which of them is started",
    "sft/inherit/section null": "without a section of an algorithm nobody can tell which of them is started",
    "sft/value/steps word": "a word instead of a number is a placeholder",
    "sft/value/broken reference": "what it refers to may come from the launch",
}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object]]:
    """The files of a case, the launch where it has overrides, and what is assumed beside them."""
    base = load("nemo_rl")["base"][case["algorithm"]]
    config = case["config"]
    if not re.search("(?m)^(policy|sft|dpo|rm|grpo|checkpointing|cluster):", config):  # nothing that tells whose it is
        config += "policy: {}\n"
    files = {"base.yaml": base, "config.yaml": config, **case.get("files", {})}
    launch = f"uv run examples/run_{case['algorithm']}.py --config config.yaml {case.get('overrides', '')}\n"
    files["run.sh"] = launch
    return files, {"nemo-rl": _VERSIONS.get(version, version), "records": case["n"]}


def paths(case: dict[str, Any]) -> list[str]:
    return ["run.sh"] if case.get("overrides") else ["config.yaml"]


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    trained(RUNS),
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version), paths(case))
    if "updates" not in happened:
        assert value(checked, "steps_per_epoch") in (happened["steps_per_epoch"], None)
    else:
        total = value(checked, "total_steps")
        assert total == happened["updates"] or "${mul:" in case["config"]  # a resolver: not known
        if total:
            assert value(checked, "evaluations") == len([step for step in happened["validations"] if step])
            assert value(checked, "checkpoints") == len(happened["checkpoints"])
    warm = value(checked, "warmup_steps")
    if "peak_step" in happened:
        never = max(happened["shares"]) < 1
        assert never == (warm >= happened["updates"])  # type: ignore[operator] # a number
        assert never or warm == happened["peak_step"] - 1
    elif "megatron" in happened:
        each = 1 if case["algorithm"] == "sft" else 2
        assert warm == happened["megatron"]["lr_warmup_iters"] / each
    else:
        assert warm in (0, None)
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    nothing = happened.get("updates", happened["steps_per_epoch"]) == 0
    assert errors <= ({"STP008", "CFG009"} if nothing else {"WRM001"} if warm else set())


@pytest.mark.parametrize(
    ("version", "name", "case"),
    refused(RUNS, lambda version, name: name in UNFORESEEN),
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("sft/key/misspelt in policy", "train_global_batch_size"),
        ("sft/key/misspelt in sft", "max_num_steps"),
        ("sft/key/misspelt section", "checkpointing"),
    ],
)
def test_a_slip_that_is_dropped_without_a_word_is_a_warning(name: str, suggestion: str) -> None:
    case = load("nemo_rl")["cases"][name]
    findings = check_project(*project(case), paths(case)).findings
    assert [(finding.code, finding.level) for finding in findings if finding.code == "CFG003"] == [
        ("CFG003", "warning")
    ]
    assert suggestion in next(finding.message for finding in findings if finding.code == "CFG003")
