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
