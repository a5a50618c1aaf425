"""trainer_state.json: the record of a run that transformers leaves in a checkpoint. It is no run itself."""

from __future__ import annotations

from epochlint.documents.document import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document

LABEL = "trainer-state"


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if "log_history" in mapping and "global_step" in mapping]
