"""open-instruct's parser, scripts and mixtures, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, value
from tests.helpers import check_project

RUNS = list(runs("open_instruct"))
NEWEST = list(load("open_instruct")["results"])[-1]

_FAR = "an unknown key with nothing close to it: CFG004, off by default"
_OLDER = "older versions take it"
UNFORESEEN = {
    "sft/epochs/other name": _FAR,
    "dpo/epochs/other name": _OLDER,
    "dpo/data/odd list": _OLDER,
    "dpo/data/name beside the mixture": _OLDER,
    "sft/data/name beside the mixture": _OLDER,
    "dpo/loss unknown": _OLDER,
    "grpo/async 0": _OLDER,
    "grpo/correction with vllm": _OLDER,
    "grpo/denominator": _OLDER,
    "grpo/learners/more than answers": _OLDER,
    "grpo/no reference with beta": _OLDER,
    "grpo/one answer": _OLDER,
    "grpo/sampling with one": _OLDER,
    "grpo/sequence parallel": _OLDER,
    "grpo/no reward": "rewards are many, and versions add more",
    "sft/rate/word": "a word instead of a number is a placeholder",
    "dpo/rate/word": "a word instead of a number is a placeholder",
    "sft/checkpointing/word": "a word instead of a number is a placeholder",
    "dpo/checkpointing/word": "a word instead of a number is a placeholder",
    "sft/yaml": "older versions read a file that stands first",
    "dpo/yaml": "older versions read a file that stands first",
    "sft/schedule/unknown": "schedulers of plugins are free words",
    "dpo/schedule/unknown": "schedulers of plugins are free words",
    "mix/": "a mixture in which nobody can tell what is asked: its rows stay unknown",
}
_SCRIPTS = {"sft": "finetune", "dpo": "dpo_tune_cache", "grpo": "grpo_fast", "mix": "finetune"}


def project(case: dict[str, Any]) -> tuple[dict[str, str], dict[str, object], list[str]]:
    """The launch, and what is assumed beside it."""
    files = {case["file"]: case["text"]} if "file" in case else {}
    assume: dict[str, object] = {"gpus": case["world"]} if case["kind"] != "grpo" else {}
    flags = case["flags"]
    if case["kind"] == "mix":
        for index, (rows, _) in enumerate(case["parts"]):
            files[f"part{index}.jsonl"] = '{"messages": [{"role": "user", "content": "a"}]}\n' * rows
        mixture = " ".join(f"part{index}.jsonl {asked}" for index, (_, asked) in enumerate(case["parts"]))
        flags = f"--dataset_mixer_list {mixture} --dataset_mixer_list_splits {' '.join(case['splits'])}"
    elif case["kind"] != "grpo":
        assume["records"] = case["n"]
    files["train.sh"] = f"python open_instruct/{_SCRIPTS[case['kind']]}.py {flags}\n"
    return files, assume, ["train.sh"]


@pytest.mark.parametrize(
    ("name", "case", "happened"),
    [
        pytest.param(name, case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["kind"] in ("sft", "dpo")
    ],
)
def test_trains_as_recorded(name: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case))
    told = {"num_train_epochs", "num_epochs", "max_train_steps", "max_train_step"} & set(
        case["flags"].replace("--", "").split()
    )
    total = value(checked, "total_steps")
    if "max_train_samples" in case["flags"]:  # versions differ, and the number of records is assumed
        pass
    elif told or case["kind"] == "sft":
        assert total == happened["updates"]
    else:  # the default passes of DPO were 2, and are 1
        assert total is None
    warm = value(checked, "warmup_steps")
    assert warm is None or warm == happened["warmup"]
    if case["world"] == 1 and "warmup_ratio" in case["flags"] and told:
        assert warm is not None
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors <= {"WRM001", "WRM004", "CFG009", "STP008"}


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["kind"] == "grpo"
    ],
)
def test_rollouts_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case))
    assert value(checked, "total_steps") == happened["scheduled"]
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors <= {"STP008", "CFG009"}


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["kind"] == "mix"
    ],
)
def test_mixtures_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, _ = explained(*project(case))
    assert value(checked, "records") == sum(happened["rows"])


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=name)
        for _, name, case, happened in RUNS
        if "error" in happened and not any(name.startswith(start) for start in UNFORESEEN)
    ],
)
def test_says_beforehand_what_is_refused(name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []
