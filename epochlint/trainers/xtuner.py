"""XTuner: config modules in mmengine's manner, and the Python configs of its newer trainer.

Read in xtuner 0.1.23 and 0.2.0 (`tools/train.py`, `engine/runner/loops.py`, `dataset/huggingface.py`,
`dataset/samplers/length_grouped.py`) with mmengine 0.10.7 (`runner/loops.py`, `optim/optimizer/optimizer_wrapper.py`,
`optim/scheduler/param_scheduler.py`), recorded in tests/conformance: the loop runs epochs x len(loader) micro-batches;
a step comes after every `accumulative_counts` of them, across the ends of epochs, and after the last one, which
DeepSpeed leaves out. The schedulers count micro-batches: `end=0.03 * max_epochs` is int(that x len(loader)) of them,
so the warmup in steps is right to within one.

The newer trainer (InternLM/xtuner at b934f462, `v1/train/trainer.py`) packs always: only `total_step` tells its length.
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence
from epochlint.run.counting import Batch, Counting, Shape, Steps, Warmup, fixed, share_down
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, unknown
from epochlint.run.rows import at_most
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.source import Span
    from epochlint.trainers.trainer import Reading

LABEL = "xtuner"
CALLS = frozenset({"xtuner.v1.train.TrainerConfig", "xtuner.v1.train.trainer.TrainerConfig"})
LOADER = Loader("Python", converts_text=False, reads_plain=True)

_METHODS = {"SupervisedFinetune": "sft", "DPO": "dpo", "ORPO": "orpo", "RewardModel": "reward", "LLaVAModel": "sft"}
_SCHEDULES = {"CosineAnnealingLR": "cosine", "LinearLR": "linear", "ConstantLR": "constant", "PolyLR": "polynomial"}
_WARMED = "constant_with_warmup"
_LOOPS = ("TrainLoop", "EpochBasedTrainLoop", "IterBasedTrainLoop")
# Samplers that deal the data out evenly and fill up the last round (mmengine, `dataset/sampler.py`).
_EVEN = ("DefaultSampler", "SequenceParallelSampler")


def recognise(document: Document) -> list[Mapping]:
    """A module with a loop, a loader and an optimizer, something of which comes from xtuner."""
    names: Mapping | None = getattr(document, "names", None)
    if names is None or any(names.mapping(key) is None for key in ("train_cfg", "train_dataloader", "optim_wrapper")):
        return []
    return [names] if any("xtuner" in kind for kind in _types(names)) else []


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`xtuner train CONFIG`."""
    return program[:3] == ("cli", "xtuner", "train")


def read(reading: Reading) -> Run:
    if reading.command[:1] == ("call",):
        return _read_call(reading)
    reading = _readable(reading)
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    versions = reading.versions.of("xtuner")
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    deepspeed = "deepspeed" in reading or _type(reading.mapping("optim_wrapper")) == "DeepSpeedOptimWrapper"
    run.eras = (Era("", _DEEPSPEED if deepspeed else _COUNTING, {"xtuner": versions}),)
    _batch(taker)
    _length(taker)
    taker.number("learning_rate", ("optim_wrapper", "optimizer", "lr"), default=UNKNOWN)
    taker.number("weight_decay", ("optim_wrapper", "optimizer", "weight_decay"), default=UNKNOWN)
    taker.number("max_grad_norm", ("optim_wrapper", "clip_grad", "max_norm"), default=UNKNOWN)
    optimizer = _type(reading.mapping("optim_wrapper", "optimizer"))
    taker.derive("optimizer", Known(optimizer, WRITTEN) if optimizer else UNKNOWN)
    _schedule(taker)
    _method(taker)
    _data(taker)
    _check(taker, deepspeed)
    return run


# The module ---------------------------------------------------------------------------------------------------------


def _readable(reading: Reading) -> Reading:
    """The module with `--cfg-options a.b=c` above it, each value at the name that a person would edit."""
    reading = reading.nested()
    layers = [Layer(_edited(layer.mapping, _constants(layer.mapping)), layer.origin) for layer in reading.layers]
    return reading.over(layers)


def _constants(names: Mapping) -> dict[int, Span]:
    """Where each constant of the module stands: start of the value -> its name."""
    return {entry.value.span.start: entry.key_span for entry in names.entries if isinstance(entry.value, Scalar)}


def _edited(mapping: Mapping, constants: dict[int, Span]) -> Mapping:
    """`lr=lr` names the line `lr = 2e-5`, `end=warmup_ratio * max_epochs` stays where it is."""
    entries = []
    for entry in mapping.entries:
        value = entry.value
        if isinstance(value, Mapping):
            value = _edited(value, constants)
        elif isinstance(value, Sequence):
            items = [_edited(item, constants) if isinstance(item, Mapping) else item for item in value.items]
            value = Sequence(value.span, items)
        same = value.span.source.path == mapping.span.source.path
        entries.append(
            Entry(entry.key, constants.get(value.span.start, entry.key_span) if same else entry.key_span, value)
        )
    return Mapping(mapping.span, entries, mapping.open_ended)


def _types(mapping: Mapping) -> Iterator[str]:
    """The dotted origins of what stands under `type`, in the blocks of the module."""
    for entry in mapping.entries:
        if isinstance(entry.value, Mapping):
            yield _origin(entry.value.get("type"))
            yield from _types(entry.value)


def _origin(node: Node | None) -> str:
    """What is named by a text or by itself, dotted."""
    return text_of(node) or str(getattr(node, "origin", ""))


def _last(node: Node | None) -> str:
    return _origin(node).rpartition(".")[2]


def _type(block: Mapping | None) -> str:
    """The last part of what a block builds: "AdamW", "DefaultSampler"."""
    return _last(block.get("type")) if block is not None else ""


# Its settings -------------------------------------------------------------------------------------------------------


def _batch(taker: Taker) -> None:
    reading = taker.reading
    taker.whole("per_device_batch", ("train_dataloader", "batch_size"), default=UNKNOWN)
    taker.whole("accumulation", ("optim_wrapper", "accumulative_counts"), default=1)
    taker.flag("drop_last", ("train_dataloader", "drop_last"))
    taker.product("parallel", "sequence_parallel_size")
    sampler = reading.mapping("train_dataloader", "sampler")
    if _type(sampler) == "LengthGroupedSampler":
        taker.whole("sampled_together", ("train_dataloader", "sampler", "per_device_batch_size"), default=UNKNOWN)
    known = "sampled_together" in taker.run.settings or _type(sampler) in _EVEN
    own = ("batch_sampler", "num_batch_per_epoch")
    if (
        not known
        or any(reading.node("train_dataloader", key) is not None for key in own)
        or "round_up" in (sampler or ())
    ):
        taker.derive("batch_unknown", Known(True, DERIVED))


def _length(taker: Taker) -> None:
    run, reading = taker.run, taker.reading
    taker.number("epochs", ("train_cfg", "max_epochs"))
    limit = taker.whole("max_iters", ("train_cfg", "max_iters"))
    accumulation = run.setting("accumulation").number
    if limit.number and accumulation and accumulation >= 1:
        steps = (
            limit.number // accumulation if run.eras[0].counting is _DEEPSPEED else ceil(limit.number / accumulation)
        )
        taker.derive("max_steps", Known(int(steps), WRITTEN, key_span=limit.key_span, span=limit.span))
    elif not limit.exact or limit.number:
        taker.derive("max_steps", unknown(limit.key_span, limit.span))
    if _type(reading.mapping("train_cfg")) not in _LOOPS:
        taker.derive("batch_unknown", Known(True, DERIVED))
    both, block = ("max_iters", "max_epochs"), reading.mapping("train_cfg")
    written = [key for key in both if block is not None and _written(block.get(key))]
    if len(written) == 2:
        taker.refuse(("train_cfg", "max_iters"), "only one of max_iters and max_epochs can be written", "TrainLoop")
    elif not written and block is not None and not block.open_ended:
        taker.refuse(("train_cfg", "type"), "neither max_iters nor max_epochs is written", "TrainLoop")


def _schedule(taker: Taker) -> None:
    """A first LinearLR from the start is the warmup, what follows it the schedule."""
    run, node = taker.run, taker.reading.node("param_scheduler")
    if node is None:
        taker.derive("scheduler", Known("constant", DEFAULT) if not taker.reading.open_ended else UNKNOWN)
        return
    blocks = [block for block in (node.items if isinstance(node, Sequence) else [node]) if isinstance(block, Mapping)]
    warms = len(blocks) > 1 and _type(blocks[0]) == "LinearLR" and _number(blocks[0].get("begin"), 0) == 0
    main = blocks[1:] if warms else blocks
    name = _SCHEDULES.get(_type(main[0])) if len(main) == 1 else None
    place = main[0].entry("type") if main else None
    taker.derive(
        "scheduler", Known(name, WRITTEN, key_span=place.key_span) if name and place is not None else unknown(node.span)
    )
    if len(main) == 1:
        _least_rate(taker, main[0])
    if not warms:
        return
    end = blocks[0].entry("end")
    if end is None:
        return
    by_epoch = _flag(blocks[0].get("by_epoch"), True)
    length, epochs = _number(end.value), run.setting("epochs").number
    key, known = "warmup_ratio", unknown(end.key_span, end.value.span)
    if by_epoch and _flag(blocks[0].get("convert_to_iter_based"), False) and length is not None and epochs:
        known = Known(length / epochs, WRITTEN, key_span=end.key_span, span=end.value.span)
    elif by_epoch is False:
        key, accumulation = "warmup_steps", run.setting("accumulation").number
        if length is not None and accumulation:
            known = Known(length / accumulation, WRITTEN, key_span=end.key_span, span=end.value.span)
    run.settings[key] = known
    if key == "warmup_ratio" and length is not None:
        _warmed(taker, end, length)


def _warmed(taker: Taker, end: Entry, length: float) -> None:
    """What mmengine makes of a warmup that ends after so many passes: it refuses one of no micro-batch, and one that
    leaves nothing to what follows; after a single one the rate stays at the first value for good."""
    run, epochs = taker.run, taker.run.setting("epochs").number

    def refuse(reason: str) -> None:
        taker.observe("rejected", end.key_span, reason=reason, consumer="mmengine")

    if length <= 0:
        refuse(f"the warmup ends where it begins (end={length:g})")
        return
    if epochs is not None and length >= epochs:
        refuse(f"the warmup ends after {length:g} epochs, and what should follow ends after {epochs:g}")
        del run.settings["warmup_ratio"]  # a run that is refused has no warmup
        return

    def settle(counted: Run) -> None:
        rows, gpus, batch = (counted.setting(name).number for name in ("rows", "gpus", "per_device_batch"))
        joined = counted.setting("packing").value is not False or counted.setting("batch_unknown").value
        if not rows or not gpus or not batch or batch < 1 or joined:
            return
        workers = max(1, int(gpus // (counted.setting("parallel").number or 1)))
        drop = bool(counted.setting("drop_last").value)
        batches = _batches(Shape(int(rows), int(batch), 1, workers, 1, drop_last=drop, get=counted.setting))
        warm = int(length * batches)
        said = f"a warmup of {length:g} x {batches:,} micro-batches"
        if warm == 0:
            refuse(f"{said} comes to none")
        elif warm == 1:
            stays = "mmengine leaves the learning rate at the warmup's first value for good"
            taker.observe("peak_never_reached", end.key_span, reason=f"{said} comes to one, and {stays}")

    run.after_counting.append(settle)


def _least_rate(taker: Taker, block: Mapping) -> None:
    entry = block.entry("eta_min")
    least = _number(entry.value) if entry is not None else None
    if entry is not None and least is not None:
        taker.derive("min_rate", Known(least, WRITTEN, key_span=entry.key_span, span=entry.value.span))


def _method(taker: Taker) -> None:
    model = taker.reading.mapping("model")
    method = _METHODS.get(_type(model))
    taker.derive("method", Known(method, DERIVED) if method is not None else UNKNOWN)
    taker.number("beta", ("model", "beta"))
    llm = model.mapping("llm") if model is not None else None
    if model is None or llm is None or model.open_ended:
        taker.derive("tuning", UNKNOWN)
        return
    adapted = any(_written(model.get(key)) for key in ("lora", "llm_lora"))
    if adapted:
        tuning = "qlora" if _written(llm.get("quantization_config")) else "lora"
    else:
        frozen = any(_flag(model.get(key), False) is not False for key in ("freeze_llm", "freeze_visual_encoder"))
        tuning = "other" if frozen else "full"  # a projector alone
    taker.derive("tuning", Known(tuning, DERIVED))


def _data(taker: Taker) -> None:
    """Packs are cut out of all texts joined; without them rows are records, but for those without a valid label."""
    run, reading = taker.run, taker.reading
    path = ("train_dataloader", "dataset")
    block = reading.mapping(*path)
    if _type(block) != "process_hf_dataset" or block is None:
        taker.derive("batch_unknown", Known(True, DERIVED))
        return
    taker.flag("packing", (*path, "pack_to_max_length"), default=True)
    taker.whole("sequence_length", (*path, "max_length"), default=UNKNOWN)
    cap = taker.whole("sample_cap", (*path, "max_dataset_length"))
    source = block.mapping("dataset")
    kind, files = text_of(source.get("path")) if source is not None else None, _files(source)
    if source is None or _type(source) != "load_dataset" or not cap.exact:
        return
    most = int(cap.number) if cap.number is not None else None
    run.training = [
        DataSource(
            source.span,
            paths=files if kind in ("json", "csv", "text", "parquet") else (),
            base=reading.base,
            hub=None if files else kind,
            operations=[at_most(most)] if most is not None else [],
            keep=_kept(_last(block.get("dataset_map_fn")), run.setting("sequence_length").number),
        )
    ]


# What the prompt of a row is made of, and its answer (`dataset/map_fns/dataset_map_fns`, 0.1.23).
_MAPPED = {"alpaca_map_fn": (("instruction", "input"), "output"), "default_map_fn": (("input",), "output")}
_TEMPLATE = 400  # tokens that a template and its system text take at most


def _kept(function: str, length: float | None) -> Callable[[object], bool | None]:
    """Whether a row keeps a label: its prompt leaves room for the answer. A token is at least one byte."""
    prompt, answer = _MAPPED.get(function, ((), ""))

    def keep(row: object) -> bool | None:
        found = [row.get(key) for key in (*prompt, answer)] if isinstance(row, dict) else []
        texts = [text for text in found if isinstance(text, str)]
        if not prompt or not length or len(texts) < len(prompt) + 1 or not texts[-1]:
            return None
        if texts[-1] == "<nooutput>" and function == "alpaca_map_fn":
            return False
        return True if sum(len(text.encode()) for text in texts[:-1]) + _TEMPLATE <= length else None

    return keep


def _files(source: Mapping | None) -> tuple[str, ...]:
    """`data_files="a.json"`, `data_files=dict(train="a.json")`, `data_files=["a.json"]`."""
    node = source.get("data_files") if source is not None else None
    if isinstance(node, Mapping):
        node = node.get("train")
    items = node.items if isinstance(node, Sequence) else [node]
    found = [text_of(item) for item in items]
    return tuple(text for text in found if text) if all(found) else ()


def _check(taker: Taker, deepspeed: bool) -> None:
    """What `check_cfg` of `tools/train.py` and the loop refuse."""
    reading = taker.reading
    batch = taker.run.setting("per_device_batch").number
    if _flag(reading.node("use_varlen_attn"), False) and batch is not None and batch > 1:
        reason = f"with use_varlen_attn the batch size must be 1, not {batch:g}"
        taker.refuse(("train_dataloader", "batch_size"), reason, "xtuner train")
    if not deepspeed and reading.command and taker.run.setting("parallel").number:
        reason = "sequence parallelism needs --deepspeed"
        taker.refuse(("sequence_parallel_size",), reason, "xtuner train")


def _number(node: Node | None, default: float | None = None) -> float | None:
    if node is None:
        return default
    value = node.value if isinstance(node, Scalar) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _flag(node: Node | None, default: bool) -> bool | None:
    if node is None:
        return default
    return bool(node.value) if isinstance(node, Scalar) else None


def _written(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


# Counting -----------------------------------------------------------------------------------------------------------


def _batches(shape: Shape) -> int:
    """len(loader) of a worker."""
    together = shape.get("sampled_together").number
    if together:
        samples = ceil(shape.records / shape.workers / together) * int(together)
    else:
        samples = ceil(shape.records / shape.workers)
    return samples // shape.per_device if shape.drop_last else ceil(samples / shape.per_device)


def _flushed(shape: Shape) -> Steps:
    """The last, incomplete group of micro-batches makes a step, too."""
    batches = _batches(shape)
    natural = ceil(int(shape.epochs * batches) / shape.accumulation)
    return Steps(ceil(batches / shape.accumulation), natural, natural if shape.limit is None else shape.limit)


def _unflushed(shape: Shape) -> Steps:
    batches = _batches(shape)
    natural = int(shape.epochs * batches) // shape.accumulation
    return Steps(batches // shape.accumulation, natural, natural if shape.limit is None else shape.limit)


def _warmup(get: Get) -> Warmup | None:
    share, steps = get("warmup_ratio"), get("warmup_steps")
    if steps.number is not None:
        return fixed(int(steps.number))
    return share_down(share.number) if share.number is not None and share.number >= 0 else None


_COUNTING = Counting(_flushed, _warmup)
_DEEPSPEED = Counting(_unflushed, _warmup)


# The newer trainer --------------------------------------------------------------------------------------------------


def _read_call(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _NEWER),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", "global_batch_size", default=UNKNOWN)
    taker.whole("max_steps", "total_step")
    taker.number("epochs", "total_epoch")
    taker.product("parallel", "sp_size")
    taker.derive("packing", Known(True, DERIVED))
    both = run.setting("max_steps").value is not None and run.setting("epochs").value is not None
    if both:
        taker.refuse(
            ("total_step",), "total_epoch and total_step should not be set at the same time", "xtuner's Trainer"
        )
    inner = reading.over([Layer(arguments) for arguments in _made(reading, "optim_cfg", "lr_cfg")])
    rates = Taker(run, inner, LOADER)
    known = len(inner.layers) == 2
    rates.number("learning_rate", "lr", default=1e-5 if known else UNKNOWN)
    # Its constant rate comes after the warmup, too.
    rates.word("scheduler", "lr_type", default=_WARMED if known else UNKNOWN, words={"constant": _WARMED})
    rates.number("min_rate", "lr_min", default=UNKNOWN)
    warmup = rates.number("warmup", "warmup_ratio", default=0.03 if known else UNKNOWN)
    name = "warmup_ratio" if warmup.number is not None and warmup.number < 1 else "warmup_steps"
    rates.derive(name, warmup)
    rates.derive("tuning", Known("full", DERIVED))
    return run


def _made(reading: Reading, *keys: str) -> list[Mapping]:
    """The arguments of the calls whose results are given under some keys."""
    calls = [getattr(reading.node(key), "call", None) for key in keys]
    return [call.arguments for call in calls if call is not None]


def _share(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, UNKNOWN, Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number else UNKNOWN)


_NEWER = Counting(None, _warmup, _share)
