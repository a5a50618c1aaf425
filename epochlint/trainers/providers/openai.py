"""OpenAI's fine-tuning jobs, as JSON and as SDK calls. Azure OpenAI is `azure_openai`.

Fields and ranges: `data/providers.json`. "auto" is estimated as the cookbook computes epochs
(`examples/Chat_finetuning_data_prep.ipynb` 2e65270) and as finished jobs show for the batch (0.2 % of the examples).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.run.counting import Counting, Steps, ceil_of_rows, product
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers import lines
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.documents.document import Document
    from epochlint.run.counting import Shape
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "openai"
CALLS = frozenset(
    {
        "openai.OpenAI.fine_tuning.jobs.create",
        "openai.AsyncOpenAI.fine_tuning.jobs.create",
        "openai.fine_tuning.jobs.create",
    }
)
_METHODS = {"supervised": "sft", "dpo": "dpo", "reinforcement": "grpo"}

# Keys of services whose requests begin alike: Together, Nebius, Mistral, DashScope.
OTHERS = (
    "training_type", "training_method", "n_checkpoints", "n_evals", "warmup_ratio", "lr_scheduler", "learning_rate",
    "training_files", "hyper_parameters", "lora", "train_on_inputs", "max_steps", "output_dir",
)  # fmt: skip
_HYPERPARAMETERS = ("n_epochs", "batch_size", "learning_rate_multiplier", "beta")
# Keys of /v1/fine-tunes (openai 0.28.1, gone in 1.x).
_LEGACY = frozenset(
    {"prompt_loss_weight", "compute_classification_metrics", "classification_n_classes", "classification_betas"}
)
RESPONSE = ("object", "status", "fine_tuned_model", "created_at", "organization_id", "trained_tokens")


def is_request(mapping: Mapping) -> bool:
    """A job's request, and no answer to one: those carry ids and a status."""
    if "training_file" not in mapping or "model" not in mapping:
        return False
    if any(key in mapping for key in (*OTHERS, *RESPONSE)):
        return False
    block = mapping.mapping("hyperparameters")
    own = block is not None and any(key in block for key in ("learning_rate", "packing", "context_length", "lora"))
    return not own


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_request(mapping) and "trainingType" not in mapping]


_SHORT = {"m": "model", "F": "training_file", "H": "hyperparameters", "s": "suffix", "V": "validation_file"}


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:2] == ("cli", "openai") and "fine_tuning.jobs.create" in program


def read(reading: Reading) -> Run | list[Run]:
    client = getattr(reading.call, "receiver", None)
    address = text_of(client.argument("base_url")) if client is not None else None
    if address is not None and "openai.com" not in address:
        return _elsewhere(reading, address)
    as_request(reading, facts("openai")["body"], _SHORT)
    return read_job(reading, LABEL)


def _elsewhere(reading: Reading, address: str) -> Run | list[Run]:
    """A request that OpenAI's client sends to another service; of one that is not known nothing is said."""
    if "nebius" in address:
        from epochlint.trainers.providers import nebius

        return nebius.read(reading)
    return read_job(reading, "azure-openai") if "azure" in address else []


def read_job(reading: Reading, label: str) -> Run:
    """A request of OpenAI or Azure OpenAI."""
    request = Request(reading, label, COUNTING)
    spec = facts("openai")
    method = _method(request)
    request.run.settings["method"] = Known(_METHODS.get(method, "other"), DERIVED)
    request.run.settings["rate_multiplier"] = Known(True, DERIVED)
    request.run.settings["billed_by_token"] = Known(True, DERIVED)
    path, block = _block(request, method, spec)
    request.take("epochs", *path, "n_epochs")
    request.take("per_device_batch", *path, "batch_size", whole=True)
    request.take("learning_rate", *path, "learning_rate_multiplier")
    request.take("beta", *path, "beta")
    request.run.settings["accumulation"] = Known(1, DERIVED)
    check = lines.openai_preference if method == "dpo" else lines.openai_chat if method == "supervised" else None
    request.take_files("training_file", "validation_file", check)
    request.limits(spec["records"])
    fields = spec["hyperparameters"].get(method)
    if fields is not None:
        request.judge(_set(block), fields)
    _top_level(request, spec["body"])
    _leave_open(request, path)
    return request.run


def _method(request: Request) -> str:
    return request.word("method", "type") or "supervised"


def _block(request: Request, method: str, spec: dict[str, object]) -> tuple[tuple[str, ...], Mapping | None]:
    """The block that counts, with its path; and what is wrong with having two, or another method's."""
    reading = request.reading
    old = reading.entry("hyperparameters")
    new = reading.entry("method")
    old_given = old is not None and isinstance(old[0].value, Mapping)
    if new is not None and isinstance(new[0].value, Mapping):
        body = new[0].value
        for entry in body.entries:
            if entry.key in _METHODS and entry.key != method:
                reason = f"method.type is {method}, so this block has no effect"
                request.observe(
                    "provider_unknown", entry.key_span, key=entry.key, reason=reason, suggestion="", rejected=True
                )
        if (
            method in _METHODS
            and body.mapping(method) is None
            and any(key in body for key in _METHODS if key != method)
        ):
            place = body.entry("type")
            if place is not None:
                reason = f"the block method.{method} is not there"
                request.observe(
                    "provider_unknown", place.key_span, key="type", reason=reason, suggestion="", rejected=True
                )
        if old_given and old is not None:
            reason = "stands beside method, which holds hyperparameters of its own"
            request.observe(
                "provider_unknown", old[0].key_span, key="hyperparameters", reason=reason, suggestion="", rejected=True
            )
        path: tuple[str, ...] = ("method", method, "hyperparameters")
        return path, reading.mapping(*path)
    if old_given and old is not None:
        reason = "this block is deprecated for method.supervised.hyperparameters"
        request.observe("provider_retired", old[0].key_span, key="hyperparameters", reason=reason)
    return ("hyperparameters",), reading.mapping("hyperparameters")


def _set(block: Mapping | None) -> Mapping | None:
    """A block without what is -1: so the service itself shows what nobody has set (Azure, jobs that are pending)."""
    if block is None:
        return None
    entries = [e for e in block.entries if not (isinstance(e.value, Scalar) and e.value.value == -1)]
    return Mapping(block.span, entries, block.open_ended)


def _top_level(request: Request, fields: dict[str, Any]) -> None:
    """What is wrong outside the hyperparameters; hyperparameters that stand a level too high."""
    legacy = next((entry for entry, _ in request.reading.entries() if entry.key in _LEGACY), None)
    if legacy is not None:
        reason = "belongs to the first fine-tuning API, which is gone"
        request.observe("provider_retired", legacy.key_span, key=legacy.key, reason=reason)
        return
    body = request.body()
    high = [entry for entry in body.entries if entry.key in _HYPERPARAMETERS]
    for entry in high:
        request.unknown_key(entry, (), "stands a level too high: it belongs into method.<type>.hyperparameters")
    rest = [entry for entry in body.entries if entry not in high]
    request.judge(Mapping(body.span, rest, body.open_ended), fields, whole=request.sent)


def _leave_open(request: Request, path: tuple[str, ...]) -> None:
    """Epochs and batch that are left to the service, estimated from the number of examples."""
    for setting, key, estimate in (("epochs", "n_epochs", auto_epochs), ("per_device_batch", "batch_size", auto_batch)):
        if setting in request.run.settings:
            continue
        if request.unwritten(*path, key):
            request.estimate(setting, estimate, None)
        elif (place := request.left_open(*path, key)) is not None:
            request.estimate(setting, estimate, place)


def auto_epochs(examples: int) -> int:
    """The cookbook's rule: 3 epochs, more for under 34 examples (at most 25), fewer for over 8,333."""
    if 3 * examples < 100:
        return min(25, 100 // examples)
    return max(1, 25_000 // examples) if 3 * examples > 25_000 else 3


def auto_batch(examples: int) -> int:
    """About 0.2 % of the examples, 1 to 256."""
    return max(1, min(256, round(0.002 * examples)))


def _steps(shape: Shape) -> Steps:
    per_epoch = ceil_of_rows(shape)
    natural = int(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, natural)


COUNTING = Counting(_steps, None, product)
