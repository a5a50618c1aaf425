"""What TRL's own command makes of a config: unknown keys, the default loss."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

_CONFIG = """\
model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: example/data
output_dir: out
per_device_train_batch_size: 8
learning_rate: 1.0e-6
"""
_SCRIPT = "accelerate launch -m trl.scripts.sft --config t.yaml\n"


def levels(code: str, more: str, launch: str, **assume: object) -> list[str]:
    findings = lint_project({"t.yaml": _CONFIG + more, "run.sh": launch}, {"gpus": 1, **assume})
    return [finding.level for finding in findings if finding.code == code]


@pytest.mark.parametrize(
    ("launch", "version", "expected"),
    [
        ("trl sft --config t.yaml\n", "0.24.0", ["error"]),  # accelerate's launcher refuses what nobody knows
        ("trl sft --config t.yaml\n", None, ["warning"]),
        ("trl dpo --config t.yaml\n", "0.24.0", ["warning"]),  # that of DPO got nothing handed on
        ("trl dpo --config t.yaml\n", "1.16.0", ["error"]),
        (_SCRIPT, "1.16.0", ["warning"]),  # the script drops it
        ("python my_own_sft.py --config t.yaml\n", "1.16.0", []),
    ],
)
def test_a_misspelt_key(launch: str, version: str | None, expected: list[str]) -> None:
    said = {} if version is None else {"trl": version}
    assert levels("CFG003", "lr_schedular_type: cosine\n", launch, **said) == expected
    assert levels("CFG003", "num_processes: 2\nuse_peft: true\n", launch, **said) == []


@pytest.mark.parametrize(
    ("more", "launch", "expected"),
    [
        ("beta: 2.0\n", "trl dpo --config t.yaml\n", ["note"]),
        ("beta: 1.0\n", "trl dpo --config t.yaml\n", []),
        ("beta: 2.0\nloss_type: sigmoid_norm\n", "trl dpo --config t.yaml\n", []),
        ("beta: 2.0\n", "python scripts/dpo.py --config t.yaml\n", []),  # its loss may be another
    ],
)
def test_the_beta_of_the_default_loss(more: str, launch: str, expected: list[str]) -> None:
    assert levels("PRF003", more, launch) == expected
