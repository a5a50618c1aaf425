"""What NeMo Automodel refuses of its step scheduler and its schedule of rates.

Read in nemo-automodel 0.2.0 to 0.7.0 (`components/training/step_scheduler.py`, `components/optim/scheduler.py`,
`optimizer.py`) and recorded in tests/conformance. Unknown keys of both sections are arguments that their classes do not
have: a TypeError. Keys by version: data/nemo-automodel.json.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker

CONSUMER = "NeMo Automodel"
_STEPS = "step_scheduler"
_RATES = "lr_scheduler"
_STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")
# Counts that must be above 0, and since when that is asked.
_POSITIVE = {
    "max_steps": "", "num_epochs": "", "val_every_steps": "", "ckpt_every_steps": "0.5.0",
    "log_remote_every_steps": "0.3.0", "gc_every_steps": "0.4.0",
}  # fmt: skip


def check(taker: Taker) -> None:
    found = _Check(taker, CONSUMER, "nemo-automodel")
    found.keys()
    found.counts()
    if taker.reading.mapping(_RATES) is not None:
        found.rates()


class _Check(Judge):
    __slots__ = ()

    def keys(self) -> None:
        """Keys that no version of the class has; a copy in the project may have more."""
        for section in (_STEPS, _RATES):
            table = tables.load("nemo-automodel", section)
            for layer in self.reading.layers:
                block = layer.mapping.get(section)
                if not isinstance(block, Mapping):
                    continue
                found = list(slips(block, [table], CONSUMER, rejected=True))
                odd = {str(one.values["key"]) for one in found}
                own = declared(self.reading, odd, ("nemo_automodel",)) if odd else frozenset()
                self.taker.run.observations += [one for one in found if one.values["key"] not in own]

    def counts(self) -> None:
        for key, since in _POSITIVE.items():
            value = self.number(_STEPS, key)
            if value is not None and value <= 0:
                divides = key == "ckpt_every_steps" and value == 0  # before it was asked for
                self.refuse((_STEPS, key), f"{key} must be above 0, not {value:g}", "" if divides else since)
        epochs = self.number(_STEPS, "num_epochs")
        if epochs is not None and epochs != int(epochs):
            self.refuse((_STEPS, "num_epochs"), f"num_epochs must be a whole number, not {epochs:g}")
        if is_null(self.reading.node(_STEPS, "global_batch_size")):
            self.refuse((_STEPS, "global_batch_size"), "global_batch_size must be a number")

    def rates(self) -> None:
        warm, decay = self.number(_RATES, "lr_warmup_steps"), self.number(_RATES, "lr_decay_steps")
        if warm is not None and 0 < warm < 1:
            self.refuse(
                (_RATES, "lr_warmup_steps"), f"the warmup is a number of steps, not a share ({warm:g})", "0.6.0"
            )
        elif warm is not None and decay is not None and warm >= decay:
            self.refuse(
                (_RATES, "lr_warmup_steps"), f"the warmup of {warm:g} steps must end before the {decay:g} of the decay"
            )
        rate = self.number("optimizer", "lr")
        top = self.number(_RATES, "max_lr")
        top = top if top is not None else rate
        for key in ("min_lr", "init_lr"):
            value = self.number(_RATES, key)
            if value is not None and top is not None and value > top:
                self.refuse((_RATES, key), f"{key} {value:g} is above the highest rate {top:g}")
        low = self.number(_RATES, "min_lr")
        if low is not None and low < 0:
            self.refuse((_RATES, "min_lr"), "min_lr must not be below 0")
        style = text_of(self.reading.node(_RATES, "lr_decay_style"))
        if style is not None and style not in _STYLES and style.replace("-", "").replace("_", "").isalnum():
            self.refuse((_RATES, "lr_decay_style"), f"lr_decay_style is one of {', '.join(_STYLES)}, not {style}")
        elif style == "WSD" and self._absent(_RATES, "wsd_decay_steps"):
            self.refuse((_RATES, "lr_decay_style"), "WSD needs wsd_decay_steps")
        self._weight_decay()

    def _weight_decay(self) -> None:
        usual = self.number("optimizer", "weight_decay")
        first, last = (self.number(_RATES, key) for key in ("start_wd", "end_wd"))
        begin, end = (first if first is not None else usual), (last if last is not None else usual)
        style = text_of(self.reading.node(_RATES, "wd_incr_style"))
        if begin is None or end is None or (first is None and last is None):
            return
        key = (_RATES, "end_wd" if last is not None else "start_wd")
        if end < begin:
            self.refuse(key, f"the weight decay ends at {end:g}, below the {begin:g} that it begins with")
        elif end > begin and (self._absent(_RATES, "wd_incr_style") or style == "constant"):
            self.refuse(key, f"a weight decay from {begin:g} to {end:g} needs a wd_incr_style of linear or cosine")

    def _absent(self, *path: str) -> bool:
        node = self.reading.node(*path)
        return (node is None and not self.reading.open_ended) or is_null(node)
