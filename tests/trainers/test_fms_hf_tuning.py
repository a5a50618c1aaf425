"""fms-hf-tuning: its defaults, keys that it drops without a word, its data."""

from __future__ import annotations

import json

from tests.helpers import check_project

CONFIG: dict[str, object] = {
    "model_name_or_path": "m",
    "training_data_path": "train.jsonl",
    "output_dir": "out",
    "num_train_epochs": 2.0,
    "per_device_train_batch_size": 4,
    "learning_rate": 1e-5,
    "response_template": "### Response:",
}


def codes(config: dict[str, object], **assume: object) -> list[tuple[str, str]]:
    report = check_project({"config.json": json.dumps(config)}, {"gpus": 1, "records": 8000, **assume}, ["config.json"])
    assert [checked.run.trainer for checked in report.runs] == ["fms-hf-tuning"]
    return [(finding.code, finding.level) for finding in report.findings]


def test_saves_by_epoch_and_evaluates_never() -> None:
    report = check_project({"config.json": json.dumps(CONFIG)}, {"gpus": 1, "records": 8000}, ["config.json"])
    fact = report.runs[0].scenarios.fact
    assert (fact("total_steps").value, fact("checkpoints").value, fact("evaluations").value) == (4000, 2, 0)


def test_misspelt_keys_are_dropped() -> None:
    assert ("CFG003", "warning") in codes({**CONFIG, "gradient_acumulation_steps": 8})


def test_validation_data_without_a_strategy() -> None:
    assert ("EVL002", "warning") in codes({**CONFIG, "validation_data_path": "valid.jsonl"})
    assert not codes({**CONFIG, "validation_data_path": "valid.jsonl", "eval_strategy": "epoch"})


def test_counts_its_file() -> None:
    files = {"config.json": json.dumps(CONFIG), "train.jsonl": '{"text": "a"}\n' * 120}
    report = check_project(files, {"gpus": 1}, ["config.json"])
    assert report.runs[0].scenarios.fact("records").value == 120


def test_a_method_in_capitals_is_none_in_a_json() -> None:
    report = check_project({"config.json": json.dumps({**CONFIG, "peft_method": "LoRA"})}, {"gpus": 1, "records": 8000})
    assert [(finding.code, finding.level) for finding in report.findings] == [("CFG009", "error")]
    assert report.runs[0].scenarios.fact("tuning").value == "full"


def test_a_method_in_capitals_is_one_on_the_command_line() -> None:
    line = "python tuning/sft_trainer.py --model_name_or_path m --training_data_path train.jsonl --output_dir out "
    line += "--num_train_epochs 2 --learning_rate 1e-5 --peft_method LoRA\n"
    report = check_project({"run.sh": line, "train.jsonl": '{"text": "a"}\n' * 120}, {"gpus": 1})
    assert report.runs[0].scenarios.fact("tuning").value == "lora"
    assert not [finding for finding in report.findings if finding.code == "CFG009"]


def test_two_sources_of_data_exclude_each_other() -> None:
    assert ("CFG011", "error") in codes({**CONFIG, "data_config_path": "data.yaml"})
