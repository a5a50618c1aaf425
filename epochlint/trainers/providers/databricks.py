"""Databricks' foundation model training (databricks_genai 1.1.8): a duration, no batch."""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.llm_foundry import duration
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import HIDDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "databricks"
CALLS = frozenset({"databricks.model_training.foundation_model.create"})


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "train_data_path" in mapping and ("register_to" in mapping or "training_duration" in mapping)
    ]


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, HIDDEN)
    entry = reading.entry("training_duration")
    parsed = duration(entry[0].value) if entry is not None else (1.0, "ep")
    place = entry[0].key_span if entry is not None else None
    if parsed is not None and parsed[1] == "ep":
        request.run.settings["epochs"] = Known(parsed[0], "written" if entry is not None else "default", key_span=place)
    elif parsed is not None and parsed[1] == "ba":
        request.run.settings["max_steps"] = Known(int(parsed[0]), "written", key_span=place)
    request.take("learning_rate", "learning_rate")
    if reading.call is not None:
        request.judge(request.body(), facts("databricks")["call"])
    kind = reading.text("task_type")
    request.run.settings["method"] = Known("pretrain" if kind == "CONTINUED_PRETRAIN" else "sft", DERIVED)
    return request.run
