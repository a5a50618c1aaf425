"""Record LLaMA-Factory's own reading of a config and its data: arguments or refusal, rows kept, and what the Trainer
does.

    python tests/conformance/recorders/llamafactory.py --package FOLDER --version 0.9.5 --out FILE

Real code: the YAML loader, get_train_args, dataset_info.json, get_dataset with a real template and a tokenizer of fifty
words; then the installed transformers Trainer with those arguments and as many rows as were kept. Version checks are
off.
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

import hf
import recording
import stubs
import tiny

KEPT = (
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps", "warmup_steps",
    "lr_scheduler_type", "eval_strategy", "eval_steps", "eval_on_start", "save_strategy", "save_steps", "logging_steps",
    "load_best_model_at_end", "metric_for_best_model", "dataloader_drop_last", "learning_rate",
)  # fmt: skip
BASE: dict[str, Any] = {
    "model_name_or_path": "org/tiny",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "lora",
    "dataset": "a",
    "template": "default",
    "cutoff_len": 64,
    "output_dir": "out",
    "report_to": "none",
    "per_device_train_batch_size": 8,
    "num_train_epochs": 3.0,
}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``args`` of the config, ``data`` (name: rows, form, dataset_info.json adds), or ``text``."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str,
        n: int = 100,
        form: str = "alpaca",
        info: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        args = {key: value for key, value in {**BASE, **more}.items() if value != "(absent)"}
        out[name] = {"args": args, "data": data or {"a": {"n": n, "form": form, "info": info or {}}}}

    def entry(n: int, form: str = "alpaca", **info: Any) -> dict[str, Any]:
        return {"n": n, "form": form, "info": info}

    for n, batch, accumulation, epochs in (
        (100, 8, 1, 3.0),
        (100, 2, 4, 3.0),
        (31, 8, 4, 1.0),
        (31, 2, 4, 3.0),
        (7, 2, 16, 1.0),
        (64, 8, 2, 2.5),
    ):
        add(
            f"length/n{n} b{batch} a{accumulation} e{epochs}",
            n,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            num_train_epochs=epochs,
        )
    for size in (0, 0.1, 0.05, 0.5, 0.99, 1, 1.0, 10, 99, 100, 1.5):
        add(f"split/val_size {size!r}", val_size=size)
    add("split/val_size 0.1 of 11", 11, val_size=0.1)
    add("split/val_size with evaluation set", val_size=0.1, eval_dataset="b", data={"a": entry(100), "b": entry(12)})
    add(
        "split/evaluation set",
        eval_dataset="b",
        data={"a": entry(100), "b": entry(12)},
        eval_strategy="steps",
        eval_steps=10,
    )
    add(
        "split/two evaluation sets, each",
        eval_dataset="b,c",
        eval_on_each_dataset=True,
        data={"a": entry(100), "b": entry(12), "c": entry(5)},
    )
    add("split/val_size 0.1, max_samples 40", val_size=0.1, max_samples=40)
    for cap in (1, 40, 100, 1000):
        add(f"cap/max_samples {cap}", max_samples=cap)
    add("cap/max_samples on two sets", dataset="a,b", max_samples=40, data={"a": entry(100), "b": entry(30)})
    for count in (10, 100, 250):
        add(f"cap/num_samples {count}", info={"num_samples": count})
    add("cap/num_samples 250, max_samples 40", info={"num_samples": 250}, max_samples=40)
    add("mix/two sets", dataset="a,b", data={"a": entry(100), "b": entry(30)})
    add("mix/spaces", dataset="a, b", data={"a": entry(100), "b": entry(30)})
    add("mix/list", dataset=["a", "b"], data={"a": entry(100), "b": entry(30)})
    for strategy in ("interleave_under", "interleave_over", "interleave_once"):
        add(
            f"mix/{strategy}",
            dataset="a,b",
            mix_strategy=strategy,
            interleave_probs="0.5,0.5",
            data={"a": entry(100), "b": entry(30)},
        )
    add(
        "mix/probabilities without interleaving",
        dataset="a,b",
        interleave_probs="0.5,0.5",
        data={"a": entry(100), "b": entry(30)},
    )
    add(
        "mix/one probability for two",
        dataset="a,b",
        mix_strategy="interleave_over",
        interleave_probs="0.5",
        data={"a": entry(100), "b": entry(30)},
    )
    add("mix/unknown set", dataset="a,z")
    for form in (
        "alpaca",
        "alpaca history",
        "sharegpt",
        "sharegpt system",
        "openai",
        "openai without tags",
        "sharegpt odd",
        "sharegpt swapped",
        "alpaca empty output",
        "alpaca without output",
        "sharegpt three turns",
    ):
        add(f"form/{form}", 20, form)
    add("form/sharegpt three turns, mask_history", 20, "sharegpt three turns", mask_history=True)
    add("form/long rows", 20, "alpaca long")
    add("stage/pt", 40, "text", stage="pt")
    add("stage/pt without packing", 40, "text", stage="pt", packing=False)
    add("stage/sft packing", 40, packing=True)
    add("stage/sft neat_packing", 40, neat_packing=True)
    add("stage/dpo", 30, "ranking", stage="dpo")
    add("stage/rm", 30, "ranking", stage="rm")
    add("stage/kto", 30, "kto", stage="kto")
    add("stage/dpo without ranking", 30, stage="dpo")
    add("stage/sft with ranking", 30, "ranking")
    add("stage/dpo neat_packing", 30, "ranking", stage="dpo", neat_packing=True)
    add("stage/dpo mask_history", 30, "ranking", stage="dpo", mask_history=True)
    held: dict[str, Any] = {"val_size": 0.1}
    for name, more in {
        "nothing": {},
        "eval steps 10": {"eval_strategy": "steps", "eval_steps": 10},
        "eval steps 100": {"eval_strategy": "steps", "eval_steps": 100},
        "eval epoch": {"eval_strategy": "epoch"},
        "save steps 10": {"save_steps": 10},
        "save 'no'": {"save_strategy": "no"},
        "best": {"eval_strategy": "steps", "eval_steps": 10, "save_steps": 20, "load_best_model_at_end": True},
        "best, not a multiple": {
            "eval_strategy": "steps",
            "eval_steps": 10,
            "save_steps": 15,
            "load_best_model_at_end": True,
        },
        "stopping": {
            "eval_strategy": "steps",
            "eval_steps": 5,
            "save_steps": 5,
            "load_best_model_at_end": True,
            "early_stopping_steps": 2,
        },
        "do_eval": {"do_eval": True},
    }.items():
        add(f"cadence/{name}", **held, **more)
    add("cadence/eval without data", eval_strategy="steps", eval_steps=10)
    add("cadence/do_eval without data", do_eval=True)
    for name, more in {
        "ratio 0.1": {"warmup_ratio": 0.1},
        "steps 10": {"warmup_steps": 10},
        "steps 100": {"warmup_steps": 100},
        "steps 0.1": {"warmup_steps": 0.1},
        "both": {"warmup_steps": 10, "warmup_ratio": 0.1},
        "constant": {"lr_scheduler_type": "constant", "warmup_steps": 10},
    }.items():
        add(f"warmup/{name}", **more)
    for name, more in {
        "max_steps 7": {"max_steps": 7},
        "unknown key": {"warmup_rato": 0.1},
        "streaming without max": {"streaming": True},
        "streaming, max 10": {"streaming": True, "max_steps": 10},
        "streaming, max 10, a worker": {"streaming": True, "max_steps": 10, "dataloader_num_workers": 1},
        "streaming, max_samples": {"streaming": True, "max_steps": 10, "max_samples": 10},
        "streaming, val fraction": {"streaming": True, "max_steps": 10, "val_size": 0.1},
        "mask_history and train_on_prompt": {"mask_history": True, "train_on_prompt": True},
        "epochs as text": {"num_train_epochs": "3"},
        "batch as text": {"per_device_train_batch_size": "8"},
        "batch as float": {"per_device_train_batch_size": 8.0},
        "batch as fraction": {"per_device_train_batch_size": 2.5},
        "accumulation as text": {"gradient_accumulation_steps": "2"},
        "accumulation as float": {"gradient_accumulation_steps": 2.0},
        "accumulation as fraction": {"gradient_accumulation_steps": 1.5},
        "max_steps as float": {"max_steps": 7.0},
        "save steps as text": {"save_steps": "10"},
        "rate as text": {"learning_rate": "2e-5"},
        "no data": {"dataset": "(absent)"},
        "no model": {"model_name_or_path": "(absent)"},
        "no template": {"template": "(absent)"},
        "unknown template": {"template": "no_such"},
        "adapter with full": {"finetuning_type": "full", "adapter_name_or_path": "x"},
        "quantized full": {"finetuning_type": "full", "quantization_bit": 4},
        "unknown finetuning_type": {"finetuning_type": "lorra"},
        "dora with full": {"finetuning_type": "full", "use_dora": True},
        "loraplus with full": {"finetuning_type": "full", "loraplus_lr_ratio": 16.0},
        "galore with lora": {"use_galore": True},
        "galore and apollo": {"finetuning_type": "full", "use_galore": True, "use_apollo": True},
        "label smoothing, orpo": {"stage": "dpo", "pref_loss": "orpo", "dpo_label_smoothing": 0.1},
        "ppo without reward model": {"stage": "ppo"},
        "rm with best": {"stage": "rm", "load_best_model_at_end": True},
        "overwrite_output_dir": {"overwrite_output_dir": True},
        "evaluation_strategy": {"evaluation_strategy": "no"},
        "logging_dir": {"logging_dir": "logs"},
    }.items():
        add(f"value/{name}", **more)
    files: dict[str, str] = {
        "scientific": "learning_rate: 2e-5\n",
        "scientific with dot": "learning_rate: 2.0e-5\n",
        "no": "eval_strategy: no\n",
        "twice": "cutoff_len: 64\ncutoff_len: 128\n",
        "flag": "cutoff_len: 64\n",
        "interpolation": "cutoff_len: 64\neval_steps: ${cutoff_len}\n",
        "octal": "seed: 010\n",
        "none": "max_samples: null\n",
        "underscore": "max_samples: 1_000\n",
    }
    for name, text in files.items():
        flags = ["cutoff_len=128", "learning_rate=1e-4"] if name == "flag" else []
        out[f"file/{name}"] = {"text": text, "flags": flags}
    out["file/json"] = {"text": '{"cutoff_len": 64}', "flags": [], "suffix": ".json"}
    return out


def rows(form: str, n: int) -> list[dict[str, Any]]:
    """The rows of a data set in one of LLaMA-Factory's forms."""

    def talk(*words: str) -> list[dict[str, str]]:
        return [{"from": word, "value": "w1 w2 w3"} for word in words]

    made: dict[str, Any] = {
        "alpaca": {"instruction": "w1 w2", "input": "", "output": "w3 w4"},
        "alpaca history": {"instruction": "w1", "input": "", "output": "w3", "history": [["w5", "w6"], ["w7", "w8"]]},
        "alpaca empty output": {"instruction": "w1 w2", "input": "", "output": ""},
        "alpaca without output": {"instruction": "w1 w2", "input": ""},
        "alpaca long": {"instruction": " ".join(["w1"] * 100), "input": "", "output": " ".join(["w2"] * 100)},
        "text": {"text": " ".join(["w1"] * 20)},
        "sharegpt": {"conversations": talk("human", "gpt")},
        "sharegpt three turns": {"conversations": talk("human", "gpt", "human", "gpt", "human", "gpt")},
        "sharegpt system": {"conversations": talk("system", "human", "gpt")},
        "sharegpt odd": {"conversations": talk("human", "gpt", "human")},
        "sharegpt swapped": {"conversations": talk("gpt", "human")},
        "openai without tags": {
            "messages": [{"role": "user", "content": "w1"}, {"role": "assistant", "content": "w2"}]
        },
        "openai": {"messages": [{"role": "user", "content": "w1"}, {"role": "assistant", "content": "w2"}]},
        "ranking": {"instruction": "w1", "input": "", "chosen": "w2", "rejected": "w3"},
        "kto": {"messages": talk("human", "gpt")},
    }
    data = [dict(made[form]) for _ in range(n)]
    if form in ("sharegpt odd", "sharegpt swapped", "alpaca empty output"):  # half of them whole, so that some are kept
        whole = made["sharegpt" if form.startswith("sharegpt") else "alpaca"]
        data[::2] = [dict(whole) for _ in data[::2]]
    if form == "kto":
        data = [{**row, "label": number % 2 == 0} for number, row in enumerate(data)]
    return data


def info(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """What dataset_info.json says of one set."""
    form = spec["form"]
    told: dict[str, Any] = {"file_name": f"{name}.json"}
    if form.startswith("sharegpt"):
        told["formatting"] = "sharegpt"
    elif form.startswith("openai"):
        told.update(formatting="openai", columns={"messages": "messages"})
        if form == "openai":
            told["tags"] = {
                "role_tag": "role",
                "content_tag": "content",
                "user_tag": "user",
                "assistant_tag": "assistant",
            }
    elif form == "alpaca history":
        told["columns"] = {"prompt": "instruction", "query": "input", "response": "output", "history": "history"}
    elif form == "text":
        told["columns"] = {"prompt": "text"}
    elif form == "ranking":
        told.update(
            ranking=True,
            columns={"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"},
        )
    elif form == "kto":
        told.update(formatting="sharegpt", columns={"messages": "messages", "kto_tag": "label"})
    return {**told, **spec["info"]}


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """One config: its arguments, its data, its training. ``stage`` of an error: arguments, data, train."""
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams.parser import get_train_args

    stage = "arguments"
    here = os.getcwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        os.chdir(folder)
        try:
            os.mkdir("data")
            told = {}
            for name, data in spec["data"].items():
                told[name] = info(name, data)
                with open(f"data/{name}.json", "w", encoding="utf-8") as stream:
                    json.dump(rows(data["form"], data["n"]), stream)
            with open("data/dataset_info.json", "w", encoding="utf-8") as stream:
                json.dump(told, stream)
            args = {"overwrite_cache": True, "use_cpu": True, **spec["args"]}
            model_args, data_args, training_args, finetuning_args, _ = get_train_args(args)
            stage = "data"
            tokenizer = tiny.tokenizer()
            template = get_template_and_fix_tokenizer(tokenizer, data_args)
            kind = {"dpo": "rm"}.get(finetuning_args.stage, finetuning_args.stage)
            made = get_dataset(
                template, model_args, data_args, training_args, stage=kind, tokenizer=tokenizer, processor=None
            )
            training, evaluation = made.get("train_dataset"), made.get("eval_dataset")
            sets = evaluation if isinstance(evaluation, dict) else {"": evaluation} if evaluation is not None else {}
            out: dict[str, Any] = {}
            if not data_args.streaming:
                out["records"] = len(training)
                out["eval_records"] = sum(len(one) for one in sets.values())
            stage = "train"
            values = {name: getattr(training_args, name) for name in KEPT}
            if finetuning_args.early_stopping_steps is not None:
                values["early_stopping_patience"] = finetuning_args.early_stopping_steps
            shape = "iterable" if data_args.streaming else "map"
            trained = hf.train(
                {
                    "n": out.get("records", 100),
                    "data": shape,
                    "eval_n": out.get("eval_records", 0),
                    "world": 1,
                    "args": values,
                }
            )
            for key in ("total", "steps", "warmup", "peak_step", "peak_share", "evaluations", "checkpoints"):
                if key in trained:
                    out[key] = trained[key]
            return out
        except (Exception, SystemExit) as exception:
            return {**recording.error(exception), "stage": stage}
        finally:
            os.chdir(here)


def read(spec: dict[str, Any]) -> dict[str, Any]:
    """What LLaMA-Factory's file loader makes of a text and flags behind it."""
    from llamafactory.hparams.parser import read_args

    before = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config" + spec.get("suffix", ".yaml"))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(spec["text"])
        sys.argv = ["train", path, *spec["flags"]]
        try:
            return {"values": read_args()}
        finally:
            sys.argv = before


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record LLaMA-Factory.", "llamafactory.json")
    os.environ["DISABLE_VERSION_CHECK"] = "1"
    import logging

    import datasets
    import peft  # noqa: F401  (with all that it imports of transformers: before anything is stood in for)
    import torch

    finder = stubs.install("torchaudio")
    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        work = read if "text" in spec else run
        runs[name] = recording.attempt(functools.partial(work, spec))
        if options.show:
            print(name, runs[name])
    version = options.version or recording.packages("llamafactory")["llamafactory"]
    installed = {
        "llamafactory": version,
        **recording.packages("transformers", "accelerate", "datasets", "omegaconf", "torch"),
    }
    recording.report(version, runs)
    if not options.show:
        told = {**installed, "stubbed": ", ".join(sorted(finder.made))}
        recording.save(options.out, "recorders/llamafactory.py", chosen, version, runs, told)


if __name__ == "__main__":
    main()
