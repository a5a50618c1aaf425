"""What Megatron-Bridge refuses of an override file, and keys that it skips.

Read in megatron-bridge 0.3.1 and 0.6.2 (`training/config.py`, `training/utils/omegaconf_utils.py`) and megatron-core
(`optimizer_param_scheduler.py`), and recorded in tests/conformance. A key that a class does not have is skipped with a
line in the log; the words of a launch must name keys that are there. Keys by version: data/megatron-bridge.json.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.known import LAUNCH
from epochlint.run.observation import Observation
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker

CONSUMER = "Megatron-Bridge"
_SECTIONS = ("train", "scheduler", "optimizer", "checkpoint", "logger")
_STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")
_BY_STEPS = ("lr_decay_iters", "lr_warmup_iters", "lr_wsd_decay_iters")
_BY_SAMPLES = ("lr_decay_samples", "lr_warmup_samples", "lr_wsd_decay_samples")


def check(taker: Taker) -> None:
    found = _Check(taker, CONSUMER, "megatron-bridge")
    found.keys()
    found.lengths()
    found.warmups()
    found.rates()


class _Check(Judge):
    __slots__ = ()

    def keys(self) -> None:
        for layer in self.reading.layers:
            launched = layer.origin == LAUNCH
            blocks = [("config", layer.mapping)] if not launched else []
            blocks += [(name, layer.mapping.get(name)) for name in _SECTIONS]  # type: ignore[misc] # None is left out
            for owner, block in blocks:
                if not isinstance(block, Mapping):
                    continue
                found = list(slips(block, [tables.load("megatron-bridge", owner)], CONSUMER, rejected=launched))
                if launched:
                    found = [one for one in found if not _added(one)]
                odd = {str(one.values["key"]) for one in found}
                own = declared(self.reading, odd, ("megatron",)) if odd else frozenset()
                self.taker.run.observations += [one for one in found if one.values["key"] not in own]

    def lengths(self) -> None:
        steps, samples, epochs = (self.written("train", key) for key in ("train_iters", "train_samples", "num_epochs"))
        if steps and samples:
            self.refuse(("train", "train_samples"), "train_samples stands beside train_iters; only one may be set")
        elif epochs and (steps or samples):
            other = "train_iters" if steps else "train_samples"
            self.refuse(("train", "num_epochs"), f"num_epochs stands beside {other}; only one may be set", "0.6.0")
        for key, since in (("train_samples", ""), ("num_epochs", "0.6.0")):
            value = self.number("train", key)
            if value is not None and value <= 0:
                self.refuse(("train", key), f"{key} must be above 0, not {value:g}", since)
        limit = self.number("train", "train_iters")
        if limit is not None and limit < 0:
            self.refuse(("train", "train_iters"), f"train_iters must not be below 0, but it is {limit:g}")
        if self.number("scheduler", "lr_decay_iters") == 0:
            self.refuse(("scheduler", "lr_decay_iters"), "the decay must take at least one iteration")

    def warmups(self) -> None:
        """Iterations and samples are two ways to say it, and a share is a third."""
        by_steps = [key for key in _BY_STEPS if self._set(key)]
        by_samples = [key for key in _BY_SAMPLES if self._set(key)]
        if by_steps and by_samples:
            self.refuse(("scheduler", by_samples[0]), f"{by_samples[0]} stands beside {by_steps[0]}; use one unit")
        elif by_samples and self.written("train", "train_iters"):
            self.refuse(("scheduler", by_samples[0]), "a run of train_iters has a schedule of iterations")
        elif by_steps and self.written("train", "train_samples"):
            self.refuse(("scheduler", by_steps[0]), "a run of train_samples has a schedule of samples")
        warm = next((key for key in ("lr_warmup_iters", "lr_warmup_samples") if self._set(key)), None)
        if warm is not None and self.written("scheduler", "lr_warmup_fraction"):
            self.refuse(
                ("scheduler", "lr_warmup_fraction"),
                f"lr_warmup_fraction stands beside {warm}; only one may be set",
            )

    def rates(self) -> None:
        top, low = self.number("optimizer", "lr"), self.number("optimizer", "min_lr")
        first = self.number("scheduler", "lr_warmup_init")
        if low is not None and low < 0:
            self.refuse(("optimizer", "min_lr"), "min_lr must not be below 0")
        elif low is not None and top is not None and low > top:
            self.refuse(("optimizer", "min_lr"), f"min_lr {low:g} is above the rate {top:g}")
        if first is not None and top is not None and first > top:
            self.refuse(("scheduler", "lr_warmup_init"), f"lr_warmup_init {first:g} is above the rate {top:g}")
        style = text_of(self.reading.node("scheduler", "lr_decay_style"))
        if style is not None and style not in _STYLES and style.replace("-", "").replace("_", "").isalnum():
            self.refuse(("scheduler", "lr_decay_style"), f"lr_decay_style is one of {', '.join(_STYLES)}, not {style}")
        begin, end = (self.number("scheduler", key) for key in ("start_weight_decay", "end_weight_decay"))
        if begin is not None and end is not None and end < begin:
            self.refuse(
                ("scheduler", "end_weight_decay"), f"it is below the {begin:g} that the weight decay begins with"
            )

    def _set(self, key: str) -> bool:
        """Written, and not 0, which is what the warmups are by default."""
        return self.written("scheduler", key) and self.number("scheduler", key) != 0


def _added(one: Observation) -> bool:
    """`+key=value` adds a key; `~key` takes one away."""
    text = one.span.source.text[one.span.start : one.span.end].lstrip("'\"")
    return text.startswith(("+", "~", "-"))
