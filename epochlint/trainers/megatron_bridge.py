"""Megatron-Bridge's override YAML: iterations over a global batch.

Read in megatron-bridge 0.3.1 and 0.6.2 with the megatron-core that each asks for, and recorded in tests/conformance
(`training/config.py`): exactly one of train_iters, train_samples and (from 0.6 on) num_epochs is given; total =
floor(samples / batch), or ceil(epochs x ceil(N / batch)). The schedule is as long as the run where `lr_decay_iters` is
not set; a warmup at or above its length is capped there with a warning. The file lies over a recipe in Python, which
may set whatever it does not.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Warmup, by_global_batch, ceil_of_rows, epochs_times, limited
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers import megatron_bridge_checks
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.settings import Loader, Taker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.trainers.trainer import Reading

LABEL = "megatron-bridge"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=False, reads_plain=True)
_LENGTHS = frozenset({"train_iters", "train_samples"})
_BATCHES = frozenset({"global_batch_size", "micro_batch_size"})
_SCHEDULE = frozenset({
    "lr_decay_iters", "lr_decay_samples", "lr_decay_style", "lr_warmup_fraction", "lr_warmup_iters",
    "lr_warmup_samples",
})  # fmt: skip


def recognise(document: Document) -> list[Mapping]:
    """A length in iterations or samples, or in epochs, with Megatron's names beside it: many a program counts
    `train_iters` in a section `train`."""
    found = []
    for mapping in document.mappings():
        train, schedule = mapping.mapping("train"), mapping.mapping("scheduler")
        if train is None:
            continue
        scheduled = schedule is not None and not _SCHEDULE.isdisjoint(schedule.last)
        by_batch = not _BATCHES.isdisjoint(train.last)
        if (not _LENGTHS.isdisjoint(train.last) and (scheduled or by_batch)) or (
            scheduled and "num_epochs" in train and "global_batch_size" in train
        ):
            found.append(mapping)
    return found


def read(reading: Reading) -> Run:
    reading = resolved(reading.nested())
    versions = reading.versions.of("megatron-bridge")
    era = Era("", _COUNTING, {"megatron-bridge": versions})
    run = Run(LABEL, reading.document.source, reading.span, (era,), reading.versions)
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    whole = taker.whole("global_batch", ("train", "global_batch_size"), default=UNKNOWN)
    taker.whole("per_device_batch", ("train", "micro_batch_size"), default=UNKNOWN)
    limit = taker.whole("max_steps", ("train", "train_iters"), default=UNKNOWN)
    taker.number("epochs", ("train", "num_epochs"))
    samples = taker.whole("train_samples", ("train", "train_samples"))
    if samples.number is not None and limit.unknown and samples.by_hand:
        size = whole.number
        steps = Known(int(samples.number // size), samples.origin, key_span=samples.key_span) if size else UNKNOWN
        run.settings["max_steps"] = steps
    elif run.has("epochs") and limit.unknown and not limit.by_hand:
        run.settings["max_steps"] = Known(None, DERIVED)
    taker.number("learning_rate", ("optimizer", "lr"), default=UNKNOWN)
    taker.number("min_rate", ("optimizer", "min_lr"), default=UNKNOWN)
    taker.whole("warmup_steps", ("scheduler", "lr_warmup_iters"), default=UNKNOWN)
    taker.number("warmup_ratio", ("scheduler", "lr_warmup_fraction"), default=UNKNOWN)
    taker.whole("schedule_steps", ("scheduler", "lr_decay_iters"))
    taker.word("scheduler", ("scheduler", "lr_decay_style"), default=UNKNOWN)
    sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    taker.product("parallel", *(("model", key) for key in sizes))
    taker.derive("method", UNKNOWN)
    taker.derive("tuning", Known("lora", DERIVED) if reading.mapping("peft") is not None else UNKNOWN)
    megatron_bridge_checks.check(taker)
    return run


def _warmup(get: Get) -> Warmup | None:
    """Up to the end of the decay, whatever is written: that is the run's own where nobody says otherwise."""
    steps, share, decay = get("warmup_steps").number, get("warmup_ratio").number, get("schedule_steps").number
    if share is not None and not steps:
        told = f"{share:g} x {{}}" if decay is None else f"{share:g} x {decay:g}"
        return Warmup(
            lambda total, natural: share * decay if decay is not None else min(share, 1) * total, "warmup_ratio",
            (share, "floor") if decay is None else None, told,
        )  # fmt: skip
    if steps is None:
        return None
    return Warmup(lambda total, natural: min(steps, decay if decay is not None else total), "warmup_steps")


_COUNTING = Counting(limited(ceil_of_rows, epochs_times), _warmup, by_global_batch)
