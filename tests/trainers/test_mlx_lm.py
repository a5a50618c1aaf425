"""What is taken for an MLX-LM config."""

from __future__ import annotations

import pytest

from tests.helpers import check_project


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("model: org/model\ntrain: true\ndata: data\niters: 600\n", 1),
        ("model: model\ndata: data\niters: 600\nnum_layers: 8\n", 1),
        ("model: unet\ntrain: true\ndata: data\niters: 600\n", 0),  # anybody's
        ("model: org/model\ndata: data\nbatch_size: 4\ntrain: true\n", 0),
    ],
)
def test_recognised(text: str, runs: int) -> None:
    report = check_project({"lora.yaml": text})
    assert [run.run.trainer for run in report.runs if run.run.trainer == "mlx-lm"] == ["mlx-lm"] * runs


_ACCUMULATING = """\
model: org/model
train: true
data: data
batch_size: 4
iters: 240
grad_accumulation_steps: 16
steps_per_eval: 100
save_every: 100
steps_per_report: 10
"""


def _rows(count: int) -> str:
    return "".join(f'{{"prompt": "What is {i} plus 2?", "completion": "{i + 2}"}}\n' for i in range(count))


def test_length_and_cadences_are_iterations() -> None:
    """Written are micro-batches, compared are updates (mlx-lm 0.32.2, `tuner/trainer.py`)."""
    report = check_project({"lora.yaml": _ACCUMULATING, "data/train.jsonl": _rows(1600), "data/valid.jsonl": _rows(8)})
    budget = report.runs[0].scenarios
    assert budget.fact("total_steps").value == 15
    assert budget.fact("max_steps").value == 15
    assert budget.fact("evaluations").value == budget.fact("checkpoints").value == 3
    assert budget.fact("epochs").value == pytest.approx(0.6)
    codes = {finding.code for finding in report.findings}
    assert codes.isdisjoint({"STP001", "STP002", "EVL001", "EVL004", "CKP001", "LOG001"})


def test_accumulation_goes_on_over_the_end_of_a_pass() -> None:
    """Three batches a pass, sixteen to an update: 5 passes and a third for one, not none."""
    report = check_project({"lora.yaml": _ACCUMULATING, "data/train.jsonl": _rows(12)})
    assert "STP008" not in {finding.code for finding in report.findings}
    budget = report.runs[0].scenarios
    assert budget.fact("steps_per_epoch").value == 3 / 16
    assert budget.fact("epochs").value == pytest.approx(80)


def test_unknown_accumulation_leaves_the_length_open() -> None:
    text = _ACCUMULATING.replace("grad_accumulation_steps: 16", "grad_accumulation_steps: ${GA}")
    report = check_project({"lora.yaml": text, "data/train.jsonl": _rows(1600)})
    assert report.runs[0].scenarios.fact("total_steps").number is None
