"""Record what fms-hf-tuning makes of a JSON on the CPU: its parser, its own checks, its data, then the training itself.

    python tests/conformance/recorders/fms_hf_tuning.py --package FOLDER --version 3.2.2 --out FILE

`--package` is the unpacked wheel; `--build` the repository, for `process_accelerate_launch_args` of the image (cases
`launch/`, the number of GPUs is set by hand). Real code: ``get_parser``, ``parse_arguments``, what ``main`` does with
the metadata, ``train`` with TRL's trainer. The model is a random Llama, one word is one token.
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import os
import shutil
import sys
import tempfile
import warnings
from typing import Any

import recording
import tiny

BASE: dict[str, Any] = {
    "model_name_or_path": "model",
    "training_data_path": "train.jsonl",
    "output_dir": "out",
    "num_train_epochs": 1,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-3,
    "dataset_text_field": "text",
    "response_template": "w1 w2 assistant",  # its first two tokens are cut off (`get_data_collator`)
    "use_flash_attn": False,
    "torch_dtype": "float32",
}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the JSON, and the rows of its training and evaluation data."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 40, eval_n: int = 0, without: tuple[str, ...] = (), **changes: Any) -> None:
        config = {**copy.deepcopy(BASE), **changes}
        if eval_n:
            config["validation_data_path"] = "valid.jsonl"
        for key in without:
            del config[key]
        out[name] = {"config": config, "n": n, "eval_n": eval_n}

    add("plain")
    add("defaults", 70, without=("num_train_epochs", "per_device_train_batch_size", "gradient_accumulation_steps"))
    for n, batch, accumulation, epochs in (
        (31, 4, 4, 3), (33, 8, 2, 1.5), (3, 8, 4, 1), (100, 4, 1, 0.33), (41, 2, 3, 2), (64, 8, 8, 2.5),
        (50, 7, 2, 0.01),
    ):  # fmt: skip
        changes = {
            "per_device_train_batch_size": batch,
            "gradient_accumulation_steps": accumulation,
            "num_train_epochs": epochs,
        }
        add(f"steps/n{n} b{batch} a{accumulation} e{epochs}", n, **changes)
    add("steps/max_steps 7", max_steps=7)
    add("steps/max_steps 25", max_steps=25)
    add("steps/max_steps 0", max_steps=0)
    add("steps/drop last", 42, dataloader_drop_last=True)
    for name, changes in {
        "ratio 0.1": {"warmup_ratio": 0.1},
        "ratio 0.03": {"warmup_ratio": 0.03, "lr_scheduler_type": "cosine"},
        "steps 5": {"warmup_steps": 5},
        "both": {"warmup_steps": 3, "warmup_ratio": 0.5},
        "longer": {"warmup_steps": 100},
        "ignored": {"warmup_steps": 5, "lr_scheduler_type": "constant"},
        "ratio 1.0": {"warmup_ratio": 1.0},
    }.items():
        add(f"warmup/{name}", 100, **changes)
    add("cadence/epochs", num_train_epochs=3)
    add("cadence/save by steps", save_strategy="steps", save_steps=4)
    add("cadence/save never", save_strategy="no")
    add("cadence/log by steps", logging_strategy="steps", logging_steps=4)
    add("cadence/save too late", save_strategy="steps", save_steps=500)
    add("cadence/share", save_strategy="steps", save_steps=0.3)
    add("evaluation/unasked", 40, 8)
    add("evaluation/epoch", 40, 8, num_train_epochs=2, eval_strategy="epoch")
    add("evaluation/steps", 40, 8, eval_strategy="steps", eval_steps=3)
    add("evaluation/steps as logged", 40, 8, eval_strategy="steps", logging_strategy="steps", logging_steps=5)
    add("evaluation/best", 40, 8, eval_strategy="epoch", load_best_model_at_end=True, num_train_epochs=2)
    add("tuning/lora", peft_method="lora", r=4, target_modules=["q_proj"])
    add("tuning/upper case", peft_method="LORA", r=4, target_modules=["q_proj"])
    add("tuning/none", peft_method="none")
    add("tuning/null", peft_method=None)
    add("data/own template", without=("dataset_text_field",), data_formatter_template="{{text}}")
    add("data/packed", packing=True, without=("response_template",), max_seq_length=32)
    add("data/max_seq_length", max_seq_length=4)

    # Odd ones: what it refuses, and what it takes without a word.
    add("key/misspelt", gradient_acumulation_steps=8)
    add("key/misspelt epochs", without=("num_train_epochs",), num_train_epoch=5)
    add("key/unknown", whatever=1)
    add("key/of axolotl", micro_batch_size=2)
    add("key/gone", evaluation_strategy="no")
    add("key/newer", warmup_ratio=0.1, train_sampling_strategy="random")
    for name, changes in {
        "epochs 0": {"num_train_epochs": 0},
        "epochs -1": {"num_train_epochs": -1},
        "epochs 0 with max_steps": {"num_train_epochs": 0, "max_steps": 5},
        "epochs text": {"num_train_epochs": "3"},
        "epochs null": {"num_train_epochs": None},
        "batch 0": {"per_device_train_batch_size": 0},
        "batch -4": {"per_device_train_batch_size": -4},
        "batch text": {"per_device_train_batch_size": "4"},
        "batch fraction": {"per_device_train_batch_size": 2.5},
        "batch whole float": {"per_device_train_batch_size": 4.0},
        "accumulation 0": {"gradient_accumulation_steps": 0},
        "accumulation -1": {"gradient_accumulation_steps": -1},
        "accumulation text": {"gradient_accumulation_steps": "4"},
        "accumulation fraction": {"gradient_accumulation_steps": 2.5},
        "accumulation whole float": {"gradient_accumulation_steps": 2.0},
        "rate text": {"learning_rate": "1e-4"},
        "rate word": {"learning_rate": "auto"},
        "rate 0": {"learning_rate": 0},
        "rate -1": {"learning_rate": -1},
        "scheduler": {"lr_scheduler_type": "cosin"},
        "save strategy": {"save_strategy": "epochs"},
        "save strategy false": {"save_strategy": False},
        "evaluation strategy": {"eval_strategy": "steps"},
        "optimizer": {"optim": "adamw"},
        "warmup ratio 2": {"warmup_ratio": 2},
        "warmup ratio text": {"warmup_ratio": "0.1"},
        "warmup steps -1": {"warmup_steps": -1},
        "warmup steps share": {"warmup_steps": 0.1},
        "max_steps text": {"max_steps": "10"},
        "max_steps fraction": {"max_steps": 10.5},
        "max_seq_length text": {"max_seq_length": "1024"},
        "max_seq_length 0": {"max_seq_length": 0},
        "flag as text": {"packing": "false"},
        "peft method": {"peft_method": "loar"},
        "peft qlora": {"peft_method": "qlora", "r": 4},
        "rank 0": {"peft_method": "lora", "r": 0, "target_modules": ["q_proj"]},
        "rank text": {"peft_method": "lora", "r": "8", "target_modules": ["q_proj"]},
        "target modules text": {"peft_method": "lora", "r": 4, "target_modules": "q_proj"},
        "all-linear text": {"peft_method": "lora", "r": 4, "target_modules": "all-linear"},
        "all-linear list": {"peft_method": "lora", "r": 4, "target_modules": ["all-linear"]},
        "tracker": {"trackers": ["tensorboard"]},
        "tracker text": {"trackers": "file_logger"},
        "metadata dict": {"exp_metadata": {"gpu": "A100"}},
        "metadata text": {"exp_metadata": '{"gpu": "A100"}'},
        "log level": {"log_level": "verbose"},
        "save steps 0": {"save_strategy": "steps", "save_steps": 0},
        "logging steps 0": {"logging_strategy": "steps", "logging_steps": 0},
        "resume true": {"resume_from_checkpoint": True},
        "best without evaluation": {"load_best_model_at_end": True},
        "padding free": {"padding_free": ["huggingface"]},
        "padding free, packed": {"padding_free": ["huggingface"], "packing": True, "use_flash_attn": True},
        "padding free, method": {"padding_free": ["flash"]},
        "multipack alone": {"multipack": [16]},
        "quantized, kernel": {"peft_method": "lora", "auto_gptq": ["marlin"], "target_modules": ["q_proj"]},
        "quantized nf8": {"peft_method": "lora", "bnb_qlora": ["nf8"], "target_modules": ["q_proj"]},
    }.items():
        add(f"value/{name}", **changes)
    add("value/best by steps", 40, 8, eval_strategy="steps", eval_steps=3, load_best_model_at_end=True)
    add("missing/model", without=("model_name_or_path",))
    add("missing/output_dir", without=("output_dir",))
    add("missing/data", without=("training_data_path",))
    add("missing/template", without=("response_template",))
    add("missing/field", without=("dataset_text_field",))
    add("missing/both", without=("dataset_text_field", "response_template"))
    add("missing/file", training_data_path="elsewhere.jsonl")
    add("data/both templates", data_formatter_template="{{text}}")
    add("data/no such column", dataset_text_field="body")
    add("data/recipe too", data_config_path="data.yaml")
    add("data/empty", 0)

    for devices, block in (
        (0, {}), (0, {"num_processes": 4}), (1, {"num_processes": 4}), (8, {"num_processes": 4}), (8, {}),
        (8, {"num_processes": "4"}), (8, {"mixed_precision": "bf16"}), (8, {"num_process": 4}),
        (8, {"mixed_precision": "bf"}), (8, {"num_machines": "two"}), (2, {"use_fsdp": True}), (2, {"use_fsdp": False}),
        (2, None),
    ):  # fmt: skip
        for own in (False, True):
            if own and not block:
                continue
            name = f"launch/{devices} GPUs {json.dumps(block)}{' as written' if own else ''}"
            out[name] = {"config": {**BASE, "accelerate_launch_args": block}, "devices": devices, "written": own}
    return out


def rows(count: int) -> str:
    """Lines of a prompt and an answer."""
    return "".join(json.dumps({"text": f"user w{i % 40} assistant w{(i + 1) % 40} w3"}) + "\n" for i in range(count))


@functools.cache
def model_folder() -> str:
    """The model and its tokenizer, made once."""
    folder = tempfile.mkdtemp()
    tiny.model(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def launch(case: dict[str, Any]) -> dict[str, Any]:
    """What the image hands `accelerate launch`. `written`: with SET_NUM_PROCESSES_TO_NUM_GPUS=false."""
    import torch
    from build.utils import process_accelerate_launch_args

    os.environ["SET_NUM_PROCESSES_TO_NUM_GPUS"] = "False" if case["written"] else "True"
    torch.cuda.device_count = lambda: case["devices"]
    try:
        parsed = process_accelerate_launch_args(case["config"])
        return {"processes": parsed.num_processes}
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)


def train(case: dict[str, Any]) -> dict[str, Any]:
    """One case, in a folder that holds its model and data."""
    if "devices" in case:
        return launch(case)
    from transformers import TrainerCallback
    from tuning import sft_trainer

    seen: dict[str, list[int]] = {"evaluations": [], "checkpoints": [], "logs": []}

    class Watch(TrainerCallback):  # type: ignore[misc] # no types here
        def on_evaluate(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            seen["evaluations"].append(state.global_step)

        def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            seen["checkpoints"].append(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if logs and "loss" in logs:
                seen["logs"].append(state.global_step)

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shutil.copytree(model_folder(), "model")
            for name, count in (("train.jsonl", case["n"]), ("valid.jsonl", case["eval_n"])):
                with open(name, "w", encoding="utf-8") as stream:
                    stream.write(rows(count))
            loaded = json.loads(json.dumps(case["config"]))
            parsed = list(sft_trainer.parse_arguments(sft_trainer.get_parser(), loaded))
            named = dict(zip(
                ("model_args", "data_args", "train_args", "trainer_controller_args", "peft_config",
                 "quantization_config", "quantized_lora_config", "fusedops_kernels_config",
                 "attention_and_distributed_packing_config", "fast_moe_config", "tracker_configs", "exp_metadata"),
                parsed, strict=True,
            ))  # fmt: skip
            if named["exp_metadata"] is not None:
                try:
                    named["exp_metadata"] = json.loads(named["exp_metadata"])
                except ValueError:
                    named["exp_metadata"] = None
            named["train_args"].disable_tqdm = True
            named["train_args"].use_cpu = True
            trainer, _, _ = sft_trainer.train(**named, additional_callbacks=[Watch()])
            state, args = trainer.state, trainer.args
            return {
                "total": state.max_steps,
                "steps": state.global_step,
                "warmup": args.get_warmup_steps(state.max_steps),
                "batch": args.per_device_train_batch_size,
                "accumulation": args.gradient_accumulation_steps,
                "passes": round(state.epoch or 0, 3),
                "rows": len(trainer.train_dataset),
                "tuning": "full" if not hasattr(trainer.model, "peft_config") else "adapter",
                **seen,
            }
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases."""
    if "--build" in sys.argv:  # the repository, behind the package
        place = sys.argv.index("--build")
        sys.path.append(os.path.abspath(sys.argv[place + 1]))
        del sys.argv[place : place + 2]
    options = recording.arguments(__doc__ or "", "fms_hf_tuning.json")
    import datasets
    import torch
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    others = ("transformers", "trl", "peft", "accelerate", "datasets", "torch")
    recording.all_cases(options, chosen, train, "fms-hf-tuning", *others)


if __name__ == "__main__":
    main()
