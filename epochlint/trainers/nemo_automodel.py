"""NeMo Automodel: a step scheduler with a global and a local batch.

Read in nemo-automodel 0.2.0 to 0.7.0 (`components/training/step_scheduler.py`, `recipes/llm/train_ft.py`,
`components/datasets/loader.py`): the global batch must be a multiple of local batch x data-parallel workers; each
worker takes floor(N / workers) rows, and a pass has ceil(batches / accumulation) steps. `max_steps` and the epochs both
end the run, and the recipes' default of 10 epochs holds beside `max_steps`, too; only `num_epochs: null` (>= 0.3.0)
leaves the length to `max_steps`. The default warmup is min(1000, total // 10).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Warmup, by_global_batch, fixed, limited
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
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


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if mapping.mapping("step_scheduler") is not None
        and ("recipe" in mapping or "model" in mapping or "dataset" in mapping)
    ]


def read(reading: Reading) -> Run:
    reading = reading.nested()
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", ("step_scheduler", "global_batch_size"))
    taker.whole("per_device_batch", ("step_scheduler", "local_batch_size"))
    taker.whole("max_steps", ("step_scheduler", "max_steps"))
    epochs = reading.node("step_scheduler", "num_epochs")
    by_limit = is_null(epochs) and run.setting("max_steps").value is not None
    taker.number("epochs", ("step_scheduler", "num_epochs"), default=Known(None if by_limit else 10, DEFAULT))
    counting = Counting(_steps(capped=not by_limit), _warmup, by_global_batch)
    run.eras = (Era("", counting, {"nemo-automodel": reading.versions.of("nemo-automodel")}),)
    taker.number("learning_rate", ("optimizer", "lr"))
    taker.number("weight_decay", ("optimizer", "weight_decay"))
    taker.whole("warmup_steps", ("lr_scheduler", "lr_warmup_steps"))
    taker.derive("scheduler", Known("cosine", DERIVED) if reading.mapping("lr_scheduler") is not None else UNKNOWN)
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
    return run


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


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    if steps.unknown:
        return None
    if steps.number is not None:
        return fixed(int(steps.number))
    return Warmup(lambda total, natural: min(1000, total // 10), "", (0.1, "floor"), "min(1000, {} / 10)")
