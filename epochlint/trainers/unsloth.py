"""Unsloth's own command and Studio: `unsloth train -c config.yaml`, in sections.

Read in unsloth 2026.10.9, `unsloth_cli/config.py`: pydantic with `extra="forbid"`, so unknown keys are refused and
numbers in texts converted; `max_steps: 0` means that the epochs decide. It trains by TRL's SFTTrainer. Studio's lists
of defaults for a model have the same sections with more keys, and no model or data.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean
from epochlint.run.counting import Counting
from epochlint.run.known import DEFAULT, WRITTEN, Known, between
from epochlint.run.run import DataSource, Run
from epochlint.trainers import tables
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.on_hf import sectioned
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.trainers.hf.eras import Segment
    from epochlint.trainers.trainer import Reading

LABEL = "unsloth"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("unsloth", converts_text=True)

_SECTIONS = {"data": "DataConfig", "training": "TrainingConfig", "lora": "LoraConfig", "logging": "LoggingConfig"}
_OWN = frozenset({
    "training_type", "num_epochs", "train_on_completions", "batch_size", "max_seq_length", "gradient_checkpointing",
    "random_seed", "load_in_4bit",
})  # fmt: skip

_KEYS = {
    "per_device_batch": "batch_size",
    "accumulation": "gradient_accumulation_steps",
    "epochs": "num_epochs",
    "max_steps": "max_steps",
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "optimizer": "optim",
    "scheduler": "lr_scheduler_type",
    "warmup_steps": "warmup_steps",
    "warmup_ratio": "warmup_ratio",
    "save_steps": "save_steps",
}
_DEFAULTS: dict[str, object] = {
    "per_device_batch": 2,
    "accumulation": 4,
    "epochs": 3,
    "learning_rate": 2e-4,
    "weight_decay": 0.01,
    "scheduler": "linear",
    "warmup_steps": 5,
    "save_steps": 0,
    "save_strategy": MISSING,
    "logging_steps": MISSING,
    "logging_strategy": MISSING,
}


def recognise(document: Document) -> list[Mapping]:
    """A mapping with a `training` section of Unsloth's names, and one for the adapter or the data beside it."""
    found = []
    for mapping in document.mappings():
        training = mapping.mapping("training")
        if training is None or isinstance(mapping.get("model"), Mapping):
            continue
        beside = sum(mapping.mapping(key) is not None for key in ("data", "lora", "logging"))
        lora = mapping.mapping("lora")
        adapter = lora is None or "lora_r" in lora or "lora_alpha" in lora
        own = len(_OWN & training.last.keys())
        certain = "train_on_completions" in training or "training_type" in training
        if beside and adapter and own >= 3 and (certain or (lora is not None and own >= 4)):
            found.append(mapping)
    return found


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`unsloth train`."""
    return program[:3] == ("cli", "unsloth", "train")


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.command = reading.command
    taker = Taker(run, reading, LOADER)
    versions = reading.versions.of("unsloth")
    run.version = versions.low if versions.pinned else None
    # Studio's defaults of a model: what is trained on comes from elsewhere, and so may everything else.
    template = not any(key in reading for key in ("model", "data", "dataset", "local-dataset"))
    sectioned(taker, "training", _KEYS, {} if template else _DEFAULTS)
    limit = run.setting("max_steps")
    if limit.number == 0:  # the epochs decide
        run.settings["max_steps"] = Known(None, limit.origin, key_span=limit.key_span, span=limit.span)
    if run.setting("save_steps").number == 0:
        del run.settings["save_steps"]
    _method(taker)
    _data(taker)
    taker.whole("lora_rank", ("lora", "lora_r"), default=MISSING)
    taker.whole("sequence_length", ("training", "max_seq_length"), default=MISSING)
    taker.word("model", "model", default=MISSING)
    if not template:
        _keys(taker)
    run.eras = tuple(eras(reading.versions, run.settings, adapt=_adapt))
    return run


def _method(taker: Taker) -> None:
    reading = taker.reading
    taker.derive("method", Known("sft", DEFAULT))
    entry = reading.entry("training", "training_type") or reading.entry("training-type")
    word = (text_of(entry[0].value) or "").strip().lower() if entry is not None else "lora"
    if entry is None and reading.mapping("lora") is None and reading.mapping("data") is None:
        return
    quarter = reading.entry("training", "load_in_4bit")
    four_bits = boolean(quarter[0].value) if quarter is not None else True
    tuning = "full" if word == "full" else "qlora" if four_bits else "lora"
    place = entry[0].key_span if entry is not None else None
    taker.derive("tuning", Known(tuning, WRITTEN if entry is not None else DEFAULT, key_span=place))


def _data(taker: Taker) -> None:
    run, reading = taker.run, taker.reading
    packing = reading.entry("training", "packing")
    if packing is not None:
        taker.flag("packing", ("training", "packing"))
        run.settings["packing_joins"] = Known(True, DEFAULT)
    node = reading.node("data", "local_dataset")
    items = node.items if isinstance(node, Sequence) else [node] if isinstance(node, Scalar) else []
    hub = reading.node("data", "dataset")
    for item in items:
        path = text_of(item)
        if path:
            run.training.append(DataSource(item.span, paths=(path,), base=reading.base))
    name = text_of(hub)
    if hub is not None and name and not run.training:
        run.training.append(DataSource(hub.span, hub=name))


def _keys(taker: Taker) -> None:
    """Keys that no section has, or another one."""
    for entry, _ in taker.reading.entries():
        owner = _SECTIONS.get(entry.key)
        if owner is None or not isinstance(entry.value, Mapping):
            continue
        table = tables.load("unsloth", owner)
        for inner in entry.value.entries:
            if table.known(inner.key):
                continue
            near = table.nearest(inner.key)
            where = next(
                (name for name, one in _SECTIONS.items() if tables.load("unsloth", one).known(inner.key)), None
            )
            if near is not None:
                values: dict[str, object] = {"key": inner.key, "suggestion": near, "consumer": "unsloth"}
                taker.observe("misspelt_key", inner.key_span, None, **values, rejected=True)
            elif where is not None:
                reason = f"{inner.key} belongs under {where}:, not under {entry.key}:"
                taker.observe("rejected", inner.key_span, reason=reason, consumer="unsloth")
            else:
                taker.observe("unknown_key", inner.key_span, key=inner.key, consumer="unsloth", rejected=True)


def _adapt(counting: Counting, segment: Segment) -> Counting:
    counting.records = _records
    return counting


def _records(rows: Known, get: Get) -> Known:
    """Packs are of whole rows, or of pieces of them: at most as many as rows where the pieces fit (TRL)."""
    return between(1 if rows.low else 0, rows.high, basis=rows.basis) if get("packing").value is True else rows
