"""DeepSpeed's half precision beside a script that asks for one, for the other, or for none."""

from __future__ import annotations

from pathlib import Path

import pytest

from epochlint.lint import Options, check

SCRIPT = """\
from transformers import Trainer, TrainingArguments

args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, deepspeed="ds.json"{more})
Trainer(model=model, args=args, train_dataset=rows).train()
"""
BF16 = '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'
OFF = '{"fp16": {"enabled": false}, "zero_optimization": {"stage": 2}}'


@pytest.mark.parametrize(
    ("more", "config", "said"),
    [
        ("", BF16, ["bf16.enabled is true here and false in the run"]),
        (", bf16=False", BF16, ["bf16.enabled is true here and false in the run"]),
        (", fp16=True", BF16, ["bf16.enabled is true here and fp16 in the run"]),
        (", bf16=True", BF16, []),
        (", bf16_full_eval=True", BF16, []),
        (", bf16=has_bf16()", BF16, []),
        (", **more", BF16, []),
        ("", OFF, []),
        ("", BF16.replace("true", '"auto"'), []),
    ],
)
def test_what_the_trainer_compares(
    more: str, config: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(more=more))
    (tmp_path / "ds.json").write_text(config)
    monkeypatch.chdir(tmp_path)
    found = check(Options(["."], select=["DSP002"])).findings
    assert [finding.message for finding in found] == said
    if more == "":
        assert all(finding.fix is None for finding in found), "`auto` would train in 32 bits"
