from __future__ import annotations

import pytest

from epochlint.trainers import hf_args, trl
from tests.trainers.hf.readings import json, yaml

ARGUMENTS = """\
output_dir: out
per_device_train_batch_size: 8
num_train_epochs: 3
learning_rate: 2.0e-5
"""


def indented(text: str, by: int = 2) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


def test_a_flat_file_of_arguments() -> None:
    document = yaml(ARGUMENTS)
    assert hf_args.recognise(document) == list(document.mappings())
    assert trl.recognise(document) == []


def test_with_trls_fields_it_is_trls() -> None:
    document = yaml(ARGUMENTS + "dataset_name: acme/chat\nuse_peft: true\n")
    assert trl.recognise(document) == list(document.mappings())
    assert hf_args.recognise(document) == []


@pytest.mark.parametrize("section", ["training", "training_args", "trainer", "my_own_name"])
def test_a_section_whatever_it_is_called(section: str) -> None:
    document = yaml(f"model: Qwen/Qwen2.5-0.5B\n{section}:\n{indented(ARGUMENTS)}")
    found = hf_args.recognise(document)
    assert [mapping.get("output_dir") is not None for mapping in found] == [True]


def test_trls_command_needs_few_keys() -> None:
    text = "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: acme/chat\nlearning_rate: 0.0001\nreport_to: none\n"
    assert len(trl.recognise(yaml(text))) == 1
    assert trl.recognise(yaml(text.replace("learning_rate", "temperature"))) == []


def test_a_name_for_the_run_or_its_metrics_is_no_record() -> None:
    assert len(hf_args.recognise(yaml(ARGUMENTS + "run_id: first\nmetrics: [accuracy]\n"))) == 1


def test_two_stages_are_two() -> None:
    document = yaml(f"stage1:\n{indented(ARGUMENTS)}stage2:\n{indented(ARGUMENTS)}")
    assert len(hf_args.recognise(document)) == 2


def test_toml_and_json() -> None:
    text = '{"output_dir": "out", "per_device_train_batch_size": 8, "num_train_epochs": 3, "seed": 1}'
    assert len(hf_args.recognise(json(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        # records of finished runs
        ARGUMENTS + "train_loss: 0.3\n",
        ARGUMENTS + "log_history: []\n",
        f"config:\n{indented(ARGUMENTS)}metrics:\n  eval_loss: 0.4\n",
        f"finished_at: 2026-01-01\nconfig:\n{indented(ARGUMENTS)}",
        f"jobs:\n  train:\n{indented(ARGUMENTS, 4)}",
        # a sweep and a log wrap each value
        "per_device_train_batch_size: {value: 8}\nnum_train_epochs: {value: 3}\nlearning_rate: {value: 1}\n",
        # other trainers and companions
        ARGUMENTS + "finetuning_type: lora\n",
        ARGUMENTS + "stage: sft\ntemplate: qwen\n",
        ARGUMENTS + "micro_batch_size: 2\n",
        ARGUMENTS + "training_data_path: data.jsonl\n",
        f"apiVersion: v1\nkind: ConfigMap\ndata:\n{indented(ARGUMENTS)}",
        "zero_optimization: {stage: 2}\ngradient_accumulation_steps: 1\n",
        # model, adapter and generation configs
        "architectures: [Qwen2ForCausalLM]\nmodel_type: qwen2\nlearning_rate: 1\n",
        "peft_type: LORA\nr: 8\nlora_alpha: 16\n",
        "temperature: 0.7\ntop_p: 0.9\nmax_new_tokens: 64\n",
        # somebody's own words
        "learning_rate: 1.0e-3\nbatch_size: 8\nepochs: 3\noutput_dir: out\n",
        "",
        "- 1\n- 2\n",
        "just text\n",
    ],
)
def test_near_misses(text: str) -> None:
    document = yaml(text)
    assert hf_args.recognise(document) == []
    assert trl.recognise(document) == []


def test_a_large_file_is_not_searched_forever() -> None:
    deep = "a:\n" + "".join("  " * depth + f"k{depth}:\n" for depth in range(1, 60)) + "  " * 60 + "x: 1\n"
    assert hf_args.recognise(yaml(deep)) == []
    wide = "".join(f"k{index}:\n  a: 1\n" for index in range(3000))
    assert hf_args.recognise(yaml(wide)) == []


def test_a_block_that_others_merge_is_no_run_of_its_own() -> None:
    from tests.helpers import check_project

    common = "common: &common\n  output_dir: out\n  per_device_train_batch_size: 4\n  num_train_epochs: 2\n"
    merged = "small:\n  <<: *common\n  learning_rate: 2.0e-5\nlarge:\n  <<: *common\n  learning_rate: 1.0e-5\n"
    report = check_project({"c.yaml": common + "  weight_decay: 0.1\n" + merged}, {"gpus": 1, "records": 8000})
    assert sorted(run.scenarios.fact("learning_rate").value for run in report.runs) == [1e-5, 2e-5]


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("batch_size: 4", "per_device_train_batch_size: 8"),
        ("train_batch_size: 4", "per_device_train_batch_size: 8"),
        ("epochs: 2", "num_train_epochs: 3"),
        ("lr: 1.0e-5", "learning_rate: 2.0e-5"),
    ],
)
def test_another_name_for_a_setting_is_another_programs(line: str, known: str) -> None:
    more = "warmup_ratio: 0.1\nsave_steps: 100\nlogging_steps: 10\nuse_peft: true\n"
    document = yaml(ARGUMENTS.replace(known, line) + more)
    assert hf_args.recognise(document) == trl.recognise(document) == []
    assert len(trl.recognise(yaml(ARGUMENTS + more + line + "\n"))) == 1  # beside the name that it knows
