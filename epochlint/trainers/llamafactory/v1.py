"""LLaMA-Factory's newer format (`USE_V1`): global batch, whole steps only, no warmup of its own.

Read in llamafactory 0.9.5, `v1/config/training_args.py`, `v1/core/base_trainer.py`, `v1/core/utils/batching.py`: the
loader drops the last incomplete batch; total = epochs x floor(floor(N / w) / (G / w)), which the loop reaches in whole
steps, or max_steps where it is set. Compared with its runs in tests/conformance.
"""

from __future__ import annotations

from math import ceil

from epochlint.run.counting import Batch, Counting, Steps
from epochlint.run.known import DERIVED, UNKNOWN, WRITTEN, Known, between
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import tables
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "llamafactory"
_COMMANDS = {"sft": "sft", "dpo": "dpo", "rm": "reward"}  # `llamafactory-cli sft`
_PEFT = {"lora": "lora", "freeze": "partial"}


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, Loader("OmegaConf", converts_text=False, reads_plain=True))
    versions = reading.versions.of("llamafactory")
    run.version = versions.low if versions.pinned else None
    run.eras = (Era("", _COUNTING, {"llamafactory": versions}),)
    taker.whole("per_device_batch", "micro_batch_size", default=1)
    taker.whole("global_batch", "global_batch_size", default=None)
    taker.number("epochs", "num_train_epochs", default=3)
    taker.whole("max_steps", "max_steps", default=None, off=(-1, 0))
    taker.number("learning_rate", "learning_rate", default=1e-4)
    taker.whole("save_steps", "save_steps", default=None)
    taker.number("save_epochs", "save_epochs", default=None)
    taker.number("logging_steps", "logging_steps", default=1)
    taker.whole("save_total_limit", "save_total_limit", default=None)
    taker.whole("sequence_length", "cutoff_len", default=MISSING)
    taker.word("model", "model", default=MISSING)
    method = _COMMANDS.get(reading.command[2]) if len(reading.command) > 2 else None
    if method is not None:
        taker.derive("method", Known(method, DERIVED))
    peft = text_of(reading.node("peft_config", "name"))
    adapter = reading.mapping("peft_config") is not None
    tuning = _PEFT.get(peft or "", "other") if adapter else "full"
    if tuning == "lora" and text_of(reading.node("quant_config", "name")):
        tuning = "qlora"
    taker.derive("tuning", Known(tuning, WRITTEN if adapter else DERIVED) if not reading.open_ended else UNKNOWN)
    strategy = text_of(reading.node("batching_strategy"))
    if strategy in ("dynamic_batching", "dynamic_padding_free", "padding_free"):
        entry = reading.entry("batching_strategy")
        run.settings["batch_unknown"] = Known(True, WRITTEN, key_span=entry[0].key_span if entry else None)
        if strategy == "dynamic_batching" and run.setting("max_steps").number is None and entry is not None:
            limit = run.setting("max_steps")
            if limit.exact:
                reason = "dynamic_batching needs max_steps"
                taker.observe("rejected", entry[0].key_span, reason=reason, consumer="LLaMA-Factory")
    entry = reading.entry("train_dataset")
    if entry is not None:
        run.training.append(DataSource(entry[0].value.span))
    known, old = tables.load("llamafactory", "v1"), tables.load("llamafactory", "config")
    for key in reading.top:
        if not known.known(key) and old.known(key):
            taker.refuse((key,), f"{key} is a key of the usual format, not of the newer one", "LLaMA-Factory")
    for layer in reading.layers:  # the parser refuses keys that no class has (`v1/config/arg_parser.py`)
        run.observations += slips(layer.mapping, [known], "LLaMA-Factory", rejected=True)
    return run


def _batch(get: Get, workers: int | None) -> Batch:
    """The global batch is micro x workers where it is not written."""
    micro, whole = get("per_device_batch"), get("global_batch")
    if whole.number is None:
        if not whole.exact:
            return Batch(micro, between(1, None), between(micro.low or 1, None))
        count = int(micro.number * workers) if micro.number is not None and workers is not None else None
        effective = Known(count, DERIVED) if count is not None else between(micro.low or 1, None)
        return Batch(micro, Known(1, DERIVED), effective)
    accumulation: Known = between(1, whole.number)
    if micro.number and workers is not None:
        accumulation = Known(max(1, int(whole.number // (micro.number * workers))), DERIVED)
    return Batch(micro, accumulation, Known(int(whole.number), whole.origin, key_span=whole.key_span))


def _steps(shape: Shape) -> Steps:
    each = max(1, shape.effective // shape.workers)
    per_epoch = shape.records // shape.workers // each
    natural = ceil(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, shape.limit if shape.limit is not None else natural)


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    """None is written at the end."""
    every, epochs = get("save_steps"), get("save_epochs")
    if not every.exact or not epochs.exact:
        return None
    steps = max(1, int(per_epoch * epochs.number)) if epochs.number is not None else every.number
    return int(total // steps) if steps else 0


_COUNTING = Counting(_steps, None, batch=_batch, checkpoints=_checkpoints)
