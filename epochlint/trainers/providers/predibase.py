"""Predibase: an effective batch, epochs or train steps (docs, SFTConfig)."""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "predibase"
CALLS = frozenset({"predibase.SFTConfig", "predibase.FinetuningConfig", "predibase.ContinuedPretrainingConfig"})
_OWN = ("effective_batch_size", "train_steps", "enable_early_stopping", "apply_chat_template")


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "base_model" in mapping and any(key in mapping for key in _OWN) and "datasets" not in mapping
    ]


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, GLOBAL)
    request.take("epochs", "epochs")
    request.take("max_steps", "train_steps", whole=True)
    request.take("global_batch", "effective_batch_size", whole=True)
    request.take("learning_rate", "learning_rate")
    request.take("warmup_ratio", "warmup_ratio")
    if not reading.open_ended:
        request.default("epochs", 3)
        request.default("global_batch", 16)
        request.default("learning_rate", 2e-4)
        request.default("warmup_ratio", 0.03)
    request.run.settings["tuning"] = Known("lora", DERIVED)
    request.judge(request.body(), facts("predibase")["fields"], complete=False)
    return request.run
