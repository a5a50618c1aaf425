"""H2O LLM Studio's experiment YAML.

Read at commit a4971c11 (`llm_studio/src/datasets`, `utils/modeling_utils.py`): the batch is that of one GPU, the last
incomplete batch is dropped, an optimizer step comes every `grad_accumulation` batches within a pass, and the warmup is
given in epochs.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Sequence
from epochlint.run.counting import Counting, Steps
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Shape
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
    run = Run(LABEL, reading.document.source, reading.span, (Era("", Counting(_steps)),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("per_device_batch", ("training", "batch_size"), default=2)
    taker.whole("accumulation", ("training", "grad_accumulation"), default=1)
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
    frame = reading.entry("dataset", "train_dataframe")
    name = text_of(frame[0].value) if frame is not None else None
    # Chains of turns, a sample and an automatic split change the number of rows.
    chained = text_of(reading.node("dataset", "parent_id_column")) not in (None, "None")
    sampled = taker.number("sample", ("dataset", "data_sample"), default=1.0)
    if frame is not None and name and not chained and sampled.number == 1.0:
        strategy = text_of(reading.node("dataset", "validation_strategy"))
        if strategy == "custom":
            run.training = [DataSource(frame[0].value.span, paths=(name,), base=reading.base)]
    return run


def _steps(shape: Shape) -> Steps:
    round_ = shape.per_device * shape.workers
    batches = shape.records // round_ if shape.drop_last and shape.records >= round_ else -(-shape.records // round_)
    per_epoch = batches // shape.accumulation
    natural = int(shape.epochs) * per_epoch
    return Steps(per_epoch, natural, natural)
