"""Cohere's fine-tuning (retired)."""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, after, product
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import by_examples
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "cohere"
CALLS = frozenset(
    {"cohere.Client.finetuning.create_finetuned_model", "cohere.ClientV2.finetuning.create_finetuned_model"}
)


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        settings = mapping.mapping("settings")
        if settings is not None and "base_model" in settings and "dataset_id" in settings and "status" not in mapping:
            found.append(mapping)
    return found


def _hold_out(rows: Known, get: Get) -> Known:
    """Without an evaluation file a fifth is held out."""
    return after(rows, lambda n: floor(0.8 * n), "floor(0.8 x {})")


def read(reading: Reading) -> Run:
    spec = facts("cohere")
    request = Request(reading, LABEL, Counting(by_examples, None, product, _hold_out))
    if "request" in reading:
        body = reading.mapping("request")
        reading.layers = [Layer(body if body is not None else Mapping(reading.span, [], open_ended=True))]
    path = ("settings", "hyperparameters")
    request.run.settings["accumulation"] = Known(1, DERIVED)
    request.take("epochs", *path, "train_epochs")
    request.take("per_device_batch", *path, "train_batch_size", whole=True)
    request.take("learning_rate", *path, "learning_rate")
    request.take("early_stopping_patience", *path, "early_stopping_patience", whole=True)
    request.judge(reading.mapping(*path), spec["hyperparameters"])
    request.limits(spec["records"])
    request.observe("provider_retired", reading.span, key="fine-tuning", reason=spec["retired"])
    return request.run
