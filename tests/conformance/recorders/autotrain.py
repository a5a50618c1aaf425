"""Record what AutoTrain makes of its YAML on the CPU: parser, parameters, data, arguments, then the training itself.

    PYTHONPATH=old/autotrain python tests/conformance/recorders/autotrain.py --package FOLDER --version 0.8.36

`--package` is the unpacked wheel. Real code: ``AutoTrainConfigParser`` with its ``run`` (the files of local data are
rewritten there), ``LLMTrainingParams``, and ``train`` of its SFT, DPO, ORPO, reward and generic trainers with TRL's.
The model is a random Llama, one word is one token. Stood in for: the process that it starts, what is done after
training, and packages of other tasks (``stubbed``).
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import logging
import os
import shutil
import tempfile
import warnings
from typing import Any

import recording
import stubs
import tiny
import yaml

BASE: dict[str, Any] = {
    "task": "llm-dpo",
    "base_model": "model",
    "project_name": "project",
    "log": "none",
    "backend": "local",
    "data": {
        "path": "data",
        "train_split": "train",
        "valid_split": None,
        "chat_template": None,
        "column_mapping": {
            "text_column": "text",
            "rejected_text_column": "rejected_text",
            "prompt_text_column": "prompt",
        },
    },
    "params": {"epochs": 1, "batch_size": 4, "gradient_accumulation": 1, "lr": 1e-4, "block_size": 64},
}
STUBBED = (
    "albumentations", "nvitop", "evaluate", "pyngrok", "fastapi", "uvicorn", "optuna", "xgboost", "seqeval",
    "sentence_transformers", "torchmetrics", "cryptography", "authlib", "itsdangerous", "nltk", "ipadic", "jiwer",
    "sacremoses", "rouge_score", "py7zr", "pycocotools", "werkzeug", "starlette", "hf_transfer", "joblib",
)  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the YAML, the rows of its data, and the ending of their files (json: nobody rewrites them)."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str, n: int = 40, eval_n: int = 0, ending: str = "jsonl", without: tuple[str, ...] = (),
        top: dict[str, Any] | None = None, data: dict[str, Any] | None = None, bare: bool = False, **params: Any,
    ) -> None:  # fmt: skip
        config = copy.deepcopy(BASE)
        config.update(top or {})
        config["data"].update(data or {})
        if eval_n:
            config["data"]["valid_split"] = "validation"
        if bare:
            config["params"] = {}
        config["params"].update(params)
        for path in without:
            block, _, key = path.rpartition("/")
            del (config[block] if block else config)[key]
        out[name] = {"config": config, "n": n, "eval_n": eval_n, "ending": ending}

    for task in ("dpo", "orpo", "reward"):
        own = {"top": {"task": f"llm-{task}"}}
        add(f"{task}/plain", **own)
        add(f"{task}/defaults", 50, bare=True, **own)
        for n, batch, accumulation, epochs in ((31, 4, 4, 3), (33, 8, 2, 2), (3, 8, 4, 1), (41, 2, 3, 2)):
            params = {"batch_size": batch, "gradient_accumulation": accumulation, "epochs": epochs}
            add(f"{task}/steps/n{n} b{batch} a{accumulation} e{epochs}", n, **own, **params)
        add(f"{task}/warmup 0", 100, warmup_ratio=0.0, **own)
        add(f"{task}/warmup 0.3", 100, warmup_ratio=0.3, scheduler="cosine", **own)
    add("sft/plain", 100, top={"task": "llm-sft"})
    add("sft/trainer", 100, top={"task": "llm"}, trainer="sft")
    add("generic/plain", 100, top={"task": "llm-generic"})
    add("generic/llm", 100, top={"task": "llm"})
    add("dpo/adapter", peft=True, quantization=None, lora_r=4)
    add("dpo/csv", ending="csv")
    for ending in ("jsonl", "json"):
        add(f"dpo/evaluated/{ending}", 40, 8, ending, epochs=2)
        add(f"dpo/evaluated by steps/{ending}", 40, 8, ending, eval_strategy="steps", logging_steps=3)
    add("dpo/logging 5", logging_steps=5)
    add("dpo/logging -1", 400, logging_steps=-1)
    add("orpo/saved", 40, 8, "json", top={"task": "llm-orpo"}, epochs=3, save_total_limit=2)

    # Odd ones.
    add("key/misspelt", batchsize=8)
    add("key/misspelt accumulation", gradient_acumulation=8)
    add("key/of transformers", num_train_epochs=3)
    add("key/far", whatever=1)
    add("key/top", top={"backnd": "local"})
    for name, params in {
        "epochs 0": {"epochs": 0},
        "epochs -1": {"epochs": -1},
        "epochs fraction": {"epochs": 1.5},
        "epochs whole float": {"epochs": 2.0},
        "epochs text": {"epochs": "3"},
        "epochs word": {"epochs": "three"},
        "epochs null": {"epochs": None},
        "batch 0": {"batch_size": 0},
        "batch -4": {"batch_size": -4},
        "batch text": {"batch_size": "4"},
        "batch fraction": {"batch_size": 2.5},
        "accumulation 0": {"gradient_accumulation": 0},
        "accumulation fraction": {"gradient_accumulation": 1.5},
        "rate text": {"lr": "2e-5"},
        "rate word": {"lr": "auto"},
        "rate 0": {"lr": 0},
        "rate -1": {"lr": -1},
        "warmup 2": {"warmup_ratio": 2},
        "warmup -1": {"warmup_ratio": -1},
        "warmup text": {"warmup_ratio": "0.1"},
        "scheduler": {"scheduler": "cosin"},
        "optimizer": {"optimizer": "adamw"},
        "optimizer 8bit": {"optimizer": "adafactor"},
        "strategy": {"eval_strategy": "epochs"},
        "logging 0": {"logging_steps": 0},
        "precision": {"mixed_precision": "float16"},
        "block list": {"block_size": [64, 32]},
        "block text": {"block_size": "64"},
        "peft text": {"peft": "yes", "quantization": None},
        "peft word": {"peft": "lora"},
        "quantization": {"quantization": "int3"},
        "quantization false": {"peft": True, "quantization": False},
        "padding": {"padding": "middle"},
        "rank 0": {"peft": True, "quantization": None, "lora_r": 0},
        "beta 0": {"dpo_beta": 0},
        "chat template": {"chat_template": "llama"},
        "template": {"chat_template": "zephyr"},
        "seed text": {"seed": "four"},
    }.items():
        add(f"value/{name}", **params)
    add("task/unknown", top={"task": "llm-kto"})
    add("task/far", top={"task": "language"})
    add("task/colon", top={"task": "llm:sft"})
    add("task/trainer beside", top={"task": "llm-orpo"}, trainer="dpo")
    add("task/trainer unknown", top={"task": "llm"}, trainer="kto")
    add("backend/unknown", top={"backend": "gpu"})
    add("backend/null", top={"backend": None})
    add("project/underscore", top={"project_name": "my_project"})
    add("project/slash", top={"project_name": "runs/project"})
    add("project/dot", top={"project_name": "llama-3.1"})
    add("project/long", top={"project_name": "a" * 51})
    add("project/dashes", top={"project_name": "my-project-1"})
    for path in (
        "task", "backend", "base_model", "project_name", "log", "data", "data/path", "data/train_split",
        "data/valid_split", "data/chat_template", "data/column_mapping",
    ):  # fmt: skip
        add(f"missing/{path}", without=(path,))
    add("missing/params", without=("params",))
    add(
        "missing/prompt column",
        data={"column_mapping": {"text_column": "text", "rejected_text_column": "rejected_text"}},
    )
    add("missing/rejected column", data={"column_mapping": {"text_column": "text", "prompt_text_column": "prompt"}})
    add("data/no such column", data={"column_mapping": {**BASE["data"]["column_mapping"], "text_column": "body"}})
    add("data/no such split", data={"train_split": "train2"})
    add("data/no such folder", data={"path": "elsewhere"})
    add("data/no validation file", data={"valid_split": "validation"})
    add("hub/incomplete", top={"hub": {"username": "someone"}})
    add("hub/complete", top={"hub": {"username": "someone", "token": None, "push_to_hub": False}})
    return out


def rows(count: int, ending: str) -> str:
    """Rows of a prompt and two answers, which are also texts."""
    made = [
        {"prompt": f"w{i % 40} w1", "text": f" w{(i + 1) % 40} w2 w3", "rejected_text": f" w{(i + 2) % 40} w4"}
        for i in range(count)
    ]
    if ending == "csv":
        return "prompt,text,rejected_text\n" + "".join(",".join(row.values()) + "\n" for row in made)
    return "".join(json.dumps(row) + "\n" for row in made)


@functools.cache
def model_folder() -> str:
    """The model and its tokenizer, made once."""
    folder = tempfile.mkdtemp()
    tiny.model(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


TRAINERS = ("default", "sft", "dpo", "orpo", "reward")


def train(params: Any) -> dict[str, Any]:
    """The training that the started process would make."""
    from autotrain.trainers.clm import utils
    from transformers import TrainerCallback

    if params.trainer not in TRAINERS:
        raise ValueError(f"trainer `{params.trainer}` not supported")  # as `autotrain.trainers.clm.__main__`
    module = importlib.import_module(f"autotrain.trainers.clm.train_clm_{params.trainer}")
    seen: dict[str, Any] = {"evaluations": [], "checkpoints": [], "logs": []}

    class Watch(TrainerCallback):  # type: ignore[misc] # no types here
        def on_evaluate(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            seen["evaluations"].append(state.global_step)

        def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            seen["checkpoints"].append(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if logs and "loss" in logs:
                seen["logs"].append(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            seen.update(
                total=state.max_steps, steps=state.global_step, warmup=args.get_warmup_steps(state.max_steps),
                batch=args.per_device_train_batch_size, accumulation=args.gradient_accumulation_steps,
                logging=args.logging_steps, tuning="adapter" if params.peft else "full",
            )  # fmt: skip

    utils.get_callbacks = lambda config: [Watch()]
    utils.post_training_steps = lambda config, trainer: None
    module.train(params)
    return seen


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One case, in a folder that holds its model and data."""
    import autotrain.backends.local as local
    from autotrain.parser import AutoTrainConfigParser
    from autotrain.trainers.clm.params import LLMTrainingParams

    here = os.getcwd()
    started: list[dict[str, Any]] = []

    def start(params: str, task_id: int, **rest: Any) -> int:
        loaded = json.loads(params)
        started.append(json.loads(loaded) if isinstance(loaded, str) else loaded)
        return 0

    local.run_training = start
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shutil.copytree(model_folder(), "model")
            os.mkdir("data")
            for name, count in (("train", case["n"]), ("validation", case["eval_n"])):
                if count:
                    with open(f"data/{name}.{case['ending']}", "w", encoding="utf-8") as stream:
                        stream.write(rows(count, case["ending"]))
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump(case["config"], stream, sort_keys=False)
            AutoTrainConfigParser("config.yaml").run()
            return train(LLMTrainingParams(**started[0]))
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases."""
    options = recording.arguments(__doc__ or "", "autotrain.json")
    os.environ["HF_HUB_OFFLINE"] = "1"
    import datasets
    import torch
    import transformers

    finder = stubs.install(*STUBBED)
    torch._dynamo.config.suppress_errors = True
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    others = ("transformers", "trl", "peft", "accelerate", "datasets", "torch", "pydantic")
    recording.all_cases(
        options, chosen, run, "autotrain-advanced", *others, stubbed=", ".join(sorted(finder.made))
    )  # fmt: skip


if __name__ == "__main__":
    main()
