"""Arguments that torchtune's and torch's builders do not have."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

_CONFIG = """\
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
model:
  _component_: torchtune.models.llama3_2.lora_llama3_2_1b
  lora_attn_modules: ['q_proj']
  {model}: 16
dataset:
  _component_: torchtune.datasets.alpaca_dataset
optimizer:
  _component_: {optimizer}
  lr: 3e-4
  {decay}: 0.01
lr_scheduler:
  _component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup
  {warmup}: 10
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
epochs: 1
batch_size: 2
gradient_accumulation_steps: 8
"""
_RIGHT = {
    "model": "lora_rank",
    "optimizer": "torch.optim.AdamW",
    "decay": "weight_decay",
    "warmup": "num_warmup_steps",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"model": "lora_rnk"}, [("CFG003", "error", 6)]),
        ({"decay": "wieght_decay"}, [("CFG003", "error", 12)]),
        ({"decay": "wieght_decay", "optimizer": "my.own.Optimizer"}, []),
        ({"warmup": "num_warmup_step"}, [("CFG003", "error", 15)]),
        ({"warmup": "cooldown"}, [("CFG011", "error", 15)]),
    ],
)
def test_what_a_builder_does_not_have(changed: dict[str, str], expected: list[tuple[str, str, int]]) -> None:
    findings = lint_project({"a.yaml": _CONFIG.format(**{**_RIGHT, **changed})}, {"records": 100_000})
    found = [(finding.code, finding.level, finding.span.place.line) for finding in findings]
    assert [one for one in found if one[0].startswith("CFG")] == expected


@pytest.mark.parametrize(
    ("tokenizer", "packed", "refused"),
    [
        ("  max_seq_len: null\n", "True", True),
        ("  max_seq_len: null\n", "False", False),
        ("  max_seq_len: 2048\n", "True", False),
        ("", "True", False),  # the oldest versions had the length at the data
    ],
)
def test_packing_needs_a_length(tokenizer: str, packed: str, refused: bool) -> None:
    config = _CONFIG.format(**_RIGHT)
    config = config.replace("llama3_tokenizer\n", f"llama3_tokenizer\n{tokenizer}")
    config = config.replace("alpaca_dataset\n", f"alpaca_dataset\n  packed: {packed}\n")
    findings = lint_project({"a.yaml": config}, {"records": 100_000})
    assert [finding.code for finding in findings if finding.code == "CFG011"] == ["CFG011"] * refused


@pytest.mark.parametrize(
    ("more", "launch", "level"),
    [
        ("log_evry_n_steps: 5", "tune run lora_finetune_single_device --config c.yaml", "warning"),
        ("max_step_per_epoch: 5", "tune run lora_finetune_single_device --config c.yaml", "error"),
        ("max_step_per_epoch: 5", "", "warning"),
        ("log_evry_n_steps: 5", "tune run my_recipe.py --config c.yaml", None),
        ("log_evry_n_steps: 5\nmetric_logger:\n  every: ${log_evry_n_steps}", "", None),
        ("whatever: 5", "", None),
        ("log_evry_n_steps: null", "", None),
    ],
)
def test_keys_that_no_recipe_asks_for(more: str, launch: str, level: str | None) -> None:
    files = {"c.yaml": _CONFIG.format(**_RIGHT) + more + "\n", "train.sh": launch + "\n"}
    told = [finding.level for finding in lint_project(files, {"gpus": 1}) if finding.code == "CFG003"]
    assert told == ([level] if level is not None else [])


@pytest.mark.parametrize(("more", "told"), [("", ["warning"]), (" gradient_accumulation_steps=4", [])])
def test_a_misspelt_override_changes_nothing(more: str, told: list[str]) -> None:
    words = f"max_steps_per_epoch=3 gradient_acumulation_steps=2{more}"
    launch = f"tune run lora_finetune_single_device --config c.yaml {words}\n"
    files = {"c.yaml": _CONFIG.format(**_RIGHT), "train.sh": launch}
    found = [finding.level for finding in lint_project(files, {"gpus": 1}) if finding.code == "CFG003"]
    assert found == told
