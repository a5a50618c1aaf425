"""XTuner's loop in mmengine's runner, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, rows, runs, value

RUNS = list(runs("xtuner"))

_HEAD = """
from datasets import load_dataset
from mmengine.dataset import DefaultSampler
from mmengine.optim import AmpOptimWrapper, CosineAnnealingLR, LinearLR
from torch.optim import SGD
from xtuner.dataset import process_hf_dataset
from xtuner.dataset.map_fns import alpaca_map_fn
from xtuner.dataset.samplers import LengthGroupedSampler
from xtuner.engine.runner import TrainLoop

train_data = dict(
    type=process_hf_dataset,
    dataset=dict(type=load_dataset, path="json", data_files="data.jsonl"),
    max_length=2048,
    dataset_map_fn=alpaca_map_fn,
    pack_to_max_length=False)
"""


def project(case: dict[str, Any]) -> dict[str, str]:
    """The config module that the recorder gives to the runner."""
    batch, accumulation = case["batch_size"], case["accumulative_counts"]
    grouped = case.get("sampler") == "LengthGroupedSampler"
    sampler = f"LengthGroupedSampler, per_device_batch_size={batch * accumulation}" if grouped else "DefaultSampler"
    loader = f"batch_size={batch}, dataset=train_data, sampler=dict(type={sampler})"
    if "drop_last" in case:
        loader += f", drop_last={case['drop_last']}"
    length = ", ".join(f"{key}={case[key]}" for key in ("max_epochs", "max_iters") if key in case)
    lines = [
        _HEAD,
        f"train_dataloader = dict({loader})",
        "optim_wrapper = dict(type=AmpOptimWrapper, optimizer=dict(type=SGD, lr=1e-4),",
        f"    accumulative_counts={accumulation})",
        f"train_cfg = dict(type=TrainLoop, {length})",
        *_schedule(case),
    ]
    launch = f"NPROC_PER_NODE={case['world']} xtuner train config.py\n"
    return {"config.py": "\n".join(lines) + "\n", "data.jsonl": rows(case["n"]), "run.sh": launch}


def _schedule(case: dict[str, Any]) -> list[str]:
    epochs, ratio = case.get("max_epochs", 1), case.get("warmup_ratio")
    if "warmup_iters" in case:
        return [f"param_scheduler = [dict(type=LinearLR, begin=0, end={case['warmup_iters']}, by_epoch=False)]"]
    if ratio is None:
        return []
    both = "by_epoch=True, convert_to_iter_based=True"
    return [
        "param_scheduler = [",
        f"    dict(type=LinearLR, start_factor=1e-5, begin=0, end={ratio} * {epochs}, {both}),",
        f"    dict(type=CosineAnnealingLR, eta_min=0.0, begin={ratio} * {epochs}, end={epochs}, {both}),",
        "]",
    ]


@pytest.mark.parametrize(
    ("case", "happened"),
    [pytest.param(case, happened, id=name) for _, name, case, happened in RUNS if "error" not in happened],
)
def test_trains_as_recorded(case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(project(case), {})
    assert value(checked, "total_steps") == happened["updates"]
    assert value(checked, "gpus") == case["world"]
    stays = [finding.code for finding in report.findings if finding.level == "error"]
    assert stays == (["WRM001"] if happened["peak"] < 0.5 else [])
    warm = value(checked, "warmup_steps")
    if isinstance(warm, int) and happened["peak"] >= 0.5:
        assert abs(warm - happened["below_peak"]) <= 1


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened]
)
def test_says_beforehand_what_is_refused(case: dict[str, Any]) -> None:
    _, report = explained(project(case), {})
    assert {finding.code for finding in report.findings if finding.level == "error"} & {"CFG009", "CFG011", "STP008"}
