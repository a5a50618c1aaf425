"""Azure ML's fine-tuning jobs and the registry's fine-tuning pipelines.

azure-ai-ml 1.35.2, loaders run: a custom model's hyperparameters are text, with any key; azure_open_ai takes three, as
numbers (or text that holds one), and no "auto".
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import EXAMPLES, by_examples, warmup
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import LAUNCH, nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "azure-ml"
_ENTITIES = "azure.ai.ml.entities._job.finetuning"
CALLS = frozenset(
    {
        "azure.ai.ml.finetuning.create_finetuning_job",
        f"{_ENTITIES}.custom_model_finetuning_job.CustomModelFineTuningJob",
        f"{_ENTITIES}.azure_openai_finetuning_job.AzureOpenAIFineTuningJob",
        "azure.ai.ml.finetuning.CustomModelFineTuningJob",
        "azure.ai.ml.finetuning.AzureOpenAIFineTuningJob",
    }
)

_DEVICES = Counting(by_examples, warmup)


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if _is_job(mapping) or _pipeline(mapping) is not None]


def _is_job(mapping: Mapping) -> bool:
    return text_of(mapping.get("type")) == "finetuning" and ("model_provider" in mapping or "training_data" in mapping)


def _pipeline(mapping: Mapping) -> tuple[str, Mapping] | None:
    """One of the registry's fine-tuning components in a pipeline job, and its inputs."""
    if text_of(mapping.get("type")) != "pipeline":
        return None
    jobs = mapping.mapping("jobs")
    for entry in jobs.entries if jobs is not None else ():
        if isinstance(entry.value, Mapping):
            registry, _, component = (text_of(entry.value.get("component")) or "").partition("/components/")
            if "registries/azure" in registry and _trains(component):
                inputs = entry.value.mapping("inputs") or mapping.mapping("inputs")
                return (component, inputs) if inputs is not None else None
    return None


# Parts of the names of the registry's pipelines that train nothing, and of those that train a model to write text
# (Azure/azureml-examples 085cd6ea, cli/foundation-models/system).
_IDLE = ("evaluation", "inference", "scoring", "import")
_WRITING = ("generation", "summarization", "translation", "chat", "completion")


def _trains(component: str) -> bool:
    return ("finetune" in component or "pipeline" in component) and not any(word in component for word in _IDLE)


def read(reading: Reading) -> Run:
    for layer in reading.layers:
        if layer.origin == LAUNCH:  # `--set hyperparameters.n_epochs=2` over the file; other flags are no settings
            kept = [entry for entry in nested(layer.mapping).entries if isinstance(entry.value, Mapping)]
            layer.mapping = Mapping(layer.mapping.span, kept)
    if reading.text("type") == "pipeline":
        return _read_pipeline(reading)
    called = reading.call is not None
    openai = reading.text("model_provider") == "azure_open_ai" or any("AzureOpenAI" in word for word in reading.command)
    request = Request(reading, LABEL, EXAMPLES if openai else _DEVICES)
    run = request.run
    block = reading.mapping("hyperparameters")
    if openai:
        run.settings["accumulation"] = Known(1, DERIVED)
        run.settings["rate_multiplier"] = Known(True, DERIVED)
        request.take("epochs", "hyperparameters", "n_epochs")
        request.take("per_device_batch", "hyperparameters", "batch_size", whole=True)
        request.take("learning_rate", "hyperparameters", "learning_rate_multiplier")
    else:
        del run.settings["gpus"]  # neither a number nor a kind of machine is in the file
        request.take("epochs", "hyperparameters", "num_train_epochs")
        request.take("per_device_batch", "hyperparameters", "per_device_train_batch_size", whole=True)
        request.take("accumulation", "hyperparameters", "gradient_accumulation_steps", whole=True)
        request.take("learning_rate", "hyperparameters", "learning_rate")
    request.take_files("training_data", "validation_data")
    spec = facts("azure-ml")
    if openai:
        request.judge(reading.mapping("hyperparameters"), spec["azure_open_ai"], nulls=called)
    elif not called and block is not None and reading.text("model_provider") == "custom":
        request.judge(block, {entry.key: spec["custom"] for entry in block.entries})
    if not called:
        request.judge(request.body(), spec["body"], whole=True, nulls=False)
    return run


def _read_pipeline(reading: Reading) -> Run:
    found = _pipeline(reading.layers[0].mapping)
    request = Request(reading, LABEL, _DEVICES)
    run = request.run
    if found is None:
        run.settings["gpus"] = UNKNOWN
        return run
    component, inputs = found
    from epochlint.trainers.trainer import Layer, Reading

    request.reading = Reading(reading.document, [Layer(inputs)], reading.versions, span=reading.span, base=reading.base)
    request.take("epochs", "num_train_epochs")
    request.take("per_device_batch", "per_device_train_batch_size", whole=True)
    request.take("accumulation", "gradient_accumulation_steps", whole=True)
    request.take("learning_rate", "learning_rate")
    del run.settings["gpus"]
    request.take("gpus", "number_of_gpu_to_use_finetuning", whole=True)
    if not any(word in component for word in _WRITING):
        run.settings["language_model"] = Known(False, DERIVED)
        del run.settings["method"]
    return run
