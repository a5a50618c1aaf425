"""Amazon SageMaker: training jobs, Autopilot's text generation, and HyperPod recipes (llmft, verl, Nova).

aws/sagemaker-hyperpod-recipes 2631995; botocore 1.44.8 (hyperparameters are text).
"""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Mapping, Scalar
from epochlint.run.counting import Counting, after
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource
from epochlint.trainers.providers import state_machine, terraform
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import GLOBAL, HIDDEN, by_examples, global_batch, warmup
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "sagemaker"
_ESTIMATORS = frozenset(
    {
        "sagemaker.jumpstart.estimator.JumpStartEstimator",
        "sagemaker.huggingface.HuggingFace",
        "sagemaker.huggingface.estimator.HuggingFace",
        "sagemaker.pytorch.PyTorch",
        "sagemaker.pytorch.estimator.PyTorch",
        # The SDK from its third version on, and the part of its second that became it.
        "sagemaker.train.ModelTrainer",
        "sagemaker.train.model_trainer.ModelTrainer",
        "sagemaker.modules.train.ModelTrainer",
        "sagemaker.modules.train.model_trainer.ModelTrainer",
    }
)
# The SDK's trainers of models of a hub, by the method that they train by.
_TRAINERS = {
    f"sagemaker.train.{module}{name}": method
    for name, module_name, method in (
        ("SFTTrainer", "sft_trainer", "sft"),
        ("DPOTrainer", "dpo_trainer", "dpo"),
        ("RLVRTrainer", "rlvr_trainer", "grpo"),
        ("RLAIFTrainer", "rlaif_trainer", "grpo"),
        ("CPTTrainer", "cpt_trainer", "pretrain"),
    )
    for module in ("", f"{module_name}.")
}
CALLS = (
    _ESTIMATORS
    | _TRAINERS.keys()
    | frozenset(
        f"{client}.{operation}"
        for client in (
            "boto3.client",
            "boto3.Session.client",
            "boto3.session.Session.client",
            "aioboto3.Session.client",
        )
        for operation in ("create_training_job", "create_auto_ml_job_v2")
    )
)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if _is_recipe(mapping) or _is_job(mapping) or terraform.is_resource(mapping, "aws_sagemaker_training_job")
    ] + list(state_machine.tasks(document, "createTrainingJob", facts("training-job", "aws_requests")))


def _is_recipe(mapping: Mapping) -> bool:
    """A HyperPod recipe: `run` with a model type or name, and a trainer's or training's settings."""
    run = mapping.mapping("run")
    if run is None or "name" not in run:
        return False
    return ("training_config" in mapping or "trainer" in mapping) and (
        "model_type" in run or "results_dir" in run or "replicas" in run or "instance_types" in mapping
    )


def _is_job(mapping: Mapping) -> bool:
    if any(key in mapping for key in ("TrainingJobStatus", "TrainingJobArn", "CreationTime", "SecondaryStatus")):
        return False
    if "HyperParameters" in mapping and ("TrainingJobName" in mapping or "AlgorithmSpecification" in mapping):
        return True
    return mapping.mapping("AutoMLProblemTypeConfig", "TextGenerationJobConfig") is not None or (
        mapping.mapping("TextGenerationJobConfig") is not None
    )


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:3] == ("cli", "aws", "sagemaker") and program[3:4] in (
        ("create-training-job",),
        ("create-auto-ml-job-v2",),
    )


def read(reading: Reading) -> Run | list[Run]:
    if claims(reading.command, reading.layers[0].mapping):
        as_request(reading, _fields(reading))
    if reading.command[-1:] and reading.command[-1] in _ESTIMATORS:
        return _read_estimator(reading)
    if reading.command[-1:] and reading.command[-1] in _TRAINERS:
        return _read_trainer(reading)
    if reading.mapping("run") is not None:
        return _read_recipe(reading)
    terraform.as_request(reading, facts("training-job", "aws_requests"))
    problem = reading.mapping("AutoMLProblemTypeConfig")
    if problem is not None and "TextGenerationJobConfig" not in problem and not problem.open_ended:
        return []  # AutoML on tables, images or series
    return _read_job(reading)


def _split(rows: Known, get: Get) -> Known:
    """Rows after `train_val_split_ratio` (0.9 unless a validation file is given)."""
    share = get("training_share").number
    return after(rows, lambda n: floor(n * share + 1e-9), f"floor({share:g} x {{}})") if share else rows


_RECIPE = Counting(by_examples, warmup, global_batch, _split)


def _read_recipe(reading: Reading) -> Run:
    kind = reading.text("run", "model_type") or ""
    nova = "nova" in kind.lower()
    request = Request(reading, LABEL, GLOBAL if nova else _RECIPE)
    run = request.run
    args = ("training_config", "training_args")
    if reading.mapping(*args) is not None:
        request.take("epochs", *args, "max_epochs")
        request.take("global_batch", *args, "train_batch_size", whole=True)
        request.take("per_device_batch", *args, "micro_train_batch_size", whole=True)
        request.take("learning_rate", *args, "learning_rate")
        request.take("warmup_ratio", *args, "lr_warmup_ratio")
        _files(request)
        packed = reading.node(*args, "packing_samples")
        run.settings["packing"] = Known(isinstance(packed, Scalar) and packed.value is True, DERIVED)
        schedule = reading.text(*args, "lr_scheduler")
        run.settings["scheduler"] = Known(schedule, DERIVED) if schedule else UNKNOWN
    elif nova:
        request.take("max_steps", "training_config", "max_steps", whole=True)
        for path in (("training_config", "trainer", "max_epochs"), ("training_config", "max_epochs")):
            request.take("epochs", *path)
        request.take("global_batch", "training_config", "global_batch_size", whole=True)
        for block in (("lr_scheduler",), ("model", "optim", "sched"), ("optim_config", "sched")):
            request.take("warmup_steps", "training_config", *block, "warmup_steps", whole=True)
        for block in (("optim_config",), ("model", "optim")):
            request.take("learning_rate", "training_config", *block, "lr")
        run.settings["scheduler"] = Known("cosine", DERIVED)
    else:
        run.settings["batch_unknown"] = Known(True, DERIVED)
    if reading.mapping("scale_config") is not None:
        # Other values by the number of nodes: which of them hold is decided at the start.
        for setting in ("global_batch", "learning_rate", "epochs"):
            if setting in run.settings:
                run.settings[setting] = UNKNOWN
    return run


def _files(request: Request) -> None:
    reading, run = request.reading, request.run
    entry = reading.entry("training_config", "datasets", "train_data", "file_path")
    path = text_of(entry[0].value) if entry is not None else None
    if entry is not None and path:
        run.training = [DataSource(entry[0].value.span, paths=(path,), base=reading.base)]
    validation = reading.text("training_config", "datasets", "val_data", "file_path")
    if not validation:
        share = request.take("training_share", "training_config", "datasets", "train_val_split_ratio")
        if share.unknown and request.unwritten("training_config", "datasets", "train_val_split_ratio"):
            request.default("training_share", 0.9)


def _read_job(reading: Reading) -> Run:
    """Hyperparameters that are text; what they mean is the image's own affair."""
    request = Request(reading, LABEL, HIDDEN)
    path: tuple[str, ...] = ("HyperParameters",)
    for where in (("AutoMLProblemTypeConfig", "TextGenerationJobConfig"), ("TextGenerationJobConfig",)):
        inner = (*where, "TextGenerationHyperParameters")
        if reading.mapping(*inner) is not None:
            path = inner
    request.take("epochs", *path, "epochCount")
    for key in ("epoch", "epochs", "num_train_epochs"):
        request.take("epochs", *path, key)
    request.take("per_device_batch", *path, "per_device_train_batch_size", whole=True)
    if path == ("HyperParameters",) and "ServerlessJobConfig" not in reading:
        _of_any_model(request, reading.mapping(*path))
    else:
        request.judge(reading.mapping(*path), facts("sagemaker")["autopilot"], complete=False)
    if path[0] != "TextGenerationJobConfig":
        request.judge(request.body(), _fields(reading), whole=request.sent, nulls=False)
    return request.run


# Settings that only training of language models has (JumpStart's, Hugging Face's and its recipes' scripts).
_LANGUAGE = frozenset(
    {"instruction_tuned", "chat_dataset", "max_input_length", "lora_r", "lora_alpha", "peft_type", "max_seq_length",
     "model_name_or_path", "model_id", "dataset_path", "merge_weights", "load_in_4bit", "max_epochs"}
)  # fmt: skip


def _of_any_model(request: Request, block: Mapping | None) -> None:
    """A training job's container is anybody's: what it trains is seen by its settings alone (hundreds of epochs may be
    usual), and on how many devices of its instances it does is its own affair."""
    settings = request.run.settings
    del settings["gpus"]
    if block is None or not any(entry.key in _LANGUAGE for entry in block.entries):
        settings["language_model"] = Known(False, DERIVED)
        del settings["method"]


def _read_estimator(reading: Reading) -> Run | list[Run]:
    """An estimator of the Python SDK: its hyperparameters, and those that `set_hyperparameters` adds.

    sagemaker 2.257.7 turns numbers into text by itself. How many rows JumpStart holds back without a validation
    channel, and on how many devices a script of one's own trains, is not said here.
    """
    call = reading.call
    later = [
        Layer(other.arguments)
        for other in getattr(reading.python, "calls", ())
        if other.name == "set_hyperparameters" and other.receiver is call
    ]
    written = reading.mapping("hyperparameters")
    layers = [*reversed(later), *([Layer(written)] if written is not None else [])]
    if not any(layer.mapping.entries for layer in layers):
        return []
    reading.layers = layers
    request = Request(reading, LABEL, HIDDEN)
    for key in ("epoch", "epochs", "num_train_epochs"):
        request.take("epochs", key)
    request.take("per_device_batch", "per_device_train_batch_size", whole=True)
    request.take("learning_rate", "learning_rate")
    _of_any_model(request, request.body())
    return request.run


def _read_trainer(reading: Reading) -> Run:
    """A trainer of the SDK's third version: a recipe of the hub, with what `overrides` puts over it.

    sagemaker-train 1.27.0, `sft_trainer.py` and `recipe_resolver.py`. Everything else is the recipe's, which is not
    here.
    """
    request = Request(reading, LABEL, HIDDEN)
    run = request.run
    run.settings["method"] = Known(_TRAINERS[reading.command[-1]], DERIVED)
    kind = reading.node("training_type")
    word = (text_of(kind) or str(getattr(kind, "origin", ""))).rpartition(".")[2].upper()
    if word in ("LORA", "FULL") or request.unwritten("training_type"):
        run.settings["tuning"] = Known("full" if word == "FULL" else "lora", DERIVED)
    for path in (("training_config", "training_args"), ("training_config",)):
        for setting, key in (("epochs", "max_epochs"), ("learning_rate", "learning_rate")):
            request.take(setting, "overrides", *path, key)
    return run


def _fields(reading: Reading) -> dict[str, Any]:
    auto = any("auto" in word and "ml" in word for word in reading.command)
    kind = "auto-ml-job" if auto or "AutoMLProblemTypeConfig" in reading else "training-job"
    return facts(kind, "aws_requests")
