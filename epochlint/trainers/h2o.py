"""H2O LLM Studio's experiment YAML.

Read at commit a4971c11 (`llm_studio/train.py`, `src/utils/data_utils.py`, `modeling_utils.py`) and recorded in
tests/conformance: the batch is that of one GPU, rows that do not come out even over the GPUs and the last incomplete
batch are dropped, an optimizer step comes at the first batch of a pass and every `grad_accumulation` batches after it,
and the warmup is given in epochs, counted in batches.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Sequence
from epochlint.run.counting import Counting, Steps, Warmup, after
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known, unknown
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import h2o_refusals as refusals
from epochlint.trainers.hf.counting import after_split
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "h2o"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("H2O LLM Studio", converts_text=True)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "llm_backbone" in mapping
        and mapping.mapping("training") is not None
        and mapping.mapping("dataset") is not None
    ]


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _COUNTING),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("per_device_batch", ("training", "batch_size"), default=2)
    accumulation = taker.whole("accumulation", ("training", "grad_accumulation"), default=1)
    if isinstance(accumulation.value, float):  # the remainder of a fraction is seldom 0
        taker.derive("accumulation", unknown(accumulation.key_span, accumulation.span, accumulation.origin))
    taker.number("epochs", ("training", "epochs"), default=Known(1, DEFAULT))
    taker.derive("max_steps", Known(None, DERIVED))
    taker.flag("drop_last", ("training", "drop_last_batch"), default=True)
    taker.word("optimizer", ("training", "optimizer"), default=MISSING)
    taker.number("learning_rate", ("training", "learning_rate"), default=1e-4)
    taker.number("weight_decay", ("training", "weight_decay"), default=0.0)
    lora = taker.flag("lora", ("training", "lora"), default=True)
    taker.derive("tuning", Known("lora" if lora.value else "full", DERIVED) if lora.exact else UNKNOWN)
    problem = text_of(reading.node("problem_type")) or ""
    taker.derive("method", Known("dpo" if "dpo" in problem else "sft", DERIVED))
    if "causal_language" not in problem and problem:
        taker.derive("method", Known("other", DERIVED))
    gpus = reading.node("environment", "gpus")
    if isinstance(gpus, Sequence) and gpus.items:
        entry = reading.entry("environment", "gpus")
        taker.derive(
            "gpus", Known(len(gpus.items), "written", key_span=entry[0].key_span if entry is not None else None)
        )
    taker.word("scheduler", ("training", "schedule"), default="cosine", words=_SCHEDULES)
    taker.number("warmup_epochs", ("training", "warmup_epochs"), default=0.0)
    taker.number("evaluation_epochs", ("training", "evaluation_epochs"), default=1.0)
    taker.flag("evaluated_before", ("training", "evaluate_before_training"), default=False)
    _data(taker)
    refusals.check(taker)
    return run


_SCHEDULES = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}


def _data(taker: Taker) -> None:
    """The table, the share that is held out of it, and a sample. Chains of turns change the number of rows."""
    run, reading = taker.run, taker.reading
    frame = reading.entry("dataset", "train_dataframe")
    name = text_of(frame[0].value) if frame is not None else None
    taker.number("sample", ("dataset", "data_sample"), default=1.0)
    split = taker.number("validation_size", ("dataset", "validation_size"), default=0.01)
    strategy = text_of(reading.node("dataset", "validation_strategy")) or "automatic"
    if strategy == "automatic":
        taker.derive("validation_split", split)
    choice = reading.node("dataset", "data_sample_choice")
    if isinstance(choice, Sequence) and "Train" not in [text_of(one) for one in choice.items]:
        taker.derive("sample", Known(1.0, DERIVED))
    chained = text_of(reading.node("dataset", "parent_id_column")) not in (None, "None")
    joined = taker.flag("joined", ("training", "train_validation_data"), default=False).value is not False
    if frame is not None and name and not chained and not joined and strategy in ("automatic", "custom"):
        run.training = [DataSource(frame[0].value.span, paths=(name,), base=reading.base)]


# Counting -----------------------------------------------------------------------------------------------------------

_LEAST = 10  # rows of a sample


def _records(rows: Known, get: Get) -> Known:
    share = get("sample").number
    rows = after_split(rows, get)
    if share is None:
        return UNKNOWN
    if share >= 1:
        return rows
    return after(rows, lambda count: min(count, max(_LEAST, int(count * share))), f"{share:g} x {{}}")


def _batches(shape: Shape) -> int:
    rows = shape.records // shape.workers if shape.workers > 1 else shape.records
    drops = shape.drop_last and rows >= shape.per_device
    return rows // shape.per_device if drops else -(-rows // shape.per_device)


def _steps(shape: Shape) -> Steps:
    per_epoch = -(-_batches(shape) // shape.accumulation)
    natural = max(0, int(shape.epochs)) * per_epoch
    return Steps(per_epoch, natural, natural)


def _warmup(get: Get) -> Warmup | None:
    """A share of one pass; with accumulation an update's place among the batches is another."""
    passes, epochs = get("warmup_epochs").number, get("epochs").number
    if passes is None or not epochs or get("accumulation").number != 1:
        return None
    return Warmup(lambda total, natural: total * passes / epochs, "warmup_epochs")


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    """Every so many batches of a pass, without accumulation those are steps."""
    share, epochs, before = get("evaluation_epochs").number, get("epochs").number, get("evaluated_before")
    if share is None or epochs is None or not before.exact or (get("accumulation").number != 1 and share != 1):
        return None
    every = max(int(per_epoch * share), 1)
    return int(epochs) * (per_epoch // every) + (1 if before.value else 0)


_COUNTING = Counting(_steps, _warmup, records=_records, evaluations=_evaluations)
