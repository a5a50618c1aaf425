"""InstructLab's training library and Training Hub: an effective batch over all workers, steps of whole batches.

Read in instructlab-training 0.16.2 (`main_ds.py`, `config.py`: `TrainingArgs`), training-hub 0.11.2 (`algorithms/`) and
instructlab 0.26.1 (`configuration.py`): the loader holds ceil(N / effective batch) batches on every rank; accumulation
comes from token limits, so there is no per-device batch.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Batch, Counting, Steps, Warmup, ceil_of_rows, fixed
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "instructlab"
CALLS = frozenset(
    {
        "instructlab.training.TrainingArgs",
        "instructlab.training.config.TrainingArgs",
        "training_hub.sft",
        "training_hub.osft",
        "training_hub.lora_sft",
    }
)
LOADER = Loader("ruamel", converts_text=True)

# `ilab` config, section train (instructlab 0.26.1, configuration.py) and the library's own class.
_ILAB = {"epochs": 10, "batch": 64}
_HUB_LORA = {"epochs": 3}


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        train = mapping.mapping("train")
        if train is not None and "effective_batch_size" in train and ("max_batch_len" in train or "chat" in mapping):
            found.append(train)
    return found


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    run.eras = (Era("", _COUNTING, {"instructlab-training": reading.versions.of("instructlab-training")}),)
    name = reading.command[1] if len(reading.command) > 1 and reading.command[0] == "call" else ""
    file = not name
    lora = name.endswith(".lora_sft")
    epochs: object = _ILAB["epochs"] if file else _HUB_LORA["epochs"] if lora else 1
    taker.number("epochs", "num_epochs", default=Known(epochs, DEFAULT))
    batch = _ILAB["batch"] if file else MISSING
    taker.whole("global_batch", "effective_batch_size", default=batch)
    if lora:
        taker.whole("per_device_batch", "micro_batch_size")
        taker.whole("accumulation", "gradient_accumulation_steps")
    taker.number("learning_rate", "learning_rate")
    taker.whole("warmup_steps", "warmup_steps", default=0)
    taker.word("scheduler", "lr_scheduler", default="cosine")
    taker.derive("max_steps", Known(None, DERIVED))
    taker.derive("method", Known("sft", DERIVED))
    lora_rank = taker.whole("lora_rank", "lora_r", ("lora", "rank"), "lora_rank")
    taker.derive(
        "tuning", Known("lora" if lora or lora_rank.number else "full", DERIVED) if lora_rank.exact else UNKNOWN
    )
    _devices(taker)
    path = text_of(reading.node("data_path"))
    entry = reading.entry("data_path")
    if path is not None and entry is not None:
        run.training = [DataSource(entry[0].value.span, paths=(path,), base=reading.base)]
    taker.number("validation_split", "validation_split", default=0.0)
    if lora and reading.node("sample_packing") is not None:
        taker.flag("packing", "sample_packing")
    return run


def _devices(taker: Taker) -> None:
    """nproc_per_node x nnodes, where they are written beside the settings."""
    per_node = taker.whole("per_node", "nproc_per_node")
    nodes = taker.whole("nodes", "nnodes", default=1)
    if per_node.number and nodes.number:
        taker.derive("gpus", Known(int(per_node.number * nodes.number), per_node.origin, key_span=per_node.key_span))


def _batch(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, UNKNOWN, Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number else whole)


def _steps(shape: Shape) -> Steps:
    per_epoch = ceil_of_rows(shape)
    natural = int(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, natural)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return None if steps.unknown else fixed(int(steps.number or 0))


_COUNTING = Counting(_steps, _warmup, _batch)
