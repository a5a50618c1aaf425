"""Mistral's hosted fine-tuning jobs (La Plateforme): epochs or steps over a stream of tokens."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Sequence
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import HIDDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "mistral-api"
CALLS = frozenset(
    {
        "mistralai.Mistral.fine_tuning.jobs.create",
        "mistralai.client.Mistral.fine_tuning.jobs.create",  # 2.0 to 2.3, `client/fine_tuning_jobs.py`
        "mistralai.client.MistralClient.jobs.create",
        "mistralai.MistralClient.jobs.create",
    }
)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if isinstance(mapping.get("training_files"), Sequence)
        and mapping.mapping("hyperparameters") is not None
        and not any(key in mapping for key in ("status", "object", "created_at"))
    ]


def read(reading: Reading) -> Run:
    spec = facts("mistral-api")
    request = Request(reading, LABEL, HIDDEN)
    run = request.run
    request.take("epochs", "hyperparameters", "epochs")
    request.take("max_steps", "hyperparameters", "training_steps", whole=True)
    request.take("learning_rate", "hyperparameters", "learning_rate")
    request.take("warmup_ratio", "hyperparameters", "warmup_fraction")
    run.settings["packing"] = Known(True, DERIVED)
    if request.unwritten("hyperparameters", "learning_rate"):
        request.default("learning_rate", 1e-4)
    request.judge(reading.mapping("hyperparameters"), spec["hyperparameters"], complete=request.sent)
    request.judge(request.body(), spec["body"], whole=request.sent)
    place = reading.entry("training_files")
    span = place[0].key_span if place is not None else reading.span
    request.observe("provider_retired", span, key="fine-tuning jobs", reason=spec["retired"])
    return run
