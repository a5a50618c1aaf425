"""What Axolotl does not do with what is written."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

_CONFIG = """\
base_model: example/model
datasets:
  - path: example/pairs
    type: chat_template.default
micro_batch_size: 2
learning_rate: 5e-6
val_set_size: 0.1
eval_steps: 100
save_steps: 100
early_stopping_patience: 3
"""


@pytest.mark.parametrize(("rl", "codes"), [("rl: dpo\n", ["EVL007"]), ("", [])])
def test_preference_tuning_has_no_early_stopping(rl: str, codes: list[str]) -> None:
    found = lint_project({"dpo.yml": _CONFIG + rl}, {"gpus": 1, "records": 8000, "axolotl": "0.16.0"})
    assert [finding.code for finding in found if finding.level != "note"] == codes
