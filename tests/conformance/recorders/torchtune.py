"""Record torchtune recipes on the CPU: steps an epoch, scheduler length, updates, rates, errors; and loaders' lengths.

    python tests/conformance/recorders/torchtune.py --package FOLDER --version 0.6.1 --out FILE

Real code: the recipes' ``setup`` and ``train`` (the folder ``recipes`` lies beside the package in the wheel), their
data
loaders, the cosine schedule. Stood in for: model (one layer), tokenizer, rows of four tokens, checkpoint files,
torchao.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import os
import sys
import tempfile
import types
import warnings
from typing import Any

import recording
import stubs

SINGLE = "lora_finetune_single_device"
RECIPES = (SINGLE, "full_finetune_single_device")
PARTS = "recorded_parts"  # the module that the configs below name for tokenizer, rows and logger


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: a ``recipe`` with ``n`` rows and part of its config, or a loader's ``n`` and ``world``."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 100, recipe: str = SINGLE, **more: Any) -> None:
        base = {"batch_size": 2, "gradient_accumulation_steps": 4, "epochs": 2, "max_steps_per_epoch": None}
        config = {key: value for key, value in {**base, **more}.items() if value != "(absent)"}
        out[name] = {"recipe": recipe, "n": n, "config": config}

    for recipe in RECIPES:
        for n, batch, accumulation, epochs in (
            (100, 2, 4, 3), (100, 2, 4, 1), (100, 8, 1, 3), (31, 2, 4, 3), (31, 8, 4, 1), (500, 2, 4, 1), (7, 2, 4, 2),
            (7, 8, 1, 2),
            (33, 4, 2, 2), (64, 8, 2, 3), (10, 2, 3, 4), (9, 2, 2, 3),
        ):  # fmt: skip
            add(
                f"length/{recipe} n{n} b{batch} a{accumulation} e{epochs}",
                n,
                recipe,
                batch_size=batch,
                gradient_accumulation_steps=accumulation,
                epochs=epochs,
            )
        for steps in (0, 1, 5, 12, 50):
            add(f"max/{recipe} {steps}", recipe=recipe, max_steps_per_epoch=steps)
    for warmup in (0, 1, 5, 10, 23, 24, 25, 100):
        add(f"warmup/{warmup} of 24", warmup=warmup)
    add("warmup/10 of 10, capped", warmup=10, max_steps_per_epoch=5)
    add("warmup/100 of 7", 60, warmup=100, epochs=1)
    add("warmup/2.5", warmup=2.5)
    add("warmup/ratio", num_warmup_ratio=0.1)
    add("cycles/1.5", num_cycles=1.5)
    for name, more in {
        "epochs 0": {"epochs": 0},
        "epochs 1.5": {"epochs": 1.5},
        "epochs absent": {"epochs": "(absent)"},
        "epochs as text": {"epochs": "2"},
        "max steps absent": {"max_steps_per_epoch": "(absent)"},
        "accumulation 0": {"gradient_accumulation_steps": 0},
        "accumulation absent": {"gradient_accumulation_steps": "(absent)"},
        "batch 0": {"batch_size": 0},
        "batch as text": {"batch_size": "2"},
        "unknown top key": {"max_stepss": 5},
        "dtype fp16": {"dtype": "fp16"},
        "rate as text": {"lr": "abc"},
        "rate 0": {"lr": 0.0},
        "no scheduler": {"lr_scheduler": None},
        "two data sets": {"sets": [40, 61]},
    }.items():
        add(f"value/{name}", **more)
    for n in (7, 31, 100, 1000):
        for world, batch, accumulation in ((1, 2, 4), (2, 2, 4), (4, 4, 2), (8, 2, 1), (8, 8, 4)):
            out[f"loader/n{n} w{world} b{batch} a{accumulation}"] = {
                "n": n,
                "world": world,
                "batch_size": batch,
                "gradient_accumulation_steps": accumulation,
            }
    for words in (
        "epochs=5", "optimizer.lr=5e-5", "~max_steps_per_epoch", "~optimizer.weight_decay", "~optimizer",
        "~optimizer._component_", "~epoch", "~a.b", "~epochs=2", "batch_size=None", "gradient_acumulation_steps=2",
        "optimizer=torch.optim.SGD", "optimizer=torch.optim.SGD optimizer.lr=0.5", "epochs=5 epochs=7", "epochs",
        "lr_scheduler.num_warmup_steps=3 ~epochs epochs=9", "new.key=1", "model=other.builder", "epochs=1=2",
    ):  # fmt: skip
        out[f"cli/{words}"] = {"words": words, "file": _FILE}
    return out


_FILE = {
    "epochs": 2,
    "batch_size": 2,
    "gradient_accumulation_steps": 4,
    "max_steps_per_epoch": 3,
    "optimizer": {"_component_": "torch.optim.AdamW", "lr": 0.001, "weight_decay": 0.1},
    "lr_scheduler": {
        "_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
        "num_warmup_steps": 10,
    },
    "model": {"_component_": "torchtune.models.llama3_2.lora_llama3_2_1b"},
}


def merged(spec: dict[str, Any]) -> dict[str, Any]:
    """What the command's words make of a file."""
    import copy
    from argparse import Namespace

    from omegaconf import OmegaConf
    from torchtune.config._utils import _merge_yaml_and_cli_args

    made = _merge_yaml_and_cli_args(Namespace(**copy.deepcopy(spec["file"])), spec["words"].split())
    return {"merged": OmegaConf.to_container(made)}


def parts() -> types.ModuleType:
    """The module of stand-ins that a config can name."""
    import torch

    module = types.ModuleType(PARTS)

    class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
        def __init__(self, tokenizer: Any, n: int) -> None:
            self.n = n

        def __len__(self) -> int:
            return self.n

        def __getitem__(self, i: int) -> dict[str, Any]:
            return {"tokens": [1, 2, 3, 4], "labels": [1, 2, 3, 4]}

    class Tokenizer:
        pad_id = 0

    module.__dict__.update(Rows=Rows, Tokenizer=Tokenizer, Logger=stubs.Stand)
    return module


def load(recipe: str) -> Any:
    """The recipe's class, from the file beside the package: ``recipes`` refuses to be imported as a package."""
    import torchtune

    path = os.path.join(os.path.dirname(os.path.dirname(torchtune.__file__)), "recipes", f"{recipe}.py")
    spec = importlib.util.spec_from_file_location(f"recorded_{recipe}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(
        value for name, value in vars(module).items() if "Recipe" in name and value.__module__ == module.__name__
    )


def train(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one recipe. ``scheduled``: steps that the schedule was told; ``updates``: steps of the optimizer."""
    import torch
    import yaml
    from omegaconf import OmegaConf

    own = dict(spec["config"])
    scheduler: dict[str, Any] | None = {
        "_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
        "num_warmup_steps": own.pop("warmup", 2),
        **{key: own.pop(key) for key in ("num_cycles", "num_warmup_ratio") if key in own},
    }
    if "lr_scheduler" in own:
        scheduler = own.pop("lr_scheduler")
    rates: list[float] = []
    seen: dict[str, Any] = {"saved": []}

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(8, 8)

        def forward(self, tokens: Any, **rest: Any) -> Any:
            return self.table(tokens)

    class Recipe(load(spec["recipe"])):  # type: ignore[misc]
        def load_checkpoint(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"model": {}}

        def _setup_model(self, *args: Any, **kwargs: Any) -> Any:
            self.adapter_params = {}
            self.activations_handling_ctx = contextlib.nullcontext()
            return Layer()

        def _setup_optimizer(self, *args: Any, **kwargs: Any) -> Any:
            made = super()._setup_optimizer(*args, **kwargs)
            made.register_step_pre_hook(lambda *rest: rates.append(float(f"{made.param_groups[0]['lr']:.4g}")))
            return made

        def _setup_lr_scheduler(self, *args: Any, **kwargs: Any) -> Any:
            seen["scheduled"] = kwargs["num_training_steps"]
            return super()._setup_lr_scheduler(*args, **kwargs)

        def save_checkpoint(self, epoch: int, *args: Any, **kwargs: Any) -> None:
            seen["saved"].append(len(rates))

    with tempfile.TemporaryDirectory() as folder:
        sets = own.pop("sets", None)
        rows = [{"_component_": f"{PARTS}.Rows", "n": n} for n in sets or [spec["n"]]]
        config = {
            "output_dir": folder,
            "device": "cpu",
            "dtype": "fp32",
            "seed": 1,
            "shuffle": True,
            "compile": False,
            "resume_from_checkpoint": False,
            "optimizer_in_bwd": False,
            "log_every_n_steps": 1000000,
            "tokenizer": {"_component_": f"{PARTS}.Tokenizer"},
            "metric_logger": {"_component_": f"{PARTS}.Logger"},
            "loss": {"_component_": "torch.nn.CrossEntropyLoss"},
            "optimizer": {"_component_": "torch.optim.SGD", "lr": own.pop("lr", 1.0)},
            "dataset": rows if sets else rows[0],
            "model": {"_component_": "torch.nn.Identity"},
            "checkpointer": {"_component_": "torch.nn.Identity", "model_type": "LLAMA3"},
            "lr_scheduler": scheduler,
            **own,
        }
        cfg = OmegaConf.create(yaml.safe_dump(config))
        with contextlib.redirect_stderr(io.StringIO()):
            recipe = Recipe(cfg)
            recipe.setup(cfg)
            recipe.train()
    return {
        "steps_per_epoch": recipe._steps_per_epoch,
        **seen,
        "updates": len(rates),
        **({"peak_share": max(rates), "peak_step": rates.index(max(rates)) + 1} if rates and max(rates) else {}),
        **({"shares": rates} if spec.get("shares") else {}),
    }


def loader(spec: dict[str, Any]) -> dict[str, Any]:
    """The length of the loader of one of several processes, made as the distributed recipes make theirs."""
    from torchdata.stateful_dataloader import StatefulDataLoader
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

    rows = sys.modules[PARTS].Rows(None, spec["n"])
    sampler = StatefulDistributedSampler(rows, num_replicas=spec["world"], rank=0, shuffle=True, seed=0)
    made = StatefulDataLoader(dataset=rows, batch_size=spec["batch_size"], sampler=sampler, drop_last=True)
    return {
        "samples": len(sampler),
        "batches": len(made),
        "steps_per_epoch": len(made) // spec["gradient_accumulation_steps"],
    }


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record torchtune recipes.", "torchtune.json")
    finder = stubs.install("torchao", "kagglehub", "tiktoken", "blobfile", "sentencepiece", "PIL")
    import logging

    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    sys.modules[PARTS] = parts()
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        work = train if "recipe" in spec else merged if "words" in spec else loader
        runs[name] = recording.attempt(
            functools.partial(work, {**spec, "shares": name.startswith(("warmup/", "cycles/"))})
        )
        if options.show:
            print(name, runs[name])
    version = options.version or recording.packages("torchtune")["torchtune"]
    installed = {"torchtune": version, **recording.packages("torch", "torchdata", "omegaconf")}
    recording.report(version, runs)
    if not options.show:
        told = {**installed, "stubbed": ", ".join(sorted(finder.made))}
        recording.save(options.out, "recorders/torchtune.py", chosen, version, runs, told)


if __name__ == "__main__":
    main()
