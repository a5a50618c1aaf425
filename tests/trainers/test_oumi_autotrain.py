"""Oumi and AutoTrain: recognition, defaults, counting."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

OUMI = """\
model:
  model_name: example/model
data:
  train:
    datasets:
      - dataset_name: text_sft
        dataset_path: train.jsonl
        {sample}
training:
  trainer_type: {trainer}
  per_device_train_batch_size: 2
  gradient_accumulation_steps: 4
  num_train_epochs: 3
  output_dir: out
"""


@pytest.mark.parametrize(
    ("sample", "steps"), [("split: train", 39), ("sample_count: 40", 15), ("sample_count: 200", 75)]
)
def test_oumi_counts_as_transformers(sample: str, steps: int) -> None:
    files = {"c.yaml": OUMI.format(sample=sample, trainer="TRL_SFT"), "train.jsonl": '{"text": "a"}\n' * 100}
    (run,) = check_project(files, {"gpus": 1, "transformers": "4.57.6"}, ["c.yaml"]).runs
    assert run.run.trainer == "oumi"
    assert run.scenarios.fact("total_steps").value == steps
    assert run.scenarios.fact("tuning").value == "full"


def test_oumi_counts_completions_never_as_rows() -> None:
    files = {"c.yaml": OUMI.format(sample="split: train", trainer="TRL_GRPO"), "train.jsonl": '{"text": "a"}\n' * 100}
    (run,) = check_project(files, {"gpus": 1}, ["c.yaml"]).runs
    assert run.scenarios.fact("method").value == "grpo"
    assert run.scenarios.fact("total_steps").unknown


AUTOTRAIN = """\
task: llm-{task}
base_model: example/model
project_name: p
backend: local
data:
  path: example/data
  train_split: train
  valid_split: {valid}
params:
  epochs: 2
  peft: true
"""


def test_autotrain_defaults() -> None:
    text = AUTOTRAIN.format(task="orpo", valid="null")
    (run,) = check_project({"c.yml": text}, {"gpus": 1, "records": 1000}, ["c.yml"]).runs
    fact = run.scenarios.fact
    assert run.run.trainer == "autotrain"
    assert (fact("effective_batch").value, fact("total_steps").value, fact("warmup_steps").value) == (8, 250, 25)
    assert (fact("method").value, fact("tuning").value, fact("evaluations").value) == ("orpo", "qlora", 0)


def test_autotrain_with_quoted_keys() -> None:
    text = AUTOTRAIN.format(task="orpo", valid="null").replace("task:", '"task":')
    (run,) = check_project({"c.yml": text}, {"gpus": 1, "records": 1000}, ["c.yml"]).runs
    assert run.run.trainer == "autotrain"


def test_autotrain_forgets_a_split_of_language_models() -> None:
    text = AUTOTRAIN.format(task="orpo", valid="test")
    report = check_project({"c.yml": text}, {"gpus": 1, "records": 1000}, ["c.yml"])
    assert report.runs[0].scenarios.fact("evaluations").value == 0
    assert "EVL002" in {finding.code for finding in report.findings}


def test_autotrain_packs_in_sft() -> None:
    text = AUTOTRAIN.format(task="sft", valid="null")
    (run,) = check_project({"c.yml": text}, {"gpus": 1, "records": 1000}, ["c.yml"]).runs
    assert run.scenarios.fact("total_steps").value is None
