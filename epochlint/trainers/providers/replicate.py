"""Replicate: `replicate.trainings.create(version=..., input={...}, destination=...)` (replicate 1.0.7, training.py).

What `input` means is each trainer's own affair; only names that all trainers of language models share are read.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.trainers.providers.request import Request
from epochlint.trainers.providers.simple import HIDDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "replicate"
CALLS = frozenset({"replicate.trainings.create", "replicate.Client.trainings.create"})


def recognise(document: Document) -> list[Mapping]:
    return []


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, HIDDEN)
    run = request.run
    request.take("epochs", "input", "num_train_epochs")
    request.take("learning_rate", "input", "learning_rate")
    if request.reading.entry("input", "num_train_epochs") is None:
        run.settings["language_model"] = Known(False, DERIVED)  # most trainers there are of images
        run.settings["method"] = UNKNOWN
    if "destination" not in reading and "2" not in reading and not reading.open_ended:
        request.observe("provider_missing", reading.span, key="destination")
    return run
