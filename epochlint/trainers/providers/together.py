"""Together's fine-tuning jobs. Packing is on unless it is switched off: then the batch counts packed sequences."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers import lines
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import EXAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "together"
CALLS = frozenset({"together.Together.fine_tuning.create", "together.AsyncTogether.fine_tuning.create"})

_OWN = (
    "training_type",
    "training_method",
    "n_checkpoints",
    "n_evals",
    "lr_scheduler",
    "warmup_ratio",
    "train_on_inputs",
)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "training_file" in mapping
        and "model" in mapping
        and (any(key in mapping for key in _OWN) or _names_upload(mapping))
        and not any(
            key in mapping for key in ("hyperparameters", "hyper_parameters", "status", "object", "training_files")
        )
    ]


def _names_upload(mapping: Mapping) -> bool:
    """Whether a file that was uploaded is trained on at a rate of one's own: of the services that give such names
    ("file-..."), the others take a multiplier, or keep the rate in a section."""
    file = mapping.get("training_file")
    uploaded = isinstance(file, Scalar) and isinstance(file.value, str) and file.value.startswith("file-")
    return uploaded and "n_epochs" in mapping and "learning_rate" in mapping


_SHORT = {"t": "training_file", "M": "model", "ne": "n_epochs", "c": "n_checkpoints", "b": "batch_size",
          "lr": "learning_rate"}  # fmt: skip


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:2] == ("cli", "together") and "create" in program


def read(reading: Reading) -> Run:
    spec = facts("together")
    as_request(reading, spec["call"], _SHORT)
    request = Request(reading, LABEL, EXAMPLES)
    run = request.run
    request.take("epochs", "n_epochs")
    request.take("per_device_batch", "batch_size", whole=True)
    request.take("learning_rate", "learning_rate")
    request.take("warmup_ratio", "warmup_ratio")
    request.take("weight_decay", "weight_decay")
    accumulation = request.take("accumulation", "gradient_accumulation_steps", whole=True)
    if not reading.open_ended:
        request.default("epochs", 1)
        request.default("learning_rate", 1e-5)
        request.default("warmup_ratio", 0.0)
        if accumulation.unknown:
            run.settings["accumulation"] = Known(1, DERIVED)
    method = reading.text("training_method", "method") or reading.text("training_method") or "sft"
    run.settings["method"] = Known(method if method in ("sft", "dpo") else "other", DERIVED)
    packing = reading.node("packing")
    packed = boolean(packing) if isinstance(packing, Scalar) else None
    run.settings["packing"] = Known(packed is not False and method == "sft", DERIVED)
    request.take("beta", "training_method", "dpo_beta")
    request.take("beta", "dpo_beta")
    request.take_files("training_file", "validation_file", lines.Together())
    request.limits(spec["records"])
    if reading.command[:1] == ("call",) or reading.command[:2] == ("cli", "together"):
        request.judge(request.body(), spec["call"], whole=True)
        if not any(key in reading for key in ("model", "from_checkpoint")) and not reading.open_ended:
            request.observe("provider_missing", reading.span, key="model")
    else:
        request.judge(request.body(), spec["hyperparameters"], complete=False)
    _early_stopping(request)
    return run


def _early_stopping(request: Request) -> None:
    """It needs a validation file, and patience + warmup + 1 evaluations (2 and 1 where not written)."""
    reading = request.reading
    enabled = reading.entry("early_stopping_enabled")
    if enabled is None or not isinstance(enabled[0].value, Scalar) or boolean(enabled[0].value) is not True:
        return

    def value(key: str, default: int) -> float | None:
        node = reading.node(key)
        if node is None:
            return default
        return number(node)

    evaluations, patience, warmup = (
        value("n_evals", 0),
        value("early_stopping_patience", 2),
        value("early_stopping_warmup_evals", 1),
    )
    if evaluations is not None and patience is not None and warmup is not None and evaluations < patience + warmup + 1:
        least = patience + warmup + 1
        reason = (
            f"early stopping needs n_evals of at least {patience:g} + {warmup:g} + 1 = {least:g}, not {evaluations:g}"
        )
        place = reading.entry("n_evals") or enabled
        request.observe("provider_early_stop", place[0].key_span, reason=reason)
    elif "validation_file" not in reading and not reading.open_ended:
        request.observe("provider_early_stop", enabled[0].key_span, reason="early stopping needs a validation_file")
