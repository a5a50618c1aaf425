"""NeMo Automodel, as `components/training/step_scheduler.py` of nemo-automodel 0.2.0 to 0.7.0 counts."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

_CONFIG = """\
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler:
  global_batch_size: 10
  local_batch_size: 2
{length}
model:
  pretrained_model_name_or_path: example/model
optimizer:
  lr: 1.0e-5
"""


@pytest.mark.parametrize(
    ("length", "records", "gpus", "steps", "codes"),
    [
        ("  max_steps: 150", 100, 1, 100, {"STP002"}),  # the recipes' default of 10 epochs ends the run
        ("  max_steps: 90", 100, 1, 90, set()),
        ("  max_steps: 150\n  num_epochs: null", 100, 1, 150, set()),  # asked to follow max_steps
        ("", 100, 1, 100, set()),
        ("  num_epochs: 2", 103, 1, 22, set()),
        ("  num_epochs: 2", 103, 5, 20, set()),  # three rows are left over: each worker takes 20
        ("  max_steps: 15\n  num_epochs: 2", 103, 1, 15, set()),
    ],
)
def test_what_comes_first_ends_the_run(length: str, records: int, gpus: int, steps: int, codes: set[str]) -> None:
    report = check_project({"a.yaml": _CONFIG.format(length=length)}, {"records": records, "gpus": gpus})
    assert report.runs[0].scenarios.fact("total_steps").value == steps
    assert {finding.code for finding in report.findings if finding.code == "STP002"} == codes
