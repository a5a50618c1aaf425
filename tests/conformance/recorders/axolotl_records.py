"""Record which records of awkward files axolotl trains on, with and without packing, and the steps that it counts.

    PYTHONPATH=... python tests/conformance/recorders/axolotl_records.py --package FOLDER --version 0.12.2

Real code: validate_config, normalize_config, the prompt strategies, all filters, the merging and the packing estimate
of calculate_total_num_steps, with a tokenizer of one token a word. Stood in for: the model's config, writing prepared
data, what STUBBED of axolotl.py names if not installed.
"""

from __future__ import annotations

import copy
import importlib
import logging
import os
import sys
import tempfile
import types
import warnings
from typing import Any

import awkward
import axolotl as steps  # the recorder of steps beside this file, not the package
import recording
import stubs
import tiny

del sys.modules["axolotl"]

BASE: dict[str, Any] = {
    "base_model": "org/tiny-llama",
    "sequence_len": awkward.LIMIT,
    "output_dir": "./out",
    "dataset_prepared_path": "./prepared",
    "val_set_size": 0,
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 2,
    "num_epochs": 3,
    "learning_rate": 0.0002,
    "optimizer": "adamw_torch",
    "lr_scheduler": "cosine",
}
PACKED = {"sample_packing": True, "flash_attention": True}


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form and config."""

    def one(form: str, kind: Any, more: dict[str, Any] | None = None, **data: Any) -> tuple[str, dict[str, Any]]:
        told = {"path": "data.jsonl", "ds_type": "json", "type": kind, **data}
        return form, {"config": {**BASE, "datasets": [told], **(more or {})}}

    pairs = {"rl": "dpo"}
    return {
        "alpaca": one("alpaca", "alpaca"),
        "alpaca, packed": one("alpaca", "alpaca", PACKED),
        "alpaca, cut": one("alpaca", "alpaca", {"excess_length_strategy": "truncate"}),
        "messages": one("messages", "chat_template"),
        "messages, on inputs": one("messages", "chat_template", {"train_on_inputs": True}),
        "sharegpt": one(
            "sharegpt", "chat_template", field_messages="conversations", message_property_mappings={"role": "from",
            "content": "value"},
        ),
        "completion": one("text", "completion"),
        "segments": one("segments", "input_output"),
        "dpo": one("preference", "chatml.prompt_pairs", pairs),
        "kto": one("unpaired", "chatml.ultra", {"rl": "kto", "remove_unused_columns": False}),
    }  # fmt: skip


def packs() -> dict[str, dict[str, Any]]:
    """Steps of packed runs: rows of so many words, batches, epochs, limits. The file is made of `lengths`."""
    out = {}

    def add(name: str, lengths: list[list[int]], world: int = 1, **more: Any) -> None:
        told = [{"path": "data.jsonl", "ds_type": "json", "type": "completion"}]
        config = {**BASE, **PACKED, "datasets": told, **more}
        out[f"packs/{name}"] = {"config": config, "lengths": lengths, "world": world}

    short, mixed, near = [[20, 400]], [[20, 200], [100, 80], [200, 20]], [[130, 60]]
    for name, lengths in (("short", short), ("mixed", mixed), ("near", near), ("few", [[20, 9]]), ("one", [[20, 1]])):
        for micro, accumulation, epochs in ((1, 1, 1), (2, 2, 3), (1, 8, 2), (4, 1, 1.5)):
            shape = {"micro_batch_size": micro, "gradient_accumulation_steps": accumulation, "num_epochs": epochs}
            add(f"{name} m{micro} a{accumulation} e{epochs}", lengths, **shape)
        add(f"{name} two workers", lengths, 2)
        add(f"{name} estimate 0.9", lengths, sample_packing_eff_est=0.9)
        add(f"{name} in turn", lengths, sample_packing_sequentially=True, curriculum_sampling=True)
        add(f"{name} bins 5", lengths, sample_packing_bin_size=5)
        add(f"{name} groups 10", lengths, sample_packing_group_size=10)
        add(f"{name} at most 7", lengths, max_steps=7)
        add(f"{name} split", lengths, val_set_size=0.1)
        add(f"{name} cut to length", lengths, pad_to_sequence_len=True)
    return out


def load() -> types.SimpleNamespace:
    """The real modules, whatever they are called in this version."""
    import accelerate
    import transformers

    accelerate.PartialState(cpu=True)  # 0.10 logs through accelerate before it has a state
    real = types.SimpleNamespace(config=importlib.import_module("axolotl.utils.config"))
    real.common = importlib.import_module("axolotl.common.datasets")
    real.dict = importlib.import_module("axolotl.utils.dict").DictDefault
    real.common.load_tokenizer = lambda *args, **kwargs: tiny.tokenizer()
    real.config.load_model_config = lambda cfg: transformers.LlamaConfig()
    for name in ("axolotl.utils.data.rl", "axolotl.utils.data.sft", "axolotl.loaders"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if hasattr(module, "load_tokenizer"):
            module.load_tokenizer = real.common.load_tokenizer
    _nothing_is_saved()
    return real


def _nothing_is_saved() -> None:
    """Prepared data is not written: `datasets` would start processes that import this script anew."""
    import datasets

    datasets.Dataset.save_to_disk = lambda *args, **kwargs: None


def text_of(case: dict[str, Any]) -> str:
    if "file" in case:
        return awkward.load()[case["file"]]
    return awkward.lines_of(case["lengths"])


def run(real: types.SimpleNamespace, case: dict[str, Any]) -> dict[str, Any]:
    import jinja2

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["HF_DATASETS_CACHE"] = folder
        os.environ["WORLD_SIZE"] = str(case.get("world", 1))
        try:
            with open("data.jsonl", "w", encoding="utf-8", newline="") as stream:
                stream.write(text_of(case))
            cfg = real.dict(copy.deepcopy(case["config"]))
            capabilities = {"bf16": True, "fp8": False, "tf32": True, "n_gpu": 1, "compute_capability": "sm_90"}
            cfg = real.config.validate_config(
                cfg, capabilities=capabilities, env_capabilities={"torch_version": "2.6.0"}
            )
            real.config.normalize_config(cfg)
            real.config.normalize_cfg_datasets(cfg)
            os.environ.pop("WORLD_SIZE")  # from here on it would start a process group
            options = types.SimpleNamespace(debug=False, debug_text_only=False, debug_num_examples=0, iterable=None)
            load_data = real.common.load_preference_datasets if cfg.rl else real.common.load_datasets
            try:
                meta = load_data(cfg=cfg, cli_args=options)
            except jinja2.TemplateSyntaxError as error:  # 0.8 does not know the tag in our tokenizer's template
                raise LookupError("no chat template for this version") from error
            out: dict[str, Any] = {"records": len(meta.train_dataset), "counted": meta.total_num_steps}
            if cfg.sample_packing:
                out["estimate"] = cfg.sample_packing_eff_est
            return out
        finally:
            os.environ.pop("WORLD_SIZE", None)
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record axolotl's records.", "axolotl_records.json")
    import datasets
    import torch
    import transformers

    finder = stubs.install(*steps.STUBBED)
    warnings.simplefilter("ignore")
    os.environ["AXOLOTL_DO_NOT_TRACK"] = "1"
    os.environ["AXOLOTL_DATASET_PROCESSES"] = "1"
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    real = load()
    logging.disable(logging.CRITICAL)
    cases = awkward.cases(setups(), options.only)
    cases.update((name, case) for name, case in packs().items() if name.startswith(options.only))
    told = {"stubbed": ", ".join(sorted(finder.made))}
    packages = ("transformers", "accelerate", "trl", "datasets", "pydantic")
    recording.all_cases(options, cases, lambda case: run(real, case), "axolotl", *packages, **told)


if __name__ == "__main__":
    main()
