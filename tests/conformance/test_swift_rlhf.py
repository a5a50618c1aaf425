"""`swift rlhf` against its recorded runs (4.6.0): accumulation, rate, beta, records, steps, warmup, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.recorded import explained, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("swift_rlhf"))
VERSIONS = {"ms-swift": "4.6.0", "transformers": "5.15.0", "gpus": 1}

# Case -> why its error is not foreseen.
UNFORESEEN = {
    "dpo/three losses, two weights": "weights of several losses are not counted",
    "orpo/two losses": "lists of losses are not looked at",
    "kto/batch of one": "a batch over all GPUs",
    "grpo/split, small batch": "the batch of the evaluation over all GPUs",
}


def rows(form: str, count: int) -> str:
    """Lines as the recorder writes them: each with an answer of its own."""
    lines = []
    for index in range(count):
        answer = {"role": "assistant", "content": f"w{index % 45} w{index // 45}"}
        row: dict[str, Any] = {"messages": [{"role": "user", "content": "w1 w2"}, answer]}
        if form == "prompts":
            row["messages"].pop()
        elif form == "labels":
            row["label"] = index % 2 == 0
        else:
            row["rejected_response"] = answer["content"] if form == "half equal" and index % 2 else "w46"
        lines.append(json.dumps(row) + "\n")
    return "".join(lines)


def project(case: dict[str, Any]) -> dict[str, str]:
    config = text({"model": "tiny", "use_hf": True, **case["config"]})
    return {
        "data.jsonl": rows(case["form"], case["n"]),
        "config.yaml": config,
        "train.sh": "swift rlhf config.yaml\n",
    }


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(project(case), VERSIONS, ["train.sh"])
    args = happened["args"]
    assert value(checked, "accumulation") == args["gradient_accumulation_steps"]
    assert value(checked, "learning_rate") == args["learning_rate"]
    assert checked.run.setting("beta").value == args["beta"]
    if "num_generations" in args:
        assert checked.run.setting("num_generations").value == args["num_generations"]
    assert value(checked, "total_steps") == happened["total"]
    assert value(checked, "warmup_steps") == happened["warmup"]
    assert value(checked, "records") == happened["records"]
    if "steps" in happened:
        assert value(checked, "checkpoints") == len(set(happened.get("checkpoints", [])))
        assert value(checked, "evaluations") == len(set(happened.get("evaluations", [])))


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_refusals_are_said_before(name: str, case: dict[str, Any]) -> None:
    findings = check_project(project(case), VERSIONS, ["train.sh", "config.yaml"]).findings
    assert any(finding.level == "error" for finding in findings) is (name not in UNFORESEEN), findings
