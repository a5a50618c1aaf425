"""Misspelt keys of the trainers whose tables are read from their packages, and what their loaders do with them."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

_LITGPT = """\
checkpoint_dir: checkpoints/org/model
data: Alpaca2k
train:
  global_batch_size: 8
  {key}: 2
  lr_warmup_steps: 10
"""
_MLX = """\
model: org/model
train: true
data: data
iters: 1000
num_layers: 16
{key}: 100
"""
_DEEPSPEED = """\
{{
  "zero_optimization": {{"stage": 2, "{inner}": true}},
  "{outer}": 4
}}
"""


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("lora.yaml", _LITGPT.format(key="micro_batchsize"), [("error", 5)]),
        ("lora.yaml", _LITGPT.format(key="micro_batch_size"), []),
        ("lora.yaml", _LITGPT.format(key="micro_batch_size") + "out_dirs: out\n", [("error", 7)]),
        ("mlx.yaml", _MLX.format(key="steps_per_evl"), [("warning", 6)]),
        ("mlx.yaml", _MLX.format(key="own_setting"), []),  # nothing close: somebody's own
        (
            "ds.json",
            _DEEPSPEED.format(inner="overlap_com", outer="train_micro_batch_size_per_gpu"),
            [("error", 2)],
        ),
        (
            "ds.json",
            _DEEPSPEED.format(inner="overlap_comm", outer="gradient_acumulation_steps"),
            [("warning", 3)],
        ),
        ("ds.json", _DEEPSPEED.format(inner="overlap_comm", outer="_comment"), []),
    ],
)
def test_slips(name: str, text: str, found: list[tuple[str, int]]) -> None:
    findings = [one for one in lint_project({name: text}) if one.code == "CFG003"]
    assert [(one.level, one.span.place.line) for one in findings] == found
