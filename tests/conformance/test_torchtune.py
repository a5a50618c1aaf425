"""torchtune's recipes and loaders, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, text, value
from tests.helpers import check_project

RUNS = list(runs("torchtune"))

# Case -> why its error is not foreseen.
UNFORESEEN = {
    "value/rate as text": "a word instead of a number is a placeholder",
    "cli/epochs": "a bare word may be a flag's value",
    "cli/epochs=1=2": "a value may hold a sign of its own elsewhere",
}


def config(told: dict[str, Any]) -> dict[str, Any]:
    """The parts that a recipe needs, in the places of the project's own files."""
    told = dict(told)
    schedule = {"_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup"}
    schedule["num_warmup_steps"] = told.pop("warmup", 2)
    for key in ("num_cycles", "num_warmup_ratio"):
        if key in told:
            schedule[key] = told.pop(key)
    scheduler = told.pop("lr_scheduler", schedule)
    rate = told.pop("lr", 0.001)
    sets = told.pop("sets", None)
    one = {"_component_": "torchtune.datasets.alpaca_dataset", "source": "json", "split": "train"}
    data = [{**one, "data_files": f"data{index}.jsonl"} for index in range(len(sets or [0]))]
    return {
        "model": {"_component_": "torchtune.models.llama3_2.lora_llama3_2_1b"},
        "tokenizer": {"_component_": "torchtune.models.llama3.llama3_tokenizer", "max_seq_len": None},
        "dataset": data if sets else data[0],
        "optimizer": {"_component_": "torch.optim.AdamW", "lr": rate},
        "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"},
        "lr_scheduler": scheduler,
        **told,
    }


def project(case: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    if "words" in case:
        parts = {key: {"_component_": f"torchtune.{key}"} for key in ("tokenizer", "dataset", "loss")}
        launch = f"tune run full_finetune_single_device --config config.yaml {case['words']}\n"
        return {"config.yaml": text({**case["file"], **parts}), "train.sh": launch}, ["train.sh"]
    sets = case["config"].get("sets") or [case["n"]]
    files = {f"data{index}.jsonl": rows(count) for index, count in enumerate(sets)}
    files["config.yaml"] = text(config(case["config"]))
    files["train.sh"] = f"tune run {case['recipe']} --config config.yaml\n"
    return files, ["train.sh"]


TRAINED = [
    pytest.param(case, happened, id=name)
    for _, name, case, happened in RUNS
    if "recipe" in case and "error" not in happened
]


@pytest.mark.parametrize(("case", "happened"), TRAINED)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    files, paths = project(case)
    checked, _ = explained(files, {"gpus": 1}, paths)
    assert value(checked, "steps_per_epoch") == happened["steps_per_epoch"]
    assert value(checked, "total_steps") == happened["updates"] == happened["scheduled"]
    if case["config"].get("lr_scheduler", {}) is not None and isinstance(case["config"].get("warmup", 2), int):
        assert value(checked, "warmup_steps") == case["config"].get("warmup", 2)


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if name.startswith("loader/")],
)
def test_loaders_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    told = {key: case[key] for key in ("batch_size", "gradient_accumulation_steps")}
    files = {"data0.jsonl": rows(case["n"]), "config.yaml": text(config({**told, "epochs": 1}))}
    files["train.sh"] = f"tune run --nproc_per_node {case['world']} lora_finetune_distributed --config config.yaml\n"
    checked, _ = explained(files, {"gpus": case["world"]}, ["train.sh"])
    assert value(checked, "steps_per_epoch") == happened["steps_per_epoch"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened and name not in UNFORESEEN],
)
def test_refusals_are_said_before(case: dict[str, Any]) -> None:
    files, _ = project(case)
    findings = check_project(files, {"gpus": 1}).findings
    assert any(finding.level == "error" for finding in findings), findings


_SEEN = {
    "epochs": ("epochs",),
    "per_device_batch": ("batch_size",),
    "steps_per_epoch_cap": ("max_steps_per_epoch",),
    "accumulation": ("gradient_accumulation_steps",),
    "learning_rate": ("optimizer", "lr"),
    "weight_decay": ("optimizer", "weight_decay"),
    "optimizer": ("optimizer", "_component_"),
    "warmup_steps": ("lr_scheduler", "num_warmup_steps"),
}


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "words" in case and "error" not in happened
    ],
)
def test_words_change_the_file_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    files, paths = project(case)
    checked, _ = explained(files, {"gpus": 1}, paths)
    for name, path in _SEEN.items():
        told: Any = happened["merged"]
        for key in path:
            told = told.get(key) if told is not None else None
        if told is not None or name == "weight_decay":
            assert checked.scenarios.run.setting(name).value == told, name
    absent = {"epochs", "batch_size", "gradient_accumulation_steps", "max_steps_per_epoch"} - happened["merged"].keys()
    refused = [finding for finding in check_project(files, {"gpus": 1}).findings if finding.code == "CFG011"]
    assert len(refused) == len(absent)
