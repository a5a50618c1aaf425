"""Record what the loaders of three trainers refuse before anything is trained: unknown keys, wrong types, bad values.

    python tests/conformance/recorders/loaders.py --package FOLDER --only oumi --version 0.9 --out FILE

`--only` is the trainer, `--package` its unpacked wheel (its repository for mistral-finetune). Real code: Oumi's
``TrainingConfig.from_yaml`` (without ``finalize_and_validate``), LLM Foundry's ``make_dataclass_and_log_config`` with
its ``TrainConfig``, mistral-finetune's ``TrainArgs.load``; OmegaConf and simple_parsing as installed. Stood in for:
whatever else these modules import and is not installed (``stubbed``).
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import os
import sys
import tempfile
from typing import Any

import recording
import stubs
import yaml

OUMI = {
    "model": {"model_name": "example/model", "model_max_length": 2048},
    "data": {"train": {"datasets": [{"dataset_name": "example/data"}]}},
    "training": {
        "trainer_type": "TRL_SFT", "output_dir": "out", "num_train_epochs": 1, "per_device_train_batch_size": 2,
        "learning_rate": 2e-5, "use_peft": True,
    },
    "peft": {"lora_r": 8},
}  # fmt: skip
FOUNDRY = {
    "model": {"name": "hf_causal_lm"},
    "tokenizer": {"name": "gpt2"},
    "optimizer": {"name": "decoupled_adamw", "lr": 1e-5},
    "scheduler": {"name": "cosine_with_warmup", "t_warmup": "10ba"},
    "train_loader": {"name": "finetuning", "dataset": {"hf_name": "example/data"}},
    "device_eval_batch_size": 8,
    "device_train_microbatch_size": 8,
    "global_train_batch_size": 64,
    "max_duration": "1ep",
    "max_seq_len": 2048,
    "eval_interval": "1ep",
    "seed": 17,
    "n_gpus": 8,  # this and the next are filled in by a transform that needs composer
    "device_train_batch_size": 8,
    "device_train_grad_accum": 1,
}
MISTRAL = {
    "data": {"instruct_data": "data/train.jsonl"},
    "model_id_or_path": "model",
    "run_dir": "out",
    "optim": {"lr": 6e-5},
    "lora": {"rank": 64},
    "max_steps": 300,
}
STUBBED = (
    "accelerate", "composer", "datasets", "deepspeed", "evaluate", "huggingface_hub", "lm_eval", "mlflow", "peft",
    "PIL", "streaming", "tensorboard", "transformers", "trl", "torchdata", "torchvision", "verl", "vllm", "wandb",
)  # fmt: skip
BASES = {"oumi": OUMI, "llm-foundry": FOUNDRY, "mistral-finetune": MISTRAL}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `trainer`, and its config."""
    out: dict[str, dict[str, Any]] = {}

    def add(trainer: str, name: str, *changes: tuple[tuple[str, ...], Any]) -> None:
        config = copy.deepcopy(BASES[trainer])
        for path, value in changes:
            block = config
            for key in path[:-1]:
                block = block.setdefault(key, {})
            block[path[-1]] = value
        out[f"{trainer}/{name}"] = {"trainer": trainer, "config": config}

    for trainer in BASES:
        add(trainer, "as it is")
    for name, path, value in (
        ("misspelt", ("training", "learning_rte"), 1e-5),
        ("misspelt batch", ("training", "per_device_train_batchsize"), 1),
        ("model", ("model", "model_max_lenght"), 1),
        ("peft", ("peft", "lora_rank"), 8),
        ("top", ("trainings",), {}),
        ("data", ("data", "train", "dataset"), []),
        ("row", ("data", "train", "datasets"), [{"dataset_nmae": "a"}]),
        ("unknown", ("training", "whatever"), 1),
        ("text for a number", ("training", "num_train_epochs"), "three"),
        ("text number", ("training", "learning_rate"), "2e-5"),
        ("fraction", ("training", "per_device_train_batch_size"), 2.5),
        ("whole float", ("training", "num_train_epochs"), 3.0),
        ("fp16 too", ("fsdp", "shard_strategy"), "FULL_SHARD"),
    ):
        add("oumi", name, (path, value))
    for name, path, value in (
        ("misspelt", ("max_duraton",), "1ep"),
        ("misspelt batch", ("global_train_batchsize",), 64),
        ("unknown", ("my_setting",), 1),
        ("variable", ("variables", "my_setting"), 1),
        ("in a block", ("optimizer", "learning_rate"), 1),
        ("warm", ("eval_intervall",), "1ep"),
    ):
        add("llm-foundry", name, (path, value))
    for name, path, value in (
        ("misspelt", ("max_step",), 100),
        ("misspelt batch", ("batchsize",), 1),
        ("unknown", ("whatever",), 1),
        ("optim", ("optim", "learning_rate"), 1e-5),
        ("lora", ("lora", "alpha"), 16),
        ("data", ("data", "instruct_dta"), "a"),
        ("world size", ("world_size",), 8),
        ("no microbatch", ("num_microbatches",), 0),
        ("nothing kept", ("num_ckpt_keep",), 0),
        ("rank 0", ("lora", "rank"), 0),
        ("not shuffled", ("data", "instruct"), {"shuffle": False}),
        ("not shuffled, whole", ("data", "instruct"), {"shuffle": False, "dynamic_chunk_fn_call": False}),
        ("text number", ("optim", "lr"), "6e-5"),
        ("fraction", ("max_steps",), 10.5),
    ):
        add("mistral-finetune", name, (path, value))
    return out


@functools.cache
def foundry(folder: str) -> Any:
    """LLM Foundry's ``config_utils`` by its file alone: the package itself imports everything that it trains with."""
    spec = importlib.util.spec_from_file_location(
        "config_utils", os.path.join(folder, "llmfoundry/utils/config_utils.py")
    )
    assert spec is not None
    assert spec.loader is not None
    utilities = sys.modules["config_utils"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utilities)
    return utilities


def load(trainer: str, path: str, folder: str) -> None:
    """What the trainer does with its config file first."""
    if trainer == "oumi":
        from oumi.core.configs import TrainingConfig

        TrainingConfig.from_yaml(path)
    elif trainer == "llm-foundry":
        from omegaconf import OmegaConf

        utilities = foundry(folder)
        keys = utilities.TRAIN_CONFIG_KEYS
        utilities.make_dataclass_and_log_config(OmegaConf.load(path), utilities.TrainConfig, keys, transforms=[])
    else:
        from finetune.args import TrainArgs

        loaded = TrainArgs.load(path, drop_extra_fields=False)
        assert loaded.lora.enable is not None  # a block that fits no class stays a dict, which fails at its first use


def run(case: dict[str, Any], package: str) -> dict[str, Any]:
    """Loads one config."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as stream:
            yaml.safe_dump(case["config"], stream, sort_keys=False)
        load(case["trainer"], path, package)
    return {"loads": True}


def main() -> None:
    """Record the cases of one trainer."""
    options = recording.arguments(__doc__ or "", "loaders.json")
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    package = os.path.abspath(options.package)
    stubs.install(*STUBBED)
    if options.only == "llm-foundry":
        sys.path.remove(package)
        stubs.install("llmfoundry")
    version = f"{options.only} {options.version}"
    runs = {name: recording.attempt(lambda asked=case: run(asked, package)) for name, case in chosen.items()}  # type: ignore[misc] # the case of now
    recording.report(version, runs)
    if options.show:
        for name, found in runs.items():
            print(name, found)
    else:
        installed = recording.packages("omegaconf", "simple-parsing")
        recording.save(options.out, "recorders/loaders.py", chosen, version, runs, installed)


if __name__ == "__main__":
    main()
