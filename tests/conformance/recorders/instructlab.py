"""Record what InstructLab's training library and Training Hub make of their arguments on the CPU.

    python tests/conformance/recorders/instructlab.py --package FOLDER --version 0.16.2 --out FILE
    ... --hub FOLDER

`--package` is the unpacked wheel of instructlab-training, `--hub` that of training-hub (its cases start with `sft/`,
`osft/` and `lora/`), `--ilab` the repository of instructlab (`ilab/`: its class of the `train` section). Real code:
``TrainingArgs``, ``TorchrunArgs``, ``check_valid_train_args``, ``run_training`` up to the command that it starts, the
parser of that command, ``process_data``, ``get_data_loader`` for each rank, ``setup_lr_scheduler`` and the loop
``train``; of Training Hub ``sft``, ``osft`` with mini-trainer's ``TrainingArgs``, and ``lora_sft`` up to TRL's trainer.
Stood in for: the subprocess, CUDA, the process group, the model (one weight), Unsloth (``stubbed``).
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import json
import logging
import os
import shutil
import sys
import tempfile
import types
import warnings
from typing import Any

import recording
import stubs
import tiny

BASE: dict[str, Any] = {
    "model_path": "model",
    "data_path": "train.jsonl",
    "ckpt_output_dir": "out",
    "data_output_dir": "data",
    "max_seq_len": 512,
    "max_batch_len": 2048,
    "effective_batch_size": 16,
    "num_epochs": 2,
    "learning_rate": 1e-5,
    "disable_flash_attn": True,
    "data_process_num_cpu_procs": 1,
}
TORCHRUN: dict[str, Any] = {"nproc_per_node": 1, "nnodes": 1, "node_rank": 0, "rdzv_id": 1}
SFT = {key: value for key, value in BASE.items() if key not in ("max_batch_len", "data_output_dir")}
OSFT: dict[str, Any] = {
    "model_path": "model",
    "data_path": "train.jsonl",
    "ckpt_output_dir": "out",
    "unfreeze_rank_ratio": 0.3,
    "effective_batch_size": 16,
    "max_tokens_per_gpu": 2048,
    "max_seq_len": 512,
    "learning_rate": 1e-5,
    "num_epochs": 2,
}
LORA: dict[str, Any] = {
    "model_path": "model", "data_path": "train.jsonl", "ckpt_output_dir": "out", "num_epochs": 2,
    "learning_rate": 1e-4, "sample_packing": False, "bf16": False,
}  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: what is called, its keywords, those of torchrun, and the rows of the data."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        kind: str, name: str, n: int = 100, torchrun: dict[str, Any] | None = None, short: int = 0, long: int = 0,
        without: tuple[str, ...] = (), **changes: Any,
    ) -> None:  # fmt: skip
        base = {"args": BASE, "sft": SFT, "osft": OSFT, "lora": LORA, "ilab": {}}[kind]
        config = {**copy.deepcopy(base), **changes}
        for key in without:
            del config[key]
        case: dict[str, Any] = {"kind": kind, "config": config, "n": n}
        if kind == "args":
            case["torchrun"] = {**TORCHRUN, **(torchrun or {})}
        elif torchrun:
            config.update(torchrun)
        if short or long:
            case["short"], case["long"] = short, long
        out[f"{kind}/{name}"] = case

    for n, batch, epochs, gpus, nodes in (
        (100, 16, 2, 1, 1), (100, 16, 3, 8, 1), (31, 8, 3, 2, 1), (64, 64, 1, 4, 1), (65, 64, 2, 4, 2),
        (5, 128, 7, 8, 1), (50, 3840, 10, 8, 1), (33, 7, 2, 8, 1), (200, 1, 1, 1, 1),
    ):  # fmt: skip
        changes = {"effective_batch_size": batch, "num_epochs": epochs}
        launch = {"nproc_per_node": gpus, "nnodes": nodes}
        add("args", f"steps/n{n} b{batch} e{epochs} w{gpus * nodes}", n, launch, **changes)
        add("sft", f"steps/n{n} b{batch} e{epochs} w{gpus * nodes}", n, launch, **changes)
        add("osft", f"steps/n{n} b{batch} e{epochs} w{gpus * nodes}", n, launch, **changes)
    for kind in ("args", "sft", "osft"):
        add(kind, "default epochs", 40, without=("num_epochs",))
        add(kind, "warmup 10", warmup_steps=10)
        add(kind, "warmup longer", warmup_steps=100)
        add(kind, "save by samples", save_samples=32)
        add(kind, "save by samples never", save_samples=24)
        add(kind, "scheduler", lr_scheduler="constant_with_warmup", warmup_steps=3)
        add(kind, "short and long rows", 60, short=20, long=15)
        add(kind, "only long rows", 0, long=15)
        add(kind, "only short rows", 0, short=15)
        add(kind, "no rows", 0)
        for name, changes in {
            "epochs 0": {"num_epochs": 0},
            "epochs -1": {"num_epochs": -1},
            "epochs fraction": {"num_epochs": 1.5},
            "epochs whole float": {"num_epochs": 2.0},
            "epochs text": {"num_epochs": "3"},
            "epochs word": {"num_epochs": "three"},
            "batch 0": {"effective_batch_size": 0},
            "batch -8": {"effective_batch_size": -8},
            "batch fraction": {"effective_batch_size": 16.5},
            "batch text": {"effective_batch_size": "16"},
            "rate text": {"learning_rate": "1e-5"},
            "rate word": {"learning_rate": "fast"},
            "rate 0": {"learning_rate": 0.0},
            "rate -1": {"learning_rate": -1.0},
            "rate whole": {"learning_rate": 1},
            "warmup fraction": {"warmup_steps": 0.1},
            "warmup -1": {"warmup_steps": -1},
            "length 0": {"max_seq_len": 0},
            "length text": {"max_seq_len": "512"},
        }.items():
            add(kind, f"value/{name}", **changes)
        for key in ("effective_batch_size", "learning_rate", "max_seq_len"):
            add(kind, f"missing/{key}", without=(key,))
        add(kind, "missing/model_path", without=("model_path",))
        add(kind, "missing/data_path", without=("data_path",))
        add(kind, "missing/ckpt_output_dir", without=("ckpt_output_dir",))
        add(kind, "key/misspelt", num_epoch=5)
        add(kind, "key/misspelt warmup", warmup_step=5)
        add(kind, "key/of transformers", num_train_epochs=5)
        add(kind, "key/far", whatever=1)
        add(kind, "no such model", model_path="models/of/nobody")
        add(kind, "no such data", data_path="elsewhere.jsonl")
        add(kind, "torchrun/both", torchrun={"rdzv_endpoint": "node:1", "master_addr": "node"})
        add(kind, "torchrun/word", torchrun={"nproc_per_node": "many"})
        add(kind, "torchrun/text", torchrun={"nproc_per_node": "2"})
        add(kind, "torchrun/nodes word", torchrun={"nnodes": "two"})
    add("args", "value/batch below length", max_batch_len=256)
    add("args", "missing/max_batch_len", without=("max_batch_len",))
    add("args", "missing/data_output_dir", without=("data_output_dir",))
    add("args", "validation/without frequency", validation_split=0.1)
    add("args", "validation/frequency 0", validation_split=0.1, validation_frequency=0)
    add("args", "validation/split 1", validation_split=1.0, validation_frequency=5)
    add("args", "validation/split -0.1", validation_split=-0.1, validation_frequency=5)
    for n, split in ((100, 0.1), (105, 0.1), (33, 0.2), (10, 0.05), (7, 0.5)):
        add("args", f"validation/n{n} {split}", n, validation_split=split, validation_frequency=3, num_epochs=3)
    add("args", "value/log level", log_level="verbose")
    add("args", "value/backend", distributed_backend="ddp")
    add("args", "value/adamw betas", adamw_betas=[0.9])
    add("args", "value/sharding", fsdp_options={"sharding_strategy": "ZERO"})
    add("args", "lora/full state", lora={"rank": 8})
    add("args", "lora/plain", lora={"rank": 8}, accelerate_full_state_at_epoch=False)
    add("args", "lora/liger", lora={"rank": 8}, accelerate_full_state_at_epoch=False, use_liger=True)
    add("args", "lora/rank 0", lora={"rank": 0})
    add("args", "lora/rank text", lora={"rank": "eight"})
    add(
        "args",
        "lora/quantized on fsdp",
        lora={"rank": 8, "quantize_data_type": "nf4"},
        accelerate_full_state_at_epoch=False,
    )
    add(
        "args",
        "lora/quantized word",
        lora={"rank": 8, "quantize_data_type": "int8"},
        accelerate_full_state_at_epoch=False,
    )
    add("args", "checkpoints/none", checkpoint_at_epoch=False)
    add("args", "checkpoints/both", save_samples=48)
    add("args", "pretraining/no block", pretraining_config={})
    add("sft", "pretraining/no block", is_pretraining=True)
    add("sft", "value/max_tokens below length", max_tokens_per_gpu=256)
    add("sft", "backend", backend="mini-trainer")
    add("osft", "backend", backend="instructlab-training")
    add("osft", "pretraining/no block", is_pretraining=True)
    add("osft", "pretraining/unmasked too", is_pretraining=True, block_size=64, unmask_messages=True)
    add("osft", "value/ratio 1.5", unfreeze_rank_ratio=1.5)
    add("osft", "value/ratio -1", unfreeze_rank_ratio=-1.0)
    add("osft", "value/ratio 1", unfreeze_rank_ratio=1)
    add("osft", "value/ratio text", unfreeze_rank_ratio="0.3")
    add("osft", "missing/unfreeze_rank_ratio", without=("unfreeze_rank_ratio",))
    add("osft", "missing/max_tokens_per_gpu", without=("max_tokens_per_gpu",))
    add("osft", "value/scheduler", lr_scheduler="cosin")
    add("osft", "value/scheduler with kwargs", lr_scheduler="cosine", lr_scheduler_kwargs={"min_lr": 0.1})
    add("osft", "value/epochs True", num_epochs=True)
    add("osft", "value/liger text", use_liger="yes")

    add("lora", "plain", 40)
    add("lora", "defaults", 50, without=("num_epochs", "learning_rate"))
    for n, more in (
        (31, {"micro_batch_size": 4, "gradient_accumulation_steps": 4}),
        (33, {"effective_batch_size": 16}),
        (33, {"effective_batch_size": 16, "gradient_accumulation_steps": 4}),
        (33, {"effective_batch_size": 3, "gradient_accumulation_steps": 4}),
        (33, {"effective_batch_size": 10, "gradient_accumulation_steps": 4, "micro_batch_size": 8}),
        (5, {"micro_batch_size": 8}),
    ):  # fmt: skip
        add("lora", f"steps/n{n} {' '.join(f'{key}={value}' for key, value in more.items())}", n, **more)
    add("lora", "warmup 3", warmup_steps=3)
    add("lora", "warmup longer", 20, warmup_steps=100)
    add("lora", "scheduler", lr_scheduler="cosine")
    add("lora", "packed", without=("sample_packing",), max_seq_len=64)
    add("lora", "save_steps 5", save_steps=5)
    for name, changes in {
        "epochs 0": {"num_epochs": 0},
        "epochs text": {"num_epochs": "3"},
        "epochs fraction": {"num_epochs": 1.5},
        "micro 0": {"micro_batch_size": 0},
        "micro text": {"micro_batch_size": "2"},
        "micro fraction": {"micro_batch_size": 2.5},
        "accumulation 0": {"gradient_accumulation_steps": 0},
        "accumulation 0 with batch": {"gradient_accumulation_steps": 0, "effective_batch_size": 16},
        "batch 0": {"effective_batch_size": 0},
        "batch fraction": {"effective_batch_size": 6.5},
        "rate text": {"learning_rate": "1e-4"},
        "rate -1": {"learning_rate": -1.0},
        "scheduler": {"lr_scheduler": "cosin"},
        "warmup -1": {"warmup_steps": -1},
    }.items():
        add("lora", f"value/{name}", **changes)
    add("lora", "key/misspelt", num_epoch=5)
    add("lora", "key/far", whatever=1)
    add("lora", "missing/data_path", without=("data_path",))

    for name, train in {
        "empty": {},
        "plain": {"num_epochs": 3, "effective_batch_size": 32},
        "epochs word": {"num_epochs": "three"},
        "epochs fraction": {"num_epochs": 1.5},
        "epochs text": {"num_epochs": "3"},
        "epochs 0": {"num_epochs": 0},
        "epochs null": {"num_epochs": None},
        "batch fraction": {"effective_batch_size": 3.5},
        "pipeline": {"pipeline": "fast"},
        "device": {"device": "gpu"},
        "phase 1 epochs 0": {"phased_phase1_num_epochs": 0},
        "phase 2 epochs 0": {"phased_phase2_num_epochs": 0},
        "phase 1 rate -1": {"phased_phase1_learning_rate": -1},
        "phase 2 batch text": {"phased_phase2_effective_batch_size": "big"},
        "phase 1 saves -1": {"phased_phase1_samples_per_save": -1},
        "backend": {"distributed_backend": "ddp"},
        "misspelt": {"num_epoch": 3},
        "far": {"whatever": 3},
        "processes text": {"nproc_per_node": "gpu"},
        "saves word": {"save_samples": "all"},
        "rank word": {"lora_rank": "high"},
    }.items():
        out[f"ilab/{name}"] = {"kind": "ilab", "config": train}
    return out


def line(words: int, number: int) -> str:
    """A row of so many words, one token each (and some around them)."""
    answer = " ".join(f"w{(number + i) % tiny.WORDS}" for i in range(words))
    return (
        json.dumps({"messages": [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": answer}]})
        + "\n"
    )


def data(case: dict[str, Any]) -> str:
    """Rows of 40 words; `short` ones have fewer than 20 tokens, `long` ones more than `max_seq_len`."""
    sizes = [40] * case["n"] + [3] * case.get("short", 0) + [600] * case.get("long", 0)
    return "".join(line(size, number) for number, size in enumerate(sizes))


@functools.cache
def model_folder() -> str:
    """The model and its tokenizer, made once."""
    folder = tempfile.mkdtemp()
    tiny.model(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def parser_of(path: str, space: dict[str, Any], run: Any) -> None:
    """Runs what a script does when it is started, with another `main`."""
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    guarded = [node for node in tree.body if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)]
    body = ast.Module(body=guarded[-1].body, type_ignores=[])
    exec(compile(body, path, "exec"), {**space, "main": run})  # the trainer's own lines


def instructlab(command: list[str]) -> dict[str, Any]:
    """What the started script would have done: its loaders, its schedule, its loop."""
    import torch
    from instructlab.training import accelerator as wrapped
    from instructlab.training import main_ds
    from instructlab.training.sampler import get_data_loader

    place = next(i for i, word in enumerate(command) if word.endswith("main_ds.py"))
    flags = dict(word.lstrip("-").split("=", 1) for word in command[1:place] if "=" in word)
    per_node = flags["nproc-per-node"]
    world = int(per_node) * int(flags["nnodes"])
    found: dict[str, Any] = {}

    def run(args: argparse.Namespace) -> None:
        loaders = [
            get_data_loader(
                data_path=args.data_path, batch_size=args.effective_batch_size, max_tokens_per_gpu=args.max_batch_len,
                seed=args.seed, rank=rank, world_size=world, flash_enabled=False, pad_token_id=0,
                pretraining_config=args.pretraining_config, validation_split=args.validation_split,
            )
            for rank in (0, world - 1)
        ]  # fmt: skip
        assert len({len(one[0]) for one in loaders}) == 1
        loader, held_out = loaders[0]
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=args.learning_rate)
        inner = wrapped.Accelerator.__new__(wrapped.Accelerator)
        inner.__dict__.update(train_loader=loader, grad_accum=1, save_samples=args.save_samples, optimizer=optimizer)
        inner.setup_lr_scheduler(optimizer, args.lr_scheduler, args.num_epochs, args.num_warmup_steps)
        seen: dict[str, Any] = {"updates": 0, "rates": [], "checkpoints": [], "evaluations": []}

        def step() -> None:
            seen["rates"].append(optimizer.param_groups[0]["lr"] / (args.learning_rate or 1))
            seen["updates"] += 1
            optimizer.step()
            inner.lr_scheduler.step()

        inner.__dict__["take_optimizer_step"] = step

        class Losses:
            def __init__(self, *args: Any, **rest: Any) -> None:
                pass

            def process_batch(self, batch: list[dict[str, Any]], **rest: Any) -> tuple[Any, float]:
                # Every rank tells how many records it had; together they are the batch.
                count = min(
                    args.effective_batch_size, len(loader.dataset) - seen.get("samples", 0) % len(loader.dataset)
                )
                seen["samples"] = seen.get("samples", 0) + count
                return types.SimpleNamespace(
                    interrupted=False, grad_accum_steps=1, total_samples=count, total_length=0,
                    num_loss_counted_tokens=0, num_minibatches=1,
                ), 0.0  # fmt: skip

        class Nothing:
            def __getattr__(self, name: str) -> Any:
                return lambda *args, **rest: 0

        def evaluated(*rest: Any) -> dict[str, Any]:
            seen["evaluations"].append(seen["updates"])
            return {}

        real = {
            name: getattr(main_ds, name)
            for name in ("BatchLossManager", "save_checkpoint", "dist", "compute_validation_loss")
        }
        main_ds.BatchLossManager = Losses
        main_ds.save_checkpoint = lambda **rest: seen["checkpoints"].append(seen["updates"])
        main_ds.dist = Nothing()
        main_ds.compute_validation_loss = evaluated
        torch.cuda.memory_allocated = lambda *rest: 0
        torch.cuda.memory_stats = lambda *rest: {"num_alloc_retries": 0}
        os.environ.update(LOCAL_RANK="0", WORLD_SIZE=str(world))
        try:
            main_ds.train(
                args,
                types.SimpleNamespace(train=lambda: None, tokenizer=None),
                inner,
                held_out,
                args.validation_frequency,
            )
        finally:
            for name, one in real.items():
                setattr(main_ds, name, one)
            os.environ.pop("LOCAL_RANK")
            os.environ.pop("WORLD_SIZE")
        rates = seen.pop("rates")
        held = len(held_out.dataset) if held_out is not None else 0
        found.update(
            records=len(loader.dataset), steps_per_epoch=len(loader), warmup=args.num_warmup_steps, eval_records=held,
            world=world, tuning="lora" if args.lora_r else "full", updates=seen["updates"],
            checkpoints=seen["checkpoints"], evaluations=seen["evaluations"], peak_share=max(rates, default=0),
            shares=rates[:3],
        )  # fmt: skip

    before, sys.argv = sys.argv, command[place:]
    args_module = dict(main_ds.__dict__)
    args_module["args"] = None
    try:
        original = argparse.ArgumentParser.parse_args

        def parsed(self: argparse.ArgumentParser, *rest: Any) -> argparse.Namespace:
            out = original(self, *rest)
            for key, usual in (("save_last", False),):
                if not hasattr(out, key):
                    setattr(out, key, usual)
            return out

        argparse.ArgumentParser.parse_args = parsed  # type: ignore[method-assign] # put back below
        parser_of(command[place], args_module, run)
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
        sys.argv = before
    return found


def start(module: Any, call: Any) -> list[str]:
    """The command that a call starts, which ends well at once."""
    started: list[list[str]] = []

    class Popen:
        def __init__(self, log: str, command: list[str], *rest: Any) -> None:
            started.append(command)

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **rest: 0

    module.StreamablePopen = Popen
    call()
    return started[0]


def unsloth() -> None:
    """Unsloth's loaders: the random Llama, with PEFT's LoRA."""
    import transformers
    from peft import LoraConfig, get_peft_model

    class Loader:
        @staticmethod
        def from_pretrained(**rest: Any) -> tuple[Any, Any]:
            path = rest.get("model_name", "model")
            tokenizer = transformers.AutoTokenizer.from_pretrained(path)
            return transformers.AutoModelForCausalLM.from_pretrained(path), tokenizer

        @staticmethod
        def get_peft_model(model: Any, **rest: Any) -> Any:
            return get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"]))

        for_training = staticmethod(lambda model, *rest: model)

    module = types.ModuleType("unsloth")
    module.FastModel = module.FastLanguageModel = Loader  # type: ignore[attr-defined] # a stand-in
    module.__spec__ = importlib_spec("unsloth")
    sys.modules["unsloth"] = module
    templates = types.ModuleType("unsloth.chat_templates")
    templates.get_chat_template = lambda tokenizer, **rest: tokenizer  # type: ignore[attr-defined]
    sys.modules["unsloth.chat_templates"] = templates


def importlib_spec(name: str) -> Any:
    """A spec, which packages are looked for by."""
    import importlib.machinery

    return importlib.machinery.ModuleSpec(name, None)


def lora(config: dict[str, Any]) -> dict[str, Any]:
    """`lora_sft` to the end."""
    import training_hub

    trainer = training_hub.lora_sft(**config)["trainer"]
    state, args = trainer.state, trainer.args
    return {
        "updates": state.global_step, "total": state.max_steps, "warmup": args.get_warmup_steps(state.max_steps),
        "batch": args.per_device_train_batch_size, "accumulation": args.gradient_accumulation_steps,
        "records": len(trainer.train_dataset), "scheduler": args.lr_scheduler_type.value, "rate": args.learning_rate,
    }  # fmt: skip


def osft(config: dict[str, Any]) -> dict[str, Any]:
    """`osft` up to mini-trainer's command; then that script's options, its loader and its schedule."""
    import mini_trainer.api_train
    import mini_trainer.train as script
    import torch
    import training_hub
    import transformers
    import typer

    command = start(mini_trainer.api_train, lambda: training_hub.osft(**config))
    place = next(i for i, word in enumerate(command) if word.endswith("train.py"))
    flags = dict(word.lstrip("-").split("=", 1) for word in command[1:place] if "=" in word)
    asked = typer.main.get_command(script.app).make_context("train", command[place + 1 :]).params
    mode = script.TrainingMode(asked["training_mode"])
    script.validate_training_mode(mode, asked["max_epochs"], asked["max_steps"], asked["max_tokens"])
    world = int(flags["nproc-per-node"]) * int(flags["nnodes"])
    loader, _ = script.get_data_loader(
        data_path=asked["data_path"], batch_size=asked["batch_size"], max_tokens_per_gpu=asked["max_tokens_per_gpu"],
        seed=asked["seed"], rank=0, world_size=world, pad_token_id=0, validation_split=asked["validation_split"],
    )  # fmt: skip
    total = script.calculate_num_training_steps(
        training_mode=mode, data_loader=loader, max_epochs=asked["max_epochs"], max_steps=0, max_tokens=0
    )
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=asked["learning_rate"])
    transformers.get_scheduler(
        name=asked["lr_scheduler"], optimizer=optimizer, num_warmup_steps=asked["num_warmup_steps"],
        num_training_steps=total, scheduler_specific_kwargs=json.loads(asked["lr_scheduler_kwargs"]),
    )  # fmt: skip
    return {
        "records": len(loader.dataset), "steps_per_epoch": len(loader), "total": total, "world": world,
        "warmup": asked["num_warmup_steps"], "scheduler": asked["lr_scheduler"], "batch": asked["batch_size"],
    }  # fmt: skip


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One case, in a folder that holds its model and data."""
    kind, config = case["kind"], copy.deepcopy(case["config"])
    if kind == "ilab":
        from instructlab.configuration import _train

        made = _train(**config)
        return {"num_epochs": made.num_epochs, "effective_batch_size": made.effective_batch_size}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shutil.copytree(model_folder(), "model")
            with open("train.jsonl", "w", encoding="utf-8") as stream:
                stream.write(data(case))
            if kind == "lora":
                return lora(config)
            if kind == "osft":
                return osft(config)
            from instructlab.training import main_ds
            from instructlab.training.config import TorchrunArgs, TrainingArgs

            if kind == "args":
                if "adamw_betas" in config:
                    config["adamw_betas"] = tuple(config["adamw_betas"])
                command = start(
                    main_ds, lambda: main_ds.run_training(TorchrunArgs(**case["torchrun"]), TrainingArgs(**config))
                )
            else:
                import training_hub

                command = start(main_ds, lambda: training_hub.sft(**config))
            return instructlab(command)
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases."""
    places = {}
    for name in ("--hub", "--ilab"):
        if name in sys.argv:
            at = sys.argv.index(name)
            places[name] = os.path.abspath(sys.argv[at + 1])
            del sys.argv[at : at + 2]
    options = recording.arguments(__doc__ or "", "instructlab.json")
    import datasets
    import torch
    import transformers

    if "--hub" in places:
        sys.path.append(places["--hub"])
    if "--ilab" in places:
        import instructlab

        instructlab.__path__.append(os.path.join(places["--ilab"], "src", "instructlab"))
    finder = stubs.install("mlflow", "wandb", "gpustat", "openai", "haikunator")
    unsloth()
    for name in ("map", "filter", "to_json"):  # one process each: many small cases
        whole = getattr(datasets.Dataset, name)
        setattr(
            datasets.Dataset, name,
            lambda self, *args, _whole=whole, num_proc=None, **rest: _whole(self, *args, **rest),
        )  # fmt: skip
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    others = ("transformers", "trl", "peft", "datasets", "torch", "pydantic", "rhai-innovation-mini-trainer")
    recording.all_cases(
        options, chosen, run, "instructlab-training", *others, stubbed=", ".join(sorted(finder.made)), hub="0.11.2"
    )


if __name__ == "__main__":
    main()
