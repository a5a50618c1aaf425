"""Scenarios: the worlds that a run's unknowns leave possible.

A finding must hold in every one of them. Numbers of workers: facts that only fall or rise with it are decided by its
two ends, 1 and "as many as you like"; those in between catch what moves up and down (rounded shares, divisibility).
"""

from __future__ import annotations

from epochlint.run.budget import Budget
from epochlint.run.known import Known, hull

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.run.run import Era, Run

WORKERS = (1, 1 << 30, 64, 8, 2, 4, 16, 32, 3, 6, 12, 24, 5, 7)
SHOWN = 64  # the largest number of workers that `explain` names


class Scenarios:
    """The scenarios of a run, each budget computed once and only when asked for.

    The first is the likeliest to contradict a finding (one worker, newest era), so that a rule that does not hold
    there costs one evaluation.
    """

    __slots__ = ("_budgets", "_first", "run", "workers")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.workers = _workers(run)
        self._budgets: dict[tuple[int, int | None], Budget] = {}
        self._first: dict[int | None, Budget] = {}  # the first that was computed for each number of workers

    def __iter__(self) -> Iterator[Budget]:
        for workers in self.workers:
            for index in range(len(self.run.eras) - 1, -1, -1):
                yield self.budget(index, workers)

    @property
    def first(self) -> Budget:
        return self.budget(len(self.run.eras) - 1, self.workers[0])

    def budget(self, era: int, workers: int | None) -> Budget:
        key = (era, workers)
        found = self._budgets.get(key)
        if found is None:
            other = self._first.get(workers)
            found = self._budgets[key] = Budget(self.run, self.run.eras[era], workers, other)
            if other is None:
                self._first[workers] = found
        return found

    def fact(self, name: str) -> Known:
        """A fact over all scenarios: the value they share, or its bounds."""
        return hull(budget.fact(name) for budget in self)

    def by_era(self, name: str) -> list[tuple[Era, Known]]:
        """A fact in each era, over all numbers of workers."""
        return [
            (era, hull(self.budget(index, workers).fact(name) for workers in self.workers))
            for index, era in enumerate(self.run.eras)
        ]


def _workers(run: Run) -> tuple[int | None, ...]:
    gpus = run.setting("gpus")
    if gpus.number is None:
        if gpus.high is not None or gpus.low not in (None, 1):
            low = int(gpus.low or 1)
            high = int(gpus.high) if gpus.high is not None else 1 << 30
            return tuple(sorted({low, high, *(count for count in WORKERS if low <= count <= high)}))
        return WORKERS
    parallel = run.setting("parallel").number or 1
    return (max(1, int(gpus.number // parallel)),)
