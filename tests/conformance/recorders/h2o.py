"""Record what H2O LLM Studio makes of an experiment's YAML on the CPU: its config, its checks, its data, its loop.

    python tests/conformance/recorders/h2o.py --package FOLDER --version a4971c11 --out FILE

`--package` is the repository at that commit. Real code: ``load_config_yaml``, ``check_config_for_errors``, ``get_data``
(split and sample), ``get_train_dataloader`` for the first GPU, ``get_scheduler`` and ``run_train``. Stood in for: the
dataset class behind the rows, the model (one weight), the evaluation, checkpoints, plots, CUDA's count of devices, and
what is not installed (``stubbed``).
"""

from __future__ import annotations

import copy
import logging
import os
import tempfile
import warnings
from typing import Any

import recording
import stubs
import yaml

BASE: dict[str, Any] = {
    "experiment_name": "test", "output_directory": "out", "llm_backbone": "example/model",
    "problem_type": "text_causal_language_modeling",
    "architecture": {"backbone_dtype": "bfloat16", "pretrained": True},
    "dataset": {
        "train_dataframe": "train.csv", "validation_dataframe": "valid.csv", "validation_strategy": "custom",
        "prompt_column": ["instruction"], "answer_column": "output", "parent_id_column": "None",
        "system_column": "None",
    },
    "environment": {"gpus": ["0"], "mixed_precision": False, "number_of_workers": 0, "use_deepspeed": False},
    "training": {
        "batch_size": 4, "grad_accumulation": 1, "epochs": 2, "learning_rate": 1e-4, "schedule": "Cosine",
        "warmup_epochs": 0.0, "lora": True,
    },
    "logging": {"logger": "None"},
    "prediction": {"metric": "Perplexity"},
}  # fmt: skip
STUBBED = ("bitsandbytes", "coolname", "deepspeed", "diskcache", "h2o_wave", "neptune", "wandb", "sacrebleu", "openai")


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the YAML, and the rows of its data."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 100, without: tuple[str, ...] = (), **blocks: Any) -> None:
        config = copy.deepcopy(BASE)
        for block, changes in blocks.items():
            if isinstance(changes, dict):
                config[block] = {**config.get(block, {}), **changes}
            else:
                config[block] = changes
        for path in without:
            block, _, key = path.rpartition("/")
            del (config[block] if block else config)[key]
        out[name] = {"config": config, "n": n}

    add("plain")
    add("defaults", without=("training",))
    for n, batch, accumulation, epochs, gpus in (
        (31, 4, 4, 3, 1), (32, 4, 4, 3, 1), (33, 4, 3, 2, 1), (100, 8, 5, 1, 1), (7, 8, 2, 2, 1), (9, 8, 2, 2, 1),
        (100, 4, 1, 2, 2), (101, 4, 2, 2, 4), (33, 16, 1, 1, 2), (15, 4, 1, 1, 8),
    ):  # fmt: skip
        training = {"batch_size": batch, "grad_accumulation": accumulation, "epochs": epochs}
        devices = {"gpus": [str(i) for i in range(gpus)]}
        add(f"steps/n{n} b{batch} a{accumulation} e{epochs} w{gpus}", n, training=training, environment=devices)
    add("steps/kept last", 102, training={"drop_last_batch": False})
    add("warmup/0.25", training={"warmup_epochs": 0.25})
    add("warmup/1", training={"warmup_epochs": 1.0})
    add("warmup/5", training={"warmup_epochs": 5.0})
    add("warmup/linear", training={"warmup_epochs": 0.1, "schedule": "Linear"})
    add("warmup/constant", training={"warmup_epochs": 0.1, "schedule": "Constant"})
    add("warmup/accumulated", training={"warmup_epochs": 0.5, "grad_accumulation": 4})
    add("evaluation/0.5", training={"evaluation_epochs": 0.5})
    add("evaluation/0.3", training={"evaluation_epochs": 0.3})
    add("evaluation/before", training={"evaluate_before_training": True})
    add("evaluation/best", training={"save_checkpoint": "best"})
    add("evaluation/never saved", training={"save_checkpoint": "disable"})
    for size in (0.01, 0.1, 0.25):
        for n in (100, 33):
            split = {"validation_strategy": "automatic", "validation_dataframe": "None", "validation_size": size}
            add(f"split/{size} n{n}", n, dataset=split)
    add("split/default", without=("dataset/validation_strategy",))
    add("sample/0.5", dataset={"data_sample": 0.5})
    add("sample/0.05", dataset={"data_sample": 0.05})
    add("sample/validation only", dataset={"data_sample": 0.5, "data_sample_choice": ["Validation"]})
    add("sample/and split", dataset={
        "data_sample": 0.5, "validation_strategy": "automatic", "validation_dataframe": "None", "validation_size": 0.1,
    })  # fmt: skip
    add("split/trained on too", training={"train_validation_data": True})

    # Odd ones.
    add("key/misspelt", training={"learning_rte": 1e-4})
    add("key/misspelt accumulation", training={"grad_acumulation": 4})
    add("key/far", training={"whatever": 1})
    add("key/of transformers", training={"num_train_epochs": 3})
    add("key/top", optimizer="AdamW")
    for name, training in {
        "epochs 0": {"epochs": 0},
        "epochs -1": {"epochs": -1},
        "epochs fraction": {"epochs": 1.5},
        "epochs whole float": {"epochs": 2.0},
        "epochs text": {"epochs": "3"},
        "epochs null": {"epochs": None},
        "batch 0": {"batch_size": 0},
        "batch -4": {"batch_size": -4},
        "batch text": {"batch_size": "4"},
        "batch fraction": {"batch_size": 2.5},
        "accumulation 0": {"grad_accumulation": 0},
        "accumulation -2": {"grad_accumulation": -2},
        "accumulation text": {"grad_accumulation": "4"},
        "accumulation fraction": {"grad_accumulation": 1.5},
        "rate 0": {"learning_rate": 0},
        "rate -1": {"learning_rate": -1},
        "rate text": {"learning_rate": "1e-4"},
        "rate word": {"learning_rate": "fast"},
        "schedule": {"schedule": "Cosin"},
        "schedule lower case": {"schedule": "cosine"},
        "optimizer": {"optimizer": "AdamX"},
        "optimizer lower case": {"optimizer": "adamw"},
        "loss": {"loss_function": "CrossEntropi"},
        "warmup -1": {"warmup_epochs": -1},
        "warmup text": {"warmup_epochs": "0.1"},
        "evaluation 0": {"evaluation_epochs": 0},
        "evaluation 2": {"evaluation_epochs": 2},
        "evaluation text": {"evaluation_epochs": "0.5"},
        "save": {"save_checkpoint": "lst"},
    }.items():
        add(f"value/{name}", training=training)
    add("check/no GPU", environment={"gpus": []})
    add("check/deepspeed alone", environment={"use_deepspeed": True})
    add(
        "check/deepspeed int4",
        environment={"use_deepspeed": True, "gpus": ["0", "1"]},
        architecture={"backbone_dtype": "int4"},
    )
    add("check/int4 not pretrained", architecture={"backbone_dtype": "int4", "pretrained": False})
    add("check/full int4", architecture={"backbone_dtype": "int4"}, training={"lora": False})
    add("check/W&B relative", logging={"logger": "W&B", "log_step_size": "relative"})
    add("check/temperature", prediction={"temperature": 0.5, "do_sample": False})
    add("data/custom without a file", dataset={"validation_dataframe": "None"})
    add("data/no such column", dataset={"answer_column": "answer"})
    add("data/no such file", dataset={"train_dataframe": "elsewhere.csv"})
    add("data/no such ending", dataset={"train_dataframe": "train.jsonl"})
    add("data/strategy", dataset={"validation_strategy": "auto"})
    add("data/sample 0", dataset={"data_sample": 0})
    add("data/size 1", dataset={"validation_strategy": "automatic", "validation_size": 1.0})
    add("data/one row", 1)
    add("problem/unknown", problem_type="text_language_modeling")
    add("problem/missing", without=("problem_type",))
    add("problem/dpo", problem_type="text_dpo_modeling")
    for path in ("llm_backbone", "dataset/train_dataframe", "environment/gpus"):
        add(f"missing/{path}", without=(path,))
    return out


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        return lambda *args, **rest: None


def loop(cfg: Any, records: int) -> dict[str, Any]:
    """`run_train` over data of that length."""
    import torch
    from llm_studio import train as script
    from llm_studio.src.utils import data_utils, modeling_utils

    class Rows(torch.utils.data.Dataset):  # type: ignore[misc] # no types here
        def __len__(self) -> int:
            return records

        def __getitem__(self, index: int) -> Any:
            return {"x": torch.zeros(1)}

        def get_train_collate_fn(self) -> None:
            return None

        @staticmethod
        def batch_to_device(batch: Any, device: Any) -> Any:
            return batch

    seen: dict[str, Any] = {"updates": 0, "batches": 0, "evaluations": [], "checkpoints": [], "rates": []}

    class Model(torch.nn.Module):  # type: ignore[misc] # no types here
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, batch: Any) -> Any:
            seen["batches"] += 1
            return {"loss": (self.weight * 1.0).sum()}

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.training.learning_rate)
    whole = optimizer.step

    def step(*args: Any, **rest: Any) -> Any:
        seen["rates"].append(optimizer.param_groups[0]["lr"] / (cfg.training.learning_rate or 1))
        seen["updates"] += 1
        return whole(*args, **rest)

    world = len(cfg.environment.gpus)
    environment = cfg.environment
    environment._distributed, environment._world_size, environment._local_rank = world > 1, world, 0
    loader = data_utils.get_train_dataloader(Rows(), cfg)
    environment._distributed, environment._device = False, "cpu"
    scheduler = modeling_utils.get_scheduler(cfg=cfg, optimizer=optimizer, epoch_steps=len(loader))
    optimizer.step = step  # after the scheduler, which wraps it
    cfg.dataset.dataset_class = Rows
    cfg.logging.plots_class, cfg.logging._logger = _Nothing(), _Nothing()

    def evaluate(*args: Any, **rest: Any) -> tuple[float, float]:
        seen["evaluations"].append(seen["batches"])
        return 1.0, 1.0

    script.run_eval = evaluate
    script.save_checkpoint = lambda *args, **rest: seen["checkpoints"].append(seen["batches"])
    script.log_plot = lambda *args, **rest: None
    script.run_train(cfg, model, optimizer, scheduler, len(loader), loader, None, None)
    rates = seen.pop("rates")
    return {
        **seen, "records": records, "world": world, "length": len(loader), "peak_share": max(rates, default=0),
        "peak_step": rates.index(max(rates)) + 1 if rates else 0,
    }  # fmt: skip


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One case, in a folder that holds its data."""
    import pandas
    import torch
    from llm_studio.python_configs.cfg_checks import check_config_for_errors
    from llm_studio.src.utils import config_utils, data_utils

    torch.cuda.device_count = lambda: 8
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            os.symlink(
                os.path.join(os.path.dirname(os.path.dirname(config_utils.__file__)), "../../prompts"), "prompts"
            )
            for name, count in (("train.csv", case["n"]), ("valid.csv", 20)):
                made = {"instruction": [f"q{i}" for i in range(count)], "output": ["a"] * count}
                made["rejected"] = ["b"] * count
                pandas.DataFrame(made).to_csv(name, index=False)
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump(case["config"], stream, sort_keys=False)
            cfg = config_utils.load_config_yaml("config.yaml")
            problems = check_config_for_errors(cfg)
            stopping = [
                title
                for title, kind in zip(problems["title"], problems["type"], strict=True)
                if kind == "error" and "disk" not in title
            ]
            if stopping:
                raise ValueError(
                    "; ".join(f"{one}: {two}" for one, two in zip(stopping, problems["message"], strict=False))
                )
            frame, held_out = data_utils.get_data(cfg)
            return {**loop(cfg, len(frame)), "eval_records": len(held_out)}
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases."""
    options = recording.arguments(__doc__ or "", "h2o.json")
    import datasets
    import peft
    import transformers

    assert datasets
    assert peft
    assert transformers  # before these take the stand-ins for what they are not
    finder = stubs.install(*STUBBED)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(
        options, chosen, run, "h2o-llmstudio", "torch", "pandas", stubbed=", ".join(sorted(finder.made))
    )


if __name__ == "__main__":
    main()
