"""Nebius Token Factory: OpenAI's shape with an absolute learning rate and packing."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request
from epochlint.trainers.providers.simple import EXAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "nebius"
CALLS: frozenset[str] = frozenset()
_OWN = ("learning_rate", "packing", "context_length", "lora", "warmup_ratio")


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        block = mapping.mapping("hyperparameters")
        if (
            "training_file" in mapping
            and block is not None
            and any(key in block for key in _OWN)
            and "status" not in mapping
        ):
            found.append(mapping)
    return found


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, EXAMPLES)
    run = request.run
    run.settings["accumulation"] = Known(1, DERIVED)
    request.take("epochs", "hyperparameters", "n_epochs")
    request.take("per_device_batch", "hyperparameters", "batch_size", whole=True)
    request.take("learning_rate", "hyperparameters", "learning_rate")
    request.take("warmup_ratio", "hyperparameters", "warmup_ratio")
    packing = reading.node("hyperparameters", "packing")
    run.settings["packing"] = Known(not isinstance(packing, Scalar) or boolean(packing) is not False, DERIVED)
    request.take_files("training_file", "validation_file")
    return run
