"""Two runs side by side: what changed, by what factor, and what the learning rate would be by the two rules."""

from __future__ import annotations

import json
from math import sqrt

from epochlint.report.explain import value_text
from epochlint.report.json_report import fact_json
from epochlint.report.markdown import cell, code
from epochlint.report.places import printable
from epochlint.report.text import plural
from epochlint.run.known import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Checked
    from epochlint.run.known import Known
    from epochlint.run.run import Run

# fact -> what a person calls it
ROWS = (
    ("records", "records"),
    ("per_device_batch", "per-device batch"),
    ("accumulation", "accumulation"),
    ("gpus", "workers (GPUs)"),
    ("effective_batch", "effective batch"),
    ("epochs", "epochs"),
    ("steps_per_epoch", "steps per epoch"),
    ("total_steps", "total steps"),
    ("warmup_steps", "warmup steps"),
    ("warmup_fraction", "warmup share"),
    ("learning_rate", "learning rate"),
    ("scheduler", "schedule"),
    ("evaluations", "evaluations"),
    ("checkpoints", "checkpoints"),
)


class Pair:
    """Two forms of a run."""

    __slots__ = ("new", "new_label", "old", "old_label")

    def __init__(self, old: Checked, new: Checked, old_label: str, new_label: str) -> None:
        self.old = old
        self.new = new
        self.old_label = old_label
        self.new_label = new_label

    def facts(self, name: str) -> tuple[Known, Known]:
        return self.old.scenarios.fact(name), self.new.scenarios.fact(name)

    @property
    def factor(self) -> float | None:
        """By what the effective batch grew; with unknown GPUs on both sides, at the same number of them."""
        old, new = self.facts("effective_batch")
        if old.number and new.number:
            return new.number / old.number
        if len(self.old.scenarios.workers) > 1 and len(self.new.scenarios.workers) > 1:
            one = self.old.scenarios.first.fact("effective_batch").number
            other = self.new.scenarios.first.fact("effective_batch").number
            return other / one if one and other else None
        return None

    def rates(self) -> tuple[float, float] | None:
        """The old learning rate by the square-root rule and by the linear rule."""
        rate, factor = self.facts("learning_rate")[0].number, self.factor
        return (rate * sqrt(factor), rate * factor) if rate is not None and factor is not None else None

    @property
    def differs(self) -> bool:
        """Whether any number that is shown is another."""
        return any(before != after for _, before, after in self.rows())

    def rows(self) -> list[tuple[str, str, str]]:
        """What a person calls a fact, and its old and new value as text."""
        return [
            (words, value_text(self.old, name, old), value_text(self.new, name, new))
            for name, words in ROWS
            for old, new in (self.facts(name),)
        ]


class Comparison:
    """The runs that stand on both sides, and those that do on one."""

    __slots__ = ("added", "pairs", "removed")

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs = pairs
        self.added: list[Run] = []
        self.removed: list[Run] = []

    @property
    def changed(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.differs]


def comparison_text(found: Comparison) -> str:
    """Every run that changed, and how many did not."""
    # Of one run that was asked for, everything is shown.
    shown = found.pairs if len(found.pairs) == 1 else found.changed
    parts = [_text(pair) for pair in shown]
    others = [f"  {word:<7} {run.path}" for word, runs in _others(found) for run in runs]
    if others:
        parts.append("\n".join(map(printable, ["on one side only:", *others])))
    same = len(found.pairs) - len(shown)
    if same:
        parts.append(f"{plural(same, 'run')} without a change.")
    return "\n\n".join(parts) if parts else "No training run on both sides."


def _others(found: Comparison) -> tuple[tuple[str, list[Run]], ...]:
    return ("new", found.added), ("gone", found.removed)


def _text(pair: Pair) -> str:
    lines = [f"{pair.old_label} -> {pair.new_label}  {pair.new.run.trainer}"]
    for name, words in ROWS:
        row = _row(pair, name, words)
        if row:
            lines.append(row)
    factor, rates = pair.factor, pair.rates()
    if factor is not None and factor != 1 and rates is not None:
        root, line = rates
        lines.append(
            f"  the batch is {factor:.3g} times the old one: the square-root rule gives a rate of {show(root)},"
            f" the linear rule {show(line)}"
        )
    return "\n".join(map(printable, lines))


def _row(pair: Pair, name: str, words: str) -> str:
    old, new = pair.facts(name)
    before, after = value_text(pair.old, name, old), value_text(pair.new, name, new)
    if before == after == "unknown" or (before == after == "none"):
        return ""
    change = ""
    if old.number and new.number is not None and old.number != new.number:
        change = f"x {new.number / old.number:.3g}"
    elif before != after:
        change = "changed"
    return f"  {words:<18} {before:<24} {after:<24} {change}".rstrip()


def comparison_markdown(found: Comparison) -> str:
    """The same for a pull request's summary; only what changed."""
    lines: list[str] = []
    for pair in found.changed:
        rows = [f"| {words} | {cell(old)} | {cell(new)} |" for words, old, new in pair.rows() if old != new]
        lines += [f"### {code(pair.new.run.path)}", "", "| | before | after |", "|---|---|---|", *rows]
        rates = pair.rates()
        if rates is not None and pair.factor != 1:
            lines += ["", f"Square-root rule: {show(rates[0])}; linear rule: {show(rates[1])}."]
        lines.append("")
    lines += [f"- {word}: {code(run.path)}" for word, runs in _others(found) for run in runs]
    return "\n".join(lines)


def comparison_json(found: Comparison) -> str:
    runs = [
        {
            "old": pair.old_label,
            "new": pair.new_label,
            "trainer": pair.new.run.trainer,
            "changed": pair.differs,
            "batch_factor": pair.factor,
            "rates": dict(zip(("square_root", "linear"), pair.rates() or (None, None), strict=True)),
            "facts": {
                name: {"old": fact_json(pair.facts(name)[0]), "new": fact_json(pair.facts(name)[1])} for name, _ in ROWS
            },
        }
        for pair in found.pairs
    ]
    sides = {name: [run.path for run in side] for name, side in (("added", found.added), ("removed", found.removed))}
    return json.dumps({"version": 1, "runs": runs, **sides}, indent=2, ensure_ascii=False)
