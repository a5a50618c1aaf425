"""LitGPT: a global batch, divided into micro-batches; a validation share held out by default.

Read in litgpt 0.5.13 (`args.py`, `finetune/lora.py`, `finetune/full.py`, `data/json_data.py`) and recorded in
tests/conformance. The schedule is built for epochs x floor(batches / accumulation); updates run across the ends of
epochs, floor(epochs x batches / accumulation).
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Mapping, Scalar
from epochlint.run.counting import Batch, Counting, Steps, after, fixed
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, unknown
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import tables
from epochlint.trainers.row_checks import texts_missing
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape, Warmup
    from epochlint.source import Span
    from epochlint.trainers.row_checks import Verdict
    from epochlint.trainers.trainer import Reading

LABEL = "litgpt"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("jsonargparse", converts_text=True)

_BLOCKS = {"train": "TrainArgs", "eval": "EvalArgs", "log": "LogArgs"}
_VALIDATION = 0.05  # JSON data with one file (data/json_data.py)

# The scripts' own defaults where the file leaves a key out (finetune/lora.py, finetune/full.py): train.*
_USUAL = {"global_batch": 16, "micro": 1, "epochs": 5, "warmup_steps": 100, "save": 1000}
# pretrain.py: as long as there are tokens to train on, whatever the rows; `train.epochs` is refused.
_PRETRAINING = {"global_batch": 512, "micro": 4, "epochs": UNKNOWN, "warmup_steps": 2000, "save": 1000}
# Arguments of pretrain.py only.
_OF_PRETRAINING = ("model_name", "model_config", "initial_checkpoint_dir", "tokenizer_dir")


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        train = mapping.mapping("train")
        if train is None or not ("global_batch_size" in train or "micro_batch_size" in train):
            continue
        data = mapping.mapping("data")
        ours = data is not None and (text_of(data.get("class_path")) or "").startswith("litgpt.")
        if "checkpoint_dir" in mapping or ours or "out_dir" in mapping:
            found.append(mapping)
    return found


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`litgpt finetune_lora`, `litgpt finetune`, `litgpt pretrain`."""
    return program[:2] == ("cli", "litgpt") and len(program) > 2 and program[2].startswith(("finetune", "pretrain"))


def read(reading: Reading) -> Run:
    reading = reading.nested()
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    versions = reading.versions.of("litgpt")
    run.version = versions.low if versions.pinned else None
    run.eras = (Era("", _COUNTING, {"litgpt": versions}),)
    pretraining = _is_pretraining(reading)
    usual = _PRETRAINING if pretraining else _USUAL
    taker.whole("global_batch", ("train", "global_batch_size"), default=usual["global_batch"])
    taker.whole("per_device_batch", ("train", "micro_batch_size"), default=usual["micro"])
    taker.number(
        "epochs", ("train", "epochs"), default=usual["epochs"] if pretraining else Known(usual["epochs"], DEFAULT)
    )
    limit = taker.whole("max_steps", ("train", "max_steps"))
    if limit.number == 0:
        taker.derive("max_steps", Known(None, limit.origin))  # 0 is no limit
    taker.whole("warmup_steps", ("train", "lr_warmup_steps"), default=usual["warmup_steps"])
    _devices(taker)
    taker.derive("scheduler", Known("cosine", DERIVED))
    taker.word("optimizer", ("optimizer", "class_path"), "optimizer", default=MISSING)
    taker.number("learning_rate", ("optimizer", "init_args", "lr"))
    taker.number("weight_decay", ("optimizer", "init_args", "weight_decay"))
    taker.number("min_rate", ("train", "min_lr"))
    taker.whole("sequence_length", ("train", "max_seq_length"))
    taker.number("save_steps", ("train", "save_interval"), default=usual["save"])
    taker.number("eval_steps", ("eval", "interval"), default=100)
    taker.derive("save_strategy", Known("steps", DERIVED))
    taker.derive("eval_strategy", Known("steps", DERIVED))
    taker.derive("method", Known("pretrain" if pretraining else "sft", DERIVED))
    taker.derive("tuning", _tuning(reading))
    taker.whole("lora_rank", "lora_r")
    _data(taker)
    _check(taker)
    _keys(taker)
    return run


def _is_pretraining(reading: Reading) -> bool:
    if len(reading.command) > 2:
        return reading.command[2].startswith("pretrain")
    return any(key in reading for key in _OF_PRETRAINING) and "checkpoint_dir" not in reading


def _tuning(reading: Reading) -> Known:
    """By the command (`finetune` is short for `finetune_lora`), else by LoRA's own keys."""
    command = reading.command[2] if len(reading.command) > 2 else ""
    if "lora_r" in reading or command in ("finetune", "finetune_lora"):
        return Known("lora", DERIVED)
    if command.startswith("finetune_adapter"):
        return Known("other", DERIVED)
    return Known("full", DERIVED) if command else UNKNOWN


def _devices(taker: Taker) -> None:
    """devices x num_nodes, both 1 unless written; a launch has no say in it."""
    devices = taker.whole("devices", "devices", default=1)
    nodes = taker.whole("nodes", "num_nodes", default=1)
    if devices.number is not None and nodes.number is not None:
        origin = devices.origin if devices.by_hand else nodes.origin
        place = devices.key_span or nodes.key_span
        taker.derive("gpus", Known(int(devices.number * nodes.number), origin, key_span=place))


def _data(taker: Taker) -> None:
    run, reading = taker.run, taker.reading
    # `--data JSON --data.json_path x` is one setting in two places.
    named = [text_of(entry.value) for entry, _ in reading.entries() if entry.key == "data"]
    kind = text_of(reading.node("data", "class_path")) or next(filter(None, named), "")
    entry = reading.entry("data", "init_args", "json_path") or reading.entry("data", "json_path")
    split = taker.number(
        "validation_split", ("data", "init_args", "val_split_fraction"), ("data", "val_split_fraction")
    )
    if not kind.endswith("JSON") or entry is None:
        return
    name = text_of(entry[0].value)
    lookup = reading.lookup
    span = entry[0].value.span
    if name is None or lookup is None:
        return
    if name.endswith((".json", ".jsonl")):
        if split.exact and split.value is None:
            taker.derive("validation_split", Known(_VALIDATION, DEFAULT))
        run.training = [_source(span, name, reading)]
        return
    for suffix in (".json", ".jsonl"):  # a folder with train and val files
        if lookup.exists(f"{name.rstrip('/')}/train{suffix}", reading.base):
            run.training = [_source(span, f"{name.rstrip('/')}/train{suffix}", reading)]
            taker.derive("validation_split", Known(0.0, DERIVED))
            return


def _keys(taker: Taker) -> None:
    """jsonargparse refuses what no script takes. The flags of a launch are not all of the script's own."""
    names = [name for name in tables.owners("litgpt") if name.islower() and "." not in name]
    scripts = [tables.load("litgpt", name) for name in names]
    for layer in taker.reading.layers:
        for name, block in _BLOCKS.items():
            section = layer.mapping.mapping(name)
            if section is not None:
                taker.run.observations += slips(section, [tables.load("litgpt", block)], "LitGPT", rejected=True)
        if layer.origin == WRITTEN:
            taker.run.observations += slips(layer.mapping, scripts, "LitGPT", rejected=True)


def _source(span: Span, path: str, reading: Reading) -> DataSource:
    """A file that `json` itself reads (`data/json_data.py`, `load_split`); `SFTDataset` takes two texts of each row."""
    strict = "lines" if path.endswith(".jsonl") else "document"
    return DataSource(span, paths=(path,), base=reading.base, check=_texts_of, strict=strict)


def _texts_of(row: object) -> Verdict | None:
    return texts_missing(row, ("instruction", "output"), "LitGPT")


def _check(taker: Taker) -> None:
    """The global batch must hold a whole number of micro-batches on each device; the remainder is dropped silently."""
    run = taker.run
    _refused(taker)
    whole, micro, gpus = run.setting("global_batch"), run.setting("per_device_batch"), run.setting("gpus")
    w, m, g = whole.number, micro.number, gpus.number
    if w is None or m is None or g is None or m < 1 or g < 1 or whole.key_span is None:
        return
    per_device = int(w // g)
    if per_device // m < 1:
        reason = f"{w:,} / {g:,} devices leaves {per_device:,}, less than the micro batch of {m:,}: accumulation is 0"
        taker.observe("batch_not_divisible", whole.key_span, reason=reason)
    elif per_device % m or w % g:
        used = int(per_device // m * m * g)
        taker.observe(
            "batch_not_divisible",
            whole.key_span,
            reason=f"{w:,} is not {m:,} x {g:,} devices x a whole number; {used:,} is used",
        )


def _refused(taker: Taker) -> None:
    """What `finetune/lora.py` and `args.py` refuse, and divisions by zero (recorded in tests/conformance)."""
    reading, settings = taker.reading, taker.run.settings
    steps, share = settings["warmup_steps"], taker.number("warmup_ratio", ("train", "lr_warmup_fraction"))
    if steps.by_hand and steps.number is not None and share.number is not None and steps.key_span is not None:
        taker.observe("two_warmups", steps.key_span, wins="neither", outcome="rejected")
    if steps.by_hand and steps.number == 0:
        taker.refuse(("train", "lr_warmup_steps"), "lr_warmup_steps 0 divides by zero; 1 is no warmup", "LitGPT")
    split = settings.get("validation_split")
    if split is not None and split.by_hand and split.number is not None and split.number >= 1:
        key = "val_split_fraction"
        path = ("data", "init_args", key) if reading.entry("data", "init_args", key) is not None else ("data", key)
        taker.refuse(path, f"{key} {split.number:g} leaves nothing to train on; it is a share below 1", "LitGPT")
    if settings["eval_steps"].number == 0:
        taker.refuse(("eval", "interval"), "interval 0 divides by zero", "LitGPT")
    tuned = any(word.startswith("finetune") for word in reading.command) or "lora_r" in reading
    for key in ("max_tokens", "max_norm", "tie_embeddings") if tuned else ():
        node = reading.node("train", key)
        if isinstance(node, Scalar) and node.value not in (None, False):
            taker.refuse(("train", key), f"fine-tuning has no {key}; only pretraining does", "LitGPT")


def _batch(get: Get, workers: int | None) -> Batch:
    whole, micro = get("global_batch"), get("per_device_batch")
    w, m = whole.number, micro.number
    if w is None or m is None or m < 1 or workers is None:
        return Batch(micro, unknown(), UNKNOWN)
    accumulation = int(w // workers // m)
    text = ("{} / {} devices / {}", (w, workers, m))
    effective = Known(int(m * accumulation * workers), DERIVED, formula=("{} x {} x {}", (m, accumulation, workers)))
    return Batch(micro, Known(accumulation, DERIVED, formula=text, key_span=whole.key_span), effective)


def _split(rows: Known, get: Get) -> Known:
    """Rows after the held-out share: N - floor(N x share)."""
    split = get("validation_split")
    share = split.number
    if share is None:
        return rows if split.exact else Known(exact=False, low=0, high=rows.high, basis=rows.basis)
    return after(rows, lambda n: n - int(n * share), f"{{0}} - floor({share:g} x {{0}})") if share else rows


def _steps(shape: Shape) -> Steps:
    """Updates run across the ends of epochs; a pass by itself has floor(batches / accumulation) of them."""
    per_worker = -(-shape.records // shape.workers)
    batches = -(-per_worker // shape.per_device)
    natural = ceil(shape.epochs) * batches // shape.accumulation  # an epoch that was begun is finished
    total = natural if shape.limit is None else min(natural, shape.limit)
    return Steps(batches // shape.accumulation, natural, total)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    return None if steps.unknown else fixed(int(steps.number or 0))


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    every = get("eval_steps").number
    return total // int(every) if every and every >= 1 else None


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    """Every `save_interval` steps, and the final weights (finetune/lora.py, `out_dir / "final"`)."""
    every = get("save_steps").number
    return total // int(every) + 1 if every and every >= 1 else 1


_COUNTING = Counting(_steps, _warmup, _batch, _split, evaluations=_evaluations, checkpoints=_checkpoints)
