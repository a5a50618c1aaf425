"""Record what axolotl's own code makes of a config: its total, its arguments for transformers, and what those give.

    python tests/conformance/recorders/axolotl.py --package FOLDER --version 0.12.2 --out FILE

Real code: validate_config, normalize_config, the split of the data, calculate_total_num_steps, the trainer builders up
to the moment where they make the training arguments, then the Trainer of the pinned transformers with those arguments.
Stood in for: tokenization and loading (rows of three tokens), the model's config, what STUBBED names if not installed.
"""

from __future__ import annotations

import copy
import os
import tempfile
import types
import warnings
from typing import Any

import hf
import recording
import stubs

STUBBED = (
    "bitsandbytes",
    "evaluate",
    "fastcore",
    "numba",
    "optimum",
    "posthog",
    "ring_flash_attn",
    "torchao",
    "triton",
    "wandb",
)
KEPT = (
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps", "learning_rate",
    "warmup_steps",
    "warmup_ratio", "lr_scheduler_type", "lr_scheduler_kwargs", "eval_strategy", "eval_steps", "eval_on_start",
    "save_strategy",
    "save_steps", "save_total_limit", "logging_steps", "load_best_model_at_end", "metric_for_best_model",
    "dataloader_drop_last",
)  # fmt: skip
TOLD = (  # of these, what is recorded (where it is neither 0 nor false)
    "max_steps", "warmup_steps", "warmup_ratio", "eval_strategy", "eval_steps", "eval_on_start", "save_strategy",
    "save_steps",
    "save_total_limit", "load_best_model_at_end",
)  # fmt: skip
BASE: dict[str, Any] = {
    "base_model": "org/tiny-llama",
    "datasets": [{"path": "data.jsonl", "ds_type": "json", "type": "alpaca"}],
    "sequence_len": 512,
    "output_dir": "./out",
    "learning_rate": 0.0002,
    "optimizer": "adamw_torch",
    "lr_scheduler": "cosine",
}
PAIRS = [{"path": "data.jsonl", "split": "train", "type": "chatml.intel"}]


def configs() -> dict[str, dict[str, Any]]:
    """All cases by id: ``config`` as its YAML loads, ``n`` training rows, ``test_n`` test rows, ``world`` processes."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str, n: int = 100, world: int = 1, test_n: int = 0, shape: tuple[Any, ...] = (8, 1, 3), **more: Any
    ) -> None:
        config = copy.deepcopy(BASE)
        for key, value in zip(("micro_batch_size", "gradient_accumulation_steps", "num_epochs"), shape, strict=True):
            if value is not None:
                config[key] = value
        config.update(more)
        config = {key: value for key, value in config.items() if value != "(absent)"}
        assert name not in out, name
        out[name] = {"n": n, "world": world, "test_n": test_n, "config": config}

    grow(add)
    refuse(add)
    return out


def grow(add: Any) -> None:
    """Configs that train."""
    for n, micro, accumulation, epochs in (
        (100, 8, 1, 3), (100, 2, 4, 3), (100, 2, 4, 1), (31, 2, 4, 3), (31, 8, 4, 1), (7, 2, 4, 1), (7, 8, 16, 1), (7,
        8, 16, 3),
        (500, 2, 8, 2), (33, 4, 2, 2), (64, 8, 2, 3), (257, 3, 5, 2), (1, 1, 1, 1), (10, 2, 3, 4),
    ):  # fmt: skip
        add(f"length/n{n} m{micro} a{accumulation} e{epochs}", n, shape=(micro, accumulation, epochs))
    for epochs in (0.5, 1.5, 2.3):
        add(f"epochs/{epochs}", shape=(8, 4, epochs))
    add("epochs/absent", shape=(8, 1, None))
    add("epochs/zero", shape=(8, 1, 0))
    add("epochs/negative", shape=(8, 1, -1))
    for n, world, more in (
        (1000, 8, {}), (100, 2, {}), (100, 4, {}), (31, 2, {}), (100, 4, {"context_parallel_size": 2,
        "flash_attention": True}),
        (100, 4, {"sequence_parallel_degree": 2, "flash_attention": True}), (100, 8, {"tensor_parallel_size": 2}),
        (100, 4, {"ddp": False}),
    ):  # fmt: skip
        add(f"world/n{n} w{world} {' '.join(more)}".strip(), n, world, shape=(2, 4, 3), **more)
    add("batch/batch_size and micro", shape=(2, None, 3), batch_size=32)
    add("batch/batch_size equals micro", shape=(4, None, 3), batch_size=4)
    add("batch/nothing", shape=(None, None, 3))
    add("batch/micro only", shape=(4, None, 3))
    add("batch/accumulation only", shape=(None, 4, 3))
    add("batch/drop last", shape=(8, 1, 3), dataloader_drop_last=True)
    for name, more in {
        "steps 0": {"warmup_steps": 0},
        "steps 1": {"warmup_steps": 1},
        "steps 10": {"warmup_steps": 10},
        "steps 100": {"warmup_steps": 100},
        "steps -5": {"warmup_steps": -5},
        "steps 0.1": {"warmup_steps": 0.1},
        "ratio 0": {"warmup_ratio": 0.0},
        "ratio 0.03": {"warmup_ratio": 0.03},
        "ratio 0.1": {"warmup_ratio": 0.1},
        "ratio 1.0": {"warmup_ratio": 1.0},
        "ratio 5": {"warmup_ratio": 5},
        "steps 0 ratio 0.1": {"warmup_steps": 0, "warmup_ratio": 0.1},
        "steps 10 ratio 0.1": {"warmup_steps": 10, "warmup_ratio": 0.1},
        "constant ratio 0.1": {"lr_scheduler": "constant", "warmup_ratio": 0.1},
        "constant_with_warmup ratio 0.1": {"lr_scheduler": "constant_with_warmup", "warmup_ratio": 0.1},
        "linear steps 5": {"lr_scheduler": "linear", "warmup_steps": 5},
    }.items():
        add(f"warmup/{name}", **more)
    add("warmup/default of 300", 800, shape=(8, 1, 3))
    add("warmup/default of 8", 20, shape=(8, 1, 3))
    add("warmup/ratio of 15", 40, shape=(8, 1, 3), warmup_ratio=0.1)
    for steps in (5, 20, 38, 60):
        add(f"max/{steps}", max_steps=steps)
        add(f"max/{steps} ratio 0.1", max_steps=steps, warmup_ratio=0.1)
    add("max/60 of 252 dpo ratio 0.1", 756, shape=(2, 3, 2), rl="dpo", datasets=PAIRS, max_steps=60, warmup_ratio=0.1)
    for size in (0, 0.05, 0.1, 0.5, 20, 99, 100, 1, 1.0, None, "0.1"):
        add(f"split/{size!r}", val_set_size=size)
    add("split/0.05 of 10", 10, val_set_size=0.05)
    add("split/shards", dataset_shard_num=2, dataset_shard_idx=0)
    add(
        "split/test data",
        test_n=12,
        test_datasets=[{"path": "test.jsonl", "ds_type": "json", "type": "alpaca", "split": "train"}],
        evals_per_epoch=2,
    )
    held: dict[str, Any] = {"val_set_size": 0.1}
    for name, more in {
        "nothing": {},
        "evals 1": {"evals_per_epoch": 1},
        "evals 2": {"evals_per_epoch": 2},
        "evals 4 saves 1": {"evals_per_epoch": 4, "saves_per_epoch": 1},
        "evals 4 saves 2": {"evals_per_epoch": 4, "saves_per_epoch": 2},
        "evals 100": {"evals_per_epoch": 100},
        "eval_steps 10": {"eval_steps": 10},
        "eval_steps 100": {"eval_steps": 100},
        "eval_steps 0.25": {"eval_steps": 0.25},
        "eval_strategy epoch": {"eval_strategy": "epoch"},
        "eval_strategy steps": {"eval_strategy": "steps"},
        "eval_strategy 'no'": {"eval_strategy": "no"},
        "save_steps 10": {"save_steps": 10},
        "save_steps 100": {"save_steps": 100},
        "save_steps 0.2": {"save_steps": 0.2},
        "save_strategy 'no'": {"save_strategy": "no"},
        "saves 6": {"saves_per_epoch": 6},
        "saves 1": {"saves_per_epoch": 1},
        "best": {"eval_steps": 5, "save_steps": 10, "load_best_model_at_end": True},
        "stopping": {"eval_steps": 5, "save_steps": 10, "early_stopping_patience": 2},
        "logging 5": {"logging_steps": 5},
    }.items():
        add(f"cadence/{name}", **held, **more)
    add("cadence/one epoch, evals 1", shape=(8, 1, 1), evals_per_epoch=1, **held)
    add("cadence/one epoch, saves 1", shape=(8, 1, 1), saves_per_epoch=1, **held)
    add("cadence/half epoch, evals 1", shape=(2, 1, 0.5), evals_per_epoch=1, saves_per_epoch=1, **held)
    add("cadence/evals without data", evals_per_epoch=4)
    add("cadence/eval_steps without data", eval_steps=10)
    add("cadence/max steps, evals 4", max_steps=20, evals_per_epoch=4, **held)
    for kind in ("dpo", "ipo", "orpo", "simpo"):
        add(f"rl/{kind}", 101, shape=(2, 4, 2), rl=kind, datasets=PAIRS)
    add("rl/kto", 101, shape=(2, 4, 2), rl="kto", datasets=PAIRS, remove_unused_columns=False)
    add("rl/dpo split", 101, shape=(2, 4, 2), rl="dpo", datasets=PAIRS, val_set_size=0.1, evals_per_epoch=2)
    add("rl/dpo max 10", 101, shape=(2, 4, 2), rl="dpo", datasets=PAIRS, max_steps=10)
    add(
        "rl/dpo stopping",
        101,
        shape=(2, 4, 2),
        rl="dpo",
        datasets=PAIRS,
        val_set_size=0.1,
        eval_steps=5,
        save_steps=5,
        early_stopping_patience=1,
    )
    add("rl/dpo warmup 10", 101, shape=(2, 4, 2), rl="dpo", datasets=PAIRS, warmup_steps=10)
    add("rl/dpo world 2", 101, 2, shape=(2, 4, 2), rl="dpo", datasets=PAIRS)
    add("type/rate as text", learning_rate="2e-5")
    add("type/numbers as text", shape=("8", "1", "3"))
    add("type/decay as text", weight_decay="1e-2")


def refuse(add: Any) -> None:
    """Configs that some version refuses, or ought to."""
    preference: dict[str, Any] = {"rl": "dpo", "datasets": PAIRS}
    bad: dict[str, dict[str, Any]] = {
        "no rate": {"learning_rate": "(absent)"},
        "rate 0": {"learning_rate": 0},
        "rate negative": {"learning_rate": -0.001},
        "no data": {"datasets": "(absent)"},
        "no model": {"base_model": "(absent)"},
        "evals as float": {"val_set_size": 0.1, "evals_per_epoch": 0.5},
        "eval no unquoted": {"val_set_size": 0.1, "eval_strategy": False},
        "save no unquoted": {"save_strategy": False},
        "eval 'no' without data": {"val_set_size": 0, "eval_strategy": "no"},
        "eval_steps and evals": {"val_set_size": 0.1, "eval_steps": 10, "evals_per_epoch": 2},
        "eval_steps with epoch": {"val_set_size": 0.1, "eval_steps": 10, "eval_strategy": "epoch"},
        "evals with epoch": {"val_set_size": 0.1, "evals_per_epoch": 2, "eval_strategy": "epoch"},
        "save_steps and saves": {"save_steps": 10, "saves_per_epoch": 2},
        "save_steps with epoch": {"save_steps": 10, "save_strategy": "epoch"},
        "save best without metric": {"val_set_size": 0.1, "save_strategy": "best"},
        "eval_steps without data": {"val_set_size": 0, "eval_steps": 10},
        "evals without data": {"val_set_size": 0, "evals_per_epoch": 4},
        "eval_strategy without data": {"val_set_size": 0, "eval_strategy": "epoch"},
        "two evaluation sets": {"val_set_size": 0.1, "test_datasets": [{"path": "test.jsonl", "ds_type": "json",
        "type": "alpaca"}]},
        "stopping without steps": {"val_set_size": 0.1, "early_stopping_patience": 2},
        "stopping with evals": {"val_set_size": 0.1, "early_stopping_patience": 2, "evals_per_epoch": 2,
        "saves_per_epoch": 2},
        "stopping, not a multiple": {"val_set_size": 0.1, "early_stopping_patience": 2, "eval_steps": 7, "save_steps":
        10},
        "stopping, shares 0.1 and 0.3": {"val_set_size": 0.1, "early_stopping_patience": 2, "eval_steps": 0.1,
        "save_steps": 0.3},
        "stream without max": {"datasets": "(absent)", "pretraining_dataset": "data.jsonl"},
        "stream with split": {"datasets": "(absent)", "pretraining_dataset": "data.jsonl", "max_steps": 20,
        "val_set_size": 0.1},
        "packing with dpo": {**preference, "sample_packing": True, "flash_attention": True},
        "packing with kto": {"rl": "kto", "datasets": PAIRS, "sample_packing": True, "remove_unused_columns": False},
        "kto keeps columns": {"rl": "kto", "datasets": PAIRS},
        "eval table with packing": {"sample_packing": True, "flash_attention": True, "eval_table_size": 5,
        "val_set_size": 0.1},
        "simpo with ratio": {"rl": "simpo", "datasets": PAIRS, "warmup_ratio": 0.1},
        "unknown rl": {"rl": "dppo", "datasets": PAIRS},
        "qlora without 4bit": {"adapter": "qlora", "lora_r": 8, "lora_alpha": 16},
        "qlora with 8bit": {"adapter": "qlora", "load_in_8bit": True, "load_in_4bit": True, "lora_r": 8, "lora_alpha":
        16},
        "4bit without adapter": {"load_in_4bit": True},
        "lora without rank": {"adapter": "lora", "lora_target_linear": True},
        "lora": {"adapter": "lora", "lora_r": 8, "lora_alpha": 16, "lora_target_linear": True},
        "unknown scheduler": {"lr_scheduler": "cosin"},
        "unknown optimizer": {"optimizer": "adamw8"},
        "unknown key": {"warmup_rato": 0.1},
        "neftune 0": {"neftune_noise_alpha": 0},
        "lr_groups and loraplus": {"lr_groups": [{"name": "a", "modules": ["x"], "lr": 0.1}], "loraplus_lr_ratio": 16},
        "quadratic with linear": {"lr_quadratic_warmup": True, "lr_scheduler": "linear"},
        "min ratio with linear": {"cosine_min_lr_ratio": 0.1, "lr_scheduler": "linear"},
        "null split": {"val_set_size": None},
        "negative split": {"val_set_size": -0.1},
        "text split": {"val_set_size": "ten"},
        "max_steps 0": {"max_steps": 0},
        "max_steps -1": {"max_steps": -1},
        "max_steps 10.5": {"max_steps": 10.5},
        "sharegpt": {"datasets": [{"path": "data.jsonl", "type": "sharegpt"}]},
        "deepspeed and fsdp": {"deepspeed": "zero2.json", "fsdp": ["full_shard"]},
        "evaluation_strategy": {"val_set_size": 0.1, "evaluation_strategy": "epoch"},
    }  # fmt: skip
    for name, more in bad.items():
        add(f"refused/{name}", **more)
    add("refused/batch_size only", shape=(None, None, 3), batch_size=16)
    add("refused/batch_size and accumulation", shape=(None, 4, 3), batch_size=16)
    add("refused/all three", shape=(4, 4, 3), batch_size=16)
    add("refused/micro 0", shape=(0, 4, 3))
    add("refused/micro negative", shape=(-2, 4, 3))
    add("refused/micro 2.5", shape=(2.5, 4, 3))
    add("refused/accumulation 0", shape=(4, 0, 3))
    add("refused/epochs null", shape=(4, 4, 3), num_epochs=None)
    add("refused/epochs text", shape=(4, 4, "three"))
    for generations, micro, accumulation in ((1, 4, 1), (4, 4, 1), (4, 3, 1), (8, 4, 2), (8, 4, 1)):
        trl = {"num_generations": generations, "max_completion_length": 8}
        add(
            f"grpo/g{generations} m{micro} a{accumulation}",
            shape=(micro, accumulation, 1),
            rl="grpo",
            datasets=PAIRS,
            trl=trl,
        )
    add(
        "grpo/world 2",
        world=2,
        shape=(4, 1, 1),
        rl="grpo",
        datasets=PAIRS,
        trl={"num_generations": 8, "max_completion_length": 8},
    )


class Caught(Exception):  # noqa: N818
    """Raised in place of making training arguments; holds what they would be made from."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self.values = values


def load() -> types.SimpleNamespace:
    """Import the real modules, whatever they are called in this version, and put our stand-ins into them."""
    import importlib

    import accelerate
    import datasets
    import transformers

    accelerate.PartialState(cpu=True)  # 0.10 logs through accelerate before it has a state
    try:  # needs an image library that this version asks for at import time
        from transformers.models.smolvlm import SmolVLMProcessor  # noqa: F401
    except ImportError:
        module = importlib.import_module("transformers.models.smolvlm")
        module.SmolVLMProcessor = stubs.Stand  # type: ignore[attr-defined]
    real = types.SimpleNamespace(config=importlib.import_module("axolotl.utils.config"))
    real.common = importlib.import_module("axolotl.common.datasets")
    real.sft = importlib.import_module("axolotl.utils.data.sft")
    real.rl = importlib.import_module("axolotl.utils.data.rl")
    real.dict = importlib.import_module("axolotl.utils.dict").DictDefault
    try:
        real.causal = importlib.import_module("axolotl.core.builders.causal")
        real.preference = importlib.import_module("axolotl.core.builders.rl")
    except ModuleNotFoundError:
        real.causal = real.preference = importlib.import_module("axolotl.core.trainer_builder")
    real.sizes = {}

    def rows(split: str) -> Any:
        n = real.sizes[split]
        row = [1, 2, 3]
        return datasets.Dataset.from_dict(
            {"input_ids": [row] * n, "labels": [row] * n, "attention_mask": [[1, 1, 1]] * n, "length": [3] * n}
        )

    def tokenized(*args: Any, split: str = "train", **kwargs: Any) -> Any:
        return rows(split), [None]

    def preferences(cfg: Any, *args: Any, split: str | None = None, **kwargs: Any) -> Any:
        if split is None:  # 0.8 and 0.9 pass the list of data sets instead
            split = "test" if args and args[0] is cfg.test_datasets else "train"
        return rows(split)

    for module in (real.sft, real.rl):
        for name in ("load_tokenized_prepared_datasets", "_load_tokenized_prepared_datasets"):
            if hasattr(module, name):
                setattr(module, name, tokenized)
        for name in ("_load_or_create_dataset_split", "_load_preprocessed_ds"):
            if hasattr(module, name):
                setattr(module, name, preferences)
    real.common.load_tokenizer = lambda *args, **kwargs: None
    real.config.load_model_config = lambda cfg: transformers.LlamaConfig()

    def catch(*args: Any, **kwargs: Any) -> Any:
        raise Caught(kwargs)

    for path in (
        "axolotl.core.training_args",
        "axolotl.core.trainers.dpo.args",
        real.causal.__name__,
        real.preference.__name__,
    ):
        module = importlib.import_module(path)
        for name in dir(module):
            if name.startswith("Axolotl") and name.endswith(("TrainingArguments", "Config")):
                setattr(module, name, catch)
    strategy = importlib.import_module("axolotl.core.trainers.grpo").GRPOStrategy
    strategy.get_training_args_class = staticmethod(lambda *args, **kwargs: catch)
    return real


def run(real: types.SimpleNamespace, spec: dict[str, Any]) -> dict[str, Any]:
    """One config through axolotl. ``stage`` of an error: validate, normalize, data, arguments, train."""
    stage = "validate"
    os.environ["WORLD_SIZE"] = str(spec["world"])
    try:
        cfg = real.dict(copy.deepcopy(spec["config"]))
        cfg = real.config.validate_config(
            cfg,
            capabilities={
                "bf16": True,
                "fp8": False,
                "tf32": True,
                "n_gpu": spec["world"],
                "compute_capability": "sm_90",
            },
            env_capabilities={"torch_version": "2.6.0"},
        )
        stage = "normalize"
        real.config.normalize_config(cfg)
        real.config.normalize_cfg_datasets(cfg)
        del os.environ["WORLD_SIZE"]  # from here on it would start a process group
        out: dict[str, Any] = {"global_batch": cfg.batch_size, "accumulation": cfg.gradient_accumulation_steps}
        stage = "data"
        real.sizes = {"train": spec["n"], "test": spec["test_n"]}
        options = types.SimpleNamespace(debug=False, debug_text_only=False, debug_num_examples=0, iterable=None)
        load_data = real.common.load_preference_datasets if cfg.rl else real.common.load_datasets
        meta = load_data(cfg=cfg, cli_args=options)
        out.update(
            records=len(meta.train_dataset),
            eval_records=len(meta.eval_dataset) if meta.eval_dataset else 0,
            counted=meta.total_num_steps,
        )
        stage = "arguments"
        builder_class = real.preference.HFRLTrainerBuilder if cfg.rl else real.causal.HFCausalTrainerBuilder
        model = types.SimpleNamespace(config=types.SimpleNamespace(num_labels=1))
        builder = builder_class(cfg, model, None)
        builder.train_dataset, builder.eval_dataset = meta.train_dataset, meta.eval_dataset
        make = (
            builder.build
            if not cfg.rl
            else getattr(builder, "_build_training_arguments", None) or builder.build_training_arguments
        )
        try:
            make(meta.total_num_steps)
            raise AssertionError("no training arguments were made")
        except Caught as caught:
            args = {key: value for key, value in caught.values.items() if key in KEPT}
        out["args"] = {key: value for key, value in args.items() if key in TOLD and value}
        if spec["world"] > 1 or cfg.rl == "grpo":
            return out  # arithmetic only: a process group, and completions, are other recorders' matter
        stage = "train"
        others = [
            callback for callback in builder.get_callbacks() if type(callback).__name__ == "EvalFirstStepCallback"
        ]
        if cfg.early_stopping_patience and not cfg.rl:
            args["early_stopping_patience"] = cfg.early_stopping_patience
        trained = hf.train(
            {"n": out["records"], "data": "map", "eval_n": out["eval_records"], "world": 1, "args": args}, others
        )
        for key in ("total", "steps", "warmup", "peak_step", "peak_share", "evaluations", "checkpoints", "logs"):
            if key in trained:
                out[key] = trained[key]
        out.pop("logs" if len(out.get("logs", [])) > 12 else "", None)
        return out
    except (Exception, SystemExit) as exception:
        return {**recording.error(exception), "stage": stage}
    finally:
        os.environ.pop("WORLD_SIZE", None)


def main() -> None:
    """Run all configs under the axolotl of ``--package`` and add them to the recording."""
    options = recording.arguments("Record axolotl's arithmetic and validation.", "axolotl.json")
    import logging

    import torch
    import transformers

    finder = stubs.install(*STUBBED)
    warnings.simplefilter("ignore")
    os.environ["AXOLOTL_DO_NOT_TRACK"] = "1"
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    real = load()
    logging.disable(logging.CRITICAL)
    cases = {name: spec for name, spec in configs().items() if name.startswith(options.only)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # prepared data and lock files are made where it runs
        runs = {name: run(real, spec) for name, spec in cases.items()}
    if options.show:
        for name, found in runs.items():
            print(name, found)
        return
    version = options.version or recording.packages("axolotl")["axolotl"]
    installed = recording.packages("transformers", "accelerate", "trl", "datasets", "pydantic", "torch")
    recording.report(version, runs)
    recording.save(
        options.out,
        "recorders/axolotl.py",
        cases,
        version,
        runs,
        {**installed, "stubbed": ", ".join(sorted(finder.made))},
    )


if __name__ == "__main__":
    main()
