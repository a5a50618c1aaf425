"""Record how the real transformers ``Trainer`` goes on from a checkpoint after its arguments were changed, on the CPU.

    python tests/conformance/recorders/resume.py --out FILE

Each case trains ``BASE`` for its 16 steps (64 records, 8 steps an epoch), then resumes from the checkpoint of step 6 or
16 into a new folder with some arguments changed. The model is one weight: nothing is downloaded. Environments:
``tests/conformance/README.md``.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from typing import Any

import recording

ROWS, STEP = 64, 6
FIRST = 4  # updates of the resumed run whose rates are kept
BASE: dict[str, Any] = {
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 2,
    "num_train_epochs": 2,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "lr_scheduler_type": "linear",
    "warmup_steps": 2,
    "eval_strategy": "steps",
    "eval_steps": 3,
    "save_strategy": "steps",
    "save_steps": 3,
    "logging_strategy": "steps",
    "logging_steps": 3,
}
KEPT = ("global_step", "epoch", "max_steps", "num_train_epochs", "train_batch_size")
KEPT += ("save_steps", "eval_steps", "logging_steps")


def cases() -> dict[str, dict[str, Any]]:
    """What was changed between the checkpoint and the resumed run."""
    batch, accumulation = "per_device_train_batch_size", "gradient_accumulation_steps"
    ways: list[tuple[str, dict[str, Any]]] = [
        ("same", {}),
        ("batch/twice", {batch: 8}),
        ("batch/half", {batch: 2}),
        ("batch/same global batch", {batch: 2, accumulation: 4}),
        ("batch/so large that the run has fewer steps", {batch: 32}),
        ("batch/searched for", {batch: 8, "auto_find_batch_size": True}),
        ("batch/max_steps", {batch: 8, "max_steps": 16}),
        ("batch/no skip", {batch: 8, "ignore_data_skip": True}),
        ("accumulation/twice", {accumulation: 4}),
        ("accumulation/half", {accumulation: 1}),
        ("accumulation/max_steps", {accumulation: 4, "max_steps": 16}),
        ("epochs/more", {"num_train_epochs": 4}),
        ("epochs/fewer", {"num_train_epochs": 1}),
        ("epochs/past", {"num_train_epochs": 0.5}),
        ("epochs/no skip", {"ignore_data_skip": True}),
        ("max/more", {"max_steps": 20}),
        ("max/the same", {"max_steps": 16}),
        ("max/one more than the checkpoint", {"max_steps": STEP + 1}),
        ("max/the checkpoint's step", {"max_steps": STEP}),
        ("max/below", {"max_steps": STEP - 2}),
        ("warmup/longer", {"warmup_steps": 10}),
        ("warmup/none", {"warmup_steps": 0}),
        ("rate/half", {"learning_rate": 5e-4}),
        ("rate/half and decay", {"learning_rate": 5e-4, "weight_decay": 0.1}),
        ("kind/cosine", {"lr_scheduler_type": "cosine"}),
        ("kind/constant", {"lr_scheduler_type": "constant"}),
        ("cadence/save", {"save_steps": 4}),
        ("cadence/eval", {"eval_steps": 4}),
        ("cadence/logging", {"logging_steps": 4}),
        ("cadence/share", {"save_steps": 0.25}),
        ("cadence/epoch", {"save_strategy": "epoch", "eval_strategy": "epoch", "logging_strategy": "epoch"}),
    ]
    out = {name: {"n": ROWS, "from": STEP, "args": {**BASE, **change}} for name, change in ways}
    last: list[tuple[str, dict[str, Any]]] = [
        ("end/same", {}),
        ("end/more epochs", {"num_train_epochs": 3}),
        ("end/below", {"max_steps": 12}),
        ("end/beside a shorter epoch", {accumulation: 4}),
    ]
    out.update({name: {"n": ROWS, "from": 16, "args": {**BASE, **change}} for name, change in last})
    out["argument only"] = {"n": ROWS, "from": STEP, "args": BASE, "told": False}
    return out


def train(args: dict[str, Any], folder: str, resume: str | None = None, told: bool = True) -> dict[str, Any]:
    """One run into a folder, from the start or from a checkpoint: what happened in it.

    told: whether ``train`` gets the checkpoint, or only the arguments do.

    ``rates`` (of the first updates) and ``decay`` are what the optimizer had; ``skipped`` the rows of the first epoch
    that were not fed; ``batch`` the rows of the first forward pass.
    """
    import torch
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    fed: list[int] = []
    noted: dict[str, list[Any]] = {"evaluations": [], "checkpoints": [], "logs": []}
    rates: list[float] = []
    decays: list[float] = []
    epochs: list[int] = []

    class OneWeight(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, number: Any = None, labels: Any = None) -> dict[str, Any]:
            if self.training:
                fed.append(len(number))
            return {"loss": ((self.weight * number / 100 - labels) ** 2).mean(), "logits": number}

    class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return ROWS

        def __getitem__(self, i: int) -> dict[str, Any]:
            return {"number": torch.tensor(float(i)), "labels": torch.tensor(1.0)}

    def note(what: str) -> Any:
        return lambda self, args, state, control, **rest: noted[what].append(state.global_step)

    class Notes(TrainerCallback):  # type: ignore[misc]
        on_evaluate = note("evaluations")
        on_save = note("checkpoints")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if "loss" in (logs or {}):
                noted["logs"].append(state.global_step)

        def on_epoch_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            epochs.append(sum(fed))

        def on_pre_optimizer_step(
            self, args: Any, state: Any, control: Any, optimizer: Any = None, **rest: Any
        ) -> None:
            rates.append(float(optimizer.param_groups[0]["lr"]))
            decays.append(float(optimizer.param_groups[0]["weight_decay"]))

    quiet: dict[str, Any] = {"report_to": "none", "disable_tqdm": True, "use_cpu": True}
    settings = TrainingArguments(output_dir=folder, resume_from_checkpoint=resume, **quiet, **args)
    trainer = Trainer(OneWeight(), settings, train_dataset=Numbers(), eval_dataset=Numbers(), callbacks=[Notes()])
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=resume if told else None)
    state = trainer.state
    out = {
        "total": state.max_steps,
        "steps": state.global_step,
        "updates": len(rates),
        "warmup": settings.get_warmup_steps(state.max_steps),
        "passes": round(state.epoch or 0, 4),
        "records": sum(fed),
        "rates": rates[:FIRST],
        **noted,
    }
    if fed:
        out.update(batch=fed[0], skipped=ROWS - epochs[0], decay=sorted(set(decays)))
    return out


def resumed(case: dict[str, Any]) -> dict[str, Any]:
    """The run of a case, with the fields of the checkpoint's state that a resumed run may read."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        train(dict(BASE), first)
        checkpoint = os.path.join(first, f"checkpoint-{case['from']}")
        with open(os.path.join(checkpoint, "trainer_state.json"), encoding="utf-8") as stream:
            state = json.load(stream)
        out = train(dict(case["args"]), second, checkpoint, case.get("told", True))
        return {**out, "state": {key: state[key] for key in KEPT if key in state}}


def main() -> None:
    """Run every case and add it to the recording."""
    options = recording.arguments("Record resumed runs of the transformers Trainer.", "resume.json")
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # transformers 4.45 needs it with torch 2.6
    import torch
    import transformers

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, resumed, "transformers", "accelerate", "torch")


if __name__ == "__main__":
    main()
