"""Record NeMo Automodel's step scheduler and its rates on the CPU: what is refused, steps, validations, checkpoints.

    python tests/conformance/recorders/nemo_automodel.py --package UNPACKED_WHEEL --version 0.7.0 --out FILE

Real code: the loader of its YAML and its overrides, the typed sections of a recipe (up to 0.4 the functions that build
them, by their own source), ``StepScheduler``, ``OptimizerParamScheduler``; torchdata's loader and sampler with the
arguments that its own loader gives them. Stood in for: the model (one weight), rows (numbers), the loop around the
scheduler, which only asks it what is due, and what else the modules import.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import logging
import os
import tempfile
from typing import Any

import recording
import stubs

STUBBED = ("accelerate", "bitsandbytes", "megatron_fsdp", "mlflow", "nvidia", "peft", "torchao", "torchdata", "wandb")
_BASE = {
    "recipe": "TrainFinetuneRecipeForNextTokenPrediction",
    "step_scheduler": {"global_batch_size": 32, "local_batch_size": 8, "num_epochs": 2},
    "model": {"pretrained_model_name_or_path": "example/model"},
    "dataset": {"path_or_dataset": "example/rows"},
    "validation_dataset": {"path_or_dataset": "example/rows"},
    "optimizer": {"_target_": "torch.optim.AdamW", "lr": 1.0e-5, "weight_decay": 0.01},
    "lr_scheduler": {"lr_decay_style": "cosine"},
}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the `config`, `n` rows, `world` data-parallel workers, `overrides` of the launch."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 1000, world: int = 1, overrides: str = "", **sections: Any) -> None:
        config = {key: dict(value) if isinstance(value, dict) else value for key, value in _BASE.items()}
        for section, value in sections.items():
            if value is None:
                del config[section]
            elif isinstance(value, dict):
                merged = {**config.get(section, {}), **value}  # type: ignore[dict-item] # a section
                config[section] = {key: item for key, item in merged.items() if item != "(absent)"}
            else:
                config[section] = value
        out[name] = {"config": config, "n": n, "world": world, **({"overrides": overrides} if overrides else {})}

    def steps(name: str, n: int = 1000, world: int = 1, overrides: str = "", **more: Any) -> None:
        add(name, n, world, overrides, step_scheduler=more)

    for n, world, whole, local, epochs in (
        (1000, 1, 32, 8, 1), (1000, 1, 32, 8, 3), (1001, 1, 32, 8, 1), (1000, 8, 64, 2, 2), (1003, 4, 32, 4, 1),
        (31, 1, 32, 8, 2), (7, 1, 32, 8, 2), (100, 2, 16, 8, 3), (1000, 1, 10, 2, 1), (1007, 8, 8, 1, 1),
        (3, 4, 4, 1, 2),
        (4096, 8, 256, 32, 1),
    ):  # fmt: skip
        steps(f"length/n{n} w{world} g{whole} l{local} e{epochs}", n, world, global_batch_size=whole,
              local_batch_size=local, num_epochs=epochs)  # fmt: skip
    for limit in (1, 10, 64, 65, 500):
        steps(f"limit/{limit}", max_steps=limit)
        steps(f"limit/{limit} alone", max_steps=limit, num_epochs="(absent)")
        steps(f"limit/{limit} null epochs", max_steps=limit, num_epochs=None)
    steps("length/default", num_epochs="(absent)")
    steps("length/null epochs", num_epochs=None)
    steps("length/default batches", n=100, global_batch_size="(absent)", local_batch_size="(absent)")
    add("length/no scheduler section", step_scheduler=None)
    for epochs in (0, -1, 1.5, "2", "three"):
        steps(f"epochs/{epochs!r}", num_epochs=epochs)
    for limit in (0, -1, "20", 20.0, 20.5):
        steps(f"limit/{limit!r}", max_steps=limit)
    for whole, local, world in (
        (32, 5, 1),
        (32, 8, 3),
        (4, 8, 1),
        (32, 64, 1),
        (0, 8, 1),
        (32, 0, 1),
        (-8, 8, 1),
        (24, 4, 8),
    ):
        steps(f"batch/g{whole} l{local} w{world}", 1000, world, global_batch_size=whole, local_batch_size=local)
    steps("batch/null", global_batch_size=None)
    steps("batch/text", global_batch_size="32")
    steps("batch/fraction", global_batch_size=32.5)
    for every in (1, 7, 32, 100, 0, -1, None, "10"):
        steps(f"validation/{every!r}", val_every_steps=every)
        steps(f"checkpoint/{every!r}", ckpt_every_steps=every)
    steps("checkpoint/not at epochs", ckpt_every_steps=20, save_checkpoint_every_epoch=False)
    steps("checkpoint/not at epochs by default", save_checkpoint_every_epoch=False)
    add("validation/no data", validation_dataset=None, step_scheduler={"val_every_steps": 10})
    steps("log/0", log_remote_every_steps=0)
    steps("gc/0", gc_every_steps=0)
    for warm in (0, 1, 10, 62, 63, 64, 200, 0.1, 1.0, None, "10", -5):
        add(f"warmup/{warm!r}", lr_scheduler={"lr_warmup_steps": warm})
    add("warmup/default of few", n=100, lr_scheduler={})
    add("warmup/default of many", n=40000, step_scheduler={"global_batch_size": 8}, lr_scheduler={})
    add("warmup/longer decay", lr_scheduler={"lr_warmup_steps": 100, "lr_decay_steps": 1000})
    add("warmup/shorter decay", lr_scheduler={"lr_warmup_steps": 10, "lr_decay_steps": 20})
    add("warmup/decay of the warmup", lr_scheduler={"lr_warmup_steps": 20, "lr_decay_steps": 20})
    add("warmup/no schedule", lr_scheduler=None)
    for style in ("constant", "linear", "inverse-square-root", "WSD", "cosin"):
        add(f"style/{style}", lr_scheduler={"lr_decay_style": style, "lr_warmup_steps": 5})
    add("style/WSD with its steps", lr_scheduler={"lr_decay_style": "WSD", "wsd_decay_steps": 10, "lr_wsd_decay_style":
        "linear", "lr_warmup_steps": 5})  # fmt: skip
    add("rate/min above", lr_scheduler={"min_lr": 1.0e-4})
    add("rate/min equal", lr_scheduler={"min_lr": 1.0e-5})
    add("rate/min negative", lr_scheduler={"min_lr": -1.0e-5})
    add("rate/init above", lr_scheduler={"init_lr": 1.0e-4})
    add("rate/text", optimizer={"lr": "1e-5"})
    add("rate/decay grows", lr_scheduler={"start_wd": 0.0, "end_wd": 0.1})
    add("rate/decay shrinks", lr_scheduler={"start_wd": 0.1, "end_wd": 0.0})
    add("key/misspelt", step_scheduler={"max_step": 10})
    add("key/far", step_scheduler={"whatever": 10})
    add("key/misspelt of the schedule", lr_scheduler={"lr_warmup_step": 10})
    add("key/far of the schedule", lr_scheduler={"whatever": 10})
    add("key/misspelt section", lr_schedulr={"lr_warmup_steps": 10})
    add("key/target", step_scheduler={"_target_": "torch.optim.SGD"})
    add("key/override", overrides="--step_scheduler.max_steps=7")
    add("key/override in two words", overrides="--step_scheduler.max_steps 7")
    add("key/misspelt override", overrides="--step_scheduler.max_step=7")
    return out


class Rows:
    """A number of rows."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


def functions(path: str, *names: str) -> dict[str, Any]:
    """Functions of a module by their source alone: the module imports what training needs."""
    spec = importlib.util.find_spec("nemo_automodel")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    with open(os.path.join(spec.submodule_search_locations[0], path), encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    space: dict[str, Any] = {"logger": logging.getLogger("recorded")}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*future, *body], []), path, "exec"), space)  # the trainer's own functions
    return space


def built(config: Any, loader: Any, world: int, optimizer: Any) -> tuple[Any, Any]:
    """The step scheduler and the schedules of rates."""
    steps = importlib.import_module("nemo_automodel.components.training.step_scheduler")
    local = config.get("step_scheduler.local_batch_size", 1)
    if hasattr(steps, "StepSchedulerConfig"):
        recipe = importlib.import_module("nemo_automodel.recipes._typed_config").RecipeConfig(config)
        scheduler = recipe.step_scheduler.build(loader, world, local)
        rates = recipe.lr_scheduler
        return scheduler, rates.build([optimizer], scheduler) if rates is not None else None
    found = functions("recipes/llm/train_ft.py", "build_step_scheduler", "build_lr_scheduler")
    found["StepScheduler"] = steps.StepScheduler
    found["OptimizerParamScheduler"] = importlib.import_module(
        "nemo_automodel.components.optim.scheduler"
    ).OptimizerParamScheduler
    scheduler = found["build_step_scheduler"](config.get("step_scheduler", None), loader, world, local)
    return scheduler, found["build_lr_scheduler"](config.get("lr_scheduler", None), [optimizer], scheduler)


def trained(case: dict[str, Any], path: str) -> dict[str, Any]:
    """One training of one weight."""
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

    parser = importlib.import_module("nemo_automodel.components.config._arg_parser")
    config = parser.parse_args_and_load_config(argv=["--config", path, *case.get("overrides", "").split()])
    rows, world = Rows(case["n"]), case["world"]
    sampler = StatefulDistributedSampler(rows, seed=42, drop_last=True, num_replicas=world, rank=0, shuffle=True)
    local = config.get("step_scheduler.local_batch_size", 1)
    loader = StatefulDataLoader(rows, batch_size=local, sampler=sampler, num_workers=0)
    chosen = config.optimizer.to_dict()
    chosen.pop("_target_")
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))], **chosen)
    scheduler, rates = built(config, loader, world, optimizer)
    seen: list[float] = []
    validations, checkpoints = [], []
    for epoch in scheduler.epochs:
        scheduler.set_epoch(epoch)
        for _ in scheduler:
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            for one in rates or ():
                one.step(1)
            if scheduler.is_val_step:
                validations.append(len(seen))
            if scheduler.is_ckpt_step:
                checkpoints.append(len(seen))
    told: dict[str, Any] = {"updates": len(seen), "validations": validations[:40], "checkpoints": checkpoints[:40],
                            "counts": [len(validations), len(checkpoints)]}  # fmt: skip
    if rates is not None:
        top = max(seen)
        told["warmup"], told["decay"] = rates[0].lr_warmup_steps, rates[0].lr_decay_steps
        told["peak_step"], told["peak_share"] = seen.index(top) + 1, round(top / float(chosen["lr"]), 4)
    return told


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
            yaml.safe_dump(case["config"], stream, sort_keys=False)
        return trained(case, path)


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "nemo_automodel.json")
    import transformers  # noqa: F401 # before stand-ins do

    stubs.install(*STUBBED)
    logging.disable(logging.CRITICAL)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "nemo-automodel", "torch", "torchdata")


if __name__ == "__main__":
    main()
