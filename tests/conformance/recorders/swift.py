"""Record ms-swift's own reading of a config and its data: arguments or refusal, rows, batches, and what the Trainer
does.

    python tests/conformance/recorders/swift.py --package FOLDER --version 4.6.0 --out FILE

Real code: the YAML to flags of its command line, SftArguments, load_dataset with its splits and samples, its batch
sampler; then the installed Trainer, as swift patches it, with those arguments. Stood in for: modelscope, the model.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import tempfile
from typing import Any

import hf
import recording
from swift_ready import ready

TOLD = ("gradient_accumulation_steps", "learning_rate", "eval_strategy", "eval_steps", "save_strategy", "save_steps")


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``config`` as its YAML loads, ``rows`` of each file that it names, ``world`` processes."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, n: int = 100, world: int = 1, files: dict[str, int] | None = None, **more: Any) -> None:
        base: dict[str, Any] = {"dataset": "data.jsonl", "tuner_type": "lora", "num_train_epochs": 3}
        base["per_device_train_batch_size"] = 8
        config = {key: value for key, value in {**base, **more}.items() if value != "(absent)"}
        out[name] = {"config": config, "files": {"data.jsonl": n, **(files or {})}, "world": world}

    for n, batch, accumulation, epochs in (
        (100, 8, 1, 3), (100, 2, 4, 3), (31, 8, 4, 1), (31, 2, 4, 3), (7, 2, 16, 1), (64, 8, 2, 2.5), (33, 4, 2, 2),
    ):  # fmt: skip
        told = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation}
        add(f"length/n{n} b{batch} a{accumulation} e{epochs}", n, num_train_epochs=epochs, **told)
    for batch, world in (
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (8, 1),
        (16, 1),
        (32, 1),
        (1, 8),
        (2, 4),
        (4, 8),
        ("(absent)", 1),
    ):
        add(f"default/b{batch} w{world}", world=world, per_device_train_batch_size=batch)
    add("default/full", tuner_type="full")
    add("default/no epochs", num_train_epochs="(absent)")
    for n, world, batch in ((31, 2, 8), (31, 4, 2), (100, 8, 3), (7, 8, 1), (1000, 8, 4), (33, 4, 4)):
        add(f"world/n{n} w{world} b{batch}", n, world, per_device_train_batch_size=batch, gradient_accumulation_steps=2)
    add("world/n31 w2 drop last", 31, 2, dataloader_drop_last=True, gradient_accumulation_steps=2)
    for ratio in (0, 0.01, 0.05, 0.1, 0.5, 0.999, 1.5, -0.1):
        add(f"split/{ratio}", split_dataset_ratio=ratio)
    add("split/0.01 of 20", 20, split_dataset_ratio=0.01)
    add("split/0.5 of 1", 1, split_dataset_ratio=0.5)
    add("split/validation file", val_dataset="val.jsonl", files={"val.jsonl": 12})
    add("split/both", val_dataset="val.jsonl", files={"val.jsonl": 12}, split_dataset_ratio=0.1)
    add("split/save 'no'", split_dataset_ratio=0.1, save_strategy="no")
    add("split/eval 'no'", split_dataset_ratio=0.1, eval_strategy="no")
    add("split/eval no as false", split_dataset_ratio=0.1, eval_strategy=False)
    for sample in (10, 100, 250):
        add(f"sample/#{sample}", dataset=f"data.jsonl#{sample}")
    add("sample/#250, split 0.1", dataset="data.jsonl#250", split_dataset_ratio=0.1)
    add("sample/#40, split 0.1", dataset="data.jsonl#40", split_dataset_ratio=0.1)
    add("sample/#0", dataset="data.jsonl#0")
    add("sample/two files", dataset=["data.jsonl", "more.jsonl#20"], files={"more.jsonl": 50})
    add(
        "sample/interleaved", dataset=["data.jsonl", "more.jsonl"], files={"more.jsonl": 50}, interleave_prob=[0.5, 0.5]
    )
    for name, more in {
        "ratio 0.1": {"warmup_ratio": 0.1},
        "ratio 1": {"warmup_ratio": 1},
        "ratio 1.5": {"warmup_ratio": 1.5},
        "steps 10": {"warmup_steps": 10},
        "steps 0.1": {"warmup_steps": 0.1},
        "both": {"warmup_steps": 10, "warmup_ratio": 0.1},
        "constant": {"lr_scheduler_type": "constant", "warmup_steps": 10},
    }.items():
        add(f"warmup/{name}", gradient_accumulation_steps=1, **more)
    held: dict[str, Any] = {"split_dataset_ratio": 0.1, "gradient_accumulation_steps": 1}
    for name, more in {
        "nothing": {},
        "eval steps 10": {"eval_steps": 10},
        "save steps 10": {"save_steps": 10},
        "eval 10, save 20": {"eval_steps": 10, "save_steps": 20},
        "eval epoch": {"eval_strategy": "epoch"},
        "save epoch": {"save_strategy": "epoch"},
        "eval steps, save epoch": {"eval_strategy": "steps", "eval_steps": 10, "save_strategy": "epoch"},
        "best": {"eval_steps": 10, "save_steps": 10, "load_best_model_at_end": True},
        "best, not a multiple": {"eval_steps": 10, "save_steps": 15, "load_best_model_at_end": True},
    }.items():
        add(f"cadence/{name}", **held, **more)
    add("cadence/eval without data", eval_strategy="steps", eval_steps=10)
    for name, more in {
        "max_steps 7": {"max_steps": 7},
        "streaming without max": {"streaming": True},
        "streaming, max 10": {"streaming": True, "max_steps": 10},
        "streaming, split": {"streaming": True, "max_steps": 10, "split_dataset_ratio": 0.1},
        "unknown key": {"warmup_rato": 0.1},
        "rate as text": {"learning_rate": "2e-5"},
        "epochs as text": {"num_train_epochs": "3"},
        "batch as fraction": {"per_device_train_batch_size": 2.5},
        "no data": {"dataset": "(absent)"},
        "unknown file": {"dataset": "nothing.jsonl"},
        "old tuner key": {"train_type": "lora", "tuner_type": "(absent)"},
        "packing without flash attention": {"packing": True},
        "lazy and packing": {"packing": True, "lazy_tokenize": True},
        "lazy and streaming": {"streaming": True, "max_steps": 10, "lazy_tokenize": True},
        "null": {"max_steps": None},
        "evaluation_strategy": {"evaluation_strategy": "steps"},
        "autotp without deepspeed": {"deepspeed_autotp_size": 2},
    }.items():
        add(f"value/{name}", **more)
    return out


def run(spec: dict[str, Any], model: str) -> dict[str, Any]:
    """One config: flags, arguments, data, training. ``stage`` of an error: arguments, data, train."""
    import yaml
    from swift.arguments import SftArguments
    from swift.cli.main import parse_yaml_args
    from swift.dataloader import BatchSamplerShard
    from swift.utils import parse_args

    stage = "arguments"
    here = os.getcwd()
    quiet = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), quiet:
        os.chdir(folder)
        os.environ["_PATCH_WORLD_SIZE"] = str(spec["world"])  # what swift itself reads where no process group is
        try:
            row = {"messages": [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"}]}
            for name, count in spec["files"].items():
                with open(name, "w", encoding="utf-8") as stream:
                    stream.write("".join(json.dumps(row) + "\n" for _ in range(count)))
            fixed = {
                "model": model,
                "model_type": "llama",
                "template": "dummy",
                "torch_dtype": "float32",
                "output_dir": "out",
            }
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump(
                    {**fixed, "use_hf": True, "report_to": "none", "dataset_num_proc": 1, **spec["config"]}, stream
                )
            flags = ["config.yaml"]
            parse_yaml_args(flags)
            args, rest = parse_args(SftArguments, flags)
            if rest:
                raise ValueError(f"remaining_argv: {rest}")  # what the pipeline does with them
            made = args.training_args
            out: dict[str, Any] = {"args": {name: getattr(made, name) for name in TOLD}}
            stage = "data"
            training, evaluation = args.load_dataset()
            if not args.streaming:
                out["records"] = len(training)
                out["eval_records"] = len(evaluation) if evaluation is not None else 0
            stage = "train"
            if not args.streaming:

                class Shard(BatchSamplerShard):  # type: ignore[misc]
                    world_size = spec["world"]
                    rank = 0

                drop = made.dataloader_drop_last
                size = made.per_device_train_batch_size
                out["batches"] = len(Shard(len(training), batch_size=size, shuffle=True, drop_last=drop, data_seed=1))
            if spec["world"] > 1:
                return out
            made.gradient_checkpointing = False  # the one weight that is trained has no layers
            shape = "iterable" if args.streaming else "map"
            train = {"n": out.get("records", 100), "data": shape, "eval_n": out.get("eval_records", 0), "world": 1}
            trained = hf.train({**train, "args": {}}, ready=made)
            for key in ("total", "steps", "warmup", "peak_step", "peak_share", "evaluations", "checkpoints"):
                if key in trained:
                    out[key] = trained[key]
            return out
        except (Exception, SystemExit) as exception:
            return {**recording.error(exception), "stage": stage}
        finally:
            os.chdir(here)
            del os.environ["_PATCH_WORLD_SIZE"]


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record ms-swift.", "swift.json")
    with ready() as (model, stubbed):
        chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
        runs = {}
        for name, spec in chosen.items():
            runs[name] = recording.attempt(functools.partial(run, spec, model))
            if options.show:
                print(name, runs[name])
    version = options.version or recording.packages("ms-swift")["ms-swift"]
    installed = {"ms-swift": version, **recording.packages("transformers", "accelerate", "datasets", "trl", "torch")}
    recording.report(version, runs)
    if not options.show:
        told = {**installed, "stubbed": stubbed}
        recording.save(options.out, "recorders/swift.py", chosen, version, runs, told)


if __name__ == "__main__":
    main()
