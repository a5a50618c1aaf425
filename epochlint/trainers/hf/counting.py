"""How transformers' Trainer counts: the batch, the steps of a pass, the warmup, evaluations and checkpoints.

Sources: transformers 4.36.2 to 5.24.0, `trainer.py` (`set_initial_training_values`, the training loop),
`training_args.py` (`get_warmup_steps`) and `trainer_callback.py` (`DefaultFlowCallback`). Real runs of nine versions
are recorded in tests/conformance.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from epochlint.run.counting import Batch, after, by_loader, every, fixed, share_up, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.run.counting import Get, Shape, Steps, Warmup
    from epochlint.run.known import Known

UNWARMED = frozenset({"constant", "reduce_lr_on_plateau", "greedy"})
"""Schedules that never look at the warmup (`optimization.py`, `get_scheduler`)."""

# The training loop's habit at the end of an epoch, where the last accumulation group is not full.
ACROSS = "across"  # micro-batches are counted over epoch borders (<= 4.45)
UNCLEAR = "unclear"  # the last group's size came from rows, not batches (4.46)
AT_END = "at end"  # an epoch ends with a step of its own (>= 4.47)


# Batch ------------------------------------------------------------------------------------------------------------


def batch(get: Get, workers: int | None) -> Batch:
    """Per-device batch x accumulation x workers; with `split_batches` the written batch is already that of all workers.

    `accelerator_config.gradient_accumulation_kwargs.num_steps` takes the accumulation's place where that is 1.
    """
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    plugin = get("accelerator_accumulation")
    if plugin.number is not None and accumulation.number == 1:
        accumulation = plugin
    workers = 1 if get("split_batches").value is True else workers
    return Batch(per_device, accumulation, times(per_device, accumulation, workers))


def batch_without_plugin(get: Get, workers: int | None) -> Batch:
    """`batch` before 4.46, when the Trainer did not look at accelerate's accumulation."""
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    workers = 1 if get("split_batches").value is True else workers
    return Batch(per_device, accumulation, times(per_device, accumulation, workers))


# Records ----------------------------------------------------------------------------------------------------------


def after_split(rows: Known, get: Get) -> Known:
    """Rows without those that datasets' `train_test_split` holds out: a share of them is rounded up."""
    split = get("validation_split").number
    if not split:
        return rows
    if split < 1:
        return after(rows, lambda count: count - ceil(split * count), f"{{0}} - ceil({split:g} x {{0}})")
    return after(rows, lambda count: count - int(split), f"{{}} - {int(split)}")


def after_cap(rows: Known, get: Get) -> Known:
    """At most `sample_cap` rows, without those that are held out."""
    cap = get("sample_cap").number
    if cap is not None and cap >= 0:
        rows = after(rows, lambda count: min(count, int(cap)), f"min({{}}, {int(cap)})")
    return after_split(rows, get)


# Steps ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100)
def steps(up: bool, zero_limits: bool) -> Callable[[Shape], Steps]:
    """`by_loader`, where `split_batches` leaves the loader as long as on one worker."""
    count = by_loader(up, zero_limits)

    def run(shape: Shape) -> Steps:
        if shape.get("split_batches").value is True:
            shape.workers = 1
        return count(shape)

    return run


# Warmup -----------------------------------------------------------------------------------------------------------

STEPS_FIRST = "steps first"  # <= 4.57
RATIO_FIRST = "ratio first"  # 5.0-5.14
STEPS_ONLY = "steps only"  # >= 5.15


@lru_cache(maxsize=100)
def warmup(order: str) -> Callable[[Get], Warmup | None]:
    """Warmup steps from `warmup_steps` and `warmup_ratio`.

    "steps first": steps where above 0, else ceil(total x ratio). "ratio first": a ratio that is written, even 0, takes
    the steps' place; then 1 and above are steps (rounded down), below is a share of the total, rounded up. "steps
    only": the same without the ratio.
    """

    def count(get: Get) -> Warmup | None:
        number, ratio = get("warmup_steps"), get("warmup_ratio")
        if order == STEPS_FIRST:
            if not number.exact:
                return None
            value = number.number
            if value is not None and value > 0:
                return fixed(value)
            if not ratio.exact:
                return None
            share = ratio.number or 0.0
            if share > 0:
                return share_up(share)
            return fixed(0, "warmup_ratio" if ratio.by_hand and not number.by_hand else "warmup_steps")
        key = "warmup_steps"
        if order == RATIO_FIRST:
            if not ratio.exact:
                return None
            if ratio.value is not None:
                number, key = ratio, "warmup_ratio"
        if not number.exact:
            return None
        value = number.number or 0.0
        return fixed(int(value), key) if value >= 1 else share_up(value, key) if value > 0 else fixed(0, key)

    return count


# Cadence ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100)
def happens(
    strategy_key: str, steps_key: str, at_end: bool, loop: str, delay_key: str = "", whole: bool = False
) -> Callable[[Get, int, int], int | None]:
    """How often evaluation or saving happens after step 0.

    "steps": at every multiple, and with `at_end` once more at the last step. "epoch": at the end of every epoch that
    the loop begins. Nothing before `delay_key`, in the strategy's unit. `get` gives facts too: the effective batch and
    the records are needed where an epoch's last accumulation group is not full. `whole`: the loop makes every epoch
    that is asked for (>= 4.52; before, only without accumulation).
    """

    def count(get: Get, total: int, per_epoch: int) -> int | None:
        strategy = get(strategy_key)
        if not strategy.exact:
            return None
        delay = (get(delay_key).number or 0.0) if delay_key else 0.0
        if strategy.value == "no":
            return 0
        if strategy.value == "epoch":
            asked, limit = get("epochs").number, get("max_steps")
            if asked is not None and limit.exact and limit.value is None and (whole or get("accumulation").number == 1):
                epochs: int | None = max(0, ceil(asked))
            else:
                epochs = epoch_ends(get, total, per_epoch, loop, whole)
            if epochs is None:
                return None
            return max(0, epochs - max(0, ceil(delay) - 1)) if delay > 0 else epochs
        interval = get(steps_key).number
        if strategy.value != "steps" or interval is None or interval <= 0 or total <= 0:
            return 0 if strategy.value == "steps" and interval is not None and total <= 0 else None
        step = every(interval, total)
        times_ = total // step - max(0, ceil(delay) - 1) // step
        return max(0, times_) + (1 if at_end and total % step and total >= delay else 0)

    return count


def epoch_ends(get: Get, total: int, per_epoch: int, loop: str, whole: bool) -> int | None:
    """Epochs that the loop begins before `total` steps are done; None where that cannot be told.

    `per_epoch` are the steps of an epoch that the total was computed with: before 4.52 (`whole`: from then on) the loop
    could make one more (`trainer.py`, `_inner_training_loop`: `total_updates`, `remainder`).
    """
    if per_epoch <= 0:
        return None
    group = get("accumulation").number
    plain = -(-total // per_epoch)
    if group == 1:
        return plain
    records, effective = get("records").number, get("effective_batch").number
    if group is not None and (group < 1 or group % 1):
        return None
    if group is None or records is None or not effective or effective < group:
        # At most one step more in each epoch than the total was computed with.
        return plain if -(-total // (per_epoch + 1)) == plain else None
    round_ = int(effective // group)
    length = int(records) // round_ if get("drop_last").value is True else -(-int(records) // round_)
    if length % group == 0:
        return plain
    group, length = int(group), int(length)
    if whole:
        return -(-total // -(-length // group))
    # The last group of an epoch took `rows % group` batches (of `rows`!): with too few its step never came.
    taken = int(records) % group or group
    updates = length // group + (1 if taken >= length % group else 0)
    if loop == AT_END:
        return -(-total // updates) if updates else None
    if length < group:
        return plain if length * plain <= group and loop == ACROSS else None
    across = -(-total * group // length)
    return across if loop == ACROSS or (updates and across == -(-total // updates)) else None
