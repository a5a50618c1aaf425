"""Megatron-Bridge's override YAML: iterations over a global batch.

Read at commit 067f987d (`training/config.py`): exactly one of train_iters, train_samples and num_epochs is given;
total = ceil(epochs x ceil(N / batch)); a warmup at or above the decay length is capped with a warning.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, by_global_batch, ceil_of_rows, epochs_times, fixed, limited
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.settings import Loader, Taker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Warmup
    from epochlint.trainers.trainer import Reading

LABEL = "megatron-bridge"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=True)


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        train = mapping.mapping("train")
        if train is not None and any(key in train for key in ("train_iters", "train_samples")):
            found.append(mapping)
    return found


def read(reading: Reading) -> Run:
    reading = resolved(reading.nested())
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _COUNTING),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", ("train", "global_batch_size"), default=UNKNOWN)
    taker.whole("per_device_batch", ("train", "micro_batch_size"), default=UNKNOWN)
    taker.whole("max_steps", ("train", "train_iters"), default=UNKNOWN)
    taker.number("epochs", ("train", "num_epochs"))
    taker.number("learning_rate", ("optimizer", "lr"), default=UNKNOWN)
    taker.number("min_rate", ("optimizer", "min_lr"), default=UNKNOWN)
    taker.whole("warmup_steps", ("scheduler", "lr_warmup_iters"), default=UNKNOWN)
    taker.whole("schedule_steps", ("scheduler", "lr_decay_iters"))
    taker.word("scheduler", ("scheduler", "lr_decay_style"), default=UNKNOWN)
    sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    taker.product("parallel", *(("model", key) for key in sizes))
    taker.derive("method", UNKNOWN)
    taker.derive("tuning", Known("lora", DERIVED) if reading.mapping("peft") is not None else UNKNOWN)
    return run


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return None if steps.number is None else fixed(int(steps.number))


_COUNTING = Counting(limited(ceil_of_rows, epochs_times), _warmup, by_global_batch)
