"""NeMo Automodel: a step scheduler with a global and a local batch.

Read at commit 36044ad3 (`components/training/step_scheduler.py`, `recipes/llm/train_ft.py`): the global batch must be
a multiple of local batch x data-parallel workers; a pass has ceil(batches / accumulation) steps; `max_steps` wins;
without either length it runs 10 epochs; the default warmup is min(1000, total // 10).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Steps, Warmup, by_global_batch, ceil_of_rows, fixed
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers.settings import Loader, Taker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
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
    run.eras = (Era("", _COUNTING, {"nemo-automodel": reading.versions.of("nemo-automodel")}),)
    taker.whole("global_batch", ("step_scheduler", "global_batch_size"))
    taker.whole("per_device_batch", ("step_scheduler", "local_batch_size"))
    limit = taker.whole("max_steps", ("step_scheduler", "max_steps"))
    length: object = Known(10, DEFAULT) if limit.exact and limit.value is None else Known(None, DEFAULT)
    taker.number("epochs", ("step_scheduler", "num_epochs"), default=length)
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


def _steps(shape: Shape) -> Steps:
    per_epoch = ceil_of_rows(shape)
    natural = int(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, natural if shape.limit is None else shape.limit)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    if steps.unknown:
        return None
    if steps.number is not None:
        return fixed(int(steps.number))
    return Warmup(lambda total, natural: min(1000, total // 10), "", (0.1, "floor"), "min(1000, {} / 10)")


_COUNTING = Counting(_steps, _warmup, by_global_batch)
