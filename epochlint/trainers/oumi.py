"""Oumi: one YAML with `model`, `data` and `training`, whose names are mostly transformers'.

Read in oumi 0.9, `core/configs/params/training_params.py` (`to_hf`: saving by steps unless `save_steps` is 0, no
evaluation by default; warmups go to transformers as they are) and `builders/data.py` (`sample_count` takes exactly that
many rows, with repetition). OmegaConf loads the file.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting
from epochlint.run.known import DEFAULT, UNKNOWN, WRITTEN, Known
from epochlint.run.run import DataSource, Run
from epochlint.trainers import oumi_rows, tables
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.on_hf import require_transformers, sectioned
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.rows import Step
    from epochlint.trainers.hf.eras import Segment
    from epochlint.trainers.trainer import Reading

LABEL = "oumi"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=True)
_NEWEST = "<5.17"  # transformers, as 0.9 asks for it

_TRAINS = frozenset({
    "trainer_type", "per_device_train_batch_size", "num_train_epochs", "max_steps", "learning_rate", "output_dir",
    "gradient_accumulation_steps", "save_final_model", "use_peft",
})  # fmt: skip
_METHODS = {
    "trl_sft": "sft", "trl_dpo": "dpo", "trl_kto": "kto", "trl_grpo": "grpo", "verl_grpo": "grpo", "trl_gkd": "other",
    "trl_gold": "other", "hf": "sft", "oumi": "sft",
}  # fmt: skip
# Those that transformers' loop counts in rows; the others count completions, or have loops of their own.
_COUNTED = frozenset({"trl_sft", "trl_dpo", "trl_kto", "hf"})

_KEYS = {
    "per_device_batch": "per_device_train_batch_size",
    "per_device_eval_batch": "per_device_eval_batch_size",
    "accumulation": "gradient_accumulation_steps",
    "epochs": "num_train_epochs",
    "max_steps": "max_steps",
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "optimizer": "optimizer",
    "scheduler": "lr_scheduler_type",
    "warmup_steps": "warmup_steps",
    "warmup_ratio": "warmup_ratio",
    "eval_strategy": "eval_strategy",
    "eval_steps": "eval_steps",
    "save_steps": "save_steps",
    "logging_strategy": "logging_strategy",
    "logging_steps": "logging_steps",
}
_DEFAULTS: dict[str, object] = {"epochs": 3, "eval_steps": 500, "logging_steps": 50, "save_strategy": MISSING}


def recognise(document: Document) -> list[Mapping]:
    """A mapping whose `model` names a model under `model_name` and whose `training` trains."""
    found = []
    for mapping in document.mappings():
        model, training = mapping.mapping("model"), mapping.mapping("training")
        if model is None or training is None or "model_name" not in model:
            continue
        if len(_TRAINS & training.last.keys()) >= 2:
            found.append(mapping)
    return found


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`oumi train -c config.yaml`."""
    return program[:3] == ("cli", "oumi", "train")


def read(reading: Reading) -> Run:
    reading = resolved(reading.nested())
    require_transformers(reading, "oumi", _NEWEST)
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.command = reading.command
    versions = reading.versions.of("oumi")
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    sectioned(taker, "training", _KEYS, _DEFAULTS)
    trainer = (text_of(reading.node("training", "trainer_type")) or "hf").lower()
    _saving(taker)
    _method(taker, trainer)
    _data(taker, trainer)
    taker.whole("lora_rank", ("peft", "lora_r"), default=MISSING)
    taker.number("beta", ("training", "trainer_kwargs", "beta"), default=MISSING)
    taker.whole("sequence_length", ("model", "model_max_length"), default=MISSING)
    taker.word("model", ("model", "model_name"), default=MISSING)

    def adapt(counting: Counting, segment: Segment) -> Counting:
        if trainer not in _COUNTED:
            counting.steps = None
        return counting

    run.eras = tuple(eras(reading.versions, run.settings, adapt=adapt))
    _check_keys(taker)
    return run


def _check_keys(taker: Taker) -> None:
    """OmegaConf refuses what `TrainingConfig` has not (`core/configs/base_config.py`, `from_yaml`)."""
    for layer in taker.reading.layers:
        if layer.origin == WRITTEN:
            table = tables.load("oumi", "config")
            taker.run.observations.extend(below(layer.mapping, table, "Oumi", rejected=True))
            _check_types(taker, layer.mapping.mapping("training"))


def _check_types(taker: Taker, training: Mapping | None) -> None:
    """OmegaConf makes no whole number of a float, not even of 3.0."""
    table = tables.load("oumi", "TrainingParams")
    for entry in training.entries if training is not None else ():
        node = entry.value
        if not isinstance(node, Scalar) or not isinstance(node.value, float):
            continue
        if table.known(entry.key) and table.type(entry.key) == "int":
            reason = f"{entry.key} must be a whole number, not {node.raw}"
            taker.observe("rejected", entry.key_span, reason=reason, consumer="Oumi")


def _saving(taker: Taker) -> None:
    """`save_steps` wins over `save_epoch`; 0 switches it off."""
    settings = taker.run.settings
    interval = settings["save_steps"]
    if not interval.exact:
        settings["save_strategy"] = UNKNOWN
    elif interval.number is not None and interval.number > 0:
        settings["save_strategy"] = Known("steps", DEFAULT)
    else:
        by_epoch = boolean(taker.reading.node("training", "save_epoch")) is True
        settings["save_strategy"] = Known("epoch" if by_epoch else "no", DEFAULT)
        del settings["save_steps"]


def _method(taker: Taker, trainer: str) -> None:
    reading = taker.reading
    method = _METHODS.get(trainer)
    entry = reading.entry("training", "trainer_type")
    place = entry[0].key_span if entry is not None else None
    taker.derive("method", Known(method, WRITTEN, key_span=place) if method is not None else UNKNOWN)
    adapter = reading.entry("training", "use_peft")
    on = boolean(adapter[0].value) if adapter is not None else False
    if on is None or reading.open_ended:
        taker.derive("tuning", UNKNOWN)
        return
    quantized = boolean(reading.node("peft", "q_lora")) is True
    frozen = reading.node("model", "freeze_layers")
    full = "partial" if isinstance(frozen, Sequence) and frozen.items else "full"
    tuning = ("qlora" if quantized else "lora") if on else full
    place = adapter[0].key_span if adapter is not None else None
    taker.derive("tuning", Known(tuning, WRITTEN if adapter is not None else DEFAULT, key_span=place))


def _data(taker: Taker, trainer: str) -> None:
    run, reading = taker.run, taker.reading
    if reading.entry("data", "train", "pack") is not None:
        taker.flag("packing", ("data", "train", "pack"))
    # Oumi's own loop ends with the stream; transformers' needs a number of steps.
    if trainer in _COUNTED and reading.entry("data", "train", "stream") is not None:
        taker.flag("streaming", ("data", "train", "stream"))
    for key, sources in (("train", run.training), ("validation", run.validation)):
        node = reading.node("data", key, "datasets")
        items = node.items if isinstance(node, Sequence) else []
        for item in items:
            if isinstance(item, Mapping):
                sources.append(_source(item, reading))
        if any(isinstance(item, Mapping) and "mixture_proportion" in item for item in items):
            sources.clear()  # sampled by share, until one of them is used up
    entry = reading.entry("data", "validation")
    if entry is not None:
        run.writes["validation"] = entry[0].key_span
    taker.derive("validation", Known(bool(run.validation), WRITTEN) if not reading.open_ended else UNKNOWN)
    if entry is not None and not run.validation:
        taker.derive("validation", UNKNOWN)


def _source(item: Mapping, reading: Reading) -> DataSource:
    path = text_of(item.get("dataset_path"))
    name, split = text_of(item.get("dataset_name")), text_of(item.get("split")) or "train"
    place = item.get("dataset_path") or item.get("dataset_name")
    span = place.span if place is not None else item.span
    sample = number(item.get("sample_count"))
    wanted = int(sample) if sample is not None else None
    operations: list[Step] = [lambda rows: (wanted, wanted)] if wanted is not None else []
    if path is not None:
        found = DataSource(span, paths=(path,), base=reading.base, split=split, operations=operations, sample=wanted)
        if name in ("text_sft", "text_sft_jsonl"):
            options = item.mapping("dataset_kwargs")
            form = text_of(options.get("format")) if options is not None else None
            found.split = None  # the whole file is read
            found.check = oumi_rows.check_of(form)
            found.strict = "document" if path.lower().endswith(".json") else "jsonlines"
        return found
    rows = Known(wanted, WRITTEN, span=span) if wanted is not None else UNKNOWN
    subset = text_of(item.get("subset")) or ""
    return DataSource(span, hub=name, split=split, subset=subset, rows=rows, operations=operations, sample=wanted)
