"""The budget: what a run will do, by pure arithmetic over its settings.

`budget(run, era, workers)` gives the facts of one scenario. Unknown settings become bounds: more records or epochs
mean more steps, a larger batch means fewer, so the bounds of the inputs give the bounds of the result.
"""

from __future__ import annotations

from math import ceil

from epochlint.run.counting import Shape, every
from epochlint.run.known import (
    DERIVED,
    ON_ESTIMATE,
    ON_PLACEHOLDER,
    ON_RECORDS,
    ON_TABLE,
    ON_WORKERS,
    UNKNOWN,
    WRITTEN,
    Known,
    between,
    resting,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.run.counting import Get, Steps, Warmup
    from epochlint.run.run import Era, Run
    from epochlint.source import Span

MANY = 1 << 40  # stands for "as many as you like" where a bound is needed

# Schedules that end at (almost) zero or fall at all; a constant rate makes few steps less of a loss.
_FLAT = frozenset({"constant", "constant_with_warmup", "reduce_lr_on_plateau", "greedy"})

_NO_LIMIT = Known(None)  # of a trainer without such a setting

Formula = tuple[str, tuple[object, ...]]


class Budget:
    """The facts of one run in one scenario: an era and a number of workers (None where no number is meant).

    Facts are computed when the first of their group is asked for: most runs are judged by few of them. `other`: the
    same run with as many workers in another era, which mostly comes to the same batch.
    """

    __slots__ = ("_facts", "_for_batch", "_other", "era", "run", "workers")

    def __init__(self, run: Run, era: Era, workers: int | None, other: Budget | None = None) -> None:
        self.run = run
        self.era = era
        self.workers = workers
        self._other = other
        self._facts: dict[str, Known | None] = {}
        self._for_batch: dict[str, Known] = {}  # the settings that the batch was made of

    def get(self, name: str) -> Known:
        """A setting in this era."""
        found = self.run.settings.get(name)
        if found is None:
            found = self.era.defaults.get(name)
        return found if found is not None else UNKNOWN

    def fact(self, name: str) -> Known:
        """A fact, or a setting of that name."""
        found = self.derived(name)
        return found if found is not None else self.get(name)

    def derived(self, name: str) -> Known | None:
        """A fact that is computed, not merely taken over from a setting; None where there is none of that name."""
        try:
            return self._facts[name]
        except KeyError:
            compute = COMPUTED.get(name)
            if compute is None:
                return None
            compute(self)
            return self._facts.setdefault(name, None)

    def _tokens(self) -> None:
        """What the number of tokens comes to: over all passes (what hosted services bill), and packed. A range mostly,
        and for an overview only: no rule asks for it."""
        tokens, epochs, length = self.get("tokens"), self.fact("epochs"), self.get("sequence_length")
        self._facts["tokens_trained"] = _times(tokens, epochs)
        packs = UNKNOWN
        if self.get("packing").value is True and length.number and tokens.low is not None:
            packs = _times(tokens, Known(1), length)
            rows = self.get("rows")
            if self.get("packing_joins").value is True and rows.high is not None and packs.high is not None:
                # joined, a sequence stays half empty at worst, and there are no more of them than rows
                high = min(rows.high, 2 * packs.high)
                packs = between(min(packs.low or 0, high), high, basis=packs.basis | rows.basis)
        self._facts["packed_sequences"] = packs
        self._facts["packed_steps"] = _times(packs, epochs, self.fact("effective_batch"))

    def _trainer(self) -> None:
        self._facts["trainer"] = Known(self.run.trainer, WRITTEN)

    # Batch ------------------------------------------------------------------------------------------------------------

    def _batches(self) -> None:
        facts, other, count = self._facts, self._other, self.era.counting.batch
        if other is not None and other.era.counting.batch is count and self._gets_what(other):
            for name in ("gpus", "per_device_batch", "accumulation", "effective_batch"):
                facts[name] = other._facts[name]
            return
        used = self._for_batch

        def get(name: str) -> Known:
            used[name] = known = self.get(name)
            return known

        facts["gpus"] = gpus = self._gpus(get)
        batch = count(get, self.workers)
        facts["per_device_batch"], facts["accumulation"] = batch.per_device, batch.accumulation
        facts["effective_batch"] = resting(batch.effective, gpus.basis)

    def _gets_what(self, other: Budget) -> bool:
        """Whether all that another's batch was made of is the same here."""
        other.fact("effective_batch")
        for name, known in other._for_batch.items():
            if self.get(name) is not known:
                return False
        return bool(other._for_batch)  # empty where the other took its own from a third

    def _gpus(self, get: Get) -> Known:
        gpus = get("gpus")
        parallel = get("parallel").number or 1
        if gpus.number is not None:
            if parallel == 1:
                return gpus
            return Known(
                max(1, int(gpus.number // parallel)),
                DERIVED,
                formula=("{} / {}", (gpus.number, parallel)),
                key_span=gpus.key_span,
            )
        if self.workers is not None and not gpus.unknown:
            return gpus
        return Known(self.workers, DERIVED, basis=ON_WORKERS) if self.workers is not None else between(1, None)

    # Length -----------------------------------------------------------------------------------------------------------

    def _records(self) -> None:
        rows = self.get("rows")
        if rows.unknown:
            rows = between(1, None, origin=rows.origin, basis=rows.basis)
        records = self.era.counting.records(rows, self.get)
        basis = ON_RECORDS | rows.basis | (ON_PLACEHOLDER if self.run.placeholder else 0)
        self._facts["records"] = resting(records, basis)

    def _limit(self) -> None:
        self._facts["max_steps"] = self.run.settings.get("max_steps", _NO_LIMIT)

    def _lengths(self) -> None:
        facts = self._facts
        records, limit, epochs = self.fact("records"), self.fact("max_steps"), self.get("epochs")
        per_device, accumulation = self.fact("per_device_batch"), self.fact("accumulation")
        effective = self.fact("effective_batch")
        basis = records.basis | effective.basis | (epochs.basis & (ON_ESTIMATE | ON_TABLE))
        per_epoch = natural = total = UNKNOWN
        stopped = limit.number
        bounds = None
        if self.era.counting.steps is not None and self._countable() and _possible(per_device, accumulation, effective):
            low = self._corner(
                records.low or 0, per_device.high, accumulation.high, effective.high, epochs.low, stopped
            )
            high = None
            if records.high is not None and (epochs.high is not None or stopped is not None):
                most = epochs.high if epochs.high is not None else 1
                fewest = (per_device.low or 1, accumulation.low or 1, effective.low or 1)
                high = self._corner(records.high, *fewest, most, stopped)
            bounds = (low, high)
        if bounds is not None:
            low, high = bounds
            formula = (
                _pass_formula(records, effective, low.per_epoch)
                if high is not None and low.per_epoch == high.per_epoch
                else None
            )
            per_epoch = between(low.per_epoch, high.per_epoch if high else None, basis=basis, formula=formula)
            if not epochs.unknown:
                natural = between(low.natural, high.natural if high else None, basis=basis)
        if stopped is not None:
            total = self._limited(bounds, int(stopped), basis, limit)
        elif limit.exact and bounds is not None and not epochs.unknown:
            low, high = bounds
            total = between(low.total, high.total if high else None, basis=basis)
            if total.exact:
                total.formula = _total_formula(total, records, effective, epochs, per_epoch)
            total.key_span = epochs.key_span
        facts["steps_per_epoch"], facts["natural_steps"], facts["total_steps"] = per_epoch, natural, total
        facts["epochs"] = _passes(limit, epochs, per_epoch, natural, total)

    def _limited(self, bounds: tuple[Steps, Steps | None] | None, stopped: int, basis: int, limit: Known) -> Known:
        """The total under a written limit: mostly the limit, unless this trainer stops earlier by itself."""
        if bounds is None:
            return Known(stopped, limit.origin, key_span=limit.key_span, formula="max_steps")
        low, high = bounds
        if high is None:  # however much data there is, a limit ends the run
            high = self._corner(MANY, 1, 1, 1, 1, stopped)
        if low.total == high.total == stopped:
            return Known(stopped, limit.origin, key_span=limit.key_span, formula="max_steps")
        return between(low.total, high.total, basis=basis, key_span=limit.key_span)

    def _corner(
        self,
        records: float,
        per_device: float | None,
        accumulation: float | None,
        effective: float | None,
        epochs: float | None,
        limit: float | None,
    ) -> Steps:
        """The steps at one end of the bounds."""
        steps = self.era.counting.steps
        assert steps is not None
        drop_last = self.get("drop_last")
        shape = Shape(
            int(records),
            int(per_device or MANY),
            int(accumulation or MANY),
            self.workers or 1,
            epochs if epochs is not None else 0.0,
            int(limit) if limit is not None else None,
            drop_last.exact and bool(drop_last.value),
            int(effective or MANY),
            self.get,
        )
        return steps(shape)

    def _countable(self) -> bool:
        """Whether rows lead to steps at all: packing joins rows, a stream has no end."""
        for name in ("packing", "streaming", "batch_unknown"):
            known = self.run.settings.get(name)
            if name == "packing" and self.get("packing_joins").value is True:
                continue  # the counting bounds the packs by the rows
            if known is not None and (not known.exact or known.value):
                return False
        return True

    # Warmup -----------------------------------------------------------------------------------------------------------

    def _warm(self) -> None:
        facts = self._facts
        facts["warmup_steps"] = facts["warmup_fraction"] = UNKNOWN
        counting = self.era.counting
        warmup = counting.warmup(self.get) if counting.warmup is not None else None
        if warmup is None:
            return
        total, natural = self.fact("total_steps"), self.fact("natural_steps")
        facts["warmup_in_steps"] = Known(warmup.share is None)
        place = self.get(warmup.key).key_span if warmup.key else None
        if total.number is not None and warmup.of_natural and natural.number is None:
            least = warmup.steps(int(total.number), int(natural.low or 0))
            most = warmup.steps(int(total.number), int(natural.high) if natural.high is not None else MANY)
            facts["warmup_steps"] = between(least, most, key_span=place, basis=total.basis | natural.basis)
            if total.number > 0:
                facts["warmup_fraction"] = between(least / total.number, most / total.number, key_span=place)
        elif total.number is not None:
            steps = warmup.steps(int(total.number), int(natural.number if natural.number is not None else total.number))
            formula = (warmup.formula, (total.value,)) if warmup.formula else None
            facts["warmup_steps"] = known = Known(steps, DERIVED, key_span=place, formula=formula, basis=total.basis)
            if total.number > 0:
                facts["warmup_fraction"] = Known(
                    steps / total.number,
                    DERIVED,
                    key_span=place,
                    basis=total.basis,
                    formula=("{} / {}", (known.value, total.value)),
                )
        else:
            self._warm_between(warmup, total, natural, place)

    def _warm_between(self, warmup: Warmup, total: Known, natural: Known, place: Span | None) -> None:
        """The warmup of a run whose total is not one number."""
        facts = self._facts
        low = total.low or 0
        at_low = warmup.steps(int(low), int(natural.low or low))
        at_high = warmup.steps(int(total.high), int(natural.high or total.high)) if total.high is not None else None
        if warmup.share is None:
            # A number of steps, whatever the total is.
            facts["warmup_steps"] = between(at_low, at_low, key_span=place)
            most = at_low / low if low > 0 else None
            least = at_low / total.high if total.high else 0.0
            facts["warmup_fraction"] = between(least, most, key_span=place, basis=total.basis)
            return
        share, rounding = warmup.share
        facts["warmup_steps"] = between(at_low, at_high, key_span=place, basis=total.basis)
        slack = 1 / low if low > 0 else 1.0
        least, most = (share, share + slack) if rounding == "ceil" else (max(0.0, share - slack), share)
        facts["warmup_fraction"] = between(least, most, key_span=place, basis=total.basis)

    def _schedule(self) -> None:
        scheduler = self.get("scheduler")
        if scheduler.exact and scheduler.value is not None:
            name = str(scheduler.value)
            self._facts["warmup_used"] = Known(name not in self.era.counting.unwarmed)
            self._facts["decays"] = Known(name not in _FLAT)
        if self.get("always_warmed").value:
            self._facts["warmup_used"] = Known(True)

    # Cadence ----------------------------------------------------------------------------------------------------------

    def _evaluations(self) -> None:
        self._facts["evaluations"] = self._happening(self.era.counting.evaluations)

    def _checkpoints(self) -> None:
        self._facts["checkpoints"] = self._happening(self.era.counting.checkpoints)

    def _intervals(self) -> None:
        for name in ("eval", "save", "logging"):
            written = self.get(f"{name}_steps")
            interval = written.number
            if interval is not None and interval > 0:
                if interval >= 1:
                    self._facts[f"{name}_every"] = Known(int(interval), key_span=written.key_span)
                    continue
                total = self.fact("total_steps")
                if total.number is not None:
                    self._facts[f"{name}_every"] = Known(every(interval, int(total.number)), basis=total.basis)

    def _happening(self, count: Callable[[Get, int, int], int | None] | None) -> Known:
        if count is None:
            return UNKNOWN
        total, per_epoch = self.fact("total_steps"), self.fact("steps_per_epoch")
        get: Get = self.fact  # an epoch's steps can need the batch
        if total.number is not None and (per_epoch.number is not None or per_epoch.unknown or total.origin != DERIVED):
            happened = count(get, int(total.number), int(per_epoch.number or 0))
            return UNKNOWN if happened is None else Known(int(happened), basis=total.basis)
        low = count(get, int(total.low or 0), int(per_epoch.high or 0))
        high = count(get, int(total.high if total.high is not None else MANY), int(per_epoch.low or 1))
        if low is None or high is None:
            return between(low, None, basis=total.basis) if low is not None else UNKNOWN
        if low != high and total.high is None:
            return between(min(low, high), None, basis=total.basis)
        return between(min(low, high), max(low, high), basis=total.basis)


COMPUTED: dict[str, Callable[[Budget], None]] = {
    "gpus": Budget._batches,
    "per_device_batch": Budget._batches,
    "accumulation": Budget._batches,
    "effective_batch": Budget._batches,
    "records": Budget._records,
    "max_steps": Budget._limit,
    "steps_per_epoch": Budget._lengths,
    "natural_steps": Budget._lengths,
    "total_steps": Budget._lengths,
    "epochs": Budget._lengths,
    "warmup_steps": Budget._warm,
    "warmup_fraction": Budget._warm,
    "warmup_in_steps": Budget._warm,
    "warmup_used": Budget._schedule,
    "decays": Budget._schedule,
    "evaluations": Budget._evaluations,
    "checkpoints": Budget._checkpoints,
    "eval_every": Budget._intervals,
    "save_every": Budget._intervals,
    "logging_every": Budget._intervals,
    "trainer": Budget._trainer,
    "tokens_trained": Budget._tokens,
    "packed_sequences": Budget._tokens,
    "packed_steps": Budget._tokens,
}
"""The facts that are computed, with what computes them."""

TAKEN = ("rows", "learning_rate", "scheduler", "weight_decay", "method", "tuning", "messages", "tokens")
"""The facts that are settings under the same names."""


def _times(one: Known, other: Known, divided: Known | None = None, basis: int = 0) -> Known:
    """Bounds of a product, or of one part for each of so many, rounded up."""
    divisor = divided if divided is not None else Known(1)
    low = None if one.low is None or other.low is None or not divisor.high else one.low * other.low / divisor.high
    high = None if one.high is None or other.high is None or not divisor.low else one.high * other.high / divisor.low
    basis |= one.basis | other.basis | divisor.basis
    return between(None if low is None else ceil(low), None if high is None else ceil(high), basis=basis)


def _passes(limit: Known, epochs: Known, per_epoch: Known, natural: Known, total: Known) -> Known:
    """Epochs that the run makes: as written, or what a step limit comes to."""
    if (limit.number is None and limit.exact) or (natural.number is not None and natural.number == total.number):
        return epochs
    if total.number is None or not per_epoch.low or per_epoch.low < 0:
        return UNKNOWN
    low = total.number / per_epoch.high if per_epoch.high else None
    passes = between(low, total.number / per_epoch.low, basis=per_epoch.basis, key_span=limit.key_span)
    if passes.exact:
        passes.formula = ("{} / {}", (total.value, per_epoch.value))
    return passes


def _possible(*numbers: Known) -> bool:
    """No factor of the batch is below one: such a run has no arithmetic, and a rule of its own."""
    return all(known.low is None or known.low >= 1 for known in numbers)


def _total_formula(total: Known, records: Known, effective: Known, epochs: Known, per_epoch: Known) -> Formula | None:
    """The sum that gives the total: passes times their steps, or one division over the whole run."""
    if epochs.number is None:
        return None
    if per_epoch.number is not None and ceil(epochs.number * per_epoch.number) == total.number:
        return "{} x {}", (epochs.number, per_epoch.value)
    if (
        records.number is not None
        and effective.number
        and ceil(records.number * epochs.number / effective.number) == total.number
    ):
        sum_ = (records.value, epochs.number, effective.value)
        whole = records.number * epochs.number % effective.number == 0
        return "{} records x {} / {}" + ("" if whole else ", rounded up"), sum_
    return None


def _pass_formula(records: Known, effective: Known, per_epoch: float) -> Formula | None:
    """The division that gives a pass's steps, with the way in which it is rounded."""
    if records.number is None or not effective.number:
        return None
    exact = records.number / effective.number
    rounded = "" if exact == per_epoch else ", rounded up" if per_epoch == ceil(exact) else ", rounded down"
    return "{} records / {}" + rounded, (records.value, effective.value)
