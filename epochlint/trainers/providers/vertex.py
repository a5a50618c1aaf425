"""Google Vertex AI tuning jobs. The batch of Gemini tuning is not shown, so steps cannot be known."""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Entry, Mapping
from epochlint.run.counting import Counting, after
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, facts, respelt, snake_case
from epochlint.trainers.providers.simple import HIDDEN, no_batch
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "vertex"
CALLS = frozenset(
    {
        "vertexai.tuning.sft.train",
        "vertexai.preview.tuning.sft.train",
        "vertexai.generative_models.tuning.sft.train",
        "google.genai.Client.tunings.tune",
    }
)
_SPECS = {
    "supervisedTuningSpec": "sft",
    "preferenceOptimizationSpec": "dpo",
    "distillationSpec": "other",
    "reinforcementTuningSpec": "grpo",
    "partnerModelTuningSpec": "sft",
}
_SNAKE = {
    "supervised_tuning_spec": "supervisedTuningSpec",
    "preference_optimization_spec": "preferenceOptimizationSpec",
    "distillation_spec": "distillationSpec",
}


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if ("baseModel" in mapping or "base_model" in mapping)
        and any(key in mapping for key in (*_SPECS, *_SNAKE))
        and not any(key in mapping for key in ("state", "tuningDataStats", "createTime", "tunedModel"))
    ]


# gcloud's flags, where their names differ from the request's.
_SHORT = {
    "training_dataset_uri": "trainingDatasetUri",
    "validation_dataset_uri": "validationDatasetUri",
    "source_model": "baseModel",
}


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:2] == ("cli", "gcloud") and program[-2:] == ("tuning-jobs", "create")


def _of_flags(reading: Reading) -> None:
    """Puts gcloud's flags where they stand in the request."""
    hyper = facts("vertex")["hyperparameters"]
    text = {"type": "text"}
    as_request(reading, {**hyper, **dict.fromkeys(_SHORT.values(), text)}, _SHORT)
    layer = reading.layers[0]
    flags = layer.mapping
    inner = Mapping(flags.span, [entry for entry in flags.entries if entry.key in hyper], flags.open_ended)
    data = [entry for entry in flags.entries if entry.key.endswith("DatasetUri")]
    spec = Mapping(flags.span, [*data, Entry("hyperParameters", flags.span, inner)], flags.open_ended)
    model = [entry for entry in flags.entries if entry.key == "baseModel"]
    entries = [*model, Entry("supervisedTuningSpec", flags.span, spec)]
    reading.layers = [Layer(Mapping(flags.span, entries, flags.open_ended), layer.origin)]


def _rest(rows: Known, get: Get) -> Known:
    """Reinforcement without validation data: a quarter of the prompts, at least 50, is held back (reference page)."""
    return after(rows, lambda n: max(0, n - max(floor(n / 4), 50)), "{} without a quarter, at least 50")


REINFORCED = Counting(None, None, no_batch, _rest)


def read(reading: Reading) -> Run:
    if claims(reading.command, reading.layers[0].mapping):
        _of_flags(reading)
    reinforced = "reinforcementTuningSpec" in reading
    held_out = reinforced and reading.entry("reinforcementTuningSpec", "validationDatasetUri") is None
    request = Request(reading, LABEL, REINFORCED if held_out else HIDDEN)
    run = request.run
    call = reading.command[:1] == ("call",)
    spec = next((key for key in (*_SPECS, *_SNAKE) if key in reading), "supervisedTuningSpec")
    run.settings["method"] = Known(_SPECS[_SNAKE.get(spec, spec)], DERIVED)
    run.settings["rate_multiplier"] = Known(True, DERIVED)
    hyper = "hyper_parameters" if spec in _SNAKE else "hyperParameters"
    if call:
        config = reading.mapping("config")
        if config is not None:
            request.judge(respelt(config, snake_case), facts("vertex")["config"])
        request.take("epochs", "epochs")
        request.take("epochs", "config", "epoch_count")
        request.take("learning_rate", "learning_rate_multiplier")
    else:
        camel = spec not in _SNAKE
        request.take("epochs", spec, hyper, "epochCount" if camel else "epoch_count")
        request.take("learning_rate", spec, hyper, "learningRateMultiplier" if camel else "learning_rate_multiplier")
        if reading.entry(spec, hyper, "learningRate") is not None:
            request.take("learning_rate", spec, hyper, "learningRate")
            run.settings["rate_multiplier"] = Known(False, DERIVED)
            if camel and reading.entry(spec, hyper, "learningRateMultiplier") is not None:
                reason = "learningRate and learningRateMultiplier exclude each other"
                request.observe(
                    "rejected", run.settings["learning_rate"].key_span or run.span, reason=reason, consumer=LABEL
                )
        request.take("beta", spec, hyper, "beta")
        if camel:
            request.judge(reading.mapping(spec, hyper), facts("vertex")["hyperparameters"], complete=False)
    return run
