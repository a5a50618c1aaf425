"""How Axolotl counts, by version.

Read in `utils/trainer.py` (`calculate_total_num_steps`), `core/builders/base.py` (`_configure_warmup_and_logging`,
`_configure_save_and_eval_strategy`) and `utils/config/__init__.py` (`normalize_config`) of the tags named beside each
fact, and recorded in tests/conformance.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from epochlint.run.counting import Batch, Counting, Steps, Warmup, after, by_loader, fixed, happenings, times
from epochlint.run.known import Known, between
from epochlint.run.run import Era
from epochlint.run.versions import VersionRange, version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.run.counting import Get, Shape
    from epochlint.run.versions import Versions

PREFERENCE = frozenset({"dpo", "gdpo", "ipo", "orpo", "kto", "simpo"})

# transformers as pinned by Axolotl (setup.py, pyproject.toml of the tags): first Axolotl version -> transformers.
_PINS = (
    ("0.4.0", "4.37.0"),
    ("0.5.0", "4.46.1"),
    ("0.6.0", "4.47.1"),
    ("0.8.0", "4.50.3"),
    ("0.9.0", "4.51.3"),
    ("0.10.0", "4.52.3"),
    ("0.13.0", "4.57.1"),
    ("0.16.0", "5.4.0"),
    ("0.19.0", "5.16.1"),
    ("0.20.0", "5.17.0"),
    ("0.21.0", "5.20.1"),
)


class Segment:
    """Axolotl versions from `low` up to, not including, `below` that count alike."""

    __slots__ = ("below", "label", "low")

    def __init__(self, low: str, below: str | None, label: str) -> None:
        self.low = low
        self.below = below
        self.label = label


SEGMENTS = (
    Segment("0.4", "0.9", "<= 0.8"),
    Segment("0.9", "0.10", "0.9"),
    Segment("0.10", "0.13", "0.10-0.12"),
    Segment("0.13", "0.15", "0.13-0.14"),
    Segment("0.15", "0.16", "0.15"),
    Segment("0.16", None, ">= 0.16"),
)


OLDEST = "0.9"
"""The oldest version considered where nothing says which one is used."""


def possible_versions(versions: Versions, newest_key: str | None = None) -> VersionRange:
    """The Axolotl versions that are possible; `newest_key` is the version in which the config's newest key appeared."""
    known = versions.of("axolotl")
    oldest = newest_key if newest_key is not None and version_key(newest_key) > version_key(OLDEST) else OLDEST
    return known.narrowed(VersionRange(oldest)) if known.high is None and known.low is None else known


def eras(versions: Versions, method: Known, range_: VersionRange) -> list[Era]:
    """The possible eras for a range of Axolotl versions, oldest first."""
    possible = [segment for segment in SEGMENTS if range_.meets(segment.low, segment.below)] or [SEGMENTS[0]]
    preference = method.exact and str(method.value) in PREFERENCE
    found = []
    for segment in possible:
        own = range_.narrowed(VersionRange(segment.low, None, segment.below))
        own_transformers = versions.of("transformers").narrowed(_pinned(own.low, own.high, own.below))
        label = segment.label if len(possible) > 1 else (range_.low if range_.pinned and range_.low else "")
        found.append(
            Era(
                label,
                _counting(segment.low, preference, own_transformers.at_least("4.52") is not False),
                {"axolotl": own, "transformers": own_transformers},
            )
        )
    return found


@lru_cache(maxsize=1000)
def _pinned(low: str | None, high: str | None, below: str | None) -> VersionRange:
    """The transformers versions that a range of Axolotl versions pins."""
    own = VersionRange(low, high, below)
    pins = [
        pin
        for index, (first, pin) in enumerate(_PINS)
        if own.meets(first if index else None, _PINS[index + 1][0] if index + 1 < len(_PINS) else None)
    ]
    return VersionRange(pins[0], pins[-1]) if pins else VersionRange()


@lru_cache(maxsize=100)
def _counting(low: str, preference: bool, ceils: bool) -> Counting:
    """`ceils`: transformers rounds the last accumulation up (>= 4.52), or may."""
    return Counting(
        _steps(low, preference, ceils),
        _warmup(zero_is_unset=low == "0.10", preference=preference),
        _batch,
        _split,
        evaluations=_happens("eval_strategy", "eval_steps", at_end=low == "0.16"),
        checkpoints=_happens("save_strategy", "save_steps", at_end=True),
        unwarmed=frozenset({"constant", "reduce_lr_on_plateau"}),
    )


def _batch(get: Get, workers: int | None) -> Batch:
    """`micro_batch_size` x `gradient_accumulation_steps` x workers. `batch_size` is not among the factors: the schema
    fills accumulation with 1 before it could be derived (`schemas/training.py`, default 1 in 0.5 to 0.19)."""
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    return Batch(per_device, accumulation, times(per_device, accumulation, workers))


def _split(rows: Known, get: Get) -> Known:
    """Rows after `val_set_size`: a number of rows above 1, else a share (`datasets`, `train_test_split`: the test part
    is rounded up). `dataset_exact_deduplication` leaves out what stands there twice, nobody knows how much."""
    if get("deduplicated").value is True and rows.high is not None:
        rows = between(min(1, rows.low or 0), rows.high, basis=rows.basis)
    shards = get("shards").number
    if shards:
        index = int(get("shard").number or 0)
        rows = after(rows, lambda n: int(n // shards + (index < n % shards)), f"{{0}} / {shards:g} shards")
    split = get("validation_split")
    if split.unknown:
        return Known(exact=False, low=0, high=rows.high, basis=rows.basis)
    size = split.number or 0
    if size == 0:
        return rows
    if size > 1:
        return after(rows, lambda n: n - int(size), f"{{0}} - {int(size)}")
    return after(rows, lambda n: n - ceil(size * n), f"{{0}} - ceil({size:g} x {{0}})")


def _steps(low: str, preference: bool, ceils: bool) -> Callable[[Shape], Steps]:
    """Since 0.10 one ceil over the whole run, passed on as `max_steps`; before, SFT left the count to the Trainer.

    `batch_size` beside `micro_batch_size` enters the count, though nothing trains with it.
    """
    trainer_counts = by_loader(ceils, zero_limits=False)
    by_trainer = low in ("0.4", "0.9") and not preference

    def steps(shape: Shape) -> Steps:
        stated = shape.get("stated_batch").number
        workers = 1 if shape.get("ddp").value is False else shape.workers
        batch = int(stated * workers) if stated else shape.effective * workers // shape.workers
        total = max(0, ceil(shape.records * shape.epochs / batch))
        per_epoch = -(-shape.records // shape.effective)
        if by_trainer or shape.get("trainer_counts").value is True:
            # The warmup is still taken of Axolotl's own count.
            counted = trainer_counts(shape)
            if shape.limit is None:
                return Steps(counted.per_epoch, total, counted.natural)
            return Steps(counted.per_epoch, total, min(total, shape.limit) if low == "0.4" else shape.limit)
        return Steps(per_epoch, total, shape.limit or total)

    return steps


def _warmup(zero_is_unset: bool, preference: bool) -> Callable[[Get], Warmup | None]:
    """`warmup_steps`, else int(ratio x total), else int(0.03 x total) up to 100; and 1 becomes 2.

    The total is what the epochs give, for SFT no more than `max_steps`. From 0.10 to 0.12 a written 0 fell through to
    the ratio or the default.
    """

    def of_total(share: float, most: int | None) -> Callable[[int, int], float]:
        def steps(total: int, natural: int) -> float:
            base = natural if preference else min(natural, total)
            count = int(share * base)
            return _not_one(count if most is None else min(count, most))

        return steps

    def warmup(get: Get) -> Warmup | None:
        steps, ratio = get("warmup_steps"), get("warmup_ratio")
        if steps.unknown or ratio.unknown:
            return None
        if get("trainer_counts").value is True and not steps.number:
            return fixed(0, "")  # a share of max_steps: -1
        if steps.number is not None and not (zero_is_unset and steps.number == 0):
            return fixed(_not_one(int(steps.number)))
        if ratio.number is not None and not (zero_is_unset and ratio.number == 0):
            share = ratio.number
            text = f"floor({{}} x {share:g})"
            return Warmup(of_total(share, None), "warmup_ratio", (share, "floor"), text, of_natural=True)
        return Warmup(of_total(0.03, 100), "", (0.03, "floor"), "floor({} x 0.03), at most 100", of_natural=True)

    return warmup


def _not_one(steps: int) -> int:
    return 2 if steps == 1 else steps


def _happens(strategy_key: str, steps_key: str, at_end: bool) -> Callable[[Get, int, int], int | None]:
    def count(get: Get, total: int, per_epoch: int) -> int | None:
        strategy = get(strategy_key)
        if not strategy.exact:
            return None
        return happenings(str(strategy.value), get(steps_key).number, total, per_epoch, at_end)

    return count
