"""Record what DeepSpeed's own config class, its schedulers, and transformers' comparison with it make of a JSON file.

    python tests/conformance/recorders/deepspeed_config.py --package FOLDER --version 0.19.8 --out FILE

Real code: DeepSpeedConfig from a file (batch sizes, refused keys), runtime.lr_schedules with a real optimizer, and
HfTrainerDeepSpeedConfig (filling of "auto", mismatches) of the installed transformers. Stood in for: the process group.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
import types
from typing import Any

import recording
import stubs

BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
ZERO = {"zero_optimization": {"stage": 2}}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: a file's ``text`` and ``world``; or ``scheduler`` and ``steps``; or ``config`` and ``args``."""
    out: dict[str, dict[str, Any]] = {}

    def batch(world: int, train: Any = None, micro: Any = None, accumulation: Any = None, **more: Any) -> None:
        config = {
            key: value for key, value in zip(BATCH, (train, micro, accumulation), strict=True) if value is not None
        }
        told = " ".join(f"{key}={json.dumps(value)}" for key, value in more.items())
        name = f"batch/t{json.dumps(train)} m{json.dumps(micro)} a{json.dumps(accumulation)} w{world} {told}".strip()
        out[name] = {"world": world, "text": json.dumps({**config, **ZERO, **more})}

    for world in (1, 2, 4, 8):
        batch(world, 32)
        batch(world, 32, 4)
        batch(world, 32, 4, 2)
        batch(world, 32, None, 2)
        batch(world, None, 4, 2)
        batch(world, None, 4)
        batch(world, 32, 5)
        batch(world, 30, 4, 2)
        batch(world, 6)
    batch(1)
    batch(1, None, None, 4)
    batch(1, 0)
    batch(1, None, 0)
    batch(1, 32, 0)
    batch(1, 32, 4, 0)
    batch(1, -8)
    batch(1, 8, 4, -2)
    batch(1, "auto", "auto", "auto")
    batch(1, None, "auto")
    batch(1, "32", 4)
    batch(1, None, "8")
    batch(1, None, 8, "2")
    batch(1, 32.0, 4)
    batch(3, 32, 4)
    batch(16, 8, 4)
    batch(8, 64, 4, sequence_parallel_size=2)
    batch(4, None, 4, 2, sequence_parallel_size=2)
    for name, more in {
        "fp16 and bf16": {"fp16": {"enabled": True}, "bf16": {"enabled": True}},
        "unknown top key": {"gradient_acumulation_steps": 4},
        "unknown zero key": {"zero_optimization": {"stage": 2, "overlap_com": True}},
        "unknown bf16 key": {"bf16": {"enabld": True}},
        "stage as text": {"zero_optimization": {"stage": "2"}},
        "stage 4": {"zero_optimization": {"stage": 4}},
        "stage null": {"zero_optimization": {"stage": None}},
        "bucket as text": {"zero_optimization": {"stage": 2, "allgather_bucket_size": "2e8"}},
        "bucket auto": {"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}},
        "clipping as text": {"gradient_clipping": "1.0"},
        "clipping auto": {"gradient_clipping": "auto"},
        "fp16 enabled as text": {"fp16": {"enabled": "true"}},
        "amp": {"amp": {"enabled": True}},
        "nebula": {"nebula": {"enabled": True}},
        "sparse_attention": {"sparse_attention": {"mode": "fixed"}},
        "compression": {"compression_training": {}},
        "no zero section": {"zero_optimization": None},
    }.items():
        out[f"key/{name}"] = {"world": 1, "text": json.dumps({"train_micro_batch_size_per_gpu": 4, **ZERO, **more})}
    out["key/twice, equal"] = {"world": 1, "text": '{"train_batch_size": 8, "train_batch_size": 8}'}
    out["key/twice, different"] = {"world": 1, "text": '{"train_batch_size": 8, "train_batch_size": 16}'}
    out["key/comment"] = {"world": 1, "text": '{\n  # a comment\n  "train_batch_size": 8\n}'}
    out["key/trailing comma"] = {"world": 1, "text": '{"train_batch_size": 8,}'}

    def schedule(kind: str, steps: int = 12, **params: Any) -> None:
        told = " ".join(f"{key}={value}" for key, value in params.items())
        out[f"schedule/{kind} {told}".strip()] = {"scheduler": {"type": kind, "params": params}, "steps": steps}

    for kind, length in (
        ("WarmupLR", {}),
        ("WarmupDecayLR", {"total_num_steps": 12}),
        ("WarmupCosineLR", {"total_num_steps": 12}),
    ):
        for params in (
            {},
            {"warmup_num_steps": 4},
            {"warmup_num_steps": 4, "warmup_type": "linear"},
            {"warmup_num_steps": 1},
            {"warmup_num_steps": 0},
            {"warmup_num_steps": 2.5},
            {"warmup_num_steps": 20},
        ):
            schedule(kind, **length, **params)
    schedule("WarmupLR", warmup_num_steps=4, warmup_max_lr=0.5)
    schedule("WarmupDecayLR", warmup_num_steps=4)
    schedule("WarmupLR", warmup_num_steps="auto")
    schedule("WarmupLR", warmup_num_steps=4, warmup_typ="linear")

    auto: dict[str, Any] = {**dict.fromkeys(BATCH, "auto"), "gradient_clipping": "auto", **ZERO}
    optimizer = {
        "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}}
    }
    warm = {
        "scheduler": {
            "type": "WarmupDecayLR",
            "params": {
                "warmup_min_lr": "auto",
                "warmup_max_lr": "auto",
                "warmup_num_steps": "auto",
                "total_num_steps": "auto",
            },
        }
    }
    args: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "learning_rate": 1e-4,
        "weight_decay": 0.1,
        "warmup_steps": 10,
    }

    def joined(name: str, world: int, config: dict[str, Any], **more: Any) -> None:
        out[f"trainer/{name}"] = {"world": world, "config": config, "args": {**args, **more}, "steps": 100}

    joined("all auto", 4, {**auto, **optimizer, **warm})
    joined("nothing written", 4, dict(ZERO))
    joined("no warmup, auto", 1, {**auto, **warm}, warmup_steps=0)
    for key, value in (
        ("train_micro_batch_size_per_gpu", 8), ("train_micro_batch_size_per_gpu", 4),
        ("gradient_accumulation_steps", 1), ("gradient_accumulation_steps", 2),
        ("train_batch_size", 8), ("train_batch_size", 32), ("gradient_clipping", 1.0), ("gradient_clipping", 0.5),
        ("train_micro_batch_size_per_gpu", "4"),
    ):  # fmt: skip
        joined(f"{key}={value!r}", 4, {**auto, key: value})
    for section, key, value in (
        ("optimizer", "lr", 5e-5), ("optimizer", "lr", 1e-4), ("optimizer", "lr", "1e-4"),
        ("optimizer", "weight_decay", 0.01), ("optimizer", "betas", [0.9, 0.95]),
        ("scheduler", "warmup_num_steps", 50), ("scheduler", "warmup_num_steps", 10),
        ("scheduler", "total_num_steps", 1000), ("scheduler", "warmup_max_lr", 3e-4),
    ):  # fmt: skip
        config = json.loads(json.dumps({**auto, **optimizer, **warm}))
        config[section]["params"][key] = value
        joined(f"{section}.{key}={value!r}", 4, config)
    joined("bf16 false, trainer bf16", 1, {**auto, "bf16": {"enabled": False}}, bf16=True)
    joined("bf16 auto, trainer bf16", 1, {**auto, "bf16": {"enabled": "auto"}}, bf16=True)
    joined("fp16 true, trainer bf16", 1, {**auto, "fp16": {"enabled": True}}, bf16=True)
    joined(
        "three mismatches",
        2,
        {**auto, "train_batch_size": 64, "gradient_accumulation_steps": 4, "gradient_clipping": 0.3},
    )
    return out


def read(spec: dict[str, Any]) -> dict[str, Any]:
    """The batch sizes that DeepSpeed settles on."""
    import deepspeed.runtime.config as real

    real.dist = types.SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda *args: spec["world"])  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ds.json")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(spec["text"])
        if (
            '"sequence_parallel_size"' in spec["text"]
        ):  # only looked for in a dict: "in" on a path searches its characters
            config = real.DeepSpeedConfig(json.loads(spec["text"]))
        else:
            config = real.DeepSpeedConfig(path)
    return {key: getattr(config, key) for key in BATCH}


def schedule(spec: dict[str, Any]) -> dict[str, Any]:
    """The share of the optimizer's rate (1.0) at each update."""
    import torch
    from deepspeed.runtime import lr_schedules

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    kind, params = spec["scheduler"]["type"], spec["scheduler"]["params"]
    scheduler = getattr(lr_schedules, kind)(optimizer, **params)
    shares = []
    for _ in range(spec["steps"]):
        shares.append(float(f"{optimizer.param_groups[0]['lr']:.4g}"))
        optimizer.step()
        scheduler.step()
    return {"shares": shares}


def join(spec: dict[str, Any]) -> dict[str, Any]:
    """The JSON after "auto" is filled from the trainer's arguments, or the pairs that do not match."""
    from transformers import TrainingArguments
    from transformers.integrations import deepspeed as real

    real.dep_version_check = lambda name: None  # type: ignore[attr-defined]

    class Arguments(TrainingArguments):  # type: ignore[misc]
        @property
        def world_size(self) -> int:
            return int(spec["world"])

    with tempfile.TemporaryDirectory() as folder:
        args = Arguments(output_dir=folder, report_to="none", use_cpu=True, **spec["args"])
        config = real.HfTrainerDeepSpeedConfig(json.loads(json.dumps(spec["config"])))
        config.trainer_config_process(args)
        try:
            config.trainer_config_finalize(args, None, spec["steps"])
        except ValueError as problem:
            return {
                "error": "ValueError",
                "text": str(problem).splitlines()[0],
                "mismatches": [line[2:] for line in str(problem).splitlines() if line.startswith("- ")],
            }
    filled = dict(config.config)
    filled.pop("zero_optimization", None)
    return {"filled": filled}


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record DeepSpeed's config handling.", "deepspeed.json")
    finder = stubs.install("hjson", "einops", "msgpack", "ninja", "cpuinfo", "py_cpuinfo")
    import logging

    logging.disable(logging.CRITICAL)
    import torch

    torch.set_num_threads(1)
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        work = read if "text" in spec else schedule if "scheduler" in spec else join
        runs[name] = recording.attempt(functools.partial(work, spec))
        if options.show:
            print(name, runs[name], file=sys.stderr)
    version = options.version or recording.packages("deepspeed")["deepspeed"]
    recording.report(version, runs)
    if not options.show:
        installed = {"deepspeed": version, **recording.packages("transformers", "torch", "pydantic", "hjson")}
        recording.save(
            options.out,
            "recorders/deepspeed_config.py",
            chosen,
            version,
            runs,
            {**installed, "stubbed": ", ".join(sorted(finder.made))},
        )


if __name__ == "__main__":
    main()
