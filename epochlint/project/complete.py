"""Completing a run: what its own files do not hold. Assumptions, counted data, companions, what kind of run it is."""

from __future__ import annotations

import re

from epochlint.project.companions import Companions, disagreements, place
from epochlint.project.counted import count_into
from epochlint.project.data import observe
from epochlint.project.recorded import take_outputs
from epochlint.project.resume import take_checkpoint
from epochlint.project.stated import stated
from epochlint.project.survey import LENGTHS
from epochlint.run.known import ESTIMATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.assumptions import Assumptions
    from epochlint.project.lookup import Lookup
    from epochlint.project.survey import Surveys
    from epochlint.run.run import Run

_SMOKE = frozenset({"smoke", "test", "debug", "tiny", "diagnostic", "quick", "dry", "dryrun"})
_SMOKE_STEPS = 50
_ASSUMED = (("gpus", "gpus"), ("records", "rows"), ("tokens", "tokens"))


def complete(
    run: Run,
    lookup: Lookup,
    companions: Companions,
    assumed: Assumptions,
    surveys: Surveys,
    asked: frozenset[str] = frozenset(),
    said: Assumptions | None = None,
) -> None:
    """`assumed` is the command line's word, which beats everything; what a comment or the settings say (`said`) gives
    way to what is written, counted or recorded. `asked` are the observations that the rules at hand want: those on
    data cost time."""
    for name, setting in _ASSUMED:
        known = assumed.known(name)
        if known is not None:
            run.settings[setting] = known
    place(run, companions)
    take_checkpoint(run, lookup)
    survey = surveys.of(run, asked, lookup)
    count_into(run, survey)
    take_outputs(run, lookup)
    if said is not None:
        for name, setting in _ASSUMED:
            known = said.known(name)
            if known is None:
                continue
            found = run.setting(setting)
            if found.unknown or found.origin == ESTIMATED:
                run.settings[setting] = known
            elif name == "records":
                run.settings["declared_records"] = known
    for settle in run.after_counting:
        settle(run)
    purpose = assumed.purpose or (said.purpose if said is not None else None)
    run.smoke = run.smoke or purpose is not None
    run.observations.extend(disagreements(run, companions))
    if asked:
        run.observations.extend(stated(run, lookup))
        run.observations.extend(observe(run, lookup, survey, asked))
        if "tokens" not in run.settings and not asked.isdisjoint(LENGTHS):
            tokens = survey.tokens()
            if tokens is not None:
                run.settings["tokens"] = tokens


def smoke_named(run: Run, path: str) -> bool:
    """A part of the path (below the folder that was given) is called smoke, test, debug, ..., and no long run is
    asked for."""
    limit = run.setting("max_steps").number
    return not _SMOKE.isdisjoint(re.split(r"[^a-z]+", path.lower())) and (limit is None or limit <= _SMOKE_STEPS)
