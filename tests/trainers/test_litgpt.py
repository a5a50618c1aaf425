from __future__ import annotations

import pytest

from tests.helpers import check_project

PRETRAINING = """\
model_name: pythia-14m
out_dir: out/pretrain
initial_checkpoint_dir:
data: TinyStories
train:
  micro_batch_size: 5
  epochs:
  max_tokens: 100000000
devices: 1
"""
TUNING = """\
checkpoint_dir: checkpoints/example/model
out_dir: out/finetune
data:
  class_path: litgpt.data.Alpaca2k
train:
  micro_batch_size: 2
  epochs:
devices: 1
"""


@pytest.mark.parametrize(
    ("files", "method", "epochs", "batch"),
    [
        ({"a.yaml": PRETRAINING}, "pretrain", None, 512),
        ({"a.yaml": TUNING}, "sft", 5, 16),
        ({"a.yaml": PRETRAINING, "run.sh": "litgpt pretrain pythia-14m --config a.yaml\n"}, "pretrain", None, 512),
        ({"a.yaml": TUNING, "run.sh": "litgpt finetune_full a --config a.yaml\n"}, "sft", 5, 16),
    ],
)
def test_pretraining_counts_tokens(files: dict[str, str], method: str, epochs: int | None, batch: int) -> None:
    [run] = check_project(files).runs
    settings = run.scenarios.run.settings
    assert settings["method"].value == method
    assert settings["epochs"].value == epochs
    assert settings["global_batch"].value == batch
