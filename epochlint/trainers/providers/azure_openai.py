"""Azure OpenAI (Foundry): OpenAI's request with `trainingType`, or sent by Azure's client."""

from __future__ import annotations

from epochlint.trainers.providers.openai import is_request, read_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Mapping
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "azure-openai"
CALLS = frozenset(
    {
        "openai.AzureOpenAI.fine_tuning.jobs.create",
        "openai.AsyncAzureOpenAI.fine_tuning.jobs.create",
    }
)


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_request(mapping) and "trainingType" in mapping]


def read(reading: Reading) -> Run:
    return read_job(reading, LABEL)
