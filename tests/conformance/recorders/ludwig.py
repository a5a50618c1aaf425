"""Record what Ludwig makes of configs of language models: its schema and checks, then lengths and warmups.

    python tests/conformance/recorders/ludwig.py --package FOLDER --version 0.17.8 --out FILE

`--package` is the repository at that version (it asks for Python 3.12, and runs on 3.11). Real code:
``ModelConfig.from_dict``, the random splitter, ``RandomAccessBatcher``, ``get_total_steps``,
``get_final_steps_per_checkpoint``, ``get_total_expected_checkpoints`` and ``LRScheduler`` over one weight. Nothing is
trained. Stood in for: what is not installed and has no part in this (``stubbed``).
"""

from __future__ import annotations

import copy
import functools
import logging
import os
import shutil
import tempfile
import warnings
from typing import Any

import recording
import stubs
import tiny

BASE: dict[str, Any] = {
    "model_type": "llm",
    "base_model": "model",
    "input_features": [{"name": "prompt", "type": "text"}],
    "output_features": [{"name": "answer", "type": "text"}],
    "prompt": {"template": "Question: {prompt}"},
    "trainer": {
        "type": "finetune", "epochs": 2, "batch_size": 4, "gradient_accumulation_steps": 1, "learning_rate": 1e-4,
    },
    "adapter": {"type": "lora"},
    "preprocessing": {"split": {"type": "random", "probabilities": [1.0, 0.0, 0.0]}},
    "backend": {"type": "local"},
}  # fmt: skip
STUBBED = (
    "torchaudio", "torchvision", "torchcodec", "kaggle", "tables", "spacy", "sacremoses", "bitsandbytes", "xlwt",
    "xlrd", "openpyxl", "lxml", "ray", "dask", "gpustat", "torchinfo", "absl", "retry", "sentence_transformers",
    "faiss", "cpuinfo", "torchao", "bs4",
)  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the config and the rows of its data."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str, n: int = 100, without: tuple[str, ...] = (), top: dict[str, Any] | None = None,
        schedule: dict[str, Any] | None = None, split: list[float] | None = None, **trainer: Any,
    ) -> None:  # fmt: skip
        config = copy.deepcopy(BASE)
        config["trainer"].update(trainer)
        if schedule is not None:
            config["trainer"]["learning_rate_scheduler"] = schedule
        if split is not None:
            config["preprocessing"]["split"]["probabilities"] = split
        config.update(top or {})
        for path in without:
            block, _, key = path.rpartition("/")
            del (config[block] if block else config)[key]
        out[name] = {"config": config, "n": n}

    add("plain")
    add("defaults", top={"trainer": {"type": "finetune"}})
    for n, batch, epochs in ((31, 4, 3), (32, 4, 3), (33, 4, 1), (7, 8, 5), (1, 1, 1), (1000, 16, 2)):
        add(f"steps/n{n} b{batch} e{epochs}", n, batch_size=batch, epochs=epochs)
    add("steps/train_steps 30", train_steps=30)
    add("steps/train_steps 500", train_steps=500)
    add("steps/train_steps null", train_steps=None)
    for split in ([0.7, 0.1, 0.2], [0.9, 0.05, 0.05], [0.8, 0.2, 0.0], [0.5, 0.0, 0.5]):
        for n in (100, 33):
            add(f"split/{split} n{n}", n, split=split)
    add("split/default", 100, without=("preprocessing",))
    for name, schedule in {
        "fraction 0.1": {"warmup_fraction": 0.1, "decay": "cosine"},
        "fraction 0.03": {"warmup_fraction": 0.03, "decay": "linear"},
        "evaluations 1": {"warmup_evaluations": 1},
        "both": {"warmup_fraction": 0.1, "warmup_evaluations": 1},
        "fraction 1": {"warmup_fraction": 1.0},
        "fraction 3": {"warmup_fraction": 3},
        "one cycle": {"warmup_fraction": 0.1, "decay": "one_cycle"},
        "none": {"decay": "linear"},
    }.items():
        add(f"warmup/{name}", schedule=schedule)
    add("cadence/steps_per_checkpoint 10", steps_per_checkpoint=10)
    add("cadence/steps_per_checkpoint 1000", steps_per_checkpoint=1000)
    add("cadence/checkpoints_per_epoch 2", checkpoints_per_epoch=2)
    add("cadence/both", checkpoints_per_epoch=2, steps_per_checkpoint=10)

    # Odd ones.
    for name, trainer in {
        "misspelt": {"learning_rte": 1e-4},
        "misspelt accumulation": {"gradient_acumulation_steps": 8},
        "far": {"whatever": 1},
        "of transformers": {"num_train_epochs": 3},
        "of another type": {"dpo_beta": 0.1},
    }.items():
        add(f"key/{name}", **trainer)
    add("key/top", top={"adaptor": {"type": "lora"}})
    add("key/adapter", top={"adapter": {"type": "lora", "rank": 8}})
    add("key/schedule", schedule={"warmup_ratio": 0.1})
    for name, trainer in {
        "epochs 0": {"epochs": 0},
        "epochs -1": {"epochs": -1},
        "epochs fraction": {"epochs": 1.5},
        "epochs whole float": {"epochs": 2.0},
        "epochs text": {"epochs": "3"},
        "epochs null": {"epochs": None},
        "batch 0": {"batch_size": 0},
        "batch text": {"batch_size": "4"},
        "batch auto": {"batch_size": "auto"},
        "batch fraction": {"batch_size": 2.5},
        "accumulation 0": {"gradient_accumulation_steps": 0},
        "accumulation text": {"gradient_accumulation_steps": "4"},
        "accumulation auto": {"gradient_accumulation_steps": "auto"},
        "accumulation fraction": {"gradient_accumulation_steps": 1.5},
        "rate text": {"learning_rate": "1e-4"},
        "rate auto": {"learning_rate": "auto"},
        "rate word": {"learning_rate": "fast"},
        "rate -1": {"learning_rate": -1},
        "rate 2": {"learning_rate": 2},
        "rate 0": {"learning_rate": 0},
        "train_steps 0": {"train_steps": 0},
        "train_steps -1": {"train_steps": -1},
        "train_steps fraction": {"train_steps": 10.5},
        "early_stop -2": {"early_stop": -2},
        "steps_per_checkpoint -1": {"steps_per_checkpoint": -1},
        "optimizer": {"optimizer": {"type": "adamx"}},
        "optimizer plain": {"optimizer": {"type": "adamw"}},
        "type": {"type": "sft"},
        "type none": {"type": "none"},
        "type dpo": {"type": "dpo"},
        "effective batch": {"effective_batch_size": 32, "batch_size": 4, "gradient_accumulation_steps": 8},
        "effective batch alone": {"effective_batch_size": 32, "gradient_accumulation_steps": "auto"},
        "effective batch conflict": {"effective_batch_size": 32, "batch_size": 4, "gradient_accumulation_steps": 4},
    }.items():
        add(f"value/{name}", **trainer)
    for name, schedule in {
        "decay": {"decay": "cosin"},
        "fraction -0.1": {"warmup_fraction": -0.1},
        "fraction text": {"warmup_fraction": "0.1"},
        "evaluations -1": {"warmup_evaluations": -1},
    }.items():
        add(f"schedule/{name}", schedule=schedule)
    add("value/trainer type missing", without=("trainer/type",))
    add("value/trainer missing", without=("trainer",))
    add("value/adapter word", top={"adapter": {"type": "loar"}})
    add("value/adapter as text", top={"adapter": "lora"})
    add("value/no adapter", without=("adapter",))
    add("value/dpo without adapter", without=("adapter",), type="dpo")
    add("value/rank 0", top={"adapter": {"type": "lora", "r": 0}})
    add("value/rank fraction", top={"adapter": {"type": "lora", "r": 8.5}})
    add("value/quantization", top={"quantization": {"bits": 4}})
    add("value/quantization 5", top={"quantization": {"bits": 5}})
    add("value/quantization without adapter", without=("adapter",), top={"quantization": {"bits": 4}})
    add("value/quantization with ia3", top={"quantization": {"bits": 4}, "adapter": {"type": "ia3"}})
    add("value/two inputs", top={"input_features": [{"name": "a", "type": "text"}, {"name": "b", "type": "text"}]})
    add("value/input category", top={"input_features": [{"name": "prompt", "type": "category"}]})
    add("value/output category", top={"output_features": [{"name": "answer", "type": "category"}]})
    add("value/no base model", without=("base_model",))
    add("value/no output", without=("output_features",))
    add("value/template without a column", top={"prompt": {"template": "Answer me"}})
    add("value/template with the answer", top={"prompt": {"template": "{prompt} {answer}"}})
    add("value/model type", top={"model_type": "llms"})
    add("value/split", split=[0.5, 0.1, 0.1])
    add("value/split two", split=[0.9, 0.1])
    return out


@functools.cache
def model_folder() -> str:
    """The model and its tokenizer, made once."""
    folder = tempfile.mkdtemp()
    tiny.model(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def arithmetic(config: Any, n: int) -> dict[str, Any]:
    """Lengths and the schedule, as `Trainer.train` computes them."""
    import pandas
    import torch
    from ludwig.backend.base import LocalBackend
    from ludwig.data.batcher.random_access import RandomAccessBatcher
    from ludwig.data.sampler import DistributedSampler
    from ludwig.data.split import get_splitter
    from ludwig.modules.lr_scheduler import LRScheduler
    from ludwig.utils import trainer_utils

    trainer = config.trainer
    split = config.preprocessing.split
    parts = get_splitter(split.type, probabilities=split.probabilities).split(
        pandas.DataFrame({"prompt": range(n)}), LocalBackend(), 42
    )
    records = len(parts[0])
    found: dict[str, Any] = {"records": records, "eval_records": len(parts[1]), "batch": trainer.batch_size}
    found.update(accumulation=trainer.gradient_accumulation_steps, rate=trainer.learning_rate)
    if not isinstance(trainer.batch_size, int):
        return {**found, "epochs": trainer.epochs}
    sampler = DistributedSampler(records, shuffle=False)
    batcher = RandomAccessBatcher(_Rows(records), sampler, batch_size=trainer.batch_size, ignore_last=True)
    per_epoch = batcher.steps_per_epoch
    total = trainer_utils.get_total_steps(trainer.epochs, per_epoch, trainer.train_steps)
    cadence = trainer_utils.get_final_steps_per_checkpoint(
        per_epoch, trainer.steps_per_checkpoint, trainer.checkpoints_per_epoch
    )
    cadence = min(cadence, total)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = LRScheduler(trainer.learning_rate_scheduler, optimizer, cadence, total)
    shares = []
    for _ in range(total):
        shares.append(round(optimizer.param_groups[0]["lr"], 4))
        optimizer.step()
        schedule.step()
    return {
        **found, "steps_per_epoch": per_epoch, "total": total, "cadence": cadence, "epochs": trainer.epochs,
        "warmup": schedule.step_info.num_warmup_steps, "peak_step": shares.index(max(shares)) + 1, "shares": shares[:4],
    }  # fmt: skip


class _Rows:
    """Data of which only the length is asked."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.size = count

    def __len__(self) -> int:
        return self.count

    def get(self, *args: Any) -> Any:
        raise NotImplementedError


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One case, in a folder that holds its model."""
    from ludwig.error import ConfigValidationError
    from ludwig.schema.model_types.base import ModelConfig

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shutil.copytree(model_folder(), "model")
            try:
                config = ModelConfig.from_dict(copy.deepcopy(case["config"]))
            except ConfigValidationError as error:  # its reason stands in the second line
                raise ConfigValidationError(str(error).splitlines()[-2 if "For further" in str(error) else 0]) from None
            if config.trainer.type == "none":
                return {"trainer": "none"}
            return arithmetic(config, case["n"])
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases."""
    options = recording.arguments(__doc__ or "", "ludwig.json")
    os.environ["HF_HUB_OFFLINE"] = "1"
    model_folder()  # before transformers takes the stand-ins for what they are not
    finder = stubs.install(*STUBBED)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    runs = ("transformers", "torch", "pydantic", "jsonschema")
    recording.all_cases(options, chosen, run, "ludwig", *runs, stubbed=", ".join(sorted(finder.made)))


if __name__ == "__main__":
    main()
