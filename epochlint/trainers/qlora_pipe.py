"""qlora-pipe: a TOML of its own, whole passes in DeepSpeed's pipeline.

Read at commit 90b8e7d (`train.py`, `utils/dataloader.py`, `utils/saver.py`), its loader recorded in tests/conformance.
Rows are dealt out in chunks of workers x accumulation, the last one filled up with random rows, and a step takes up to
`micro_batch_size_per_gpu` chunks: a pass has ceil(N / batch) steps. A run ends after the last whole pass within
`epochs`, but not before the first. The warmup comes before any schedule, a constant one, too; below 1 it is a share of
one pass. Before April 2024 batch and optimizer stood in DeepSpeed's file: what is not written stays unknown.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting, Warmup, ceil_of_rows, fixed, limited
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "qlora-pipe"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("toml", converts_text=False)

_SCHEDULES = ("constant", "none", "cosine")
_OPTIMIZERS = ("adamw", "adamw8bit", "adamw_kahan")


def recognise(document: Document) -> list[Mapping]:
    """A model, an optimizer and data sets of the kinds that it loads, in pipeline stages."""
    return [
        mapping
        for mapping in document.mappings()
        if "pipeline_stages" in mapping
        and isinstance(mapping.get("model"), Scalar)
        and mapping.mapping("optimizer") is not None
        and any("dataset_type" in one for one in _datasets(mapping.get("datasets")))
    ]


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("per_device_batch", "micro_batch_size_per_gpu", default=UNKNOWN)
    taker.whole("accumulation", "gradient_accumulation_steps", default=UNKNOWN)
    tokens = reading.entry("batch_size_tokens")
    if tokens is not None:  # takes the batch's place: as many rows as come to so many tokens
        taker.derive("batch_unknown", Known(True, DERIVED))
        taker.derive("per_device_batch", UNKNOWN)
    taker.product("parallel", "pipeline_stages")
    epochs = taker.number("epochs", "epochs", default=UNKNOWN)
    if epochs.number is not None and epochs.number > 0:
        passes = max(1, int(epochs.number))
        taker.derive("epochs", Known(passes, epochs.origin, key_span=epochs.key_span, span=epochs.span))
    taker.derive("max_steps", Known(None, DERIVED))
    taker.number("learning_rate", ("optimizer", "lr"), default=UNKNOWN)
    taker.number("weight_decay", ("optimizer", "weight_decay"), default=0.01)
    taker.number("min_rate", ("optimizer", "lr_min"), default=MISSING)
    taker.word("optimizer", ("optimizer", "type"), default=MISSING)
    scheduler = taker.word("scheduler", "lr_scheduler", default="constant")
    taker.number("warmup_steps", "warmup_steps", default=0)
    taker.derive("always_warmed", Known(True, DERIVED))
    taker.number("eval_steps", "eval_steps", default=UNKNOWN)
    taker.derive("eval_strategy", Known("steps", DERIVED))
    taker.number("save_steps", "save_steps", default=MISSING)
    taker.number("logging_steps", "logging_steps", default=MISSING)
    taker.whole("lora_rank", "lora_rank", default=MISSING)
    taker.word("model", "model", default=MISSING)
    forced = reading.entry("force_constant_lr")
    if forced is not None:
        taker.number("learning_rate", "force_constant_lr")
    _method(taker)
    lengths = {number(one.get("sequence_len")) for one in _datasets(reading.node("datasets"))}
    if len(lengths) == 1 and None not in lengths:
        taker.derive("sequence_length", Known(lengths.pop(), DERIVED))
    if scheduler.exact and scheduler.value not in _SCHEDULES:
        taker.refuse(("lr_scheduler",), f"lr_scheduler is one of {', '.join(_SCHEDULES)}", LABEL)
    kind = text_of(reading.node("optimizer", "type"))
    if kind is not None and kind.lower() not in _OPTIMIZERS:
        taker.refuse(("optimizer", "type"), f"the optimizer's type is one of {', '.join(_OPTIMIZERS)}", LABEL)
    before, after = (boolean(reading.node(key)) is True for key in ("eval_before_first_step", "eval_after_last_step"))
    steps = limited(ceil_of_rows, _passes)
    run.eras = (Era("", Counting(steps, _warmup, evaluations=_evaluations(before, after))),)
    return run


def _method(taker: Taker) -> None:
    reading = taker.reading
    kinds = {text_of(one.get("dataset_type")) for one in _datasets(reading.node("datasets"))}
    rl = text_of(reading.node("rl", "method"))
    if reading.mapping("rl") is not None:
        taker.derive("method", Known(rl if rl == "dpo" else "other", DERIVED))
    else:
        raw = kinds <= {"textfile", "doclist"}  # texts that are cut into windows
        taker.derive("method", Known("pretrain" if raw else "sft", DERIVED) if kinds else UNKNOWN)
    full = boolean(reading.node("full_fine_tune")) is True
    quantized = reading.mapping("quantization") is not None or boolean(reading.node("load_in_4bit")) is True
    taker.derive("tuning", Known("full" if full else "qlora" if quantized else "lora", DERIVED))


def _datasets(node: object) -> list[Mapping]:
    return [item for item in node.items if isinstance(item, Mapping)] if isinstance(node, Sequence) else []


def _passes(shape: Shape, per_epoch: int) -> int:
    return int(shape.epochs) * per_epoch


def _warmup(get: Get) -> Warmup | None:
    steps, epochs = get("warmup_steps").number, get("epochs").number
    if steps is None:
        return None
    if not 0 < steps < 1:
        return fixed(int(steps))
    if epochs is None:
        return None
    share = steps / epochs  # of one pass
    return Warmup(lambda total, natural: int(steps * (total // epochs)), "warmup_steps", (share, "floor"))


def _evaluations(before: bool, after: bool) -> Callable[[Get, int, int], int | None]:
    """Every `eval_steps` steps, and before the first and after the last where that is asked for."""

    def count(get: Get, total: int, per_epoch: int) -> int | None:
        interval = get("eval_steps").number
        if interval is None or interval < 1:
            return None
        every = int(interval)
        return total // every + before + (after and total % every != 0)

    return count
