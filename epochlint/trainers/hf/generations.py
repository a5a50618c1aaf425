"""How TRL's GRPO and RLOO count: completions in the batch, prompts in the data, rounds of generation.

Sources: trl 0.14.0 to 1.16.0, `trainer/grpo_trainer.py` (`_get_train_sampler`), `trainer/utils.py` (`RepeatSampler`)
and `trainer/grpo_config.py` (`__post_init__`); runs are recorded in tests/conformance.
"""

from __future__ import annotations

from math import ceil

from epochlint.run.counting import Steps, by_loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.run.counting import Shape

PROMPTS = "prompts"  # 0.14: a batch of prompts, completions are made inside
REPEATED = "repeated"  # 0.15: every prompt stands in the loader as often as it has completions
ROUNDS = "rounds"  # >= 0.16: whole rounds of generation, each used `num_iterations` times; the rest is dropped


def steps(style: str, up: bool, zero_limits: bool) -> Callable[[Shape], Steps]:
    """The steps of a run that counts completions. `up`, `zero_limits`: see `run.counting.by_loader`."""
    loader = by_loader(up, zero_limits)

    def run(shape: Shape) -> Steps:
        if style == PROMPTS:
            return loader(shape)
        generations = _setting(shape, "num_generations", 8)
        if style == REPEATED:
            shape.records *= generations
            return loader(shape)
        micro = micro_batches(shape, generations)
        limit = shape.limit
        if micro == 0 and shape.get("rows").number is not None:
            return Steps(0, 0, 0)  # even with max_steps, nothing runs (trl 0.24, 1.16)
        group = shape.accumulation
        per_epoch = max(1, -(-micro // group) if up else micro // group) if micro else 0
        natural = max(0, ceil(shape.epochs * per_epoch))
        if limit is None or limit < 0 or (limit == 0 and not zero_limits):
            return Steps(per_epoch, natural, natural)
        return Steps(per_epoch, natural, limit)

    return run


def micro_batches(shape: Shape, generations: int) -> int:
    """Micro-batches of a pass: floor(prompts / prompts of a round) x iterations x steps of a round."""
    per_step = shape.per_device * shape.workers
    per_round = int(shape.get("steps_per_generation").number or 0)
    whole = int(shape.get("generation_batch_size").number or 0)
    if whole:
        per_round = max(1, whole // per_step)
    elif not per_round:
        per_round = shape.accumulation
        whole = per_step * per_round
    else:
        whole = per_step * per_round
    prompts = max(1, whole // max(1, generations))  # fewer than one are refused, and have a rule of their own
    return shape.records // prompts * _setting(shape, "num_iterations", 1) * per_round


def _setting(shape: Shape, name: str, default: int) -> int:
    value = shape.get(name).number
    return int(value) if value is not None and value >= 1 else default
