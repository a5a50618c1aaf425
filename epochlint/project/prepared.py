"""Training loops with accelerate: schedules that each process steps.

A schedule that `Accelerator.prepare` has taken is stepped as many times as there are processes for each step of the
optimizer (accelerate 0.20.3, 1.12.0 and 1.15.0, `scheduler.py`, `AcceleratedScheduler.step`), unless the batches are
split or the schedule is not bound to the optimizer. So whoever builds it multiplies its steps by the number of
processes, or counts them from a loader that is not yet prepared.
"""

from __future__ import annotations

from epochlint.documents.document import Scalar
from epochlint.documents.python.model import Reference
from epochlint.documents.scalars import boolean
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Node
    from epochlint.documents.python.model import Call, PythonDocument
    from epochlint.source import Span

# Where the training steps stand among the arguments of what builds a schedule: of `get_scheduler` by package, in those
# of one schedule behind optimizer and warmup (transformers 4.36.2 and 5.24.0, diffusers 0.42.1, `optimization.py`).
_GENERAL = {"transformers": 3, "diffusers": 4}
_SINGLE = frozenset({
    "get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup",
    "get_cosine_with_hard_restarts_schedule_with_warmup", "get_polynomial_decay_schedule_with_warmup",
})  # fmt: skip
_SINGLE_PLACE = 2

_PREPARE = frozenset({"prepare", "prepare_scheduler"})

# Names that tell that the number of processes is in a number already, or that it was counted from the data.
_COUNTED = ("process", "world", "gpu", "device", "len", "loader", "per_epoch")


def prepared_schedules(python: PythonDocument) -> list[Observation]:
    """The prepared schedules whose length takes no account of the processes."""
    return [
        Observation(
            "scheduler_per_process",
            span,
            {
                "reason": "each process steps a prepared schedule, and its length is not multiplied by their "
                "number: on 4 GPUs it is over after a quarter of the run"
            },
        )
        for call in python.calls
        if call.name in _PREPARE and call.receiver is not None and _multiplies(call.receiver)
        for span in _unscaled(call)
    ]


def _multiplies(accelerator: Call) -> bool:
    """Whether an object is an Accelerator that steps a schedule for every process."""
    if accelerator.origin not in ("accelerate.Accelerator", "accelerate.accelerator.Accelerator"):
        return False
    if accelerator.arguments.open_ended or "dataloader_config" in accelerator.arguments:
        return False  # `split_batches` may stand there
    split = accelerator.argument("split_batches", 1)
    bound = accelerator.argument("step_scheduler_with_optimizer")
    return (split is None or boolean(split) is False) and (bound is None or boolean(bound) is True)


def _unscaled(prepare: Call) -> Iterator[Span]:
    """Where the steps stand in the calls that build the schedules."""
    for entry in prepare.arguments.entries:
        built = entry.value.call if isinstance(entry.value, Reference) and not entry.value.attribute else None
        place = _place(built) if built is not None else None
        if built is None or place is None:
            continue
        steps = built.entry("num_training_steps", place)
        if steps is not None and _alone(steps.value):
            yield steps.key_span


def _place(built: Call) -> int | None:
    """The position of the training steps in a call; None where it builds no schedule that is known here."""
    package = built.origin.partition(".")[0]
    if package not in _GENERAL:
        return None
    if built.name == "get_scheduler":
        return _GENERAL[package]
    return _SINGLE_PLACE if built.name in _SINGLE else None


def _alone(steps: Node) -> bool:
    """Whether a number of steps is a plain setting: a number, or the value of a name that no count went into."""
    names: frozenset[str] = getattr(steps, "names", frozenset())
    if any(word in name.lower() for name in names for word in _COUNTED):
        return False
    if isinstance(steps, Scalar):
        return type(steps.value) in (int, float)
    return any("steps" in name.lower() for name in names)
