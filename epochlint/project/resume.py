"""The checkpoint that a run resumes from: its trainer_state.json says at which step and with which batch it was made.

Read in transformers 4.36 to 5.24, `trainer_callback.py` (`TrainerState`): global_step, epoch, and since 4.36
train_batch_size (per device, times the replicas of DataParallel). What a resumed run makes of them is recorded in
tests/conformance/data/resume.json: up to transformers 5.1 it trains with the checkpoint's batch, and in all versions it
saves, evaluates and logs every so many steps as the checkpoint's state says, whatever its arguments say.
"""

from __future__ import annotations

import os

from epochlint.documents.document import Scalar
from epochlint.documents.scalars import number
from epochlint.run.known import ON_ESTIMATE, ON_PLACEHOLDER, ON_TABLE, RECORDED, Known
from epochlint.run.observation import Observation
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Mapping
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run
    from epochlint.source import Span

_OWN_BATCH = (
    "5.2"  # transformers, `trainer.py`: since then only a batch that was searched for comes from the checkpoint
)
_OUTCOMES = {
    True: "the checkpoint's is used",
    False: "its steps are other steps",
    None: f"before transformers {_OWN_BATCH} the checkpoint's is used, since then its steps are other steps",
}
_SOFT = ON_ESTIMATE | ON_PLACEHOLDER | ON_TABLE


def take_checkpoint(run: Run, lookup: Lookup) -> None:
    """Sets `resume_step` where the run names a checkpoint that is there; compares the two once rows are counted."""
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
    step, batch, epoch = (_field(state, resume, name) for name in ("global_step", "train_batch_size", "epoch"))
    if step is not None and step.number is not None:
        run.settings["resume_step"] = Known(int(step.number), RECORDED, key_span=step.key_span, span=step.span)
    per_epoch = _steps_per_epoch(step, epoch)
    run.after_counting.append(lambda counted: _compare(counted, batch, per_epoch))
    intervals = [(what, _field(state, resume, f"{what}_steps")) for what in ("save", "eval", "logging")]
    run.after_counting.append(lambda counted: _take_intervals(counted, intervals))


def _state(lookup: Lookup, path: str, base: str) -> Mapping | None:
    document = lookup.document(f"{path.rstrip('/')}/trainer_state.json", base)
    return next(document.mappings(), None) if document is not None else None


def _field(state: Mapping, resume: Known, name: str) -> Known | None:
    entry = state.entry(name)
    value = number(entry.value) if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or value is None or not 0 < value < 1e15:
        return None
    return Known(value, RECORDED, key_span=resume.key_span, span=entry.value.span)


def _steps_per_epoch(step: Known | None, epoch: Known | None) -> int | None:
    """Updates in an epoch of the checkpoint's run; None where the epoch's last update was not a whole one."""
    if step is None or epoch is None or step.number is None or epoch.number is None:
        return None
    steps = step.number / epoch.number
    return round(steps) if abs(steps - round(steps)) < 1e-6 * steps else None


def _compare(run: Run, batch: Known | None, per_epoch: int | None) -> None:
    """Observes a resumed run that is another than its checkpoint's, and gives the run the batch that it trains with."""
    here = Scenarios(run).fact("steps_per_epoch")
    if here.number is None or here.basis & _SOFT:
        per_epoch = None  # nothing to compare with
    moved = per_epoch is not None and here.number != per_epoch
    written = run.setting("per_device_batch")
    if batch is not None and _another(run, batch, written):
        theirs, ours = int(batch.number or 0), int(written.number or 0)
        restored = _restores(run)
        if restored or moved or (per_epoch is None and not _may_be_equal(run, theirs, ours)):
            reason = _OUTCOMES[restored]
            _observe(run, "a per-device batch of", theirs, ours, reason, batch)
        if restored:  # where the version is open, the written one is counted with, and the observation says the rest
            run.settings["per_device_batch"] = Known(theirs, RECORDED, key_span=written.key_span, span=batch.span)
    elif moved and batch is not None and per_epoch is not None:
        reason = "the accumulation, the GPUs or the records are others"
        _observe(run, "epochs of", per_epoch, int(here.number or 0), reason, batch)


def _observe(run: Run, key: str, theirs: int, ours: int, reason: str, checkpoint: Known) -> None:
    values = {"key": key, "theirs": theirs, "ours": ours, "reason": reason}
    where = run.where("per_device_batch", "resume")
    run.observations.append(Observation("resume_differs", where, values, _beside(checkpoint)))


def _beside(checkpoint: Known) -> list[tuple[str, Span]]:
    return [("the checkpoint", checkpoint.span)] if checkpoint.span is not None else []


def _take_intervals(run: Run, intervals: list[tuple[str, Known | None]]) -> None:
    """The state's intervals are the resumed run's; observes those that were written otherwise."""
    scenarios = Scenarios(run)
    for what, theirs in intervals:
        ours = scenarios.fact(f"{what}_every")
        if theirs is None or run.setting(f"{what}_strategy").value != "steps":
            continue
        if ours.number is None or ours.basis & _SOFT or ours.number == theirs.number:
            continue
        name = f"{what}_steps"
        written = run.setting(name)
        if run.has(name):
            values = {"key": name, "theirs": theirs.number, "ours": written.value}
            run.observations.append(Observation("resume_interval", run.where(name), values, _beside(theirs)))
        run.settings[name] = Known(theirs.number, RECORDED, key_span=written.key_span, span=theirs.span)


def _another(run: Run, batch: Known, written: Known) -> bool:
    """Whether the checkpoint's per-device batch is not the run's. DataParallel multiplies it by its GPUs."""
    if batch.number is None or written.number is None or batch.number == written.number:
        return False
    return run.setting("gpus").number == 1 or batch.number % written.number != 0


def _may_be_equal(run: Run, theirs: int, ours: int) -> bool:
    """Whether another accumulation or number of GPUs, which no state tells, may make up for another batch."""
    accumulation, gpus = run.setting("accumulation").number, run.setting("gpus").number
    return accumulation is None or gpus is None or ours * accumulation * gpus % theirs == 0


def _restores(run: Run) -> bool | None:
    """Whether a resumed run trains with the checkpoint's per-device batch; None where it depends on the version."""
    newer = {era.versions.get("transformers", ANY).at_least(_OWN_BATCH) for era in run.eras}
    return None if len(newer) > 1 or None in newer else not newer.pop()
