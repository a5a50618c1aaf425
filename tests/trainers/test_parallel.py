"""Parallel sizes, wherever they are written, take workers from data parallelism."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

_AXOLOTL = """\
base_model: example/model
datasets:
  - path: example/instructions
    type: alpaca
micro_batch_size: 1
gradient_accumulation_steps: 8
context_parallel_size: 2
tensor_parallel_size: 2
learning_rate: 1e-5
sequence_len: 2048
"""
_ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_processes: 4
parallelism_config:
  parallelism_config_tp_size: 4
"""
_SCRIPT = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

args = TrainingArguments("out", per_device_train_batch_size=8)
model = AutoModelForCausalLM.from_pretrained("example/model")
Trainer(model, args, train_dataset=load_dataset("example/text", split="train")).train()
"""


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"sft.yml": _AXOLOTL}, ("sft.yml", 7)),
        (
            {
                "acc.yaml": _ACCELERATE,
                "run.sh": "accelerate launch --config_file acc.yaml train.py\n",
                "train.py": _SCRIPT,
            },
            ("acc.yaml", 4),
        ),
    ],
)
def test_a_size_that_takes_up_all_gpus_is_found_where_it_stands(files: dict[str, str], place: tuple[str, int]) -> None:
    report = check_project(files, {"gpus": 4, "records": 16_000})
    assert [run.scenarios.fact("effective_batch").value for run in report.runs] == [8]
    (finding,) = (finding for finding in report.findings if finding.code == "BAT005")
    assert (finding.path, finding.span.place.line, finding.level) == (*place, "note")
