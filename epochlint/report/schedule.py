"""The learning rate over the run, drawn with eighth blocks."""

from __future__ import annotations

from math import cos, pi, sqrt

from epochlint.run.known import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Checked

_WIDTH, _HEIGHT = 60, 4
_BLOCKS = " \N{LOWER ONE EIGHTH BLOCK}▂▃▄▅▆▇█"
_FLAT = frozenset({"constant", "constant_with_warmup"})


def share(scheduler: str, step: int, total: int, warmup: float) -> float | None:
    """The learning rate before update `step` (0-based) as a share of its peak; None for a schedule not drawn.

    As transformers' `optimization.py` has them (4.57.6): linear, cosine, constant, constant_with_warmup, polynomial
    (drawn as linear, its default power), inverse_sqrt.
    """
    if scheduler == "constant":
        return 1.0
    if warmup > 0 and step < warmup:
        return step / warmup
    if scheduler == "constant_with_warmup":
        return 1.0
    after = (step - warmup) / max(1.0, total - warmup)
    if scheduler in ("linear", "polynomial"):
        return max(0.0, 1.0 - after)
    if scheduler == "cosine":
        return max(0.0, 0.5 * (1.0 + cos(pi * min(1.0, after))))
    if scheduler == "inverse_sqrt":
        scale = warmup or 10_000
        return 1.0 / sqrt((step + scale - warmup) / scale) if warmup else 1.0 / sqrt((step + scale) / scale)
    return None


def plot(checked: Checked) -> list[str]:
    """Lines of a plot; empty where total, warmup or schedule are not known."""
    fact = checked.scenarios.fact
    total, warmup, scheduler = fact("total_steps"), fact("warmup_steps"), fact("scheduler")
    if total.number is None or warmup.number is None or not scheduler.exact or total.number < 2:
        return []
    steps = int(total.number)
    columns = []
    for column in range(_WIDTH):
        at = share(str(scheduler.value), round(column * (steps - 1) / (_WIDTH - 1)), steps, warmup.number)
        if at is None:
            return []
        columns.append(at)
    lines = []
    for row in range(_HEIGHT - 1, -1, -1):
        cells = (min(8, max(0, round((value * _HEIGHT - row) * 8))) for value in columns)
        lines.append("".join(_BLOCKS[cell] for cell in cells).rstrip())
    while lines and not lines[0]:  # a run that never comes near its peak leaves the top empty
        lines.pop(0)
    rate = fact("learning_rate")
    peak = f"peak {show(rate.value)}, " if rate.number is not None else ""
    best = max(columns)
    reached = "" if best > 0.999 else f", highest {best * 100:.0f} % of the peak"
    lines.append(f"{peak}{steps:,} steps{reached}")
    return lines
