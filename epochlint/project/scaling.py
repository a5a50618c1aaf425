"""Recipes that multiply the learning rate that is passed by the batch."""

from __future__ import annotations

import re

from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.python.model import PythonDocument

# "args.blr * eff_batch_size / 256": a base rate, times something, over the batch that it was chosen for
_SCALED = re.compile(r"\b(\w*(?:lr|learning_rate))\s*\*\s*([^#\n/]{1,100})/\s*([0-9]{1,6})\b")
_OPTIMIZERS = ("AdamW", "Adam", "SGD", "Adafactor", "Lion")


def may_scale(text: str) -> bool:
    """Whether a text can be such a recipe: a training loop of somebody's own may know no trainer."""
    return "optim" in text and "batch" in text and _SCALED.search(text) is not None


def scaled_rates(python: PythonDocument) -> list[Observation]:
    """The rates of optimizers that a script computes from a rate and a batch."""
    found = _SCALED.search(python.source.text)
    if found is None:
        return []
    rate, factor, base = found.groups()
    observations = []
    for call in python.calls:
        entry = call.arguments.entry("lr") if call.name in _OPTIMIZERS else None
        if entry is None:
            continue
        names: frozenset[str] = getattr(entry.value, "names", frozenset())
        if rate in names and any("batch" in name for name in names):
            reason = f"the rate that is passed is {rate} x the batch / {base}: it changes with the batch and the GPUs"
            values: dict[str, object] = {"factor": factor.strip(), "reason": reason}
            observations.append(Observation("rate_scaled", entry.key_span, values))
    return observations
