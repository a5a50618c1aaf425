"""Record `swift rlhf` on the CPU: arguments or refusal, the records that are left, and what its own trainers do.

    python tests/conformance/recorders/swift_rlhf.py --package FOLDER --version 4.6.0 --out FILE

Real code: ms-swift's whole pipeline (command line, RLHFArguments, data, template, its trainers over those of TRL) with
a random Llama of a few thousand weights. GRPO stops before its first step: the length and the schedule are there by
then. Stood in for: modelscope and packages of metrics.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import tempfile
from typing import Any

import recording
from swift_ready import ready

TOLD = ("gradient_accumulation_steps", "learning_rate", "per_device_train_batch_size")


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``config`` as its YAML loads, ``n`` rows of data.jsonl, ``form`` of a row."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, method: str, n: int = 31, form: str = "", **more: Any) -> None:
        base: dict[str, Any] = {"rlhf_type": method, "dataset": "data.jsonl", "tuner_type": "lora"}
        base.update(num_train_epochs=1, per_device_train_batch_size=4, gradient_accumulation_steps=2)
        if method == "grpo":
            base.update(reward_funcs=["format"], per_device_train_batch_size=8, per_device_eval_batch_size=8)
            base.update(gradient_accumulation_steps="(absent)", num_train_epochs=2)
        config = {key: value for key, value in {**base, **more}.items() if value != "(absent)"}
        form = form or {"kto": "labels", "grpo": "prompts"}.get(method, "pairs")
        out[f"{method}/{name}"] = {"config": config, "n": n, "form": form}

    for method in ("dpo", "kto", "orpo", "cpo", "simpo", "rm"):
        add("plain", method)
        add("ratio", method, num_train_epochs=3, warmup_ratio=0.1)
        add("accumulation by default", method, gradient_accumulation_steps="(absent)")
        add("reference of an adapter", method, ref_model="other")
    add("full", "dpo", tuner_type="full", warmup_steps=2, num_train_epochs=2)
    add("full", "kto", tuner_type="full", warmup_steps=2)
    add("batch by default", "dpo", n=20, per_device_train_batch_size="(absent)")
    add("split", "dpo", split_dataset_ratio=0.1, eval_steps=2, save_steps=2)
    add("max_steps", "dpo", max_steps=3)
    add("drop last", "dpo", dataloader_drop_last=True, num_train_epochs=2)
    add("beta", "dpo", beta=0.3)
    add("equal answers", "dpo", n=20, form="half equal")
    add("both warmups", "dpo", warmup_ratio=0.1, warmup_steps=2)
    add("three losses, two weights", "dpo", loss_type=["sigmoid", "bco_pair", "sft"], loss_weights=[1.0, 0.5])
    add("two losses", "orpo", loss_type=["sigmoid", "sft"])
    add("packing", "cpo", packing=True)
    add("sequence parallel", "orpo", sequence_parallel_size=2)
    add("batch of one", "kto", per_device_train_batch_size=1, gradient_accumulation_steps=1)
    add("one row left over", "kto", n=33)
    add("another loss", "kto", loss_type="apo_zero_unpaired", gradient_accumulation_steps="(absent)")
    add("max_steps", "kto", max_steps=3)
    for name, more in {
        "plain": {},
        "ratio": {"warmup_ratio": 0.1},
        "accumulation": {"gradient_accumulation_steps": 2},
        "four": {"num_generations": 4},
        "batch 4": {"per_device_train_batch_size": 4},
        "batch 4, accumulation 2": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
        "batch by default": {"per_device_train_batch_size": "(absent)"},
        "three": {"num_generations": 3},
        "one": {"num_generations": 1},
        "generation batch": {"generation_batch_size": 32},
        "generation batch, no multiple": {"generation_batch_size": 12},
        "steps per generation": {"steps_per_generation": 4},
        "iterations": {"num_iterations": 2},
        "split": {"split_dataset_ratio": 0.1},
        "split, small batch": {"split_dataset_ratio": 0.1, "per_device_eval_batch_size": 1},
        "small batch, no evaluation": {"per_device_eval_batch_size": 1},
        "no rewards": {"reward_funcs": "(absent)"},
        "right": {"truncation_strategy": "right"},
        "max_steps": {"max_steps": 5},
        "full": {"tuner_type": "full"},
        "no beta": {"beta": 0.0},
    }.items():
        add(name, "grpo", **more)
    add("few rows", "grpo", n=3, gradient_accumulation_steps=4, num_generations=4)
    return out


def rows(form: str, n: int) -> list[dict[str, Any]]:
    """Rows of one form, each with an answer of its own."""
    made: list[dict[str, Any]] = []
    for i in range(n):
        answer = {"role": "assistant", "content": f"w{i % 45} w{i // 45}"}
        row: dict[str, Any] = {"messages": [{"role": "user", "content": "w1 w2"}, answer]}
        if form == "prompts":
            row["messages"].pop()
        elif form == "labels":
            row["label"] = i % 2 == 0
        else:
            row["rejected_response"] = answer["content"] if form == "half equal" and i % 2 else "w46"
        made.append(row)
    return made


def run(spec: dict[str, Any], model: str) -> dict[str, Any]:
    """One config through the pipeline. ``stage`` of an error: arguments, data, train."""
    import yaml
    from swift.cli.main import parse_yaml_args
    from swift.pipelines.train.rlhf import SwiftRLHF
    from transformers import TrainerCallback

    out: dict[str, Any] = {}
    noted: dict[str, list[int]] = {"evaluations": [], "checkpoints": []}
    stage = "arguments"
    method = spec["config"]["rlhf_type"]

    class EnoughError(Exception):
        pass

    class Notes(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            out.update(total=state.max_steps, warmup=args.get_warmup_steps(state.max_steps))
            if method == "grpo":
                raise EnoughError

        def on_evaluate(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            noted["evaluations"].append(state.global_step)

        def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            noted["checkpoints"].append(state.global_step)

    class Pipeline(SwiftRLHF):  # type: ignore[misc]
        def train(self, trainer: Any) -> Any:
            nonlocal stage
            stage = "train"
            out["records"] = len(trainer.train_dataset)
            out["eval_records"] = len(trainer.eval_dataset) if trainer.eval_dataset is not None else 0
            trainer.add_callback(Notes())
            with contextlib.suppress(EnoughError):
                trainer.train()
                out["steps"] = trainer.state.global_step

    here = os.getcwd()
    quiet = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), quiet:
        os.chdir(folder)
        try:
            with open("data.jsonl", "w", encoding="utf-8") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in rows(spec["form"], spec["n"]))
            fixed = {"model": model, "model_type": "llama", "template": "dummy", "torch_dtype": "float32"}
            fixed.update(output_dir="out", use_hf=True, report_to="none", dataset_num_proc=1, use_cpu=True)
            config = dict(spec["config"])
            if "ref_model" in config:
                config["ref_model"] = model
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump({**fixed, **config}, stream)
            flags = ["config.yaml"]
            parse_yaml_args(flags)
            pipeline = Pipeline(flags)
            made = pipeline.args.training_args
            out["args"] = {name: getattr(made, name) for name in TOLD}
            out["args"]["beta"] = pipeline.args.beta
            if method == "grpo":
                for name in ("num_generations", "steps_per_generation", "generation_batch_size"):
                    out["args"][name] = getattr(made, name)
            stage = "data"
            pipeline.main()
            return {**out, **{key: steps for key, steps in noted.items() if steps}}
        except (Exception, SystemExit) as exception:
            return {**recording.error(exception), "stage": stage}
        finally:
            os.chdir(here)


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record ms-swift's RLHF.", "swift_rlhf.json")
    with ready() as (model, stubbed):
        chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
        runs = {}
        for name, spec in chosen.items():
            runs[name] = recording.attempt(functools.partial(run, spec, model))
            if options.show:
                print(name, runs[name], flush=True)
    version = options.version or recording.packages("ms-swift")["ms-swift"]
    installed = {"ms-swift": version, **recording.packages("transformers", "accelerate", "datasets", "trl", "torch")}
    recording.report(version, runs)
    if not options.show:
        told = {**installed, "stubbed": stubbed}
        recording.save(options.out, "recorders/swift_rlhf.py", chosen, version, runs, told)


if __name__ == "__main__":
    main()
