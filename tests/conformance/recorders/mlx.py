"""Record MLX-LM's fine-tuning on the CPU: updates, rates, validations, saved adapters, errors.

    python tests/conformance/recorders/mlx.py --package FOLDER --version 0.32.2 --out FILE

Real code: ``mlx_lm.lora.main`` with a YAML file, its data sets and its training loop. Stood in for: the loading of a
model
(two small layers take its place) and the tokenizer (one token a word).
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import tempfile
import types
import warnings
from typing import Any

import recording


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``config`` as its YAML is written, ``rows`` of train, valid and test, ``flags`` behind it."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str, train: int = 100, valid: int = 8, test: int = 0, flags: tuple[str, ...] = (), **more: Any
    ) -> None:
        base: dict[str, Any] = {
            "model": "tiny",
            "train": True,
            "fine_tune_type": "full",
            "data": "data",
            "num_layers": 1,
            "iters": 24,
            "batch_size": 4,
            "learning_rate": 0.001,
            "val_batches": 1,
            "steps_per_eval": 1000,
            "save_every": 1000,
        }
        config = {key: value for key, value in {**base, **more}.items() if value != "(absent)"}
        out[name] = {"config": config, "rows": [train, valid, test], "flags": list(flags)}

    for iters, accumulation in (
        (1, 1),
        (10, 1),
        (24, 1),
        (24, 4),
        (25, 4),
        (23, 4),
        (3, 4),
        (50, 8),
        (24, 24),
        (24, 0),
        (24, -1),
    ):
        add(f"updates/i{iters} a{accumulation}", iters=iters, grad_accumulation_steps=accumulation)
    for train, batch in ((100, 4), (7, 4), (4, 4), (3, 4), (31, 8), (8, 8), (1, 1), (0, 1)):
        add(f"rows/n{train} b{batch}", train, batch_size=batch)
    for valid in (0, 3, 4, 50):
        add(f"rows/valid {valid}", valid=valid)
    add("rows/valid 50, all", valid=50, val_batches=-1)
    add("value/iters 0", iters=0)
    add("value/batch 0", batch_size=0)
    add("value/layers 16", num_layers=16)
    add("value/layers -1", num_layers=-1)
    add("value/no train")
    out["value/no train"]["config"]["train"] = False
    add("value/unknown key", warmup_steps=10)
    add("value/unknown optimizer", optimizer="adamm")
    add("value/unknown type", fine_tune_type="loraa")
    add("value/rate as text", learning_rate="abc")
    add("value/rate scientific", learning_rate="1e-4")
    add("value/iters as text", iters="24x")
    add("value/iters as fraction", iters=24.5)
    add("value/flag wins", flags=("--iters", "7"))
    add("value/no data folder", data="nowhere_local_and_no_hub")
    for every in (1, 5, 10, 24, 25, 0):
        add(f"validation/every {every}", steps_per_eval=every)
    add("validation/accumulation 4, every 8", grad_accumulation_steps=4, steps_per_eval=8)
    for every in (5, 12, 24, 25, 0):
        add(f"saving/every {every}", save_every=every)
    for name, schedule in {
        "cosine, no warmup": {"name": "cosine_decay", "arguments": [0.001, 24]},
        "cosine, warmup 5": {"name": "cosine_decay", "warmup": 5, "arguments": [0.001, 24]},
        "cosine, warmup 5, start": {
            "name": "cosine_decay",
            "warmup": 5,
            "warmup_init": 0.0001,
            "arguments": [0.001, 24],
        },
        "cosine, warmup 24": {"name": "cosine_decay", "warmup": 24, "arguments": [0.001, 24]},
        "cosine, warmup 100": {"name": "cosine_decay", "warmup": 100, "arguments": [0.001, 1000]},
        "cosine, longer": {"name": "cosine_decay", "warmup": 2, "arguments": [0.001, 1000, 0.00001]},
        "cosine, end": {"name": "cosine_decay", "warmup": 2, "arguments": [0.001, 24, 0.0005]},
        "linear": {"name": "linear_schedule", "warmup": 2, "arguments": [0.001, 0.0, 24]},
        "exponential": {"name": "exponential_decay", "arguments": [0.001, 0.9]},
        "step": {"name": "step_decay", "arguments": [0.001, 0.5, 10]},
        "unknown": {"name": "cosine", "arguments": [0.001, 24]},
        "no arguments": {"name": "cosine_decay"},
        "warmup 2.5": {"name": "cosine_decay", "warmup": 2.5, "arguments": [0.001, 24]},
    }.items():
        add(f"schedule/{name}", lr_schedule=schedule, steps_per_report=1)
    schedule = {"name": "cosine_decay", "warmup": 2, "arguments": [0.001, 24]}
    add("schedule/accumulation 4", lr_schedule=schedule, steps_per_report=1, grad_accumulation_steps=4)
    return out


class Words:
    """A tokenizer: one token a word."""

    eos_token_id = 1

    def encode(self, text: str, **rest: Any) -> list[int]:
        return [2 + len(word) % 5 for word in text.split()]


def train(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one case. ``validations`` and ``saved``: at which iteration; ``rates``: after each reported iteration."""
    import mlx.core as mx
    import mlx.nn as nn
    import yaml
    from mlx_lm import lora as real

    class Two(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(16, 8)
            self.layers = [nn.Linear(8, 16)]

        def __call__(self, tokens: Any) -> Any:
            return self.layers[0](self.embedding(tokens))

    seen: dict[str, Any] = {"validations": [], "rates": []}

    def run(**kwargs: Any) -> None:
        kwargs["training_callback"] = types.SimpleNamespace(
            on_val_loss_report=lambda info: seen["validations"].append(info["iteration"] + 1),
            on_train_loss_report=lambda info: seen["rates"].append(float(f"{info['learning_rate']:.4g}")),
        )
        seen["rows"] = len(kwargs["train_dataset"])
        kept["train"](**kwargs)
        seen["updates"] = int(kwargs["optimizer"].step.item())

    changed = {"load": lambda *args, **kwargs: (Two(), Words()), "train": run}
    kept = {name: getattr(real, name) for name in changed}
    here, argv = os.getcwd(), sys.argv
    quiet = contextlib.redirect_stderr(io.StringIO())
    mx.random.seed(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), quiet:
        os.chdir(folder)
        os.mkdir("data")
        for name, count in zip(("train", "valid", "test"), spec["rows"], strict=True):
            if count or name == "train":
                with open(f"data/{name}.jsonl", "w", encoding="utf-8") as stream:
                    stream.write("".join(json.dumps({"text": "a bb ccc dddd"}) + "\n" for _ in range(count)))
        with open("config.yaml", "w", encoding="utf-8") as stream:
            yaml.safe_dump(spec["config"], stream)
        sys.argv = ["lora", "--config", "config.yaml", *spec["flags"]]
        for name, value in changed.items():
            setattr(real, name, value)
        try:
            real.main()
            places = sorted(os.listdir("adapters")) if os.path.isdir("adapters") else []
        finally:
            os.chdir(here)
            sys.argv = argv
            for name, value in kept.items():
                setattr(real, name, value)
    seen["saved"] = [int(name.split("_")[0]) for name in places if name[0].isdigit()]
    if "schedule" not in spec.get("shown", ""):
        seen.pop("rates")
    return seen


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record MLX-LM's fine-tuning.", "mlx.json")
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        runs[name] = recording.attempt(functools.partial(train, {**spec, "shown": name.partition("/")[0]}))
        if options.show:
            print(name, runs[name])
    version = options.version or recording.packages("mlx-lm")["mlx-lm"]
    recording.report(version, runs)
    if not options.show:
        installed = {"mlx-lm": version, **recording.packages("mlx", "transformers")}
        recording.save(options.out, "recorders/mlx.py", chosen, version, runs, installed)


if __name__ == "__main__":
    main()
