"""Record what the real transformers ``Trainer`` does on the CPU: steps, warmup, rates, evaluations, errors.

    python tests/conformance/recorders/hf.py --out FILE
    torchrun --nproc_per_node 2 tests/conformance/recorders/hf.py --out FILE     (the two-process cases)

The model is one weight, the records are numbers: nothing is downloaded. Environments: ``tests/conformance/README.md``.
"""

from __future__ import annotations

import copy
import functools
import os
import random
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import recording

PEAK = 1e-3  # configured learning rate; rates are recorded as shares of it
SMALL = [(31, 8, 1), (31, 8, 4), (100, 8, 4), (10, 2, 3)]  # records, per-device batch, accumulation


def case(
    group: str, n: int, batch: Any, accumulation: Any, data: str = "map", eval_n: int = 0, world: int = 1, **args: Any
) -> tuple[str, dict[str, Any]]:
    """One case: its id tells what it is; the arguments are those of TrainingArguments, apart from the three below.

    ``ratio`` is passed as ``warmup_ratio`` before transformers 5 and as a fractional ``warmup_steps`` since;
    ``eval_strategy`` under its old name where only that exists; ``early_stopping_patience`` adds the callback.
    """
    words = [
        f"n{n}",
        f"b{_short(batch)}",
        f"a{_short(accumulation)}",
        *(f"{key}={_short(value)}" for key, value in args.items()),
    ]
    words += [data] if data != "map" else []
    words += [f"eval{eval_n}"] if eval_n else []
    words += [f"w{world}"] if world > 1 else []
    full = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation, **args}
    return f"{group}/{' '.join(words)}", {"n": n, "data": data, "eval_n": eval_n, "world": world, "args": full}


def _short(value: Any) -> str:
    """A value as it stands in an id: text keeps its quotes only where it would look like a number."""
    text = repr(value).replace(" ", "")
    return text if isinstance(value, str) and value[:1].isdigit() else text.replace("'", "")


def single_process() -> list[tuple[str, dict[str, Any]]]:
    """The cases of one process, grouped by what they are about."""
    out = []
    for n in (1, 7, 10, 31, 64, 100):  # lengths that divide by neither, one or both of batch and accumulation
        for batch in (2, 8):
            for accumulation in (1, 3, 4, 16):
                out += [case("length", n, batch, accumulation, num_train_epochs=epochs) for epochs in (1, 3)]
    rng = random.Random(20261130)
    while len(out) < 96 + 70:  # shapes that nobody chose
        n, batch, accumulation = rng.randint(1, 300), rng.randint(1, 16), rng.randint(1, 9)
        epochs, drop = rng.choice([0.25, 1, 1.4, 2, 2.75, 3, 5]), rng.random() < 0.3
        if n / batch * epochs <= 160:
            out.append(
                case(
                    "any",
                    n,
                    batch,
                    accumulation,
                    num_train_epochs=epochs,
                    dataloader_drop_last=drop,
                    ratio=rng.choice([0.03, 0.05, 0.1, 0.33]),
                )
            )
    for n in (7, 31, 100):
        for batch in (2, 8):
            out += [
                case("drop", n, batch, accumulation, num_train_epochs=3, dataloader_drop_last=True)
                for accumulation in (1, 4)
            ]
    for shape in SMALL:
        out += [case("fraction", *shape, num_train_epochs=epochs) for epochs in (0.01, 0.5, 1.5, 2.3)]
    for shape in SMALL[:3]:
        out += [case("max", *shape, num_train_epochs=1, max_steps=steps) for steps in (1, 5, 20)]
    out += [
        case("max", 31, 8, 1, num_train_epochs=1, max_steps=0),
        case("max", 31, 8, 1, num_train_epochs=2, max_steps=-1),
        case("max", 31, 8, 1, num_train_epochs=2, max_steps=-7),
        case("max", 10, 2, 1, num_train_epochs=0),
        case("max", 10, 2, 1, num_train_epochs=-1),
        case("max", 10, 8, 16, num_train_epochs=0, max_steps=3),
        case("max", 10, 2, 3),
    ]
    return out + schedules() + warmups() + streams() + cadences() + refusals()


def schedules() -> list[tuple[str, dict[str, Any]]]:
    """Each kind of schedule without warmup, with a share and with steps; 39 steps each."""
    needs: dict[str, dict[str, Any]] = {
        "linear": {},
        "cosine": {},
        "cosine_with_restarts": {},
        "polynomial": {},
        "constant": {},
        "constant_with_warmup": {},
        "inverse_sqrt": {},
        "cosine_with_min_lr": {"lr_scheduler_kwargs": {"min_lr_rate": 0.1}},
        "cosine_warmup_with_min_lr": {"lr_scheduler_kwargs": {"min_lr_rate": 0.1}},
        "warmup_stable_decay": {"lr_scheduler_kwargs": {"num_decay_steps": 10}},
        "reduce_lr_on_plateau": {"eval_strategy": "epoch", "eval_n": 4},
        "greedy": {"eval_strategy": "epoch", "eval_n": 4},
    }
    out = []
    for kind, extra in needs.items():
        for warm in ({}, {"ratio": 0.1}, {"warmup_steps": 10}):
            out += [case("schedule", 100, 8, 1, num_train_epochs=3, lr_scheduler_type=kind, **extra, **warm)]
    out += [
        case(
            "schedule",
            100,
            8,
            1,
            num_train_epochs=3,
            lr_scheduler_type="cosine_with_restarts",
            lr_scheduler_kwargs={"num_cycles": 3},
        ),
        case("schedule", 100, 8, 1, num_train_epochs=3, lr_scheduler_type="cosine", warmup_steps=39),
        case("schedule", 100, 8, 1, num_train_epochs=3, lr_scheduler_type="cosine", warmup_steps=100),
        case(
            "schedule",
            100,
            8,
            1,
            num_train_epochs=3,
            lr_scheduler_type="warmup_stable_decay",
            warmup_steps=30,
            lr_scheduler_kwargs={"num_decay_steps": 20},
        ),
        case(
            "schedule",
            100,
            8,
            1,
            num_train_epochs=3,
            lr_scheduler_type="polynomial",
            lr_scheduler_kwargs={"lr_end": 1e-2},
        ),
    ]
    return out


def warmups() -> list[tuple[str, dict[str, Any]]]:
    """Warmup written in every way, right and wrong, and short runs whose first step learns nothing."""
    ways: list[dict[str, Any]] = [
        {"ratio": 0.03},
        {"ratio": 1.0},
        {"warmup_steps": 1},
        {"warmup_steps": 38},
        {"warmup_steps": 39},
        {"warmup_steps": 40},
        {"warmup_steps": 100},
        {"warmup_steps": 0.1},
        {"warmup_steps": 0.5},
        {"warmup_steps": 1.0},
        {"warmup_steps": 2.5},
        {"warmup_steps": -1},
        {"warmup_steps": "10"},
        {"warmup_ratio": 0.1},
        {"warmup_ratio": 1.0},
        {"warmup_ratio": 1.5},
        {"warmup_ratio": -0.1},
        {"warmup_ratio": 5},
        {"warmup_ratio": 0.1, "warmup_steps": 10},
        {"warmup_ratio": 0.0, "warmup_steps": 10},
        {"warmup_ratio": 0.1, "warmup_steps": 0},
    ]
    out = [case("warmup", 100, 8, 1, num_train_epochs=3, **way) for way in ways]
    out += [
        case("warmup", 100, 1, 1, num_train_epochs=1, ratio=0.07),  # 100 * 0.07 is 7.000000000000001
        case("warmup", 31, 8, 4, num_train_epochs=3, ratio=0.1),
        case("warmup", 100, 8, 1, num_train_epochs=3, max_steps=20, ratio=0.1),
    ]
    for steps in (1, 2, 3):
        out.append(case("warmup", 100, 8, 1, max_steps=steps, ratio=0.03))
    return out


def streams() -> list[tuple[str, dict[str, Any]]]:
    """Iterable data, which has no length, and data with nothing in it."""
    return [
        case("stream", 10, 2, 1, data="iterable", max_steps=4),
        case("stream", 10, 2, 3, data="iterable", max_steps=4),
        case("stream", 10, 2, 1, data="iterable", max_steps=12),
        case("stream", 10, 2, 4, data="iterable", max_steps=3, ratio=0.5),
        case("stream", 10, 3, 1, data="iterable", max_steps=6, dataloader_drop_last=True),
        case("stream", 10, 2, 1, data="iterable", max_steps=6, eval_strategy="epoch", eval_n=2),
        case("stream", 10, 2, 1, data="iterable", num_train_epochs=2),
        case("stream", 0, 2, 1, data="iterable", max_steps=4),
        case("stream", 0, 2, 1),
    ]


def cadences() -> list[tuple[str, dict[str, Any]]]:
    """Evaluations, checkpoints, logs and early stopping of a run of 39 steps (13 an epoch)."""
    steps, epoch = {"eval_strategy": "steps"}, {"eval_strategy": "epoch"}
    saves: dict[str, Any] = {"save_strategy": "steps"}
    best = {"load_best_model_at_end": True}
    ways: list[dict[str, Any]] = [
        steps,
        {**steps, "eval_steps": 1},
        {**steps, "eval_steps": 10},
        {**steps, "eval_steps": 13},
        {**steps, "eval_steps": 39},
        {**steps, "eval_steps": 40},
        {**steps, "eval_steps": 100},
        {**steps, "eval_steps": 0.25},
        {**steps, "eval_steps": 0.1},
        {**steps, "eval_steps": 1.0},
        {**steps, "eval_steps": 2.5},
        {**steps, "eval_steps": 0},
        {**steps, "logging_steps": 15},
        {**steps, "eval_steps": 10, "eval_delay": 15},
        {**steps, "eval_steps": 10, "eval_on_start": True},
        {"eval_strategy": "no", "eval_steps": 10},
        {"eval_steps": 10},
        epoch,
        {**epoch, "eval_steps": 10},
        {**epoch, "eval_delay": 2},
        {**saves, "save_steps": 100},
        {**saves, "save_steps": 39},
        {**saves, "save_steps": 10},
        {**saves, "save_steps": 0.2},
        {**saves, "save_steps": 10, "save_total_limit": 1},
        saves,
        {"save_strategy": "epoch"},
        {"save_strategy": "best", **epoch, "metric_for_best_model": "loss"},
        {"save_strategy": "best", **epoch},
        {**steps, "eval_steps": 10, **saves, "save_steps": 10, **best},
        {**steps, "eval_steps": 10, **saves, "save_steps": 20, **best},
        {**steps, "eval_steps": 10, **saves, "save_steps": 15, **best},
        {**steps, "eval_steps": 10, **saves, "save_steps": 100, **best},
        {**steps, "eval_steps": 50, **saves, "save_steps": 50, **best},
        {**steps, "eval_steps": 0.1, **saves, "save_steps": 0.2, **best},
        {**steps, "eval_steps": 0.1, **saves, "save_steps": 0.25, **best},
        {**steps, "eval_steps": 0.1, **saves, "save_steps": 10, **best},
        {**epoch, **saves, **best},
        {**epoch, "save_strategy": "epoch", **best},
        {**epoch, "save_strategy": "epoch", **best, "metric_for_best_model": "accuracy"},
        {**epoch, "save_strategy": "epoch", **best, "save_total_limit": 1},
        {"save_strategy": "epoch", **best},
        best,
        {"logging_strategy": "steps", "logging_steps": 10},
        {"logging_strategy": "steps", "logging_steps": 500},
        {"logging_strategy": "steps", "logging_steps": 0},
        {"logging_strategy": "epoch"},
    ]
    out = [case("cadence", 100, 8, 1, eval_n=4, num_train_epochs=3, **way) for way in ways]
    stop: dict[str, Any] = {
        "learning_rate": 0.0,
        **steps,
        "eval_steps": 4,
        **saves,
        **best,
    }  # rate 0: the loss never improves
    for patience, every in ((1, 4), (2, 4), (3, 4), (1, 8), (20, 4)):
        out.append(
            case(
                "stopping",
                100,
                8,
                1,
                eval_n=4,
                num_train_epochs=3,
                **{**stop, "save_steps": every, "early_stopping_patience": patience},
            )
        )
    out += [
        case("stopping", 100, 8, 1, eval_n=4, num_train_epochs=3, early_stopping_patience=1),
        case(
            "stopping",
            100,
            8,
            1,
            eval_n=4,
            num_train_epochs=3,
            early_stopping_patience=1,
            learning_rate=0.0,
            **steps,
            eval_steps=4,
            metric_for_best_model="loss",
        ),
        case("cadence", 100, 8, 1, eval_n=4, max_steps=5, **epoch),
        case("cadence", 100, 8, 1, eval_n=4, max_steps=5, **steps, eval_steps=0.5),
        case("cadence", 100, 8, 1, **epoch),
        case("cadence", 100, 8, 1, **steps, eval_steps=10),
    ]
    return out


def refusals() -> list[tuple[str, dict[str, Any]]]:
    """Values that a config file can hold and the trainer refuses, crashes on, or takes without a word."""
    ways: list[dict[str, Any]] = [
        {"learning_rate": "2e-5"},
        {"learning_rate": 0},
        {"learning_rate": -1e-4},
        {"num_train_epochs": "3"},
        {"max_steps": "5"},
        {"max_steps": 2.5},
        {"max_steps": 2.0},
        {"weight_decay": "0.1"},
        {"lr_scheduler_type": "cosine_annealing"},
        {"lr_scheduler_type": "cosine_with_min_lr"},
        {"optim": "adamw"},
        {"optim": "adamw_hf"},
        {"evaluation_strategy": "no"},
        {"eval_strategy": False},
        {"save_strategy": False},
        {"group_by_length": True},
        {"overwrite_output_dir": True},
        {"logging_dir": "logs"},
        {"per_gpu_train_batch_size": 4},
        {"warmup_rato": 0.1},
        {"fp16": True, "bf16": True},
        {"auto_find_batch_size": True},
        {"dataloader_prefetch_factor": 2},
        {"accelerator_config": {"gradient_accumulation_kwargs": {"num_steps": 4}}},
        {"accelerator_config": {"split_batches": True}},
        {"max_grad_norm": 0},
    ]
    out = [case("value", 31, 8, 1, **way) for way in ways]
    out += [
        case("value", 31, 0, 1),
        case("value", 31, -1, 1),
        case("value", 31, 8, 0),
        case("value", 31, 8, -2),
        case("value", 31, "8", 1),
        case("value", 31, 8, "2"),
        case("value", 31, 8.0, 1),
        case("value", 31, 8, 1.0),
        case("value", 31, 8, 2.0),
    ]
    return out


def two_processes() -> list[tuple[str, dict[str, Any]]]:
    """Two data-parallel processes: padding, dropping, splitting of batches."""
    out = []
    for shape in ((7, 2, 1), (10, 2, 3), (31, 8, 1), (31, 8, 4), (33, 4, 2), (64, 8, 2), (100, 3, 5)):
        out += [
            case("ddp", *shape, world=2, num_train_epochs=3, dataloader_drop_last=drop, ratio=0.1)
            for drop in (False, True)
        ]
    for extra in ({"split_batches": True}, {"even_batches": False}, {"dispatch_batches": True}):
        out.append(case("ddp", 31, 8, 1, world=2, num_train_epochs=2, accelerator_config=extra))
    out.append(case("ddp", 10, 2, 1, world=2, data="iterable", max_steps=4))
    out.append(case("ddp", 31, 8, 2, world=2, num_train_epochs=1.5))
    out.append(case("ddp", 31, 8, 2, world=2, max_steps=7))
    return out


def train(spec: dict[str, Any], others: Sequence[Any] = (), ready: Any = None) -> dict[str, Any]:
    """Run one case. Steps are optimizer updates; rates are shares of the configured rate, one for each update.

    ``others`` are more callbacks, ``ready`` are arguments made already: for recorders of trainers that stand on this
    one.
    """
    import torch
    from accelerate.state import GradientState
    from transformers import (
        EarlyStoppingCallback,
        PrinterCallback,
        Trainer,
        TrainerCallback,
        TrainingArguments,
        __version__,
    )

    GradientState._reset_state()  # what a crashed case left behind must not reach the next
    seen: list[int] = []
    noted: dict[str, list[Any]] = {"evaluations": [], "checkpoints": [], "logs": []}
    rates: list[float] = []

    class OneWeight(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, number: Any = None, labels: Any = None) -> dict[str, Any]:
            if self.training:
                seen.extend(int(x) for x in number)
            return {"loss": ((self.weight * number / 100 - labels) ** 2).mean(), "logits": number}

    class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
        def __init__(self, n: int) -> None:
            self.n = n

        def __len__(self) -> int:
            return self.n

        def __getitem__(self, i: int) -> dict[str, Any]:
            return {"number": torch.tensor(float(i)), "labels": torch.tensor(1.0)}

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            yield from (Numbers(1)[i] for i in range(spec["n"]))

    def note(what: str) -> Any:
        return lambda self, args, state, control, **rest: noted[what].append(state.global_step)

    class Notes(TrainerCallback):  # type: ignore[misc]
        on_evaluate = note("evaluations")
        on_save = note("checkpoints")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if "loss" in (logs or {}):
                noted["logs"].append(state.global_step)

        def on_pre_optimizer_step(
            self, args: Any, state: Any, control: Any, optimizer: Any = None, **rest: Any
        ) -> None:
            rates.append(float(optimizer.param_groups[0]["lr"]))

    given = copy.deepcopy(spec["args"])  # the trainer takes dicts apart
    args = {"learning_rate": PEAK, "save_strategy": "no", "logging_strategy": "no", **given}
    old = int(__version__.split(".")[0]) < 5
    if "ratio" in args:
        args["warmup_ratio" if old else "warmup_steps"] = args.pop("ratio")
    if "eval_strategy" in args and "eval_strategy" not in TrainingArguments.__dataclass_fields__:
        args["evaluation_strategy"] = args.pop("eval_strategy")
    patience = args.pop("early_stopping_patience", None)
    callbacks = [Notes(), *others, *([EarlyStoppingCallback(patience)] if patience is not None else [])]
    with tempfile.TemporaryDirectory() as folder:
        quiet = {"report_to": "none", "disable_tqdm": True, "use_cpu": True}
        settings = ready or TrainingArguments(output_dir=folder, **quiet, **args)
        data = Stream() if spec["data"] == "iterable" else Numbers(spec["n"])
        evaluation = Numbers(spec["eval_n"]) if spec["eval_n"] else None
        trainer = Trainer(OneWeight(), settings, train_dataset=data, eval_dataset=evaluation, callbacks=callbacks)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        state = trainer.state
        if spec["world"] > 1:
            parts: list[Any] = [None] * spec["world"]
            torch.distributed.all_gather_object(parts, list(seen))
            seen[:] = [number for part in parts for number in part]
        peak = float(settings.learning_rate)
        shares = [float(f"{rate / peak:.4g}") if peak else 0.0 for rate in rates[: state.global_step]]
        out = {
            "total": state.max_steps,
            "steps": state.global_step,
            "warmup": settings.get_warmup_steps(state.max_steps),
            "passes": round(state.epoch or 0, 4),
            "records": len(seen),
            **{key: steps for key, steps in noted.items() if steps},
        }
        if shares:
            top = max(shares)
            out.update(peak_share=top, peak_step=shares.index(top) + 1)
            if spec.get("shares"):
                out["shares"] = shares
        if state.best_model_checkpoint:
            out["best_step"] = int(state.best_model_checkpoint.rsplit("-", 1)[1])
        return out


def main() -> None:
    """Run the cases of this process count and add them to the recording."""
    options = recording.arguments("Record the transformers Trainer.", "hf.json", shares=True)
    import torch
    import transformers

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    cases = {
        name: spec
        for name, spec in (two_processes() if world > 1 else single_process())
        if name.startswith(options.only)
    }
    runs = {}
    for name, spec in cases.items():
        spec_now = {**spec, "shares": options.shares and name.startswith(("schedule/", "warmup/"))}
        runs[name] = recording.attempt(functools.partial(train, spec_now))
        if options.show:
            print(name, runs[name])
    if int(os.environ.get("RANK", "0")) == 0:
        recording.report(transformers.__version__, runs)
        if not options.show:
            recording.save(
                options.out,
                "recorders/hf.py",
                cases,
                transformers.__version__,
                runs,
                recording.packages("transformers", "accelerate", "torch"),
            )
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
