"""The settings that every trainer on top of TrainingArguments takes over under the same names.

`take_common` puts them into the run; a trainer whose defaults differ passes its own, one whose keys stand under a
section passes the section's path.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known, between, unknown
from epochlint.trainers.settings import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as AnyMapping

    from epochlint.documents.document import Entry
    from epochlint.trainers.settings import Taker

DEFAULTS: dict[str, object] = {
    "per_device_batch": 8,
    "per_device_eval_batch": 8,
    "accumulation": 1,
    "epochs": 3.0,
    "max_steps": None,
    "learning_rate": 5e-5,
    "weight_decay": 0.0,
    "optimizer": MISSING,  # a form of AdamW, by version
    "scheduler": "linear",
    "warmup_steps": 0,
    "warmup_ratio": None,
    "eval_strategy": "no",
    "eval_steps": None,
    "save_strategy": "steps",
    "save_steps": 500,
    "logging_strategy": "steps",
    "logging_steps": 500,
    "save_total_limit": None,
    "max_grad_norm": 1.0,
    "metric_for_best": None,
}
"""Defaults of TrainingArguments that are the same from 4.36.2 to 5.24.0 (`training_args.py`)."""

KEYS: dict[str, tuple[str, ...]] = {
    "per_device_batch": ("per_device_train_batch_size",),
    "per_device_eval_batch": ("per_device_eval_batch_size",),
    "accumulation": ("gradient_accumulation_steps",),
    "epochs": ("num_train_epochs",),
    "max_steps": ("max_steps",),
    "learning_rate": ("learning_rate",),
    "weight_decay": ("weight_decay",),
    "optimizer": ("optim",),
    "scheduler": ("lr_scheduler_type",),
    "warmup_steps": ("warmup_steps",),
    "warmup_ratio": ("warmup_ratio",),
    "eval_strategy": ("eval_strategy", "evaluation_strategy"),
    "eval_steps": ("eval_steps",),
    "save_strategy": ("save_strategy",),
    "save_steps": ("save_steps",),
    "logging_strategy": ("logging_strategy",),
    "logging_steps": ("logging_steps",),
    "save_total_limit": ("save_total_limit",),
    "max_grad_norm": ("max_grad_norm",),
    "metric_for_best": ("metric_for_best_model",),
}

# Optimizers without a schedule that are given `warmup_steps` themselves, a share not (transformers 4.46.3 to 5.24.0,
# `trainer.py`, `trainer_optimizer.py`).
_WARMS_ITSELF = re.compile("schedule_free_(?:adamw|sgd)", re.IGNORECASE)

# Words that Python code says with an enum's member, and the deprecated spelling of steps.
_STRATEGIES = {"no": "no", "steps": "steps", "epoch": "epoch", "best": "best", "false": "no"}
_SCHEDULES = {
    "constant_with_warmup": "constant_with_warmup",
    "reduce_on_plateau": "reduce_lr_on_plateau",
    "cosine_with_min_lr": "cosine_with_min_lr",
}


# Families of models of images, sound and video, by the first word of a model's name: google/vit-base-patch16-224. Of
# language models only, VietAI/vit5 is near.
_OTHER_FAMILIES = re.compile(
    r"(?:^|/)(?:vit|deit|beit|swin|swinv2|convnext|convnextv2|resnet|dinov2|detr|segformer|whisper|distil-whisper|wav2vec2"
    r"|hubert|wavlm|clip|siglip|siglip2|videomae|timesformer|mask2former|yolos|timm|stable-diffusion)(?=[-_/]|\Z)",
    re.IGNORECASE,
)


def _take_family(taker: Taker, prefix: tuple[str, ...]) -> None:
    """Notes where the model is certainly no language model."""
    found = taker.entry([(*prefix, "model_name_or_path")])
    node = found[0].value if found is not None else None
    if isinstance(node, Scalar) and isinstance(node.value, str) and _OTHER_FAMILIES.search(node.value):
        taker.derive("language_model", Known(False, span=node.span))


def _take_optimizer(
    taker: Taker, prefix: tuple[str, ...], paths: tuple[str | tuple[str, ...], ...], default: object
) -> None:
    """`optim`; before 5.0 `adafactor` takes its place (transformers 4.57.6, `training_args.py`)."""
    taker.word("optimizer", *paths, default=default)
    old = taker.entry([(*prefix, "adafactor")])
    if old is not None and boolean(old[0].value):
        taker.derive("optimizer", Known("adafactor", old[1], key_span=old[0].key_span, span=old[0].value.span))


def take_common(
    taker: Taker,
    *,
    prefix: tuple[str, ...] = (),
    defaults: AnyMapping[str, object] | None = None,
    keys: AnyMapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Takes batch, length, rate, schedule, warmup and cadence.

    `prefix`: the path of the section that holds the keys. `defaults` and `keys` replace those of TrainingArguments for
    single settings; a default may be a `Known` (a range, an unknown), `settings.MISSING` leaves the setting out.
    """
    named = {**KEYS, **keys} if keys else KEYS
    usual = {**DEFAULTS, **defaults} if defaults else DEFAULTS

    def paths(name: str) -> tuple[str | tuple[str, ...], ...]:
        return tuple((*prefix, key) for key in named[name]) if prefix else named[name]

    def default(name: str) -> object:
        return usual.get(name, MISSING)

    _take_family(taker, prefix)
    taker.whole("per_device_batch", *paths("per_device_batch"), default=default("per_device_batch"))
    take_old_batch(taker, prefix)
    taker.whole("accumulation", *paths("accumulation"), default=default("accumulation"))
    taker.whole("per_device_eval_batch", *paths("per_device_eval_batch"), default=default("per_device_eval_batch"))
    epochs = taker.number("epochs", *paths("epochs"), default=default("epochs"))
    if epochs.number is not None and epochs.number <= 0:
        given = taker.entry(paths("epochs"))
        if given is not None and getattr(given[0].value, "default", False):  # nobody starts the program without them
            taker.derive("epochs", unknown(epochs.key_span, epochs.span, epochs.origin))
    limit = taker.whole("max_steps", *paths("max_steps"), default=default("max_steps"), off=(-1,))
    if limit.number is not None and limit.number < 0:
        taker.derive("max_steps", Known(None, limit.origin, key_span=limit.key_span, span=limit.span))
    taker.number("learning_rate", *paths("learning_rate"), default=default("learning_rate"))
    taker.number("weight_decay", *paths("weight_decay"), default=default("weight_decay"))
    taker.number("max_grad_norm", *paths("max_grad_norm"), default=default("max_grad_norm"))
    _take_optimizer(taker, prefix, paths("optimizer"), default("optimizer"))
    taker.word("scheduler", *paths("scheduler"), default=default("scheduler"), words=_SCHEDULES)
    steps = taker.number("warmup_steps", *paths("warmup_steps"), default=default("warmup_steps"))
    if steps.by_hand and _WARMS_ITSELF.search(str(taker.run.setting("optimizer").value)):
        taker.derive("always_warmed", Known(True, DERIVED))
    taker.number("warmup_ratio", *paths("warmup_ratio"), default=default("warmup_ratio"))
    for name in ("eval_strategy", "save_strategy", "logging_strategy"):
        taker.word(name, *paths(name), default=default(name), words=_STRATEGIES)
    for name in ("eval_steps", "save_steps", "logging_steps"):
        taker.number(name, *paths(name), default=default(name))
    take_evaluation_interval(taker)
    taker.whole("save_total_limit", *paths("save_total_limit"), default=default("save_total_limit"))
    taker.word("metric_for_best", *paths("metric_for_best"), default=default("metric_for_best"))
    flag(taker, "load_best", prefix, "load_best_model_at_end")
    flag(taker, "drop_last", prefix, "dataloader_drop_last")
    taker.number("eval_delay", *_at(prefix, "eval_delay"), default=0)
    take_accelerator(taker, prefix)
    take_parallel(taker, prefix)
    take_auto_batch(taker, prefix)
    take_half_precision(taker, prefix)
    taker.word("resume", *_at(prefix, "resume_from_checkpoint"))


def _at(prefix: tuple[str, ...], *keys: str) -> tuple[str | tuple[str, ...], ...]:
    return tuple((*prefix, key) for key in keys) if prefix else keys


def flag(taker: Taker, name: str, prefix: tuple[str, ...], *keys: str) -> Known:
    """A yes-or-no setting that is off unless written."""
    return taker.flag(name, *_at(prefix, *keys))


def take_old_batch(taker: Taker, prefix: tuple[str, ...] = ()) -> None:
    """`per_gpu_train_batch_size` wins over the per-device batch where it is there and not 0 (<= 4.57)."""
    old = taker.entry(_at(prefix, "per_gpu_train_batch_size"))
    if old is None or not isinstance(old[0].value, Scalar) or old[0].value.value is None:
        return
    entry, origin = old
    value = number(entry.value)
    if value is None:
        taker.derive("per_device_batch", unknown(entry.key_span, entry.value.span, origin))
    elif value:
        taker.derive("per_device_batch", Known(int(value), origin, key_span=entry.key_span, span=entry.value.span))


def take_evaluation_interval(taker: Taker) -> None:
    """`eval_steps` that is missing or 0 is `logging_steps`, where evaluation goes by steps."""
    settings = taker.run.settings
    interval, logging = settings.get("eval_steps", UNKNOWN), settings.get("logging_steps", UNKNOWN)
    if interval.exact and not interval.value and settings.get("eval_strategy", UNKNOWN).value == "steps":
        settings["eval_steps"] = Known(logging.value, DEFAULT, exact=logging.exact) if logging.exact else UNKNOWN


def take_accelerator(taker: Taker, prefix: tuple[str, ...] = ()) -> None:
    """The parts of `accelerator_config` (and the older top-level key) that change the arithmetic."""
    settings = taker.run.settings
    found = taker.entry(_at(prefix, "accelerator_config"))
    config = found[0].value if found is not None else None
    split = taker.entry(_at(prefix, "split_batches"))
    if split is not None and isinstance(split[0].value, Scalar) and boolean(split[0].value):
        settings["split_batches"] = Known(True, split[1], key_span=split[0].key_span)
    if not isinstance(config, Mapping) or found is None:
        return
    if boolean(config.get("split_batches")):
        settings["split_batches"] = Known(True, found[1], key_span=found[0].key_span)
    entry = config.find("gradient_accumulation_kwargs", "num_steps")
    if entry is not None:
        value = number(entry.value)
        if value is not None:
            settings["accelerator_accumulation"] = Known(int(value), found[1], key_span=entry.key_span)


def take_parallel(taker: Taker, prefix: tuple[str, ...] = ()) -> None:
    """`parallelism_config`: tensor, context and sequence parallel sizes (transformers 5)."""
    found = taker.entry(_at(prefix, "parallelism_config"))
    if found is None or not isinstance(found[0].value, Mapping):
        return
    product = 1
    for key in ("tp_size", "cp_size", "sp_size"):
        size = number(found[0].value.get(key))
        product *= int(size) if size is not None and size >= 1 else 1
    if product > 1:
        taker.derive("parallel", Known(product, found[1], key_span=found[0].key_span))


def take_auto_batch(taker: Taker, prefix: tuple[str, ...] = ()) -> None:
    """With `auto_find_batch_size` the written batch is only the largest that is tried."""
    automatic = flag(taker, "auto_batch", prefix, "auto_find_batch_size")
    if automatic.value is True:
        batch = taker.run.settings.get("per_device_batch", UNKNOWN)
        if batch.number is not None:
            upto = between(1, batch.number, batch.origin, key_span=batch.key_span, span=batch.span)
            taker.derive("per_device_batch", upto)


def take_half_precision(taker: Taker, prefix: tuple[str, ...] = ()) -> None:
    """Which of the two 16-bit formats is switched on, where one is."""
    for word in ("fp16", "bf16"):
        found = taker.entry(_at(prefix, word))
        if found is not None and isinstance(found[0].value, Scalar) and boolean(found[0].value):
            entry, origin = found
            taker.run.settings["half_precision"] = Known(word, origin, key_span=entry.key_span, span=entry.value.span)
            return


def written(entry: Entry | None) -> bool:
    """Whether a key is there with a value that is not null."""
    return entry is not None and not (isinstance(entry.value, Scalar) and entry.value.value is None)
