"""What TrainingArguments and the Trainer refuse themselves, and settings that have no effect.

Source of each: transformers 4.36.2 to 5.24.0, `training_args.py` (`__post_init__`), `trainer.py` (`__init__`, `train`)
and `optimization.py`; the errors are recorded in tests/conformance.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import UNKNOWN, Known
from epochlint.run.observation import Edit, Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from epochlint.documents.document import Entry
    from epochlint.run.run import Run
    from epochlint.run.versions import VersionRange
    from epochlint.source import Span
    from epochlint.trainers.hf.keys import Consumer
    from epochlint.trainers.hf.loading import HfTaker
    from epochlint.trainers.tables import Table

_TRAINER = "transformers"


def check_values(taker: HfTaker, consumer: Consumer, narrowed: VersionRange) -> None:
    """Notes what the run's settings make the trainer refuse, or leave without effect.

    `narrowed`: the versions of transformers that project and keys leave possible.
    """
    run = taker.run
    _precision(taker)
    _words(taker, consumer, narrowed)
    _whole_numbers(taker, narrowed)
    _schedule(taker, consumer)
    _accumulation(taker)
    _loader_workers(taker)
    best_model(run)
    warmups(taker, narrowed)
    dead_cadences(taker)


def refuse(taker: HfTaker, span: Span, reason: str) -> None:
    taker.observe("rejected", span, reason=reason, consumer=_TRAINER)


def _true(taker: HfTaker, key: str) -> Entry | None:
    """The entry of a key that is switched on."""
    found = taker.reading.entry(key)
    return found[0] if found is not None and boolean(found[0].value) is True else None


def _precision(taker: HfTaker) -> None:
    for one, other in (("fp16", "bf16"), ("fp16_full_eval", "bf16_full_eval")):
        first, second = _true(taker, one), _true(taker, other)
        if first is not None and second is not None:
            refuse(taker, second.key_span, f"{one} and {other} are both on; at most one of them can be")


_NEWEST = "5.24.0"  # of transformers, in data/transformers.json

_ENUMS = (
    "lr_scheduler_type",
    "optim",
    "eval_strategy",
    "evaluation_strategy",
    "save_strategy",
    "logging_strategy",
)


def _words(taker: HfTaker, consumer: Consumer, narrowed: VersionRange) -> None:
    """Words that are no member of the option's enum, in any version that is possible."""
    for key in _ENUMS:
        found = taker.reading.entry(key)
        table = consumer.table(key)
        if found is None or table is None:
            continue
        node = found[0].value
        if not isinstance(node, Scalar) or node.value is None:
            continue
        if isinstance(node.value, bool):
            if not node.plain and key != "optim":
                refuse(taker, found[0].key_span, f"{key} takes a word, not {node.value!s}")
            continue
        word = str(node.value)
        if not word.replace("_", "").isalnum() or word.lower() != word:
            continue  # a placeholder, an enum's member, a path
        words = _possible_words(table, key, narrowed.low, narrowed.high or narrowed.below)
        if words and word not in words:
            import difflib

            newest = _possible_words(table, key, narrowed.high or narrowed.below or _NEWEST)
            kept = [one for one in words if one in newest] or words  # none that is gone in a newer version
            close = [one for one in kept if word.startswith(one + "_") or one.startswith(word + "_")]
            close = close or difflib.get_close_matches(word, kept, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            refuse(taker, found[0].key_span, f"{word} is no {key} that transformers knows{hint}")


def _possible_words(table: Table, key: str, low: str | None, high: str | None = None) -> tuple[str, ...]:
    """Of the nearest class that tells any: a framework may declare an option anew as plain text, and transformers makes
    its enum of it all the same."""
    place: Table | None = table
    while place is not None:
        found = place.words(key, low, high)
        if found:
            return found
        place = place.base
    return ()


def _whole_numbers(taker: HfTaker, narrowed: VersionRange) -> None:
    """Counts that must be whole: steps above 1 of a cadence, max_steps; and what a loader that casts nothing hands over
    as a float (recorded in tests/conformance: 2.0 accumulations run up to 4.45)."""
    settings = taker.run.settings
    limit = settings.get("max_steps", UNKNOWN)
    value = limit.number
    if limit.by_hand and value is not None and limit.key_span is not None and value != int(value):
        refuse(taker, limit.key_span, f"max_steps must be a whole number, not {value:g}")
    elif value is not None and value > 0:
        _float(taker, "max_steps")
    _float(taker, "per_device_train_batch_size")
    if narrowed.at_least("4.46") is True:
        _float(taker, "gradient_accumulation_steps")
    for name in ("eval", "save", "logging"):
        interval, strategy = settings.get(f"{name}_steps", UNKNOWN), settings.get(f"{name}_strategy", UNKNOWN)
        step = interval.number
        if not interval.by_hand or step is None or strategy.value != "steps" or interval.key_span is None:
            continue
        if step > 1 and step != int(step):
            refuse(taker, interval.key_span, f"{name}_steps above 1 must be a whole number, not {step:g}")
        elif step == 0 and name == "logging":
            refuse(taker, interval.key_span, "logging_strategy steps needs logging_steps above 0")


def _float(taker: HfTaker, key: str) -> None:
    found = taker.reading.entry(key)
    if found is None or taker.is_flag(found[0]) or taker.loader.converts_text:
        return
    node = found[0].value
    if isinstance(node, Scalar) and isinstance(node.value, float):
        refuse(taker, found[0].key_span, f"{key} must be a whole number, not {node.raw}")


def _schedule(taker: HfTaker, consumer: Consumer) -> None:
    settings = taker.run.settings
    scheduler = settings.get("scheduler", UNKNOWN)
    if not scheduler.by_hand or scheduler.key_span is None:
        return
    name = scheduler.value
    if name in ("reduce_lr_on_plateau", "greedy") and settings.get("eval_strategy", UNKNOWN).value == "no":
        refuse(taker, scheduler.key_span, f"lr_scheduler_type {name} needs an evaluation strategy")
    kwargs = taker.reading.node("lr_scheduler_kwargs")
    inner = kwargs if isinstance(kwargs, Mapping) else None
    none = kwargs is None or (isinstance(kwargs, Scalar) and kwargs.value is None)
    if inner is None and not (none and not taker.reading.open_ended):
        return
    whole = consumer.visible or consumer.complete or inner is not None  # else the program may add arguments
    if whole:
        _schedule_arguments(taker, str(name), inner, scheduler.key_span)
    least = number(inner.get("min_lr")) if inner is not None else None
    share = number(inner.get("min_lr_rate")) if inner is not None else None
    rate = settings.get("learning_rate", UNKNOWN).number
    if name in ("cosine_with_min_lr", "cosine_warmup_with_min_lr"):
        if least is None and share is None and (inner is None or not inner.open_ended):
            has = inner is not None and ("min_lr" in inner or "min_lr_rate" in inner)
            if not has and whole:
                reason = f"{name} needs min_lr or min_lr_rate in lr_scheduler_kwargs"
                taker.observe("min_rate", scheduler.key_span, reason=reason, raises=True)
        value = least if least is not None else share * rate if share is not None and rate is not None else None
        entry = inner.entry("min_lr" if least is not None else "min_lr_rate") if inner is not None else None
        if value is not None and entry is not None:
            settings["min_rate"] = Known(value, scheduler.origin, key_span=entry.key_span, span=entry.value.span)
    if name == "polynomial":
        entry = inner.entry("lr_end") if inner is not None else None
        end = number(entry.value) if entry is not None else 1e-7
        if end is not None:
            place = entry.key_span if entry is not None else scheduler.key_span
            settings["min_rate"] = Known(end, scheduler.origin if entry is not None else "default", key_span=place)


def _loader_workers(taker: HfTaker) -> None:
    """Prefetching needs workers of the data loader, of which there are none by default."""
    prefetch, workers = taker.reading.entry("dataloader_prefetch_factor"), taker.reading.entry("dataloader_num_workers")
    if prefetch is None or number(prefetch[0].value) is None:
        return
    count = number(workers[0].value) if workers is not None else None
    if count == 0 or (workers is None and not taker.reading.open_ended):
        reason = "dataloader_prefetch_factor needs dataloader_num_workers above 0"
        refuse(taker, prefetch[0].key_span, reason)


def _schedule_arguments(taker: HfTaker, name: str, inner: Mapping | None, place: Span) -> None:
    """Arguments without which a schedule cannot be built; `inner` is `lr_scheduler_kwargs`."""
    if inner is not None and inner.open_ended:
        return
    if name == "warmup_stable_decay":
        if inner is None or "num_decay_steps" not in inner:
            refuse(taker, place, "warmup_stable_decay needs num_decay_steps in lr_scheduler_kwargs")
        elif "num_stable_steps" not in inner:
            reason = "warmup_stable_decay needs num_stable_steps in lr_scheduler_kwargs, too"
            taker.observe("rejected", place, reason=reason, consumer=_TRAINER, package=_TRAINER, until="4.49")
    if name == "inverse_sqrt" and (inner is None or "timescale" not in inner):
        settings = taker.run.settings
        steps, ratio = settings.get("warmup_steps", UNKNOWN), settings.get("warmup_ratio", UNKNOWN)
        if steps.exact and ratio.exact and not steps.value and not ratio.value:
            reason = "inverse_sqrt without a warmup divides by zero"
            taker.observe("rejected", place, reason=reason, consumer=_TRAINER, package=_TRAINER, until="4.39")


def _accumulation(taker: HfTaker) -> None:
    settings = taker.run.settings
    plugin, written = settings.get("accelerator_accumulation", UNKNOWN), settings.get("accumulation", UNKNOWN)
    if plugin.number is not None and written.number is not None and written.number > 1 and plugin.key_span is not None:
        reason = "gradient_accumulation_steps and accelerator_config's num_steps are both set"
        taker.observe("rejected", plugin.key_span, reason=reason, consumer=_TRAINER, package=_TRAINER, since="4.46")


# Best model ----------------------------------------------------------------------------------------------------------


def best_model(run: Run) -> None:
    """A best model that cannot be chosen: strategies differ, or the save cadence is no multiple of evaluation's."""
    settings = run.settings
    best = settings.get("load_best", UNKNOWN)
    if best.value is not True:
        saving, metric = settings.get("save_strategy", UNKNOWN), settings.get("metric_for_best", UNKNOWN)
        if saving.by_hand and saving.value == "best" and best.exact and metric.exact and metric.value is None:
            reason = "save_strategy best needs metric_for_best_model"
            _observe(run, "rejected", run.where("save_strategy"), None, reason=reason, consumer=_TRAINER)
        return
    evaluation, saving = settings.get("eval_strategy", UNKNOWN), settings.get("save_strategy", UNKNOWN)
    if not evaluation.exact or not saving.exact or saving.value == "best":
        return
    place = run.where("save_strategy", "eval_strategy", "load_best")
    if evaluation.value != saving.value:
        reason = f"evaluation goes by {evaluation.value}, saving by {saving.value}"
        if evaluation.value == "no":
            reason = f"nothing is evaluated, and saving goes by {saving.value}"
            place = run.where("load_best")
        _observe(run, "best_model", place, _strategy_fix(evaluation, saving), reason=reason, key="strategy")
        return
    if evaluation.value == "no":  # accepted, and no checkpoint is ever the best
        place = run.where("load_best")
        _observe(run, "best_model", place, None, reason="nothing is evaluated, and nothing is saved", key="nothing")
        return
    every, save = settings.get("eval_steps", UNKNOWN).number, settings.get("save_steps", UNKNOWN).number
    if evaluation.value != "steps" or not every or save is None or every < 0:
        return
    problem = cadence_problem(save, every)
    if problem is not None:
        place = run.where("save_steps", "eval_steps", "load_best")
        _observe(run, "best_model", place, None, reason=problem, key="cadence")


def cadence_problem(save: float, every: float) -> str | None:
    """Why a save cadence does not go with an evaluation cadence; both in steps, or as shares of the run below 1."""
    if save % every == 0:
        return None
    if every < 1 or save < 1:
        if not (every < 1 and save < 1):
            return f"save_steps {save:g} and eval_steps {every:g} mix a share of the run with a number of steps"
        if (save * 1_000_000) % (every * 1_000_000) == 0:
            return None
    return f"save_steps {save:g} is no multiple of eval_steps {every:g}"


def _strategy_fix(evaluation: Known, saving: Known) -> Fix | None:
    """Saving as evaluation does, where both are written and something is evaluated."""
    span = saving.span
    if evaluation.value in ("steps", "epoch") and saving.by_hand and span is not None and saving.value in span.text:  # type: ignore[operator] # a word
        text = span.text.replace(str(saving.value), str(evaluation.value))
        return Fix(f"save by {evaluation.value}, too", [Edit(span, text)], safe=True)
    return None


# Warmup --------------------------------------------------------------------------------------------------------------


def warmups(taker: HfTaker, narrowed: VersionRange) -> None:
    """Steps and ratio that are both written, and values in a unit that the version does not read."""
    settings = taker.run.settings
    steps, ratio = settings.get("warmup_steps", UNKNOWN), settings.get("warmup_ratio", UNKNOWN)
    if ratio.by_hand:
        _ratio(taker, ratio)
    if steps.by_hand:
        _steps(taker, steps)
    if steps.by_hand and ratio.by_hand and steps.number is not None and ratio.number is not None:
        _both(taker, steps, ratio, narrowed)


def _both(taker: HfTaker, steps: Known, ratio: Known, narrowed: VersionRange) -> None:
    new = narrowed.at_least("5.0")
    place = steps.key_span or ratio.key_span
    if place is None:
        return
    if new is True:
        # Even a ratio of 0 takes the steps' place.
        if steps.value != ratio.value:
            taker.observe("two_warmups", place, wins="warmup_ratio", outcome="ratio wins")
    elif not steps.number or not ratio.number:
        return  # one of them only says "none"
    elif new is False:
        taker.observe("two_warmups", place, wins="warmup_steps", outcome="steps win")
    else:
        outcome = "steps win up to transformers 4.57, the ratio from 5.0"
        taker.observe("two_warmups", place, wins="by version", outcome=outcome)


def _ratio(taker: HfTaker, ratio: Known) -> None:
    value, place = ratio.number, ratio.key_span
    if value is None or place is None:
        return
    unit: dict[str, Any] = {"value": value, "key": "warmup_ratio", "package": _TRAINER}
    if value > 1:
        taker.observe("warmup_unit", place, **unit, reads_as="a share of the run", outcome="rejected", until="5.0")
        outcome = "one step" if int(value) == 1 else "steps"
        reads = f"{int(value)} steps"
        taker.observe("warmup_unit", place, **unit, reads_as=reads, outcome=outcome, since="5.0", until="5.15")
    elif value == 1:
        taker.observe("warmup_unit", place, **unit, reads_as="1 step", outcome="one step", since="5.0", until="5.15")


def _steps(taker: HfTaker, steps: Known) -> None:
    value, place = steps.number, steps.key_span
    if value is None or place is None:
        return
    unit: dict[str, Any] = {"value": value, "key": "warmup_steps", "package": _TRAINER}
    if isinstance(value, float) and value > 0:
        if 0 < value < 1:
            taker.observe("warmup_unit", place, **unit, reads_as="no warmup", outcome="nothing", until="4.42")
        text = "a number of steps"
        taker.observe("warmup_unit", place, **unit, reads_as=text, outcome="rejected", since="4.42", until="5.0")
        if value == 1:
            taker.observe("warmup_unit", place, **unit, reads_as="1 step", outcome="one step", since="5.0")


# Cadence -------------------------------------------------------------------------------------------------------------


def dead_cadences(taker: HfTaker) -> None:
    """Cadences that are written while their strategy does not look at them."""
    settings = taker.run.settings
    for name in ("eval", "save"):
        interval, strategy = settings.get(f"{name}_steps", UNKNOWN), settings.get(f"{name}_strategy", UNKNOWN)
        if not interval.by_hand or not interval.value or not strategy.exact or interval.key_span is None:
            continue
        if strategy.value in ("no", "epoch") and not (name == "save" and strategy.value == "no"):
            taker.observe("dead_cadence", interval.key_span, key=f"{name}_steps", strategy=strategy.value)


# Either would ask for evaluations (`do_eval` asks for none while training).
_STRATEGIES = ("eval_strategy", "evaluation_strategy")


def evaluation_data(run: Run, *, judged: bool = True) -> None:
    """Validation data that nothing evaluates, and evaluation without data. `judged`: the script shows no other use."""
    strategy, data = run.settings.get("eval_strategy", UNKNOWN), run.settings.get("validation", UNKNOWN)
    if not strategy.exact or not data.exact:
        return
    if data.value is True and strategy.value == "no" and judged:
        reason = "eval_strategy is `no`" if strategy.by_hand else "eval_strategy is not written and is `no` by default"
        place = run.where("eval_strategy", "eval_steps", "validation")
        _observe(run, "evaluation_off", place, None, reason=reason, without=() if strategy.by_hand else _STRATEGIES)
    if data.value is False and strategy.by_hand and strategy.value in ("steps", "epoch"):
        # Refused when the Trainer is built since 4.46.0 (trainer.py), at the first evaluation that is due before.
        _observe(run, "evaluation_without_data", run.where("eval_strategy"), None, waits=True)


# The plateau schedules set a metric themselves.
_NO_METRIC = frozenset({
    "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt",
    "cosine_with_min_lr", "warmup_stable_decay", "cosine_warmup_with_min_lr",
})  # fmt: skip


def early_stopping(run: Run) -> None:
    """What the callback asserts before training: a metric and an evaluation strategy."""
    settings = run.settings
    patience = settings.get("early_stopping_patience")
    if patience is None or not patience.by_hand or patience.key_span is None:
        return
    strategy, best = settings.get("eval_strategy", UNKNOWN), settings.get("load_best", UNKNOWN)
    metric, scheduler = settings.get("metric_for_best", UNKNOWN), settings.get("scheduler", UNKNOWN)
    reason = None
    if strategy.exact and strategy.value == "no":
        reason = "early stopping needs an evaluation strategy"
    elif metric.exact and metric.value is None and best.value is False and scheduler.value in _NO_METRIC:
        reason = "early stopping needs metric_for_best_model (or load_best_model_at_end)"
    if reason is not None:
        _observe(run, "rejected", patience.key_span, None, reason=reason, consumer=_TRAINER)
    elif best.exact and best.value is False:
        # From 4.49 on this is a warning in the log only (`trainer_callback.py`).
        bound = {"package": _TRAINER, "until": "4.49"}
        reason = "early stopping needs load_best_model_at_end"
        _observe(run, "rejected", patience.key_span, None, reason=reason, consumer=_TRAINER, **bound)


# What every evaluation produces by itself (`trainer.py`, `evaluate` and `evaluation_loop`).
_PRODUCED = (
    "loss",
    "runtime",
    "samples_per_second",
    "steps_per_second",
    "model_preparation_time",
    "jit_compilation_time",
)


def missing_metric(run: Run, produced: Iterable[str] = ()) -> None:
    """A metric for the best model that no evaluation of this script produces."""
    metric = run.settings.get("metric_for_best", UNKNOWN)
    if not metric.by_hand or not isinstance(metric.value, str) or metric.key_span is None:
        return
    name = metric.value.removeprefix("eval_")
    if name not in _PRODUCED and name not in produced and not name.endswith("_loss"):
        _observe(run, "metric_missing", metric.key_span, None, metric=metric.value)


def _observe(run: Run, name: str, span: Span, fix: Fix | None, **values: object) -> None:
    from epochlint.run.observation import Observation

    run.observations.append(Observation(name, span, values, fix=fix))
