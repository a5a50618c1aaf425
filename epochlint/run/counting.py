"""How trainers count: from records and batch to steps, from steps to warmup, evaluations and checkpoints.

A `Counting` is a set of functions that a trainer's module picks for one of its eras. All are pure; all take and give
exact numbers, and `budget` carries bounds through them. Floats are summed as the trainers do (binary floating point):
ceil(100 * 0.07) is 8.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from epochlint.run.known import DERIVED, UNKNOWN, Known, between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Get = Callable[[str], Known]  # a setting by name, in the era at hand


class Shape:
    """The numbers that decide how many steps a run takes. `limit` is max_steps, None where it is off."""

    __slots__ = ("accumulation", "drop_last", "effective", "epochs", "get", "limit", "per_device", "records", "workers")

    def __init__(
        self,
        records: int,
        per_device: int,
        accumulation: int,
        workers: int,
        epochs: float,
        limit: int | None = None,
        drop_last: bool = False,
        effective: int | None = None,
        get: Get | None = None,
    ) -> None:
        self.records = records
        self.per_device = per_device
        self.accumulation = accumulation
        self.workers = workers
        self.epochs = epochs
        self.limit = limit
        self.drop_last = drop_last
        self.effective = effective if effective is not None else per_device * accumulation * workers
        self.get: Get = get if get is not None else _nothing


def _nothing(name: str) -> Known:
    return UNKNOWN


class Steps:
    """Steps of one pass, steps that the epochs give (`natural`), and steps that the run takes (`total`)."""

    __slots__ = ("natural", "per_epoch", "total")

    def __init__(self, per_epoch: float, natural: int, total: int) -> None:
        self.per_epoch = per_epoch
        self.natural = natural
        self.total = total


class Warmup:
    """What a trainer makes of its warmup settings.

    `steps(total, natural)` gives the warmup steps of a run. `share` bounds warmup / total where the total is unknown:
    (share, "ceil") lies at or above the share, (share, "floor") at or below it; None for a number of steps. `key` is
    the setting that decided ("warmup_steps", "warmup_ratio", "" for the trainer's default). `of_natural`: what the
    epochs give decides, too, where a step limit is written.
    """

    __slots__ = ("formula", "key", "of_natural", "share", "steps")

    def __init__(
        self,
        steps: Callable[[int, int], float],
        key: str,
        share: tuple[float, str] | None = None,
        formula: str = "",
        of_natural: bool = False,
    ) -> None:
        self.steps = steps
        self.key = key
        self.share = share
        self.formula = formula
        self.of_natural = of_natural


class Batch:
    """Per-device batch, accumulation and effective batch of a run at a number of workers."""

    __slots__ = ("accumulation", "effective", "per_device")

    def __init__(self, per_device: Known, accumulation: Known, effective: Known) -> None:
        self.per_device = per_device
        self.accumulation = accumulation
        self.effective = effective


class Counting:
    """One trainer's way to count, in one era. What is left out is None: then nobody can know it from the file."""

    __slots__ = ("batch", "checkpoints", "evaluations", "records", "steps", "unwarmed", "warmup")

    def __init__(
        self,
        steps: Callable[[Shape], Steps] | None,
        warmup: Callable[[Get], Warmup | None] | None = None,
        batch: Callable[[Get, int | None], Batch] | None = None,
        records: Callable[[Known, Get], Known] | None = None,
        evaluations: Callable[[Get, int, int], int | None] | None = None,
        checkpoints: Callable[[Get, int, int], int | None] | None = None,
        unwarmed: frozenset[str] = frozenset(),
    ) -> None:
        self.steps = steps
        self.warmup = warmup
        self.batch = batch if batch is not None else product
        self.records = records if records is not None else all_rows
        self.evaluations = evaluations
        self.checkpoints = checkpoints
        self.unwarmed = unwarmed  # schedules that never look at the warmup


# Batches ----------------------------------------------------------------------------------------------------------


def product(get: Get, workers: int | None) -> Batch:
    """Effective batch = per-device batch x accumulation x workers."""
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    return Batch(per_device, accumulation, times(per_device, accumulation, workers))


def times(per_device: Known, accumulation: Known, workers: int | None) -> Known:
    b, g = per_device.number, accumulation.number
    if b is not None and g is not None and workers is not None:
        return Known(int(b * g * workers), DERIVED, formula=("{} x {} x {}", (b, g, workers)))
    low = (per_device.low or 1) * (accumulation.low or 1) * (workers or 1)
    high = None
    if per_device.high is not None and accumulation.high is not None and workers is not None:
        high = per_device.high * accumulation.high * workers
    return between(low, high)


def by_global_batch(get: Get, workers: int | None) -> Batch:
    """The trainer takes the batch of one step over all workers (`global_batch`) and shares it out.

    With a micro-batch (`per_device_batch`) the accumulation is what is left; where it does not come out whole, the
    accumulation stays unknown (such a batch has a rule of its own).
    """
    whole, micro = get("global_batch"), get("per_device_batch")
    effective = Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number is not None else whole
    w, m = whole.number, micro.number
    accumulation = UNKNOWN
    if w is not None and m and workers and w % (m * workers) == 0:
        accumulation = Known(int(w // (m * workers)), DERIVED, formula=("{} / ({} x {})", (w, m, workers)))
    elif w is not None and micro.exact and m is None and workers and w % workers == 0:
        micro, accumulation = Known(int(w // workers), DERIVED, formula=("{} / {}", (w, workers))), Known(1, DERIVED)
    return Batch(micro if micro.exact and micro.value is not None else UNKNOWN, accumulation, effective)


# Records ----------------------------------------------------------------------------------------------------------


def all_rows(rows: Known, get: Get) -> Known:
    return rows


def after(rows: Known, change: Callable[[int], int], formula: str = "") -> Known:
    """Rows after a change that never turns fewer rows into more records than more rows would give.

    `formula` is a template for the number of rows: "{} - ceil(0.1 x {})" may name it more than once by {0}.
    """
    low = max(0, change(int(rows.low))) if rows.low is not None else None
    high = max(0, change(int(rows.high))) if rows.high is not None else None
    sum_ = (formula, (rows.value,)) if formula and rows.exact else None
    return between(low, high, formula=sum_, basis=rows.basis, span=rows.span, key_span=rows.key_span)


# Steps ------------------------------------------------------------------------------------------------------------


def _length(shape: Shape) -> int:
    """Batches that one worker sees in a pass, the last round filled up or dropped."""
    round_ = shape.per_device * shape.workers
    return shape.records // round_ if shape.drop_last else -(-shape.records // round_)


@lru_cache(maxsize=100)
def by_loader(up: bool, zero_limits: bool) -> Callable[[Shape], Steps]:
    """The Hugging Face Trainer: steps of a pass from the loader's length, total = ceil(epochs x steps of a pass).

    `up`: the last, incomplete accumulation group still steps (transformers >= 4.52, `trainer.py`,
    `set_initial_training_values`); before, it was rounded down, to at least one. `zero_limits`: `max_steps: 0` means
    no steps (>= 4.49) instead of "off". Recorded in tests/conformance.
    """

    def steps(shape: Shape) -> Steps:
        length = _length(shape)
        if length == 0:
            return Steps(0, 0, shape.limit or 0)
        per_epoch = max(1, -(-length // shape.accumulation) if up else length // shape.accumulation)
        natural = max(0, ceil(shape.epochs * per_epoch))
        limit = shape.limit
        if limit is None or limit < 0 or (limit == 0 and not zero_limits):
            return Steps(per_epoch, natural, natural)
        return Steps(per_epoch, natural, limit)

    return steps


def limited(
    per_epoch: Callable[[Shape], int], total: Callable[[Shape, int], int], cap: bool = False
) -> Callable[[Shape], Steps]:
    """A pass and a total by the given functions; a written limit takes the total's place (`cap`: only downwards)."""

    def steps(shape: Shape) -> Steps:
        pass_ = per_epoch(shape)
        natural = total(shape, pass_)
        if shape.limit is None:
            return Steps(pass_, natural, natural)
        return Steps(pass_, natural, min(natural, shape.limit) if cap else shape.limit)

    return steps


def ceil_of_rows(shape: Shape) -> int:
    """ceil(N / B)."""
    return -(-shape.records // shape.effective)


def floor_of_rows(shape: Shape) -> int:
    """floor(N / B): the incomplete global batch is dropped."""
    return shape.records // shape.effective


def epochs_times(shape: Shape, per_epoch: int) -> int:
    """Whole passes: epochs x steps of a pass, rounded up where epochs is a fraction."""
    return max(0, ceil(shape.epochs * per_epoch))


def one_ceil(shape: Shape, per_epoch: int) -> int:
    """ceil(N x epochs / B): rounded once, over the whole run."""
    return max(0, ceil(shape.records * shape.epochs / shape.effective))


# Warmup -----------------------------------------------------------------------------------------------------------


def fixed(steps: float, key: str = "warmup_steps") -> Warmup:
    return Warmup(lambda total, natural: steps, key)


def share_up(share: float, key: str = "warmup_ratio") -> Warmup:
    """ceil(total x share)."""
    return Warmup(lambda total, natural: ceil(total * share), key, (share, "ceil"), f"ceil({{}} x {share:g})")


def share_down(share: float, key: str = "warmup_ratio") -> Warmup:
    """int(total x share)."""
    return Warmup(lambda total, natural: int(total * share), key, (share, "floor"), f"floor({{}} x {share:g})")


# Cadence ----------------------------------------------------------------------------------------------------------


def every(value: float, total: int) -> int:
    """A cadence in steps: a number below 1 is a share of the run, rounded up (transformers, `TrainerState`)."""
    return max(1, ceil(total * value)) if value < 1 else int(value)


def happenings(strategy: str, interval: float | None, total: int, per_epoch: int, at_end: bool) -> int | None:
    """How often something with a strategy of "no", "steps" or "epoch" happens after step 0.

    `at_end`: under "steps", once more at the last step if it is not due there anyway.
    """
    if strategy == "no":
        return 0
    if strategy == "epoch":
        return -(-total // per_epoch) if per_epoch > 0 else None
    if strategy == "steps" and interval is not None and interval > 0:
        step = every(interval, total)
        return total // step + (1 if at_end and total % step and total > 0 else 0)
    return None


def cadence(strategy_key: str, steps_key: str, at_end: bool) -> Callable[[Get, int, int], int | None]:
    """The Hugging Face Trainer's evaluations or checkpoints. `at_end`: see `happenings`."""

    def count(get: Get, total: int, per_epoch: int) -> int | None:
        strategy = get(strategy_key)
        if not strategy.exact:
            return None
        return happenings(str(strategy.value), get(steps_key).number, total, per_epoch, at_end)

    return count
