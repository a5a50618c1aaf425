"""qlora-pipe's loader until its run ends, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, runs, value

RUNS = list(runs("qlora_pipe"))

CONFIG = """\
model = 'models/llama'
output_dir = 'out'
lora_rank = 64
lora_alpha = 64
epochs = {epochs}
micro_batch_size_per_gpu = {b}
gradient_accumulation_steps = {g}
pipeline_stages = 1
eval_steps = 10
logging_steps = 1
activation_checkpointing = true
group_by_length = {group}
lr_scheduler = 'cosine'
warmup_steps = {warmup}

[optimizer]
type = 'adamw_kahan'
lr = 5e-5

[[datasets]]
dataset_type = 'axolotl'
dataset_path = 'examples/alpaca.yml'
sequence_len = 2048
"""


def project(case: dict[str, Any], warmup: float = 0) -> dict[str, str]:
    config = CONFIG.format(**case | {"group": str(case["group"]).lower(), "warmup": warmup})
    launch = f"deepspeed --num_gpus={case['world']} train.py --deepspeed --config config.toml\n"
    return {"config.toml": config, "run.sh": launch}


@pytest.mark.parametrize(("case", "happened"), [pytest.param(case, found, id=name) for _, name, case, found in RUNS])
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(project(case), {"records": case["n"]})
    assert checked.run.trainer == "qlora-pipe"
    assert value(checked, "steps_per_epoch") == happened["per_epoch"]
    assert value(checked, "total_steps") == happened["steps"]
    assert value(checked, "gpus") == case["world"]
    assert [finding.code for finding in report.findings if finding.level == "error"] == []


@pytest.mark.parametrize(("warmup", "steps"), [(5, 5), (0.5, 6), (0.05, 0), (0, 0)])
def test_a_share_of_one_pass_is_warmed(warmup: float, steps: int) -> None:
    """`int(warmup_steps * steps_per_epoch)` below 1 (`train.py`): of 13 steps a pass, three passes."""
    case = {"n": 100, "b": 2, "g": 4, "world": 1, "epochs": 3, "group": False}
    checked, _ = explained(project(case, warmup), {"records": 100})
    assert value(checked, "warmup_steps") == steps
