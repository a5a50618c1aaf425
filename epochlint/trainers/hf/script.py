"""What a Python script does around a trainer's arguments: its data, callbacks, adapters, model.

Only what can be told for certain is told: a script that builds its model or data elsewhere leaves them unknown.
"""

from __future__ import annotations

from epochlint.documents.document import Scalar, Sequence, Unresolved
from epochlint.documents.python.model import (
    Choice,
    DatasetNode,
    Derived,
    Parsed,
    PythonDocument,
    Reference,
    Symbol,
)
from epochlint.run.known import COUNTED, DERIVED, WRITTEN, Known, unknown
from epochlint.run.rows import at_most, each, interleaved, some, taken, together
from epochlint.run.run import DataSource
from epochlint.splits import Part
from epochlint.trainers.hf import common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from epochlint.documents.document import Entry, Node
    from epochlint.documents.python.model import Call, Operation
    from epochlint.run.rows import Mix, Rows, Step
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

# Positions of (training data, validation data, model) in trainers' signatures, where they are not the common ones
# (transformers and trl, `__init__` of each class).
_POSITIONS = {
    "DPOTrainer": (4, 5, 0),
    "KTOTrainer": (3, 4, 0),
    "GRPOTrainer": (3, 4, 0),
    "RLOOTrainer": (3, 4, 0),
    "PPOTrainer": (None, None, 2),
    "RewardTrainer": (3, 4, 0),
}
_USUAL = (3, 4, 0)

_ADAPTERS = {
    "LoraConfig": "lora",
    "AdaLoraConfig": "lora",
    "LoHaConfig": "other",
    "LoKrConfig": "other",
    "IA3Config": "other",
    "VeraConfig": "other",
    "OFTConfig": "other",
    "BOFTConfig": "other",
    "LNTuningConfig": "other",
    "PrefixTuningConfig": "prefix",
    "PromptTuningConfig": "prefix",
    "PromptEncoderConfig": "prefix",
    "MultitaskPromptTuningConfig": "prefix",
    "CPTConfig": "prefix",
    "AdaptionPromptConfig": "prefix",
}

# Parts of model classes' names that no language model has.
_OTHER_MODELS = (
    "Image", "Vision", "Video", "Audio", "Speech", "Whisper", "Wav2Vec", "ViT", "Detr", "Segformer", "CLIP",
    "Object", "Depth", "Segmentation", "Swin", "ConvNext", "ResNet", "Hubert", "WavLM", "TimeSeries", "Timm",
    "MaskFormer", "SamModel", "PatchTS", "Informer", "Autoformer", "TimesFm",
)  # fmt: skip
# Heads on models that do not write text: they are tuned for tens of epochs, at higher rates.
_ENCODERS = (
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForDocumentQuestionAnswering",
    "ForTableQuestionAnswering",
    "ForMultipleChoice",
    "ForMaskedLM",
    "ForCTC",
)


class Surroundings:
    """A script around one set of arguments. `trainer` is the call that is given them; None where it is not there."""

    __slots__ = ("arguments", "python", "trainer")

    def __init__(self, python: PythonDocument, trainer: Call | None) -> None:
        self.python = python
        self.trainer = trainer
        self.arguments = trainer.arguments if trainer is not None else None

    def argument(self, keyword: str, position: int | None = None) -> Node | None:
        return self.trainer.argument(keyword, position) if self.trainer is not None else None

    @property
    def name(self) -> str:
        return self.trainer.name if self.trainer is not None else ""

    @property
    def whole(self) -> bool:
        """Whether the trainer's call shows all that it is given, and its class is the library's own."""
        trainer = self.trainer
        return trainer is not None and not trainer.arguments.open_ended and bool(trainer.origin or not trainer.local)

    def calls(self, *names: str) -> Iterator[Call]:
        return (call for call in self.python.calls if call.name in names)

    def mentions(self, *words: str) -> bool:
        """Whether one of some words stands in the program, or in the project's modules that it imports."""
        return any(word in text for text in self.python.texts for word in words)

    def imports(self, package: str) -> bool:
        dotted = package + "."
        return any(origin == package or origin.startswith(dotted) for origin in self.python.imports.values()) or any(
            module == package or module.startswith(dotted) for module in self.python.stars
        )


def surroundings(reading: Reading) -> Surroundings | None:
    """The script of a reading and the trainer in it that is given these arguments; None where there is no script."""
    python = reading.python
    if not isinstance(python, PythonDocument):
        return None
    origin = reading.command[1] if reading.command[:1] == ("call",) and len(reading.command) > 1 else ""
    for call in python.calls:
        if call.name.endswith("Trainer") and any(
            _is_ours(entry.value, reading, origin) for entry in call.arguments.entries
        ):
            return Surroundings(python, call)
    return Surroundings(python, None)


def _is_ours(node: Node, reading: Reading, origin: str) -> bool:
    if isinstance(node, Choice):
        return any(_is_ours(option, reading, origin) for option in node.options)
    if isinstance(node, Reference):
        return node.call is reading.call and reading.call is not None and not node.attribute
    if isinstance(node, Parsed):
        return bool(origin) and (node.dataclass.origin == origin or origin in node.dataclass.bases)
    return False


# Data ----------------------------------------------------------------------------------------------------------------


def take_data(run: Run, around: Surroundings, base: str) -> None:
    """The training and validation data of the trainer's call into the run."""
    trainer = around.trainer
    if trainer is None:
        return
    train, evaluation, _ = _POSITIONS.get(trainer.name, _USUAL)
    entry = trainer.entry("train_dataset", train)
    if entry is not None:
        data = one_split(entry.value, "train")
        if data is not None:
            data = _held_out(run, data)
            run.training.extend(sources(data, entry, base, run))
            run.mix = mix_of(data)
            streams = data.streaming or any(part.streaming for part in data.parts)
            run.settings["streaming"] = Known(streams, WRITTEN, key_span=entry.key_span)
            packed = next((one for one in _operations(data) if one.kind == "pack"), None)
            if packed is not None:
                run.settings.setdefault("packing", Known(True, WRITTEN, key_span=packed.span))
        elif isinstance(entry.value, Choice):
            run.settings["streaming"] = unknown(entry.key_span, entry.value.span)
    _take_validation(run, around, trainer.entry("eval_dataset", evaluation), base)


def _held_out(run: Run, data: DatasetNode) -> DatasetNode:
    """Takes a `train_test_split` that is all that happens to the rows as the run's validation split, so that `rows`
    are those before it. Gives the data without it."""
    steps = [one for one in data.operations if one.kind != "shuffle"]
    if len(steps) != 1 or steps[0].kind != "split-train" or not steps[0].amount or steps[0].stop is not None:
        return data
    split = steps[0]
    run.settings["validation_split"] = Known(split.amount, WRITTEN, key_span=split.span, span=split.span)
    return DatasetNode(
        data.span,
        files=data.files,
        field=data.field,
        hub=data.hub,
        subset=data.subset,
        split=data.split,
        streaming=data.streaming,
        rows=data.rows,
        parts=data.parts,
        mixing=data.mixing,
        rewritten=data.rewritten,
        loaded=data.loaded,
    )


def _take_validation(run: Run, around: Surroundings, entry: Entry | None, base: str) -> None:
    trainer = around.trainer
    assert trainer is not None
    if trainer.local and not trainer.origin:  # a loop of its own evaluates as it likes
        run.settings["validation"] = unknown(entry.key_span if entry is not None else trainer.span)
        return
    if entry is None:
        run.settings["validation"] = Known(False) if around.whole and not _sets(around, "eval_dataset") else unknown()
        return
    node = entry.value
    if isinstance(node, Derived) and node.default and node.value is None:  # what fills it may come from a launch
        run.settings["validation"] = unknown(entry.key_span, node.span)
    elif isinstance(node, Scalar) and node.value is None:
        run.settings["validation"] = Known(False, WRITTEN, key_span=entry.key_span, span=node.span)
    elif isinstance(node, (Choice, Unresolved)) and not isinstance(node, Symbol):
        # `val if args.do_eval else None`, a value of a function: it may be None.
        run.settings["validation"] = unknown(entry.key_span, node.span)
    else:
        run.settings["validation"] = Known(True, WRITTEN, key_span=entry.key_span, span=node.span)
        run.writes["validation"] = entry.key_span
        data = one_split(node, "test")
        if data is not None:
            run.validation.extend(sources(data, entry, base, run))
            run.validation_mix = mix_of(data)


def _sets(around: Surroundings, attribute: str) -> bool:
    """Whether the script sets an attribute of something later on (`trainer.eval_dataset = ...`)."""
    return around.mentions(f".{attribute} =", f".{attribute}=")


def one_split(node: Node, name: str) -> DatasetNode | None:
    """The dataset of a node, if it is a single set of rows."""
    if not isinstance(node, DatasetNode):
        return None
    if node.form in ("splits", "halves") and node.split is None:
        saved = node.form == "splits" and node.members is None and node.hub is None
        return node if saved and node.files else (node.members or {}).get(name)  # it may be a single one
    return node


def sources(data: DatasetNode, entry: Entry, base: str, run: Run) -> Iterator[DataSource]:
    """The places that a dataset's rows come from; several for a mixture (`mix_of`)."""
    if data.parts:
        changed = data.rewritten or _changes_rows(data)
        for part in data.parts:
            for source in sources(part, entry, base, run):
                source.rewritten = source.rewritten or changed
                yield source
        return
    rows = Known(data.rows, COUNTED, span=data.span) if data.rows is not None else Known(exact=False)
    operations = data.operations
    if data.rows is None and not data.files:
        # `select(range(500))` leaves 500 rows, whatever there was: fewer stop it with an error (datasets 5.2.0).
        for at, operation in enumerate(operations):
            if operation.kind == "select" and operation.start == 0 and isinstance(operation.amount, int):
                rows = Known(operation.amount, DERIVED, span=operation.span)
                operations = data.operations[at:]
    yield DataSource(
        data.span if data.span.source.path == run.source.path else entry.key_span,
        paths=data.files if data.files is not None else ((data.hub,) if data.hub and _is_path(data.hub) else ()),
        field=data.field,
        base=base,
        hub=data.hub,
        split=data.split,
        subset=data.subset or "",
        operations=[step_of(one) for one in operations],
        rows=rows,
        arrow=data.loaded,
        rewritten=data.rewritten or _changes_rows(data),
        sample=next((size for one in data.operations if (size := _asked(one)) is not None), None),
    )


def _asked(operation: Operation) -> int | None:
    """The number of rows that a program asks for: `select(range(500))`, `train[:500]`."""
    kind, amount, start, stop = operation.kind, operation.amount, operation.start or 0, operation.stop
    if kind in ("select", "sample") and isinstance(amount, int):
        return amount
    if kind == "slice" and isinstance(stop, int) and isinstance(start, int) and 0 <= start < stop:
        return stop - start
    return None


def _changes_rows(data: DatasetNode) -> bool:
    return any(one.kind in ("map", "pack", "unknown") for one in data.operations)


def mix_of(data: DatasetNode) -> Mix | None:
    """How many rows the sources of a mixture give together, by what is done to the parts and to the whole; None for a
    single source, and where it is the sum."""
    return (lambda found: _mixed(data, iter(found))) if _is_mixed(data) else None


def _is_mixed(data: DatasetNode) -> bool:
    """Whether parts are anything but put one after the other."""
    return bool(data.parts) and (
        data.mixing is not None or bool(data.operations) or any(_is_mixed(part) for part in data.parts)
    )


def _mixed(data: DatasetNode, found: Iterator[Rows | None]) -> Rows | None:
    """`found`: the rows of each source that `sources` gives, in its order."""
    if not data.parts:
        return next(found)
    parts = [_mixed(part, found) for part in data.parts]
    rows = together(parts) if data.mixing is None else interleaved(parts, *data.mixing)
    for operation in data.operations:
        if rows is not None:
            rows = step_of(operation)(rows)
        elif operation.kind == "select" and operation.start == 0 and isinstance(operation.amount, int):
            rows = (operation.amount, operation.amount)  # as above: fewer stop it
    return rows


def step_of(operation: Operation) -> Step:
    """What an operation does to rows."""
    if operation.kind == "filter":
        return some
    amount = operation.amount
    if operation.kind == "select" and isinstance(amount, int):
        last = operation.stop if operation.start is not None else None
        return taken(amount, int(last)) if last is not None else at_most(amount)
    return each(rows_after(operation))


def _is_path(name: str) -> bool:
    """Whether a data set's name is a file or folder here; a bare name may be the hub's."""
    return name.startswith(("./", "../")) or name.endswith((".json", ".jsonl", ".csv", ".parquet", ".arrow", ".txt"))


def _operations(data: DatasetNode) -> Iterator[Operation]:
    yield from data.operations
    for part in data.parts:
        yield from _operations(part)


def rows_after(operation: Operation) -> Callable[[int], int | None]:
    """How many rows are left of so many (datasets 4.8, `Dataset.train_test_split` and `select`); None = not known."""
    kind, amount, start, stop = operation.kind, operation.amount, operation.start, operation.stop

    def after(rows: int) -> int | None:
        if kind == "shuffle":
            return rows
        if kind == "select" and amount is not None:
            return min(rows, int(amount))
        if kind == "sample" and amount is not None:
            return min(rows, int(amount)) if isinstance(amount, int) else round(rows * amount)  # as pandas does
        if kind == "slice":
            return Part("", start, stop).rows(rows)
        if kind == "shard" and amount and start is not None:  # the first ones hold one row more
            return int(rows // amount + (start < rows % amount))
        if kind == "places" and operation.of is not None:
            return operation.of(rows)
        if kind == "repeat" and isinstance(amount, int):
            return rows * amount
        if kind in ("split-train", "split-test"):
            test, train = split_sizes(rows, amount, stop)
            if test is None or train is None:
                return None
            return max(0, train) if kind == "split-train" else min(rows, max(0, test))
        return None

    return after


def split_sizes(rows: int, test: float | None, train: float | None) -> tuple[int | None, int | None]:
    """(test, training) rows of `train_test_split`: shares are rounded up for the test, down for the training part."""
    from math import ceil, floor

    if test is None and train is None:
        return None, None
    n_test = None if test is None else (ceil(test * rows) if isinstance(test, float) else int(test))
    n_train = None if train is None else (floor(train * rows) if isinstance(train, float) else int(train))
    if n_test is None:
        assert n_train is not None
        n_test = rows - n_train
    if n_train is None:
        n_train = rows - n_test
    return n_test, n_train


# Callbacks, adapters, model ------------------------------------------------------------------------------------------


def take_patience(run: Run, around: Surroundings) -> None:
    """`EarlyStoppingCallback(early_stopping_patience=...)` among the trainer's callbacks; the default is 1."""
    trainer = around.trainer
    if trainer is None:
        return
    nodes: list[Node] = []
    callbacks = trainer.argument("callbacks")
    nodes.extend(callbacks.items if isinstance(callbacks, Sequence) else [callbacks] if callbacks is not None else [])
    for call in around.calls("add_callback"):
        if call.receiver is trainer:
            nodes.extend(entry.value for entry in call.arguments.entries)
    for node in nodes:
        if isinstance(node, Symbol) and node.origin.endswith("EarlyStoppingCallback"):
            run.settings["early_stopping_patience"] = Known(1, WRITTEN, key_span=node.span, span=node.span)
        if isinstance(node, Reference) and node.call.name == "EarlyStoppingCallback":
            call = node.call
            entry = call.entry("early_stopping_patience", 0)
            if entry is None:
                known = unknown(call.span) if call.arguments.open_ended else Known(1, WRITTEN, key_span=call.span)
            else:
                value = entry.value.value if isinstance(entry.value, Scalar) else None
                whole = isinstance(value, int) and not isinstance(value, bool)
                known = (
                    Known(value, WRITTEN, key_span=entry.key_span, span=entry.value.span)
                    if whole
                    else unknown(entry.key_span, entry.value.span)
                )
            run.settings["early_stopping_patience"] = known


def take_tuning(run: Run, around: Surroundings) -> None:
    """`tuning` and `lora_rank` from the adapter that the trainer or the model is given; full where surely none is."""
    adapter = adapter_of(around)
    quantized = _loads_quantized(around)
    if adapter is not None:
        kind = _ADAPTERS.get(adapter.name, "other" if adapter.name.endswith("Config") else "lora")
        if kind == "lora" and quantized:
            kind = "qlora"
        run.settings["tuning"] = Known(kind, WRITTEN, key_span=adapter.span)
        rank = adapter.argument("r")
        if isinstance(rank, Scalar) and isinstance(rank.value, int):
            run.settings["lora_rank"] = Known(rank.value, WRITTEN, span=rank.span)
        return
    if around.trainer is None or not around.whole or around.imports("peft") or around.imports("unsloth"):
        return
    if around.mentions("requires_grad", "peft", "adapter") or quantized:
        return
    model = _model(around)
    if (isinstance(model, Scalar) and isinstance(model.value, str)) or (
        isinstance(model, Reference) and model.call.name.endswith("from_pretrained")
    ):
        run.settings["tuning"] = Known("full")


def adapter_of(around: Surroundings) -> Call | None:
    """The adapter's configuration, or the call that puts an adapter on the model (`get_peft_model`)."""
    node = around.argument("peft_config")
    if isinstance(node, Choice):
        node = next((option for option in node.options if isinstance(option, Reference)), None)
        if node is not None and around.argument("peft_config") is not node:
            return None  # with or without: not known
    if isinstance(node, Reference) and node.call.name.endswith("Config"):
        return node.call
    for call in around.calls("get_peft_model"):
        if call.guarded:
            continue
        config = call.argument("peft_config", 1)
        return config.call if isinstance(config, Reference) and config.call.name.endswith("Config") else call
    return None


def _loads_quantized(around: Surroundings) -> bool:
    for call in around.python.calls:
        if call.name in ("BitsAndBytesConfig", "from_pretrained"):
            flag = call.argument("load_in_4bit")
            if isinstance(flag, Scalar) and flag.value is True:
                return True
    # FastLanguageModel loads in four bits unless it is told otherwise.
    loads = (call for call in around.calls("from_pretrained") if call.origin.startswith("unsloth.Fast"))
    return any(call.argument("load_in_4bit") is None for call in loads)


def _model(around: Surroundings) -> Node | None:
    position = _POSITIONS.get(around.name, _USUAL)[2]
    node = around.argument("model", position)
    seen = 0
    while isinstance(node, Reference) and node.call.name in ("get_peft_model", "prepare_model_for_kbit_training"):
        node = node.call.argument("model", 0)
        seen += 1
        if seen > 8:
            break
    return node


def take_model(run: Run, around: Surroundings) -> None:
    """The model's name, and whether it is a language model at all."""
    node = _model(around)
    if isinstance(node, Reference):
        call = node.call
        owner = call.origin or call.callee
        if any(part in owner for part in _OTHER_MODELS):
            run.settings["language_model"] = Known(False, span=call.span)
        elif any(part in owner for part in _ENCODERS) and not around.name.startswith(("Reward", "PRM")):
            run.settings["encoder"] = Known(True, span=call.span)
        entry = call.entry("pretrained_model_name_or_path", 0) or call.entry("model_name")
        node = entry.value if entry is not None else None
    if isinstance(node, Scalar) and isinstance(node.value, str):
        run.settings["model"] = Known(node.value, WRITTEN, span=node.span)


def take_devices(run: Run, around: Surroundings) -> None:
    """Devices that the script itself leaves visible before it starts (`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`).

    A model that lies on several of them (`device_map`) is not copied to each: how many replicas train is unknown then
    (transformers, trainer.py, `is_model_parallel`).
    """
    entry = around.python.environment.entry("CUDA_VISIBLE_DEVICES")
    if entry is None or not isinstance(entry.value, Scalar) or not isinstance(entry.value.value, str):
        return
    devices = [one for one in entry.value.value.split(",") if one.strip()]
    if len(devices) > 1 and "device_map" in around.python.source.text:
        return
    if devices and all(one.strip().isdigit() for one in devices):
        run.settings["gpus"] = Known(len(devices), WRITTEN, key_span=entry.key_span, span=entry.value.span)


def computes_metrics(around: Surroundings) -> bool:
    """Whether something in the script may compute metrics of its own."""
    trainer = around.trainer
    if trainer is None or not around.whole or trainer.methods or trainer.local:
        return True
    node = trainer.argument("compute_metrics", 7)
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def evaluates_itself(around: Surroundings) -> bool:
    """Whether the script evaluates or predicts by a call of its own, before or after training."""
    return any(True for _ in around.calls("evaluate", "predict"))


def take_saving(run: Run, around: Surroundings) -> None:
    """Whether the script saves the model by a call of its own."""
    for call in around.calls("save_model", "save_pretrained_merged", "save_pretrained"):
        owner = call.callee.lower()
        if around.trainer is not None and "token" not in owner and "process" not in owner:
            run.settings["saved_by_script"] = Known(True, WRITTEN, span=call.span)
            return


def take_resume(run: Run, around: Surroundings) -> None:
    """`trainer.train(resume_from_checkpoint="out/checkpoint-500")`.

    The argument of `TrainingArguments` is only kept for scripts to pass on: `trainer.train()` starts anew (recorded in
    tests/conformance/data/resume.json).
    """
    calls = [call for call in around.calls("train") if around.trainer is not None and call.receiver is around.trainer]
    if calls and all(_starts_anew(call) for call in calls):
        run.settings.pop("resume", None)
    for call in calls:
        node = call.argument("resume_from_checkpoint", 0)
        entry = call.entry("resume_from_checkpoint", 0)
        if entry is not None and isinstance(node, Scalar) and isinstance(node.value, str):
            run.settings["resume"] = Known(node.value, WRITTEN, key_span=entry.key_span, span=node.span)


def _starts_anew(call: Call) -> bool:
    return call.entry("resume_from_checkpoint", 0) is None and not call.arguments.open_ended


# Names of the schedules that transformers makes, as `lr_scheduler_type` calls them (`optimization.py`).
_SCHEDULES = {
    "get_linear_schedule_with_warmup": "linear",
    "get_cosine_schedule_with_warmup": "cosine",
    "get_cosine_with_hard_restarts_schedule_with_warmup": "cosine_with_restarts",
    "get_polynomial_decay_schedule_with_warmup": "polynomial",
    "get_constant_schedule_with_warmup": "constant_with_warmup",
    "get_constant_schedule": "constant",
    "get_inverse_sqrt_schedule": "inverse_sqrt",
}


def take_optimizers(run: Run, around: Surroundings) -> None:
    """`Trainer(optimizers=(optimizer, schedule))`: what is given there is used, whatever the arguments say.

    The Trainer only makes what is None (transformers 4.36 to 5.24, `trainer.py`, `create_optimizer_and_scheduler`).
    """
    entry = around.trainer.entry("optimizers") if around.trainer is not None else None
    if entry is None or (isinstance(entry.value, Scalar) and entry.value.value is None):
        return
    pair = entry.value.items if isinstance(entry.value, Sequence) else []
    optimizer, schedule = pair if len(pair) == 2 else (entry.value, entry.value)
    if not (isinstance(optimizer, Scalar) and optimizer.value is None):
        run.settings["learning_rate"] = _given(optimizer, "lr", entry)
        run.settings["optimizer"] = run.settings["weight_decay"] = unknown(entry.key_span, entry.value.span)
        if isinstance(optimizer, Reference) and not optimizer.attribute:
            made = optimizer.call.name.lower()  # AdamW, Lion, Adafactor: a class goes by its own name
            run.settings["optimizer"] = Known(made, WRITTEN, key_span=entry.key_span, span=optimizer.call.span)
    if not (isinstance(schedule, Scalar) and schedule.value is None):
        name = _SCHEDULES.get(schedule.call.name) if isinstance(schedule, Reference) else None
        place = unknown(entry.key_span, entry.value.span)
        run.settings["scheduler"] = Known(name, WRITTEN, key_span=entry.key_span) if name is not None else place
        run.settings["warmup_steps"] = _given(schedule, "num_warmup_steps", entry) if name is not None else place
        run.settings["warmup_ratio"] = Known(None) if name is not None else place
        run.settings["schedule_steps"] = _given(schedule, "num_training_steps", entry)
        run.settings["min_rate"] = place


def _given(node: Node, keyword: str, pair: Entry) -> Known:
    """A number among the arguments of the call that a value comes from."""
    found = node.call.entry(keyword) if isinstance(node, Reference) and not node.attribute else None
    value = found.value.value if found is not None and isinstance(found.value, Scalar) else None
    if found is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return unknown(pair.key_span, pair.value.span)
    return Known(value, WRITTEN, key_span=found.key_span, span=found.value.span)


# What is tried where `hyperparameter_search` is given no space of its own (transformers 4.57.6 and 5.15.0,
# `trainer_utils.default_hp_space_optuna`).
_USUAL_SPACE = ("learning_rate", "num_train_epochs", "per_device_train_batch_size")


def take_search(run: Run, around: Surroundings) -> None:
    """`trainer.hyperparameter_search(...)`: what is searched for takes many values, whatever the arguments say.

    A space that is a function of the program names its settings in quotes; one that cannot be seen may hold any.
    """
    for call in around.calls("hyperparameter_search"):
        if around.trainer is None or call.receiver is not around.trainer:
            continue
        space = call.argument("hp_space", 0)
        own = isinstance(space, Symbol) and "." not in space.origin
        for setting, names in common.KEYS.items():
            if space is None:
                searched = any(name in _USUAL_SPACE for name in names)
            else:
                searched = not own or around.mentions(*(quote + name + quote for name in names for quote in "\"'"))
            if searched:
                run.settings[setting] = unknown(call.span)
