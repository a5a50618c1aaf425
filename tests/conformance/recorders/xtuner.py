"""Record XTuner's loop in mmengine's runner on the CPU: loader length, updates, the rate of each update, errors.

    python tests/conformance/recorders/xtuner.py --package UNPACKED_XTUNER_WHEEL --version 0.1.23 --out FILE

Real code: mmengine's Runner, loaders, optimizer wrapper and schedulers; XTuner's ``TrainLoop`` and
``LengthGroupedSampler``, each loaded from its file alone. Stood in for: the model (one weight), the data (numbers with
lengths), the number of workers (what mmengine's ``get_dist_info`` tells the samplers).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import tempfile
from typing import Any
from unittest import mock

import recording

CONFIG: dict[str, Any] = {"n": 100, "batch_size": 2, "accumulative_counts": 4, "max_epochs": 3, "warmup_ratio": 0.03}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the numbers of the config module, ``n`` rows, ``world`` workers."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, **more: Any) -> None:
        config = {"world": 1, **CONFIG, **more}
        out[name] = {key: value for key, value in config.items() if value != "(absent)"}

    for n, batch, accumulation, epochs in (
        (100, 2, 4, 3), (100, 1, 16, 3), (100, 8, 1, 3), (31, 2, 4, 1), (31, 2, 4, 3), (7, 8, 1, 2), (10, 3, 4, 3),
        (33, 4, 16, 1), (64, 4, 4, 2), (65, 4, 4, 2), (101, 1, 16, 1), (1, 1, 4, 1), (500, 1, 16, 1), (50, 5, 3, 5),
    ):  # fmt: skip
        add(
            f"length/n{n} b{batch} a{accumulation} e{epochs}",
            n=n,
            batch_size=batch,
            accumulative_counts=accumulation,
            max_epochs=epochs,
        )
    for drop in (True, False):
        for n in (31, 32, 33, 3):
            add(f"drop/n{n} {drop}", n=n, drop_last=drop, batch_size=4)
    for world in (2, 3, 8):
        for n in (100, 101, 7):
            add(f"world/n{n} w{world}", n=n, world=world)
    for ratio in (0.0, 0.01, 0.1, 0.5, 1.0, 1.5):
        add(f"warmup/{ratio}", warmup_ratio=ratio)
    add("warmup/0.1 of many", n=1000, batch_size=1, accumulative_counts=16, warmup_ratio=0.1)
    add("warmup/in iterations", warmup_iters=20)
    add("warmup/none", warmup_ratio="(absent)")
    for iterations in (1, 10, 16, 17, 300):
        add(f"iterations/{iterations}", max_iters=iterations, max_epochs="(absent)", warmup_ratio="(absent)")
    for epochs in (0.5, 1.5, 0.33):
        add(f"epochs/{epochs}", max_epochs=epochs)
    add("epochs/both", max_iters=10)
    add("epochs/neither", max_epochs="(absent)", warmup_ratio="(absent)")
    add("accumulation/0", accumulative_counts=0)
    for n in (100, 101, 31):
        for world in (1, 2):
            add(f"grouped/n{n} w{world}", n=n, world=world, sampler="LengthGroupedSampler")
    return out


def module(path: str) -> Any:
    """A module of the package by its file alone: the package itself imports what training needs."""
    file = os.path.join(next(folder for folder in sys.path if os.path.isfile(os.path.join(folder, path))), path)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def schedulers(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The warmup and the cosine of XTuner's own configs."""
    length = case.get("max_epochs", 1)
    if "warmup_iters" in case:
        first = {"begin": 0, "end": case["warmup_iters"], "by_epoch": False}
        return [{"type": "LinearLR", "start_factor": 1e-5, **first}]
    if "warmup_ratio" not in case:
        return []
    share = case["warmup_ratio"] * length
    both = {"by_epoch": True, "convert_to_iter_based": True}
    return [
        {"type": "LinearLR", "start_factor": 1e-5, "begin": 0, "end": share, **both},
        {"type": "CosineAnnealingLR", "eta_min": 0.0, "begin": share, "end": length, **both},
    ]


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One training of one weight."""
    import torch
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    loops = module("xtuner/engine/runner/loops.py")
    samplers = module("xtuner/dataset/samplers/length_grouped.py")

    class Numbers(torch.utils.data.Dataset):  # type: ignore[type-arg,misc] # torch is not here when this is checked
        def __init__(self, n: int) -> None:
            self.length = [1 + index % 7 for index in range(n)]

        def __len__(self) -> int:
            return len(self.length)

        def __getitem__(self, index: int) -> Any:
            return torch.tensor([float(index)])

    class Weight(BaseModel):  # type: ignore[misc] # likewise
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, *inputs: Any, **more: Any) -> dict[str, Any]:
            return {"loss": (self.weight * 1.0).sum()}

    rates: list[float] = []

    class Counted(torch.optim.SGD):  # type: ignore[misc] # likewise
        def step(self, *inputs: Any, **more: Any) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(*inputs, **more)

    sampler: dict[str, Any] = {"type": "DefaultSampler", "shuffle": True}
    if case.get("sampler") == "LengthGroupedSampler":
        together = case["batch_size"] * case["accumulative_counts"]
        sampler = {"type": samplers.LengthGroupedSampler, "per_device_batch_size": together}
    loader = {"batch_size": case["batch_size"], "num_workers": 0, "dataset": Numbers(case["n"]), "sampler": sampler}
    if "drop_last" in case:
        loader["drop_last"] = case["drop_last"]
    length = {key: case[key] for key in ("max_epochs", "max_iters") if key in case}
    told = (0, case["world"])
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("mmengine.dataset.sampler.get_dist_info", return_value=told),
        mock.patch.object(samplers, "get_dist_info", return_value=told),
        mock.patch("mmengine.runner.loops.time.sleep"),
    ):
        model = Weight()
        runner = Runner(
            model=model,
            work_dir=folder,
            train_dataloader=loader,
            train_cfg={"type": loops.TrainLoop, **length},
            optim_wrapper={
                "type": "OptimWrapper",
                "optimizer": {"type": Counted, "lr": 1.0},
                "accumulative_counts": case["accumulative_counts"],
            },
            param_scheduler=schedulers(case) or None,
            default_hooks={"logger": None, "checkpoint": None, "timer": None, "sampler_seed": None},
            log_level="ERROR",
            experiment_name=f"case{id(case)}",
        )
        logging.disable(logging.CRITICAL)
        runner.train()
    peak = max(rates, default=0.0)
    return {
        "batches": len(runner.train_dataloader),
        "iterations": runner.iter,
        "updates": len(rates),
        "peak": round(peak, 4),
        "below_peak": next((at for at, rate in enumerate(rates) if rate == peak), 0),
    }


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "xtuner.json")
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "xtuner", "mmengine-lite", "mmengine", "torch")


if __name__ == "__main__":
    main()
