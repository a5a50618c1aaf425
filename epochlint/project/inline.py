"""`# epochlint: assume gpus=8 records=52002` in a config, script or launch."""

from __future__ import annotations

import os

from epochlint.documents.comments import comments
from epochlint.project.assumptions import AssumptionError, Assumptions, parse
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

_MARK = "epochlint:"


def inline_assumptions(run: Run, lookup: Lookup) -> Assumptions | None:
    """What comments of the run's own file assume; None where there is nothing."""
    source = run.source
    if _MARK not in source.text:
        return None
    document = lookup.read(os.path.join(lookup.working, source.path))
    if document is None:
        return None
    found = Assumptions()
    for comment in comments(document):
        text = comment.text.strip()
        if not text.startswith(_MARK):
            continue
        words = text[len(_MARK) :].strip()
        if not words.startswith("assume"):
            continue
        try:
            said = parse([words[len("assume") :].strip()])
        except AssumptionError as problem:
            run.observations.append(Observation("bad_comment", comment.span, {"reason": str(problem)}))
            continue
        found.values.update(said.values)
        found.packages.update(said.packages)
        found.purpose = said.purpose or found.purpose
        found.reference = said.reference or found.reference
        found.span = comment.span
    return found or None
