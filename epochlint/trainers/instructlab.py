"""InstructLab's training library, Training Hub, and the `train` section of `ilab`'s config.

Read in instructlab-training 0.3.2 to 0.16.2 (`config.py`, `main_ds.py`, `sampler.py`), training-hub 0.11.2
(`algorithms/`), mini-trainer 0.9.0 and instructlab 0.26.1 (`configuration.py`, `defaults.py`); recorded in
tests/conformance. Since 0.12 every rank's loader holds ceil(N / effective batch) batches, and accumulation comes from
token limits, so there is no per-device batch; before, batches were packed to an average number of tokens, and the steps
depend on the rows. `ilab` asks for those versions. `lora_sft` is TRL's trainer with Unsloth.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Batch, Counting, Steps, Warmup, by_loader, ceil_of_rows, fixed, times
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import instructlab_refusals as refusals
from epochlint.trainers.hf.counting import after_split
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
_PACKED_BEFORE = "0.12"  # instructlab-training


class _Way:
    """One of the ways in: what it takes for granted. `default` values are `Taker`'s."""

    __slots__ = ("batch", "epochs", "loader", "rate", "scheduler", "section", "warmup")

    def __init__(
        self,
        loader: Loader,
        epochs: object = 1,
        batch: object = MISSING,
        warmup: object = 0,
        rate: object = None,
        scheduler: str = "cosine",
        section: str = "",
    ) -> None:
        self.loader = loader
        self.epochs = epochs
        self.batch = batch
        self.warmup = warmup
        self.rate = rate
        self.scheduler = scheduler
        self.section = section  # where `ilab` keeps what else the training is given


_PYDANTIC = Loader("instructlab-training", converts_text=True)
_WAYS = {
    "TrainingArgs": _Way(_PYDANTIC),
    "sft": _Way(_PYDANTIC),
    "osft": _Way(Loader("Training Hub", converts_text=False)),
    "lora_sft": _Way(
        Loader("Training Hub", converts_text=False), epochs=3, warmup=10, rate=2e-4, scheduler="linear"
    ),
    "ilab": _Way(Loader("ruamel", converts_text=True), 10, 64, 25, 2e-5, section="additional_args"),
}  # fmt: skip


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        train = mapping.mapping("train")
        if train is not None and "effective_batch_size" in train and ("max_batch_len" in train or "chat" in mapping):
            found.append(train)
    return found


def read(reading: Reading) -> Run:
    called = reading.command[1].rpartition(".")[2] if reading.command[:1] == ("call",) else ""
    name = called if called in _WAYS else "ilab"
    way = _WAYS[name]
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, way.loader)
    taker.number("epochs", "num_epochs", default=Known(way.epochs, DEFAULT))
    if name != "lora_sft":
        taker.whole("global_batch", "effective_batch_size", default=way.batch)
    taker.number("learning_rate", "learning_rate", (way.section, "learning_rate"), default=way.rate)
    taker.whole("warmup_steps", "warmup_steps", (way.section, "warmup_steps"), default=way.warmup)
    if name in ("osft", "lora_sft"):
        taker.word("scheduler", "lr_scheduler", default=way.scheduler)
    else:  # there is no such argument
        taker.derive("scheduler", Known(way.scheduler, DEFAULT))
    taker.derive("max_steps", Known(None, DERIVED))
    taker.derive("method", Known("sft", DERIVED))
    taker.whole("sequence_length", "max_seq_len", default=MISSING)
    run.overlong = "dropped"
    _tuning(taker, name)
    _data(taker, name)
    if name == "lora_sft":
        _take_lora(taker)
    else:
        _devices(taker)
    versions = reading.versions.of("instructlab-training")
    packed = name == "ilab" or versions.at_least(_PACKED_BEFORE) is False
    counting = _LORA if name == "lora_sft" else _PACKED if packed else _COUNTING
    run.eras = (Era("", counting, {"instructlab-training": versions}),)
    refusals.check(taker, name)
    return run


def _tuning(taker: Taker, name: str) -> None:
    if name == "lora_sft":
        quantized = [taker.flag(key, key) for key in ("load_in_4bit", "load_in_8bit")]
        on = any(known.value is True for known in quantized)
        taker.derive("tuning", Known("qlora" if on else "lora", DERIVED))
        taker.whole("lora_rank", "lora_r", default=16)
        return
    if name == "osft":
        taker.derive("tuning", Known("partial", DERIVED))
        return
    block = taker.reading.entry("lora")
    rank = taker.whole("lora_rank", ("lora", "rank"), "lora_rank")
    if rank.unknown or (block is not None and taker.reading.mapping("lora") is None and not _nothing(taker)):
        taker.derive("tuning", UNKNOWN)
        return
    on = bool(rank.number) if rank.by_hand else block is not None and taker.reading.mapping("lora") is not None
    taker.derive("tuning", Known("lora" if on else "full", DERIVED))


def _nothing(taker: Taker) -> bool:
    node = taker.reading.node("lora")
    return getattr(node, "value", node) is None


def _take_lora(taker: Taker) -> None:
    """What `lora_sft` hands TRL's trainer."""
    taker.whole("shared_batch", "effective_batch_size")
    taker.whole("per_device_batch", "micro_batch_size", default=2)
    taker.whole("accumulation", "gradient_accumulation_steps", default=1)
    taker.number("weight_decay", "weight_decay", default=0.01)
    taker.flag("packing", "sample_packing", default=True)
    taker.number("save_steps", "save_steps", default=500)
    taker.number("eval_steps", "eval_steps", default=500)


def _devices(taker: Taker) -> None:
    """nproc_per_node x nnodes, where they are written beside the settings; a text is cast everywhere."""
    taker = Taker(taker.run, taker.reading, _PYDANTIC)
    per_node = taker.whole("per_node", "nproc_per_node")
    nodes = taker.whole("nodes", "nnodes", default=1)
    if per_node.number and nodes.number:
        taker.derive("gpus", Known(int(per_node.number * nodes.number), per_node.origin, key_span=per_node.key_span))


def _data(taker: Taker, name: str) -> None:
    run, reading = taker.run, taker.reading
    path = text_of(reading.node("data_path"))
    entry = reading.entry("data_path")
    if path is not None and entry is not None:
        run.training = [DataSource(entry[0].value.span, paths=(path,), base=reading.base)]
    if name in ("TrainingArgs", "sft"):
        split = taker.number("validation_split", "validation_split", default=0.0)
        taker.whole("validation_frequency", "validation_frequency")
        if split.number is not None:
            taker.derive("validation", Known(split.number > 0, WRITTEN if split.by_hand else DEFAULT))
        taker.flag("checkpoint_at_epoch", "checkpoint_at_epoch", default=True)
        taker.whole("save_samples", "save_samples", default=0)


# Counting -----------------------------------------------------------------------------------------------------------


def _batch(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, UNKNOWN, Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number else whole)


def _lora_batch(get: Get, workers: int | None) -> Batch:
    """An effective batch is shared out, rounded down to at least one record a GPU; else the batch of one GPU counts."""
    whole, micro, accumulation = get("shared_batch"), get("per_device_batch"), get("accumulation")
    if whole.exact and whole.value is None:
        return Batch(micro, accumulation, times(micro, accumulation, workers))
    if whole.number is None or not accumulation.number or workers is None:
        return Batch(UNKNOWN, accumulation, UNKNOWN)
    share = Known(max(1, int(whole.number // (accumulation.number * workers))), DERIVED, key_span=whole.key_span)
    return Batch(share, accumulation, times(share, accumulation, workers))


def _steps(shape: Shape) -> Steps:
    per_epoch = ceil_of_rows(shape)
    natural = max(0, int(shape.epochs * per_epoch))
    return Steps(per_epoch, natural, natural)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return None if steps.unknown else fixed(int(steps.number or 0))


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    every = get("validation_frequency")
    if not get("validation_split").number:
        return 0
    return int(total // every.number) if every.number and every.number >= 1 else None


_COUNTED = 1_000_000  # steps that are gone through one by one


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    """One after each pass, and one wherever the records seen so far are a multiple of `save_samples`."""
    at_epoch, samples, batch = get("checkpoint_at_epoch"), get("save_samples"), get("effective_batch")
    if not at_epoch.exact or samples.number is None or per_epoch <= 0:
        return None
    passes = total // per_epoch
    found = passes if at_epoch.value else 0
    if samples.number <= 0:
        return found
    records, size = get("records").number, batch.number
    if records is None or not size or total > _COUNTED or samples.number % 1:
        return None
    for pass_ in range(passes):
        seen = (int(pass_ * records + min(step * size, records)) for step in range(1, per_epoch + 1))
        found += sum(1 for count in seen if count % int(samples.number) == 0)
    return found


_COUNTING = Counting(_steps, _warmup, _batch, after_split, _evaluations, _checkpoints)
_PACKED = Counting(None, _warmup, _batch)
_LORA = Counting(by_loader(up=True, zero_limits=True), _warmup, _lora_batch)
