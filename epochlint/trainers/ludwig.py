"""Ludwig's configs of language models (`model_type: llm` with a trainer).

Read at 0.17.8, commit 5d19f3e6 (`schema/trainer.py`, `trainers/trainer.py`, `modules/lr_scheduler.py`, `data/split.py`)
and recorded in tests/conformance. A step of its own is a batch of one worker; with accumulation its updates come out
unevenly at every checkpoint, and are not counted here.
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Mapping, Sequence
from epochlint.documents.scalars import number
from epochlint.run.counting import Counting, Steps, Warmup, after
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers import ludwig_refusals as refusals
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "ludwig"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("Ludwig", converts_text=False, visible=False)
_METHODS = {"finetune": "sft", "dpo": "dpo", "kto": "kto", "orpo": "orpo", "grpo": "grpo"}
_BETAS = {"dpo": "dpo_beta", "kto": "kto_beta", "orpo": "orpo_beta", "grpo": "grpo_beta"}
_DECAYS = {"linear": "linear", "cosine": "cosine_with_restarts"}
_PARTS = (0.7, 0.1, 0.2)  # training, validation, test


def recognise(document: Document) -> list[Mapping]:
    """A model of type llm with features; one without a trainer only predicts."""
    return [
        mapping
        for mapping in document.mappings()
        if text_of(mapping.get("model_type")) == "llm" and ("input_features" in mapping or "output_features" in mapping)
    ]


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    kind = text_of(reading.node("trainer", "type"))
    trains = kind in _METHODS
    taker.whole("per_device_batch", ("trainer", "batch_size"), default=1 if trains else UNKNOWN)
    taker.whole("accumulation", ("trainer", "gradient_accumulation_steps"), default=UNKNOWN)
    taker.number("epochs", ("trainer", "epochs"), default=Known(100, DEFAULT) if trains else None)
    taker.whole("max_steps", ("trainer", "train_steps"), default=None, off=(0,))
    if "max_steps" not in run.settings:
        taker.derive("max_steps", Known(None, DEFAULT))
    taker.word("optimizer", ("trainer", "optimizer", "type"), default=MISSING)
    taker.number("learning_rate", ("trainer", "learning_rate"), default=1e-3 if trains else None)
    taker.number("beta", ("trainer", _BETAS.get(kind or "", "beta")))
    _schedule(taker)
    _split(taker)
    taker.derive("method", Known(_METHODS.get(kind, "other"), DERIVED) if kind else UNKNOWN)
    adapter = text_of(reading.node("adapter", "type"))
    taker.derive(
        "tuning", Known("lora" if adapter in ("lora", "adalora") else "other", DERIVED) if adapter else UNKNOWN
    )
    counted = trains and run.setting("accumulation").number == 1
    run.eras = (Era("", _COUNTING if counted else Counting(None)),)
    refusals.check(taker)
    return run


def _schedule(taker: Taker) -> None:
    reading = taker.reading
    decay = reading.node("trainer", "learning_rate_scheduler", "decay")
    word = text_of(decay)
    if decay is None or is_null(decay):
        taker.derive("scheduler", Known("constant_with_warmup", DEFAULT))
    elif word in _DECAYS:
        taker.word("scheduler", ("trainer", "learning_rate_scheduler", "decay"), words=_DECAYS)
    else:  # of its own, with warmups of their own
        taker.derive("scheduler", UNKNOWN)
    fraction = taker.number("warmup_ratio", ("trainer", "learning_rate_scheduler", "warmup_fraction"), default=0.0)
    evaluations = taker.number(
        "warmup_evaluations", ("trainer", "learning_rate_scheduler", "warmup_evaluations"), default=0.0
    )
    own = word is not None and word not in (*_DECAYS, "exponential", "polynomial")
    if own or not fraction.exact or not evaluations.exact:
        taker.derive("own_warmup", Known(True, DERIVED))


def _split(taker: Taker) -> None:
    """The share that is trained on, where rows are drawn at random, as they are unless something else is written."""
    reading = taker.reading
    kind = text_of(reading.node("preprocessing", "split", "type"))
    node = reading.node("preprocessing", "split", "probabilities")
    if kind not in (None, "random") or (kind is None and reading.entry("preprocessing", "split") is not None):
        return
    parts: list[float | None] = list(_PARTS)
    if isinstance(node, Sequence):
        parts = [number(one) for one in node.items]
    elif node is not None:
        return
    train, valid, test = parts if len(parts) == 3 else (None, None, None)
    if train is not None and valid is not None and test is not None:
        origin = WRITTEN if node is not None else DEFAULT
        taker.derive("trained_share", Known(train, origin))
        taker.derive("validated_share", Known(valid, origin))
        taker.derive("tested_share", Known(test, origin))


_FEWEST = 3  # rows of a part that is not empty


def _records(rows: Known, get: Get) -> Known:
    """The first part of the rows, and what the others need to have three (`_split_divisions_with_min_rows`)."""
    shares = [get(name).number for name in ("trained_share", "validated_share", "tested_share")]
    train, valid, test = shares
    if train is None or valid is None or test is None:
        return UNKNOWN
    if train >= 1:
        return rows
    return after(rows, lambda count: _trained(count, train, valid, test), f"ceil({train:g} x {{}})")


def _trained(count: int, train: float, valid: float, test: float) -> int:
    first = ceil(train * count)
    second = int(valid * count) if test > 0 else count - first
    third = count - first - second
    if 0 < third < _FEWEST and first > 0:
        first -= min(_FEWEST - third, first)
    if 0 < second < _FEWEST and first > 0:
        first -= min(_FEWEST - second, first)
    return first


def _steps(shape: Shape) -> Steps:
    per_epoch = -(-shape.records // (shape.per_device * shape.workers))
    natural = max(0, int(shape.epochs * per_epoch))
    return Steps(per_epoch, natural, natural if shape.limit is None else shape.limit)


def _warmup(get: Get) -> Warmup | None:
    share, evaluations = get("warmup_ratio").number, get("warmup_evaluations").number
    if get("own_warmup").value is True or evaluations or share is None:
        return None
    return Warmup(lambda total, natural: total * share, "warmup_ratio", formula=f"{{}} x {share:g}")


_COUNTING = Counting(_steps, _warmup, records=_records)
