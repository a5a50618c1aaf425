"""Record what real TRL trainers do on the CPU: rows kept, steps, warmup, defaults, errors.

    python tests/conformance/recorders/trl.py --out FILE

The model is a random Llama of a few thousand weights, the tokenizer knows fifty words (one word = one token): no hub
is asked.
"""

from __future__ import annotations

import functools
import importlib
import random
import tempfile
import warnings
from typing import Any

import recording
import tiny

SHOWN = (
    "learning_rate",
    "max_length",
    "max_seq_length",
    "num_generations",
    "steps_per_generation",
    "generation_batch_size",
)  # defaults


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id. ``lengths``: words in a text (or prompt) and how many rows have so many; ``form``: its keys."""
    out: dict[str, dict[str, Any]] = {}

    def add(kind: str, name: str, form: str, lengths: list[list[int]] | int = 40, **args: Any) -> None:
        spec = [[6, lengths]] if isinstance(lengths, int) else lengths
        full = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 1, "num_train_epochs": 1, **args}
        out[f"{kind}/{name}"] = {"kind": kind, "form": form, "lengths": spec, "args": full}

    forms = {
        "sft": "text",
        "dpo": "preference",
        "orpo": "preference",
        "cpo": "preference",
        "reward": "preference",
        "kto": "unpaired",
    }
    for kind, form in forms.items():
        add(kind, "plain", form)
        add(kind, "n31 b4 a4 e3", form, 31, gradient_accumulation_steps=4, num_train_epochs=3)
        add(
            kind,
            "n33 b8 a2 e1.5",
            form,
            33,
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            num_train_epochs=1.5,
        )
        add(kind, "n3 b8 a4", form, 3, per_device_train_batch_size=8, gradient_accumulation_steps=4)
        add(kind, "drop last", form, 31, dataloader_drop_last=True)
        add(kind, "max steps 7", form, max_steps=7)
        add(kind, "warmup 0.1", form, 100, ratio=0.1, lr_scheduler_type="cosine")
    mixed = [[10, 30], [60, 8], [150, 2]]
    for strategy in (None, "bfd", "bfd_split", "ffd", "wrapped"):
        chosen = {"packing_strategy": strategy} if strategy else {}
        add("sft", f"packing {strategy or 'default'}", "text", mixed, length=128, packing=True, **chosen)
        add(
            "sft",
            f"packing {strategy or 'default'} two batches",
            "text",
            mixed,
            length=64,
            packing=True,
            num_train_epochs=2,
            per_device_train_batch_size=2,
            **chosen,
        )
    add("sft", "longer than length", "text", mixed, length=32)
    add("sft", "prompts longer than length", "prompt-completion", [[10, 30], [100, 10]], length=64)
    add("sft", "messages", "messages", 20)
    add("sft", "messages, assistant only", "messages", 20, assistant_only_loss=True)
    add("sft", "prompt and completion", "prompt-completion", 20)
    add("sft", "evaluation packed", "text", mixed, length=128, packing=True, eval_packing=False)
    add("sft", "max_seq_length", "text", mixed, max_seq_length=32)
    add("sft", "unknown argument", "text", warmup_rato=0.1)
    for length in (4, 16, 64):
        add("dpo", f"pairs at length {length}", "preference", [[5, 30], [40, 10]], max_length=length)
        add("reward", f"pairs at length {length}", "preference", [[5, 30], [40, 10]], max_length=length)
        add("kto", f"rows at length {length}", "unpaired", [[5, 30], [40, 10]], max_length=length)
    add("kto", "batch 1", "unpaired", 8, per_device_train_batch_size=1)
    add("kto", "apo, batch 1", "unpaired", 8, per_device_train_batch_size=1, loss_type="apo_zero_unpaired")
    add("dpo", "beta 0", "preference", 8, beta=0)
    add("dpo", "beta -1", "preference", 8, beta=-1)
    add("dpo", "loss unknown", "preference", 8, loss_type="sigmod")
    add("dpo", "loss ipo", "preference", 8, loss_type="ipo")
    add("orpo", "too long", "preference", [[5, 30], [40, 10]], max_length=16)
    for kind in ("grpo", "rloo"):
        for n, generations, batch, accumulation, more in (
            (40, 4, 4, 2, {}), (40, 8, 4, 4, {}), (40, 8, 8, 1, {}), (41, 2, 4, 1, {}),
            (40, 8, 8, 1, {"num_iterations": 2}),
            (40, 4, 4, 2, {"steps_per_generation": 4}), (40, 4, 4, 2, {"steps_per_generation": 1}),
            (40, 4, 4, 4, {"steps_per_generation": 8, "num_iterations": 2}),
            (40, 4, 4, 2, {"generation_batch_size": 16}), (40, 4, 4, 2, {"generation_batch_size": 6}),
            (33, 4, 8, 2, {"num_train_epochs": 3}),
            (40, 3, 4, 2, {}), (40, 1, 4, 1, {}), (40, 8, 4, 1, {}), (10, 2, 64, 2, {}),
            (10, 2, 64, 2, {"max_steps": 3}), (40, 4, 4, 2, {"max_steps": 7}),
            (40, 4, 4, 3, {"num_train_epochs": 1.5}),
            (40, 8, 4, 2, {"steps_per_generation": 2, "generation_batch_size": 8}),
            (40, 4, 4, 3, {"steps_per_generation": 2}),
        ):  # fmt: skip
            told = "".join(f" {key}={value}" for key, value in more.items())
            args: dict[str, Any] = {
                "num_generations": generations,
                "per_device_train_batch_size": batch,
                "gradient_accumulation_steps": accumulation,
                **more,
            }
            add(
                kind,
                f"n{n} g{generations} b{batch} a{accumulation}{told}",
                "prompt",
                n,
                max_completion_length=4,
                **args,
            )
        add(kind, "default generations", "prompt", 40, per_device_train_batch_size=8, max_completion_length=4)
    return out


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a case: words at random, answers of five words."""
    rng = random.Random(7)

    def words(count: int) -> str:
        return " ".join(f"w{rng.randrange(tiny.WORDS)}" for _ in range(count))

    def row(size: int, number: int) -> dict[str, Any]:
        if spec["form"] == "text":
            return {"text": words(size)}
        if spec["form"] == "messages":
            return {"messages": [{"role": "user", "content": words(size)}, {"role": "assistant", "content": words(5)}]}
        if spec["form"] == "prompt":
            return {"prompt": words(size)}
        if spec["form"] == "preference":
            return {"prompt": words(size), "chosen": " " + words(5), "rejected": " " + words(5)}
        answer = {"prompt": words(size), "completion": " " + words(5)}
        return {**answer, "label": number % 2 == 0} if spec["form"] == "unpaired" else answer

    sizes = [size for size, count in spec["lengths"] for _ in range(count)]
    return [row(size, number) for number, size in enumerate(sizes)]


def classes(kind: str) -> tuple[Any, Any]:
    """The config and the trainer class, from the main package or where they have moved to."""
    name = {"reward": "Reward"}.get(kind, kind.upper())
    for place in ("trl", f"trl.experimental.{kind}"):
        try:
            module = importlib.import_module(place)
            return getattr(module, f"{name}Config"), getattr(module, f"{name}Trainer")
        except (AttributeError, ImportError):
            continue
    raise LookupError(f"no {name}Trainer in this version")


def train(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one case."""
    import transformers
    from accelerate.state import GradientState
    from datasets import Dataset

    GradientState._reset_state()
    kind = spec["kind"]
    config, trainer_class = classes(kind)
    fields = config.__dataclass_fields__
    if kind == "rloo" and "num_generations" not in fields:
        raise LookupError("RLOO of this version is another trainer, with reward models and no steps of this kind")
    args = dict(spec["args"])
    if "ratio" in args:
        old = int(transformers.__version__.split(".")[0]) < 5
        args["warmup_ratio" if old else "warmup_steps"] = args.pop("ratio")
    if "length" in args:
        args["max_length" if "max_length" in fields else "max_seq_length"] = args.pop("length")
    quiet = {
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = config(output_dir=folder, **{**quiet, **args})
        more: dict[str, Any] = {}
        if kind in ("grpo", "rloo"):
            more["reward_funcs"] = lambda completions, **rest: [float(len(text) % 3) for text in completions]
        if kind in ("dpo", "kto"):
            more["ref_model"] = tiny.model(folder)
        data = Dataset.from_list(rows(spec))
        trainer = trainer_class(
            tiny.model(folder, kind == "reward"),
            args=settings,
            train_dataset=data,
            processing_class=tiny.tokenizer(),
            **more,
        )
        trainer.remove_callback(transformers.PrinterCallback)
        out: dict[str, Any] = {}
        try:
            out["rows"] = len(trainer.train_dataset)
        except TypeError:
            out["rows"] = None  # an iterable data set has no length
        trainer.train()
        state = trainer.state
        out.update(
            total=state.max_steps,
            steps=state.global_step,
            warmup=settings.get_warmup_steps(state.max_steps),
            passes=round(state.epoch or 0, 3),
        )
        shown = {name: getattr(settings, name) for name in SHOWN if name in fields and name not in args}
        return {**out, "defaults": shown} if spec["shown"] else out


def main() -> None:
    """Run all cases under the installed TRL and add them to the recording."""
    options = recording.arguments("Record TRL trainers.", "trl.json")
    import datasets
    import torch
    import transformers

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        now = {**spec, "shown": name.endswith(("/plain", "/default generations"))}
        runs[name] = recording.attempt(functools.partial(train, now))
        if runs[name].get("error") == "LookupError":
            del runs[name]  # this version has no such trainer
            continue
        if options.show:
            print(name, runs[name])
    installed = recording.packages("trl", "transformers", "accelerate", "datasets", "torch")
    recording.report(installed["trl"], runs)
    if not options.show:
        recording.save(options.out, "recorders/trl.py", chosen, installed["trl"], runs, installed)


if __name__ == "__main__":
    main()
