"""InstructLab's training library and Training Hub, recorded, against epochlint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("instructlab"))
NEWEST = list(load("instructlab")["results"])[-1]
ASSUME: dict[str, object] = {"instructlab-training": NEWEST, "training-hub": "0.11.2", "gpus": 1}

_WORD = "a word instead of a number is a placeholder"
_LENGTH = "whether all rows are too short or too long is not told as an error"
_ELSEWHERE = "a model or a file that is not here may be where it is trained"
UNFORESEEN = {
    **{f"{kind}/value/{name}": _WORD for kind in ("args", "sft", "osft") for name in ("epochs word", "rate word")},
    **{f"{kind}/{name}": _LENGTH for kind in ("args", "sft", "osft") for name in ("only long rows", "only short rows")},
    **{f"{kind}/{name}": _ELSEWHERE for kind in ("args", "sft", "osft") for name in ("no such model", "no such data")},
    **{
        f"{kind}/no rows": "an empty file is taken for a placeholder: DAT005 notes it"
        for kind in ("args", "sft", "osft")
    },
    "args/torchrun/": "the arguments of torchrun stand in a call of their own, which is not read",
    "sft/torchrun/nodes word": _WORD,
    "osft/torchrun/nodes word": _WORD,
    "args/pretraining/no block": "an empty block is a template's remains",
    "args/lora/rank text": _WORD,
    "osft/value/scheduler with kwargs": "the arguments of a schedule are not compared with its function",
    "osft/value/epochs True": "True instead of a number of epochs: nobody writes that",
    **{f"ilab/{name}": _WORD for name in ("epochs word", "phase 2 batch text", "saves word", "rank word")},
}

# Case -> errors about a run that is made: it trains nothing, or it never reaches its rate.
SAID = {
    "value/epochs 0": {"STP008"},
    "value/epochs -1": {"STP008"},
    "value/rate 0": {"CFG009"},
    "value/rate whole": {"CFG009"},
    "value/warmup -1": {"CFG009"},
    "value/batch 0": {"CFG009"},
    "lora/value/batch 0": set(),  # one record a GPU
    "warmup longer": {"WRM001"},
}


def project(case: dict[str, Any]) -> dict[str, str]:
    """A script that makes the call, or `ilab`'s config, and the data beside it."""
    kind, config = case["kind"], case["config"]
    if kind == "ilab":
        return {"config.yaml": text({"chat": {"model": "m"}, "train": {"effective_batch_size": 64, **config}})}
    given = ", ".join(f"{key}={value!r}" for key, value in config.items())
    if kind == "args":
        torchrun = ", ".join(f"{key}={value!r}" for key, value in case["torchrun"].items())
        script = "from instructlab.training import TorchrunArgs, TrainingArgs, run_training\n\n"
        script += f"run_training(TorchrunArgs({torchrun}), TrainingArgs({given}))\n"
    else:
        name = {"lora": "lora_sft"}.get(kind, kind)
        script = f"from training_hub import {name}\n\n{name}({given})\n"
    turns = [{"role": "user", "content": "a question"}, {"role": "assistant", "content": "an answer " * 20}]
    line = json.dumps({"messages": turns}) + "\n"
    return {"train.py": script, "train.jsonl": line * (case["n"] + case.get("short", 0) + case.get("long", 0))}


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [
        pytest.param(name, case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and not name.startswith("ilab/")
    ],
)
def test_trains_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    kind, _, short = name.partition("/")
    checked, report = explained(project(case), ASSUME)
    if short == "short and long rows":  # rows under 20 tokens and those of max_seq_len and more are dropped
        assert happened["records"] < value(checked, "rows")  # type: ignore[operator] # a number
        return
    if short == "packed":
        assert value(checked, "total_steps") is None
        return
    assert value(checked, "total_steps") == happened.get("total", happened.get("updates"))
    if "eval_records" in happened:
        assert value(checked, "records") == happened["records"]
        assert value(checked, "evaluations") == len(happened["evaluations"])
        assert value(checked, "checkpoints") == len(happened["checkpoints"])
        assert value(checked, "tuning") == happened["tuning"]
    if kind == "lora":
        assert value(checked, "effective_batch") == happened["batch"] * happened["accumulation"]
        assert (value(checked, "scheduler"), value(checked, "learning_rate")) == (
            happened["scheduler"],
            happened["rate"],
        )
    if short != "value/warmup -1":
        assert value(checked, "warmup_steps") == happened["warmup"]
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    if kind == "lora":  # its ten steps of warmup are often more than these small runs have
        errors -= {"WRM001"}
    expected = SAID.get(name, SAID.get(short, set()))
    assert errors == expected - ({"WRM001"} if kind == "lora" else set())


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=name) for _, name, case, happened in RUNS if "error" in happened],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(project(case), ASSUME).findings
    errors = [finding.code for finding in findings if finding.level == "error"]
    assert (errors == []) == any(name.startswith(start) for start in UNFORESEEN)


@pytest.mark.parametrize(
    "name", [*(f"{kind}/key/misspelt warmup" for kind in ("args", "sft", "osft")), "ilab/misspelt"]
)
def test_misspelt_keys_are_dropped(name: str) -> None:
    recording = load("instructlab")
    assert "error" not in recording["results"][NEWEST]["runs"][name]
    findings = check_project(project(recording["cases"][name]), ASSUME).findings
    assert ("CFG003", "warning") in {(finding.code, finding.level) for finding in findings}


def test_packed_batches_of_older_versions_have_no_number_of_steps() -> None:
    """instructlab-training below 0.12, and `ilab`, which asks for those."""
    case = load("instructlab")["cases"]["args/steps/n31 b8 e3 w2"]
    checked, _ = explained(project(case), {"instructlab-training": "0.10.4"})
    assert (value(checked, "total_steps"), value(checked, "effective_batch")) == (None, 8)
    checked, _ = explained(project(load("instructlab")["cases"]["ilab/plain"]), {"records": 100})
    assert (value(checked, "total_steps"), value(checked, "warmup_steps"), value(checked, "epochs")) == (None, 25, 3)
