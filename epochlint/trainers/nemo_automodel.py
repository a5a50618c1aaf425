"""NeMo Automodel: a step scheduler with a global and a local batch.

Read in nemo-automodel 0.2.0 to 0.7.0 (`components/training/step_scheduler.py`, `recipes/llm/train_ft.py`,
`components/datasets/loader.py`, `components/optim/`) and recorded in tests/conformance: the global batch must be a
multiple of local batch x data-parallel workers; each worker takes floor(N / workers) rows, and a pass has
ceil(batches / accumulation) steps. `max_steps` and the epochs both end the run, and the recipes' default of 10 epochs
holds beside `max_steps`, too; only `num_epochs: null` (>= 0.3.0) leaves the length to `max_steps`. The default warmup
is min(1000, total // 10); up to 0.4 that total left out incomplete steps. Every schedule warms up, a constant one, too.
Validation comes with every checkpoint, besides its own cadence.
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Warmup, by_global_batch, fixed, limited
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers import nemo_automodel_checks
from epochlint.trainers.settings import Loader, Taker
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape, Steps
    from epochlint.trainers.trainer import Reading

LABEL = "nemo-automodel"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("NeMo Automodel", converts_text=True, reads_none=True)  # every text is literal-evaluated
_MOST = 1_000_000  # steps of which the checkpoints are counted one by one


_STEPS = frozenset({
    "ckpt_every_steps", "global_batch_size", "local_batch_size", "max_steps", "num_epochs", "val_every_steps",
})  # fmt: skip


def recognise(document: Document) -> list[Mapping]:
    """A step scheduler that counts updates; that of PyTorch counts steps of a rate."""
    return [
        mapping
        for mapping in document.mappings()
        if (steps := mapping.mapping("step_scheduler")) is not None
        and not _STEPS.isdisjoint(steps.last)
        and ("recipe" in mapping or "model" in mapping or "dataset" in mapping)
    ]


def read(reading: Reading) -> Run:
    reading = reading.nested()
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", ("step_scheduler", "global_batch_size"), default=32)
    taker.whole("per_device_batch", ("step_scheduler", "local_batch_size"), default=1)
    limit = taker.whole("max_steps", ("step_scheduler", "max_steps"))
    if isinstance(limit.value, float):
        limit.value = ceil(limit.value)  # it is compared with steps that are whole
    epochs = reading.node("step_scheduler", "num_epochs")
    by_limit = is_null(epochs) and run.setting("max_steps").value is not None
    taker.number("epochs", ("step_scheduler", "num_epochs"), default=Known(None if by_limit else 10, DEFAULT))
    versions = reading.versions.of("nemo-automodel")
    run.version = versions.low if versions.pinned else None
    warmup = _warmup if versions.at_least("0.5.0") else _written_warmup
    counting = Counting(_steps(capped=not by_limit), warmup, by_global_batch, None, _evaluations, _checkpoints)
    run.eras = (Era("", counting, {"nemo-automodel": versions}),)
    taker.number("learning_rate", ("optimizer", "lr"))
    taker.number("weight_decay", ("optimizer", "weight_decay"))
    taker.whole("warmup_steps", ("lr_scheduler", "lr_warmup_steps"))
    taker.whole("schedule_steps", ("lr_scheduler", "lr_decay_steps"))
    taker.number("min_rate", ("lr_scheduler", "min_lr"), default=UNKNOWN)
    if reading.mapping("lr_scheduler") is not None:
        taker.word("scheduler", ("lr_scheduler", "lr_decay_style"), default="cosine")
    _cadence(taker)
    taker.derive("method", UNKNOWN)
    peft = reading.mapping("peft")
    taker.derive("tuning", Known("lora" if peft is not None else "full", DERIVED))
    packed = reading.node("packed_sequence", "packed_sequence_size")
    if packed is not None:
        size = taker.whole("packed_size", ("packed_sequence", "packed_sequence_size"))
        taker.derive("packing", Known(bool(size.number), DERIVED) if size.exact else UNKNOWN)
    if any(key in reading for key in ("flow_matching", "diffusion", "vae")) or "diffusion" in run.path:
        taker.derive("language_model", Known(False, DERIVED))
    taker.product("parallel", *(("distributed", key) for key in ("tp_size", "cp_size", "pp_size")))
    _check(taker)
    nemo_automodel_checks.check(taker)
    return run


def _cadence(taker: Taker) -> None:
    """Checkpoints every so many steps, at each pass and at the end; validation every so many steps and with them."""
    reading = taker.reading
    taker.whole("checkpoint_every", ("step_scheduler", "ckpt_every_steps"), default=100)
    taker.whole("validate_every", ("step_scheduler", "val_every_steps"))
    taker.flag("at_passes", ("step_scheduler", "save_checkpoint_every_epoch"), default=True)
    taker.flag("saved", ("checkpoint", "enabled"), default=UNKNOWN)
    if not reading.open_ended:
        held = any(key.startswith("validation_dataset") for key in reading.top)
        taker.derive("validated", Known(held, DERIVED))


def _whole(every: Known) -> bool:
    """Whether a cadence is known, and one of whole steps or none."""
    return every.exact and (every.number is None or every.number % 1 == 0)


def _due(get: Get, total: int, per_epoch: int) -> set[int] | None:
    """The steps after which a checkpoint is due."""
    every, passes = get("checkpoint_every"), get("at_passes")
    if not _whole(every) or not passes.exact or per_epoch < 1 or total > _MOST:
        return None
    step = int(every.number) if every.number else per_epoch
    due = set(range(step, total + 1, step)) | ({total} if total else set())
    return due | set(range(per_epoch, total + 1, per_epoch)) if passes.value else due


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    saved, due = get("saved"), _due(get, total, per_epoch)
    if saved.value is False:
        return 0
    return len(due) if saved.value is True and due is not None else None


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    held, every, due = get("validated"), get("validate_every"), _due(get, total, per_epoch)
    if held.value is False:
        return 0
    if held.value is not True or due is None or not _whole(every):
        return None
    return len(due | set(range(int(every.number), total + 1, int(every.number)))) if every.number else len(due)


def _check(taker: Taker) -> None:
    """A global batch that is no multiple of the local one cannot be split, whatever the number of workers."""
    run = taker.run
    whole, local = run.setting("global_batch"), run.setting("per_device_batch")
    if whole.number and local.number and whole.number % local.number and whole.key_span is not None:
        reason = f"global_batch_size {whole.number:,} is no multiple of local_batch_size {local.number:,}"
        taker.observe("batch_not_divisible", whole.key_span, reason=reason)


def _steps(capped: bool) -> Callable[[Shape], Steps]:
    """Whole passes over ceil(floor(N / workers) x workers / B) steps, or the limit before them."""

    def per_epoch(shape: Shape) -> int:
        splits = shape.effective % (shape.per_device * shape.workers) == 0  # else the trainer refuses
        return -(-(shape.records - (shape.records % shape.workers if splits else 0)) // shape.effective)

    return limited(per_epoch, lambda shape, pass_: int(shape.epochs * pass_), cap=capped)


def _written_warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return fixed(int(steps.number)) if steps.number is not None else None


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    if steps.unknown:
        return None
    if steps.number is not None:
        return fixed(int(steps.number))
    return Warmup(lambda total, natural: min(1000, total // 10), "", (0.1, "floor"), "min(1000, {} / 10)")
