"""Record Megatron-Bridge's config on the CPU: which override files it refuses, iterations, the schedule of the rate.

    python tests/conformance/recorders/megatron_bridge.py --package UNPACKED_WHEELS --version 0.6.2 --out FILE

where the wheels of megatron-bridge and of the megatron-core that it asks for are unpacked into one folder.

Real code: ``process_config_with_overrides`` (the YAML, and the words of a launch), ``TrainingConfig`` and
``SchedulerConfig`` with their checks, the container's own checks of both together and its numbers of steps, megatron-
core's calculator of micro-batches and its ``OptimizerParamScheduler``. Stood in for: a recipe (its classes with their
defaults), data (a number of rows), workers, and what else the modules import; typing_extensions' ``override``, which
Python has from 3.12 on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import logging
import os
import tempfile
import types
import typing
import warnings
from typing import Any

import recording
import stubs

STUBBED = (
    "absl", "aiohttp", "apex", "bitsandbytes", "bitstring", "boto3", "braceexpand", "causal_conv1d", "comet_ml",
    "cuda", "decord", "deep_ep", "ebmlite", "einops", "fast_hadamard_transform", "filetype", "fla", "flash_attn",
    "flashinfer", "grouped_gemm", "librosa", "lightning", "mamba_ssm", "mfusepy", "mlflow", "modelopt", "msgpack",
    "multi_storage_client", "multistorageclient", "nemo_run", "nvdlfw_inspect", "nvtx", "open_clip", "psutil",
    "pynvml", "qwen_vl_utils", "rapidyaml", "ryml", "s3fs", "scipy", "sentencepiece", "six", "soundfile",
    "tensorstore", "timm", "torchvision", "transformer_engine", "triton", "wandb", "webdataset", "zarr",
)  # fmt: skip
_BASE: dict[str, dict[str, Any]] = {
    "train": {"train_iters": 100, "global_batch_size": 32, "micro_batch_size": 2},
    "optimizer": {"lr": 1.0e-4, "min_lr": 1.0e-5, "weight_decay": 0.1},
    "scheduler": {"lr_warmup_iters": 10, "lr_decay_style": "cosine"},
}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the `config`, `n` rows, `world` data-parallel workers, `overrides` of the launch."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 1000, world: int = 1, overrides: str = "", **sections: Any) -> None:
        config = {key: dict(value) for key, value in _BASE.items()}
        for section, value in sections.items():
            merged = {**config.get(section, {}), **value}
            config[section] = {key: item for key, item in merged.items() if item != "(absent)"}
        out[name] = {"config": config, "n": n, "world": world, **({"overrides": overrides} if overrides else {})}

    def train(name: str, n: int = 1000, world: int = 1, warm: object = 10, **more: Any) -> None:
        add(name, n, world, train=more, scheduler={"lr_warmup_iters": warm})

    for iterations in (1, 20, 100, 1000):
        train(f"length/{iterations}", warm=0, train_iters=iterations)
    train("length/0", warm=0, train_iters=0)
    train("length/-1", warm=0, train_iters=-1)
    for n, whole, epochs in ((1000, 32, 1), (1000, 32, 3), (1001, 32, 1.5), (1000, 32, 0.5), (31, 32, 2), (3, 4, 1),
                             (1000, 32, 0), (1000, 32, -1)):  # fmt: skip
        train(f"epochs/n{n} g{whole} e{epochs}", n, warm=0, train_iters="(absent)", num_epochs=epochs,
              global_batch_size=whole)  # fmt: skip
    train("epochs/both", num_epochs=2)
    train("epochs/with samples", train_iters="(absent)", train_samples=3200, num_epochs=2, warm=0)
    for samples in (3200, 3199, 31, 0):
        train(f"samples/{samples}", train_iters="(absent)", train_samples=samples, warm="(absent)")
    train("samples/both", train_samples=3200)
    train("samples/with a warmup of iterations", train_iters="(absent)", train_samples=3200)
    add("samples/with a warmup of samples", train={"train_iters": "(absent)", "train_samples": 3200},
        scheduler={"lr_warmup_iters": "(absent)", "lr_warmup_samples": 320})  # fmt: skip
    add("samples/with a decay of iterations", train={"train_iters": "(absent)", "train_samples": 3200},
        scheduler={"lr_warmup_iters": "(absent)", "lr_decay_iters": 100})  # fmt: skip
    train("length/none", train_iters="(absent)")
    for whole, micro, world in ((32, 5, 1), (32, 4, 3), (8, 16, 1), (24, 4, 8), (0, 2, 1), (32, 0, 1), (-8, 2, 1)):
        train(f"batch/g{whole} m{micro} w{world}", 1000, world, global_batch_size=whole, micro_batch_size=micro)
    train("batch/g64 m2 w8", 1000, 8, global_batch_size=64)
    train("batch/text", global_batch_size="32")
    train("batch/no micro-batch", micro_batch_size="(absent)")
    train("batch/no global batch", global_batch_size="(absent)")
    for warm in (0, 1, 50, 99, 100, 101, 500, -5, 0.1, 10.0, "10"):
        train(f"warmup/{warm!r}", warm=warm)
    for share in (0.1, 0.03, 0.999, 1.0, 1.5, 0.0):
        add(f"warmup/share {share}", scheduler={"lr_warmup_iters": "(absent)", "lr_warmup_fraction": share})
    add("warmup/share and iterations", scheduler={"lr_warmup_fraction": 0.1})
    add("warmup/share and none", scheduler={"lr_warmup_iters": 0, "lr_warmup_fraction": 0.1})
    add("warmup/of samples", scheduler={"lr_warmup_iters": "(absent)", "lr_warmup_samples": 320})
    add("warmup/of both", scheduler={"lr_warmup_samples": 320})
    add("warmup/longer decay", scheduler={"lr_warmup_iters": 150, "lr_decay_iters": 1000})
    add("warmup/shorter decay", scheduler={"lr_decay_iters": 50})
    add("warmup/decay of the warmup", scheduler={"lr_decay_iters": 10})
    add("warmup/decay 0", scheduler={"lr_decay_iters": 0})
    for style in ("constant", "linear", "inverse-square-root", "WSD", "cosin"):
        add(f"style/{style}", scheduler={"lr_decay_style": style})
    add("style/WSD with its steps", scheduler={"lr_decay_style": "WSD", "lr_wsd_decay_iters": 20})
    add("rate/min above", optimizer={"min_lr": 1.0e-3})
    add("rate/min equal", optimizer={"min_lr": 1.0e-4})
    add("rate/min negative", optimizer={"min_lr": -1.0e-5})
    add("rate/2e-5", optimizer={"lr": "2e-5"})
    add("rate/init above", scheduler={"lr_warmup_init": 1.0e-3})
    add("decay/grows", scheduler={"start_weight_decay": 0.0, "end_weight_decay": 0.1})
    add("decay/shrinks", scheduler={"start_weight_decay": 0.1, "end_weight_decay": 0.0})
    add("decay/grows linearly", scheduler={"start_weight_decay": 0.0, "end_weight_decay": 0.1,
                                           "weight_decay_incr_style": "linear"})  # fmt: skip
    add("key/misspelt", train={"exit_intervall": 50})
    add("key/misspelt of the schedule", scheduler={"lr_decay_iter": 50})
    add("key/misspelt section", chekpoint={"save_interval": 50})
    add("key/far", train={"whatever": 50})
    add("key/override", overrides="train.train_iters=50")
    add("key/misspelt override", overrides="train.train_iter=50")
    add("key/far override", overrides="train.whatever=50")
    add("key/added override", overrides="+train.whatever=50")
    return out


def trained(case: dict[str, Any], path: str) -> dict[str, Any]:
    """The config and its schedule."""
    import torch

    module = importlib.import_module("megatron.bridge.training.config")
    utilities = importlib.import_module("megatron.bridge.training.utils.omegaconf_utils")
    calculators = importlib.import_module("megatron.core.num_microbatches_calculator")
    schedules = importlib.import_module("megatron.core.optimizer_param_scheduler")

    class Optimizer:
        lr: float = 1e-4
        min_lr: float = 1e-5
        weight_decay: float = 0.01

    kind = dataclasses.make_dataclass("Recipe", [
        ("train", module.TrainingConfig, dataclasses.field(default_factory=module.TrainingConfig)),
        ("scheduler", module.SchedulerConfig, dataclasses.field(default_factory=module.SchedulerConfig)),
        ("optimizer", Any, dataclasses.field(default_factory=dataclasses.dataclass(Optimizer))),
    ])  # fmt: skip
    config = utilities.process_config_with_overrides(kind(), path, case.get("overrides", "").split() or None)
    container = module.ConfigContainer
    train, schedule, optimizer = config.train, config.scheduler, config.optimizer
    train.finalize()
    schedule.finalize()
    itself = types.SimpleNamespace(train=train, scheduler=schedule)
    itself._calculate_scheduler_steps = lambda: container._calculate_scheduler_steps(itself)
    container._validate_training_scheduler_compatibility(itself)
    if getattr(train, "num_epochs", None) is not None:
        container._resolve_num_epochs(itself, case["n"])
    else:
        container._calculate_scheduler_steps(itself)
    batches = calculators.ConstantNumMicroBatchesCalculator(
        train.global_batch_size, train.micro_batch_size, case["world"], False, 1
    )
    weight = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=optimizer.lr)
    first = schedule.start_weight_decay if schedule.start_weight_decay is not None else optimizer.weight_decay
    last = schedule.end_weight_decay if schedule.end_weight_decay is not None else optimizer.weight_decay
    rates = schedules.OptimizerParamScheduler(
        weight, init_lr=schedule.lr_warmup_init, max_lr=optimizer.lr, min_lr=optimizer.min_lr,
        lr_warmup_steps=schedule.lr_warmup_steps, lr_decay_steps=schedule.lr_decay_steps,
        lr_decay_style=schedule.lr_decay_style, start_wd=first, end_wd=last, wd_incr_steps=schedule.wd_incr_steps,
        wd_incr_style=schedule.weight_decay_incr_style,
        use_checkpoint_opt_param_scheduler=schedule.use_checkpoint_opt_param_scheduler,
        override_opt_param_scheduler=schedule.override_opt_param_scheduler,
        wsd_decay_steps=schedule.wsd_decay_steps, lr_wsd_decay_style=schedule.lr_wsd_decay_style,
    )  # fmt: skip
    seen = []
    for _ in range(train.train_iters):
        seen.append(weight.param_groups[0]["lr"])
        rates.step(increment=train.global_batch_size)
    top = max(seen, default=0.0)
    return {
        "iterations": len(seen),
        "accumulation": batches.get(),
        "warmup": schedule.lr_warmup_steps / train.global_batch_size,
        "decay": schedule.lr_decay_steps / train.global_batch_size,
        "peak_step": seen.index(top) + 1 if seen else 0,
        "peak_share": round(top / optimizer.lr, 4),
    }


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One run in a folder of its own."""
    import yaml

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(yaml.safe_dump(case["config"], sort_keys=False).replace("'2e-5'", "2e-5"))
        return trained(case, path)


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "megatron_bridge.json")
    import torch._dynamo
    import torch._inductor.codegen.triton  # noqa: F401 # before stand-ins do
    import typing_extensions
    from transformers import AutoProcessor, AutoTokenizer  # noqa: F401 # likewise

    typing.override = typing_extensions.override  # type: ignore[attr-defined] # from 3.12 on
    stubs.install(*STUBBED)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "megatron-bridge", "omegaconf", "hydra-core", "torch")


if __name__ == "__main__":
    main()
