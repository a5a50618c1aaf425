"""Unsloth's own command and Studio: `unsloth train -c config.yaml`, in sections; and its older `unsloth-cli.py`.

Read in unsloth 2026.5.10 to 2026.10.9 (`unsloth_cli/config.py`, `studio/backend/core/training/trainer.py`) and recorded
in tests/conformance: pydantic converts numbers in texts, unknown keys are ignored up to 2026.8.22 and refused since;
`max_steps: 0` means that the epochs decide. It trains by TRL's SFTTrainer. Studio's lists of defaults for a model have
the same sections with more keys, and no model or data.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting
from epochlint.run.known import DEFAULT, UNKNOWN, WRITTEN, Known, between
from epochlint.run.run import DataSource, Run
from epochlint.trainers import tables
from epochlint.trainers.abbreviated import as_written, spelled_out
from epochlint.trainers.hf.common import take_common
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.on_hf import sectioned
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import borrowed, slips
from epochlint.trainers.typed import misfits

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
# unsloth-cli.py of the repository at 015bdef, and what it hands to SFTConfig.
_SCRIPT = "unsloth-cli.py"
_SCRIPT_DEFAULTS: dict[str, object] = {
    "per_device_batch": 2,
    "per_device_eval_batch": 4,
    "accumulation": 4,
    "learning_rate": 2e-4,
    "weight_decay": 0.01,
    "warmup_steps": 5,
    "logging_steps": 1,
}
_SCRIPT_WHOLE = frozenset({
    "max_seq_length", "r", "lora_alpha", "random_state", "per_device_train_batch_size", "per_device_eval_batch_size",
    "gradient_accumulation_steps", "warmup_steps", "max_steps", "seed", "logging_steps", "chunk_size", "stride",
})  # fmt: skip
_SCRIPT_SWITCHES = frozenset({
    "load_in_4bit", "use_rslora", "use_dora", "packing", "save_model", "save_gguf", "push_model", "push_gguf",
})  # fmt: skip
_SCRIPT_FLAGS = _SCRIPT_WHOLE | _SCRIPT_SWITCHES | {
    "model_name", "dtype", "dataset", "lora_dropout", "bias", "use_gradient_checkpointing", "loftq_config",
    "learning_rate", "optim", "weight_decay", "lr_scheduler_type", "report_to", "output_dir", "save_method",
    "save_path", "quantization", "hub_path", "hub_token", "raw_text_file", "help",
}  # fmt: skip
_FORBIDS = "2026.10.9"  # the first version read that refuses keys it does not know
_FLAGS = frozenset({"config", "c", "dry-run", "hf-token", "wandb-token", "help"})


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
    """`unsloth train`, `python unsloth-cli.py`."""
    return program[:3] == ("cli", "unsloth", "train") or _is_script(program)


def _is_script(program: tuple[str, ...]) -> bool:
    return len(program) > 1 and program[0] != "cli" and program[1].rpartition("/")[2] == _SCRIPT


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.command = reading.command
    taker = Taker(run, reading, LOADER)
    if _is_script(reading.command):
        return _read_script(taker)
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


def _read_script(taker: Taker) -> Run:
    """Flags with names of transformers, and other defaults."""
    run = taker.run
    reading = taker.reading = spelled_out(taker.reading, _SCRIPT_FLAGS)
    take_common(taker, defaults=_SCRIPT_DEFAULTS)
    if "max_steps" not in reading:
        taker.derive("max_steps", Known(400, DEFAULT) if not reading.open_ended else UNKNOWN)
    script = reading.lookup.exists(reading.command[1], reading.base) if reading.lookup is not None else None
    if not script:  # a copy in the project may have flags of its own
        _arguments(taker)
    taker.derive("method", Known("sft", DEFAULT))
    taker.derive("tuning", Known("qlora" if "load_in_4bit" in reading else "lora", DEFAULT))
    taker.whole("lora_rank", "r", default=16)
    taker.whole("sequence_length", "max_seq_length", default=2048)
    taker.word("model", "model_name", default=MISSING)
    name = text_of(reading.node("dataset"))
    place = reading.node("dataset")
    # Files of text are cut into pieces; any other name is one of a hub.
    if name and place is not None and not name.endswith((".txt", ".md", ".json", ".jsonl")):
        run.training.append(DataSource(place.span, hub=name))
    run.eras = tuple(eras(reading.versions, run.settings, adapt=_adapt))
    return run


def _arguments(taker: Taker) -> None:
    """What argparse refuses: flags of other scripts, dashes inside a name, parts of a number."""
    for entry, _ in taker.reading.entries():
        option = as_written(entry)
        if option is not None and option not in _SCRIPT_FLAGS:
            _odd_option(taker, entry, option, _SCRIPT_FLAGS)
        value = number(entry.value)
        if entry.key in _SCRIPT_WHOLE and value is not None and value != int(value):
            reason = f"{entry.key} must be a whole number, not {value:g}"
            taker.observe("rejected", entry.key_span, reason=reason, consumer=_SCRIPT)


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
    """What the config's classes and the command's options do not take."""
    reading = taker.reading
    versions = reading.versions.of("unsloth")
    refuses = versions.at_least(_FORBIDS) is True
    consumer = LABEL if refuses else f"{LABEL} before {_FORBIDS}"
    for layer in reading.layers:
        if layer.origin != WRITTEN:
            _options(taker, layer.mapping, refuses)
            continue
        _section(taker, layer.mapping, "config", consumer, refuses)
        for entry in layer.mapping.entries:
            if entry.key in _SECTIONS and isinstance(entry.value, Mapping):
                _section(taker, entry.value, _SECTIONS[entry.key], consumer, refuses)


def _section(taker: Taker, mapping: Mapping, owner: str, consumer: str, refuses: bool) -> None:
    table = tables.load(LABEL, owner)
    for entry in mapping.entries:
        home = next((name for name, one in _SECTIONS.items() if tables.load(LABEL, one).known(entry.key)), None)
        if home is not None and not table.known(entry.key):
            values = {"key": entry.key, "suggestion": f"{home}: {entry.key}", "consumer": consumer}
            taker.observe("misspelt_key", entry.key_span, None, **values, rejected=refuses)
    unplaced = [one for one in mapping.entries if not any(_has(name, one.key) for name in _SECTIONS.values())]
    taker.run.observations.extend(
        slips(Mapping(mapping.span, unplaced), [table], consumer, rejected=refuses, own_parser=True)
    )
    versions = taker.reading.versions.of(LABEL)
    for entry, reason in misfits(mapping, table, (versions.low, versions.high)):
        if entry.key != "gradient_checkpointing":  # many spellings of yes and no
            taker.observe("rejected", entry.key_span, reason=reason, consumer=LABEL)


def _has(owner: str, key: str) -> bool:
    return tables.load(LABEL, owner).known(key)


def _options(taker: Taker, flags: Mapping, refuses: bool) -> None:
    """Options of the command: one for each key, with dashes; typer refuses all others. Words are checked where unknown
    keys are; of a list, an option gives one item."""
    owners = [tables.load(LABEL, owner) for owner in _SECTIONS.values()]
    homes = {name.replace("_", "-"): table for table in owners for name in table.names()}
    known = frozenset({*homes, "model", *(f"no-{name}" for name in homes), *_FLAGS})
    for entry in flags.entries:
        option = as_written(entry)
        if option is None:
            continue
        if option not in known:
            _odd_option(taker, entry, option, known)
        elif option in homes and (kind := homes[option].type(entry.key)) != "list" and (kind == "int" or refuses):
            for _, reason in misfits(Mapping(flags.span, [entry]), homes[option]):
                taker.observe("rejected", entry.key_span, reason=reason, consumer=LABEL)


def _consumer(taker: Taker) -> str:
    return _SCRIPT if _is_script(taker.reading.command) else LABEL


def _odd_option(taker: Taker, entry: Entry, option: str, known: frozenset[str]) -> None:
    near = tables.nearest(option, known)
    values: dict[str, object] = {"key": f"--{option}", "consumer": _consumer(taker), "rejected": True}
    library = borrowed(entry.key) if near is None else None
    if library is not None:
        reason = f"it has no --{option}, which is a setting of {library}"
        taker.observe("rejected", entry.key_span, reason=reason, consumer=_consumer(taker))
    elif near is None:
        taker.observe("unknown_key", entry.key_span, None, **values)
    else:
        taker.observe("misspelt_key", entry.key_span, None, **values, suggestion=f"--{near}")


def _adapt(counting: Counting, segment: Segment) -> Counting:
    counting.records = _records
    return counting


def _records(rows: Known, get: Get) -> Known:
    """Packs are of whole rows, or of pieces of them: at most as many as rows where the pieces fit (TRL)."""
    return between(1 if rows.low else 0, rows.high, basis=rows.basis) if get("packing").value is True else rows
