"""Record LLaMA-Factory's newer format (`USE_V1`): arguments or refusal, batches, and the training of its own trainer.

    python tests/conformance/recorders/llamafactory_v1.py --package FOLDER --version 0.9.5 --out FILE

Real code: its argument parser, data engine, batch generator and SFT trainer, with a random Llama of a few thousand
weights. Above one process only the batch generator is asked, with that number of processes.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import tempfile
import warnings
from typing import Any
from unittest import mock

import recording
import tiny


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``config`` as its YAML loads, ``n`` rows of data.jsonl, ``world`` processes."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 31, world: int = 1, **more: Any) -> None:
        base: dict[str, Any] = {"train_dataset": "data.jsonl", "micro_batch_size": 2, "global_batch_size": 4}
        config = {key: value for key, value in {**base, **more}.items() if value != "(absent)"}
        out[name] = {"config": config, "n": n, "world": world}

    add("plain")
    add("one epoch", num_train_epochs=1)
    add("epochs as fraction", num_train_epochs=1.5)
    add("epochs as 2.0", num_train_epochs=2.0)
    add("no global batch", global_batch_size="(absent)", num_train_epochs=1)
    add("batches by default", global_batch_size="(absent)", micro_batch_size="(absent)", num_train_epochs=1, n=7)
    add("exact", n=32, num_train_epochs=2)
    add("fewer rows than a batch", n=3)
    add("no multiple", global_batch_size=5)
    add("max_steps", max_steps=5)
    add("max_steps beyond an epoch", max_steps=10, n=12)
    add("max_steps 0", max_steps=0, num_train_epochs=1)
    add("max_steps -1", max_steps=-1, num_train_epochs=1)
    add("save steps", num_train_epochs=1, save_steps=3)
    add("save epochs", num_train_epochs=2, save_epochs=1)
    add("save half epochs", num_train_epochs=2, save_epochs=0.5)
    add("dynamic batching", batching_strategy="dynamic_batching")
    add("padding free", batching_strategy="padding_free")
    add("old key", per_device_train_batch_size=2)
    add("batch as text", micro_batch_size="2")
    add("rate as text", learning_rate="1e-4", num_train_epochs=1)
    add("epochs as text", num_train_epochs="1")
    add("max_steps as text", max_steps="5")
    for world, batch, n in ((2, 4, 31), (2, 8, 100), (4, 8, 31), (4, 16, 100), (3, 6, 31), (2, 6, 31)):
        add(f"world {world}, batch {batch}, n{n}", n=n, world=world, global_batch_size=batch)
    add("world 4, no global batch", n=31, world=4, global_batch_size="(absent)")
    return out


def run(spec: dict[str, Any], model: Any) -> dict[str, Any]:
    """One config. ``stage`` of an error: arguments, data, train."""
    import yaml
    from llamafactory.v1.accelerator.interface import DistributedInterface
    from llamafactory.v1.config import get_args
    from llamafactory.v1.core.data_engine import DataEngine
    from llamafactory.v1.core.utils.rendering import Renderer
    from llamafactory.v1.trainers.sft_trainer import SFTTrainer

    stage = "arguments"
    here, argv = os.getcwd(), sys.argv
    quiet = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), quiet:
        os.chdir(folder)
        try:
            talk = [
                {"role": role, "content": [{"type": "text", "value": "w1 w2"}], "loss_weight": weight}
                for role, weight in (("user", 0.0), ("assistant", 1.0))
            ]
            with open("data.jsonl", "w", encoding="utf-8") as stream:
                stream.write((json.dumps({"messages": talk}) + "\n") * spec["n"])
            fixed = {"model": "org/tiny", "output_dir": "out", "batching_workers": 0}
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump({**fixed, **spec["config"], "enable_activation_checkpointing": False}, stream)
            sys.argv = ["train", "config.yaml"]
            _, data_args, args, _ = get_args()
            stage = "data"
            data = DataEngine(data_args.train_dataset)
            renderer = Renderer("chatml", tiny.tokenizer())
            stage = "train"
            saved: list[int] = []

            with contextlib.ExitStack() as stack:
                if spec["world"] > 1:
                    size = mock.patch.object(DistributedInterface, "get_world_size", return_value=spec["world"])
                    stack.enter_context(size)
                    stack.enter_context(mock.patch.object(SFTTrainer, "_shard_model"))
                trainer = SFTTrainer(args=args, model=model, renderer=renderer, train_dataset=data)
            batches = trainer.train_batch_generator
            out = {
                "records": len(data),
                "steps_per_epoch": len(batches),
                "accumulation": batches.num_micro_batch,
                "global_batch": batches.global_batch_size,
                "total": trainer.num_training_steps,
            }
            if spec["world"] > 1:
                return out
            trainer._checkpoint.save = lambda epoch: saved.append(trainer.global_step)
            trainer.fit()
            return {**out, "steps": trainer.global_step, **({"checkpoints": saved} if saved else {})}
        except (Exception, SystemExit) as exception:
            return {**recording.error(exception), "stage": stage}
        finally:
            os.chdir(here)
            sys.argv = argv


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record LLaMA-Factory's newer format.", "llamafactory_v1.json")
    os.environ.update(DISABLE_VERSION_CHECK="1", USE_V1="1")
    import logging

    import datasets
    import torch

    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model = tiny.model(folder)
        chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
        runs = {}
        for name, spec in chosen.items():
            runs[name] = recording.attempt(functools.partial(run, spec, model))
            if options.show:
                print(name, runs[name], flush=True)
    version = options.version or recording.packages("llamafactory")["llamafactory"]
    packages = recording.packages("transformers", "accelerate", "datasets", "omegaconf", "torch", "torchdata")
    recording.report(version, runs)
    if not options.show:
        recording.save(
            options.out,
            "recorders/llamafactory_v1.py",
            chosen,
            version,
            runs,
            {"llamafactory": version, **packages},
        )


if __name__ == "__main__":
    main()
