"""accelerate's file beside a run: what it sets of DeepSpeed must be what the Trainer is told."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

_SCRIPT = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

args = TrainingArguments("out", gradient_accumulation_steps=2, max_grad_norm=0.5{more})
model = AutoModelForCausalLM.from_pretrained("example/model")
Trainer(model, args, train_dataset=load_dataset("example/text", split="train")).train()
"""
_ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: {kind}
deepspeed_config:
  gradient_accumulation_steps: {steps}
  gradient_clipping: 0.5
  zero_stage: 2
num_processes: 4
"""


@pytest.mark.parametrize(
    ("kind", "steps", "more", "lines"),
    [
        ("DEEPSPEED", "4", "", [4]),
        ("DEEPSPEED", "2", "", []),
        ("DEEPSPEED", "auto", "", []),
        ("MULTI_GPU", "4", "", []),
        ("DEEPSPEED", "4", ", deepspeed='ds.json'", []),  # then accelerate's block is not looked at
    ],
)
def test_its_deepspeed_block_is_compared(kind: str, steps: str, more: str, lines: list[int]) -> None:
    files = {
        "acc.yaml": _ACCELERATE.format(kind=kind, steps=steps),
        "run.sh": "accelerate launch --config_file acc.yaml train.py\n",
        "train.py": _SCRIPT.format(more=more),
    }
    found = lint_project(files, {"records": 64_000})
    assert [finding.span.place.line for finding in found if finding.code == "DSP002"] == lines
