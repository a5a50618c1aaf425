"""The checkpoint that a run resumes from: its trainer_state.json says at which step and with which batch it was made.

Read in transformers 4.36 to 5.24, `trainer_callback.py` (`TrainerState`): global_step, max_steps, and since 4.36
train_batch_size (per device, times the replicas of DataParallel).
"""

from __future__ import annotations

import os
import re

from epochlint.documents.document import Scalar
from epochlint.documents.scalars import number
from epochlint.run.known import RECORDED, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Mapping
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

_FIELDS = (("global_step", "resume_step"), ("train_batch_size", "resume_per_device_batch"))
_STEP = re.compile(r"checkpoint-([0-9]{1,15})/*$")


def take_checkpoint(run: Run, lookup: Lookup) -> None:
    """Sets `resume_step` and `resume_per_device_batch` where the run names a checkpoint that is there."""
    resume = run.setting("resume")
    if (
        not resume.exact
        or not isinstance(resume.value, str)
        or resume.value.lower() in ("true", "false", "auto", "last")
    ):
        return
    base = os.path.dirname(os.path.join(lookup.working, run.path))
    state = _state(lookup, resume.value, base)
    if state is None:
        return
    for field, setting in _FIELDS:
        entry = state.entry(field)
        value = number(entry.value) if entry is not None and isinstance(entry.value, Scalar) else None
        if entry is not None and value is not None:
            run.settings[setting] = Known(int(value), RECORDED, key_span=resume.key_span, span=entry.value.span)


def _state(lookup: Lookup, path: str, base: str) -> Mapping | None:
    document = lookup.document(f"{path.rstrip('/')}/trainer_state.json", base)
    return next(document.mappings(), None) if document is not None else None
