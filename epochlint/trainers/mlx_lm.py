"""MLX-LM: iterations of a global batch over a folder of data.

Read in mlx-lm 0.32.2 (`lora.py`: CONFIG_DEFAULTS, `tuner/trainer.py`, `tuner/utils.py` `build_schedule`,
`tuner/datasets.py`). `iters` and the cadences count micro-batches; the optimizer updates every
`grad_accumulation_steps` of them, on over the ends of passes. A pass drops the last N mod batch records; fewer records
than a batch raise a ValueError.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import number
from epochlint.run.counting import Batch, Counting, Steps, fixed
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, between, unknown
from epochlint.run.observation import Observation
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import tables
from epochlint.trainers.row_checks import Form, invalid, messages_missing, texts_missing
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.slips import slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape, Warmup
    from epochlint.source import Span
    from epochlint.trainers.row_checks import Verdict
    from epochlint.trainers.trainer import Reading

LABEL = "mlx-lm"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("MLX-LM", converts_text=False, reads_plain=True)  # its own YAML loader reads 1e-5 as a number

_OWN = (
    "iters",
    "steps_per_eval",
    "steps_per_report",
    "num_layers",
    "lora_layers",
    "fine_tune_type",
    "lora_parameters",
    "val_batches",
)
_ITERATIONS = {  # run's setting, in updates -> the iterations that are written
    "max_steps": "iterations",
    "eval_steps": "eval_iterations",
    "save_steps": "save_iterations",
    "logging_steps": "logging_iterations",
}


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if _is_config(mapping)]


def _is_config(mapping: Mapping) -> bool:
    """A model and data with two of its own keys, or the barest that trains: `train`, `iters` and a path."""
    if "model" not in mapping or "data" not in mapping or "base_model" in mapping:
        return False
    barest = "iters" in mapping and "train" in mapping and "/" in (text_of(mapping.get("model")) or "")
    return barest or sum(key in mapping for key in _OWN) >= 2


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`mlx_lm.lora --train`, `python -m mlx_lm lora`, `python -m mlx_lm.lora`."""
    words = ".".join(program[1:])
    starts = words.startswith(("mlx_lm.lora", "mlx_lm_lora", "mlx-lm.lora"))
    return starts and ("train" in arguments or "config" in arguments or "c" in arguments)


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    versions = reading.versions.of("mlx-lm")
    run.version = versions.low if versions.pinned else None
    run.eras = (Era("", _COUNTING, {"mlx-lm": versions}),)
    taker.whole("global_batch", "batch_size", default=4)
    taker.whole("accumulation", "grad_accumulation_steps", default=1)
    taker.whole("max_steps", "iters", default=1000)
    taker.derive("gpus", Known(1, DEFAULT))
    taker.word("optimizer", "optimizer", default="adam")
    taker.number("learning_rate", "learning_rate", default=1e-5)
    taker.derive("drop_last", Known(True, DERIVED))
    _schedule(taker)
    taker.whole("sequence_length", "max_seq_length", default=2048)
    kind = taker.word("fine_tune", "fine_tune_type", default="lora")
    taker.derive("tuning", Known("full" if kind.value == "full" else "lora", DERIVED) if kind.exact else UNKNOWN)
    taker.derive("method", Known("sft", DERIVED))
    taker.whole("lora_rank", ("lora_parameters", "rank"), default=8)
    taker.number("eval_steps", "steps_per_eval", default=200)
    taker.number("save_steps", "save_every", default=100)
    taker.number("logging_steps", "steps_per_report", default=10)
    taker.derive("eval_strategy", Known("steps", DERIVED))
    taker.derive("save_strategy", Known("steps", DERIVED))
    _in_updates(run)
    _data(taker)
    _check(taker)
    for layer in reading.layers:
        if layer.origin == WRITTEN:  # a file's further keys are merged in and never looked at
            run.observations += slips(layer.mapping, [tables.load("mlx-lm", "config")], "MLX-LM", rejected=False)
    return run


def _in_updates(run: Run) -> None:
    """The length and the cadences in updates, as everybody else counts them; the iterations stay beside them."""
    accumulation = run.setting("accumulation")
    for name, iterations in _ITERATIONS.items():
        known = run.setting(name)
        run.settings[iterations] = known
        if accumulation.number == 1:
            continue
        updates = unknown(known.key_span, known.span, known.origin)
        if accumulation.number and accumulation.number > 1 and known.number is not None:
            whole = int(known.number // accumulation.number)
            updates = Known(whole, known.origin, key_span=known.key_span, span=known.span)
            updates.formula = ("{} / {}", (known.value, accumulation.value))
            if name != "max_steps":
                updates.value = updates.low = updates.high = max(1, whole)
        run.settings[name] = updates


def _check(taker: Taker) -> None:
    """What stops a run after it has begun (recorded in tests/conformance)."""
    taker.refuse_fractions(LABEL, "iters", "batch_size", "grad_accumulation_steps", "steps_per_eval", "save_every")
    for key in ("steps_per_eval", "save_every", "steps_per_report"):
        node = taker.reading.node(key)
        if isinstance(node, Scalar) and number(node) == 0:
            taker.refuse((key,), f"{key} 0 divides by zero", LABEL)
    if number(taker.reading.node("val_batches")) != 0:  # then no batch is read
        taker.run.after_counting.append(_enough_validation)
    block = taker.reading.mapping("lr_schedule")
    if block is not None and "arguments" not in block and not block.open_ended:
        taker.refuse(("lr_schedule",), "lr_schedule needs arguments: the rate and, mostly, the length", LABEL)


def _enough_validation(run: Run) -> None:
    """Validation data smaller than a batch stops the run in its first iteration (0.32.2, `tuner/trainer.py`,
    `iterate_batches`); an empty file counts as none."""
    rows, batch = run.setting("validation_rows").number, run.setting("global_batch").number
    if rows is None or batch is None or not 0 < rows < batch:
        return
    span = run.validation[0].span if run.validation else run.span
    reason = f"the validation data has {rows:g} {'row' if rows == 1 else 'rows'}, fewer than a batch of {batch:g}"
    run.observations.append(Observation("rejected", span, {"reason": reason, "consumer": LABEL}))


def _schedule(taker: Taker) -> None:
    """`lr_schedule: {name, warmup, arguments: [rate, length, end]}`; without it the rate is constant."""
    reading = taker.reading
    block = reading.mapping("lr_schedule")
    if block is None:
        taker.derive("scheduler", UNKNOWN if reading.open_ended else Known("constant", DEFAULT))
        taker.derive("warmup_steps", Known(0, DEFAULT))
        return
    name = text_of(block.get("name")) or ""
    kinds = {
        "cosine_decay": "cosine",
        "linear_schedule": "linear",
        "exponential_decay": "exponential",
        "step_decay": "step",
    }
    entry = block.entry("name")
    taker.derive("scheduler", Known(kinds.get(name, name), key_span=entry.key_span if entry is not None else None))
    taker.number("warmup_steps", ("lr_schedule", "warmup"), default=0)
    arguments = block.entry("arguments")
    if arguments is None or not isinstance(arguments.value, Sequence):
        return
    numbers = [number(item) for item in arguments.value.items]
    if numbers and numbers[0] is not None:
        # The schedule's own rate takes the place of `learning_rate`; linear_schedule gives start, end, steps.
        rate = (
            numbers[0]
            if name != "linear_schedule"
            else max(numbers[0], numbers[1] or 0)
            if len(numbers) > 1
            else numbers[0]
        )
        taker.derive(
            "learning_rate", Known(rate, "written", key_span=arguments.key_span, span=arguments.value.items[0].span)
        )
    place = 2 if name == "linear_schedule" else 1
    length = numbers[place] if len(numbers) > place else None
    if name in ("cosine_decay", "linear_schedule") and length is not None:
        span = arguments.value.items[place].span
        taker.derive("schedule_steps", Known(int(length), "written", key_span=arguments.key_span, span=span))


def _data(taker: Taker) -> None:
    """A folder with train.jsonl, valid.jsonl and test.jsonl."""
    run, reading = taker.run, taker.reading
    folder = reading.entry("data")
    if reading.entry("hf_dataset") is not None or folder is None:
        return
    node = folder[0].value
    name = text_of(node)
    lookup = reading.lookup
    if name is None or lookup is None:
        return
    train = f"{name.rstrip('/')}/train.jsonl"
    if lookup.exists(train, reading.base):
        run.training = [_source(node.span, train, reading)]
    valid = f"{name.rstrip('/')}/valid.jsonl"
    if lookup.exists(valid, reading.base):
        run.validation = [_source(node.span, valid, reading)]
        taker.derive("validation", Known(True, DERIVED))


def _source(span: Span, path: str, reading: Reading) -> DataSource:
    """A file that `json` itself reads, line by line (`tuner/datasets.py`, `load_local_dataset`)."""
    own = any(reading.entry(f"{name}_feature") is not None for name in ("prompt", "completion", "chat", "text"))
    check = None if own else Form(_check_of)
    return DataSource(span, paths=(path,), base=reading.base, check=check, strict="lines")


def _check_of(first: dict[object, object]) -> Callable[[object], Verdict | None] | Verdict | None:
    """The first row decides how all are read (`create_dataset`)."""
    if "prompt" in first and "completion" in first:
        return _has_both
    if "messages" in first:
        return lambda row: messages_missing(row, "messages", "MLX-LM")
    if "text" in first:
        return _has_text
    return invalid("the first record has no messages, no prompt with its completion and no text: MLX-LM stops there")


def _has_text(row: object) -> Verdict | None:
    """A list of words is taken, too: the tokenizer takes it for a text that is cut already."""
    if isinstance(row, dict) and isinstance(row.get("text"), list):
        return None
    return texts_missing(row, ("text",), "MLX-LM")


def _has_both(row: object) -> Verdict | None:
    if isinstance(row, dict) and "prompt" in row and "completion" in row:
        return None
    return texts_missing(row, ("prompt", "completion"), "MLX-LM")


def _batch(get: Get, workers: int | None) -> Batch:
    """`batch_size` is shared out over the workers; `grad_accumulation_steps` batches make one update."""
    batch, accumulation = get("global_batch"), get("accumulation")
    b, g = batch.number, accumulation.number
    if b is None or g is None:
        return Batch(unknown(), accumulation, UNKNOWN)
    per_device = Known(int(b // workers), batch.origin, key_span=batch.key_span) if workers else between(1, b)
    return Batch(per_device, accumulation, Known(int(b * g), DERIVED, formula=("{} x {}", (b, g))))


def _steps(shape: Shape) -> Steps:
    """A pass is floor(N / batch) iterations, which need not be a whole number of updates."""
    batch = max(1, shape.effective // shape.accumulation)
    whole, rest = divmod(shape.records // batch, shape.accumulation)
    total = shape.limit or 0
    return Steps(whole + rest / shape.accumulation if rest else whole, total, total)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return None if steps.unknown else fixed(int(steps.number or 0))


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    """Every `steps_per_eval` iterations, and at the last one (and at the first, which counts as step 0)."""
    every, iterations = get("eval_iterations").number, get("iterations").number
    if iterations == 0 or get("validation").value is False:
        return 0
    if not every or not iterations or every < 1:
        return None
    return int(iterations // every) + (1 if iterations % every else 0)


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    every, iterations = get("save_iterations").number, get("iterations").number
    if not every or not iterations or every < 1:
        return None
    return int(iterations // every) + (1 if iterations % every else 0)


_COUNTING = Counting(_steps, _warmup, _batch, evaluations=_evaluations, checkpoints=_checkpoints, unwarmed=frozenset())
