"""Snowflake: `CORTEX.FINETUNE('CREATE', model, base model, training query, [validation query, [options]])`.

docs.snowflake.com, cortex-finetuning: options are JSON in a text, with `max_epochs` of 1 to 10; without it the service
chooses, without a validation query it holds a part of the rows back, and how many it does not say.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.embedded import written_inside
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import HIDDEN
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "snowflake"
CALLS: frozenset[str] = frozenset()


def recognise(document: Document) -> list[Mapping]:
    if document.syntax != "sql":
        return []
    return [mapping for mapping in document.mappings() if (text_of(mapping.get("0")) or "").upper() == "CREATE"]


def read(reading: Reading) -> Run:
    spec = facts("snowflake")
    call = reading.layers[0].mapping
    options = _options(call)
    reading.layers = [Layer(options if options is not None else Mapping(call.span, [], open_ended="5" in call))]
    request = Request(reading, LABEL, HIDDEN)
    request.take("epochs", "max_epochs")
    request.run.settings["billed_by_token"] = Known(True, DERIVED)
    request.run.settings["validation"] = Known(True, DERIVED)  # a query, or a part that the service holds back
    request.judge(options, spec["options"])
    request.observe("provider_retired", call.span, key="CORTEX.FINETUNE", reason=spec["retired"])
    return request.run


def _options(call: Mapping) -> Mapping | None:
    """The options, JSON in the sixth argument."""
    node = call.get("5")
    if not isinstance(node, Scalar):
        return None
    from epochlint.documents import json_document

    document = json_document.read(written_inside(node))
    root = document.roots[0] if document.roots else None
    return root if isinstance(root, Mapping) else None
