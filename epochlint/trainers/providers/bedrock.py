"""Amazon Bedrock's model customization jobs: every hyperparameter is text, with ranges by model family.

botocore 1.44.8 refuses numbers before anything is sent, and takes every key and every text.
"""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, after, product
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.trainers.providers import state_machine, terraform
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import EXAMPLES, HIDDEN, by_examples, warmup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "bedrock"
CALLS = frozenset(
    {
        "boto3.client.create_model_customization_job",
        "boto3.Session.client.create_model_customization_job",
        "boto3.session.Session.client.create_model_customization_job",
        "aioboto3.Session.client.create_model_customization_job",
        "pulumi_aws.bedrock.CustomModel",
    }
)

# A part of the model's identifier -> family of the data file; the first that fits.
_FAMILIES = (
    ("titan-embed-image", "titan-embed-image"),
    ("titan-text-premier", "titan-text-premier"),
    ("titan-text", "titan-text"),
    ("claude", "claude"),
    ("cohere.command", "cohere"),
    ("meta.llama", "llama"),
    ("amazon.nova-micro", "nova"),
    ("amazon.nova-lite", "nova"),
    ("amazon.nova-pro", "nova"),
)
_VISUAL = ("image", "canvas", "reel")  # hundreds of epochs are usual there


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if ("baseModelIdentifier" in mapping and "trainingDataConfig" in mapping and "status" not in mapping)
        or terraform.is_resource(mapping, "aws_bedrock_custom_model")
    ] + list(state_machine.tasks(document, "createModelCustomizationJob", facts("bedrock", "aws_requests")))


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:4] == ("cli", "aws", "bedrock", "create-model-customization-job")


def read(reading: Reading) -> Run:
    spec = facts("bedrock")
    body = facts("bedrock", "aws_requests")
    as_request(reading, body)
    terraform.as_request(reading, body)
    family = _family(reading)
    fields: dict[str, Any] = spec["families"].get(family, {})
    held_out = family == "cohere" and "validationDataConfig" not in reading
    counting = COHERE if held_out else EXAMPLES if "batchSize" in fields else HIDDEN
    request = Request(reading, LABEL, counting)
    run = request.run
    if held_out:
        request.take("held_out_percent", "hyperParameters", "evalPercentage")
        if request.unwritten("hyperParameters", "evalPercentage"):
            request.default("held_out_percent", fields["evalPercentage"]["default"])
    run.settings["accumulation"] = Known(1, DERIVED)
    run.settings["billed_by_token"] = Known(True, DERIVED)
    run.settings["always_warmed"] = Known(True, DERIVED)
    if any(word in (reading.text("baseModelIdentifier") or "").lower() for word in _VISUAL):
        run.settings["language_model"] = Known(False, DERIVED)
    request.take("epochs", "hyperParameters", "epochCount")
    request.take("per_device_batch", "hyperParameters", "batchSize", whole=True)
    rate = "learningRateMultiplier" if family == "claude" else "learningRate"
    request.take("learning_rate", "hyperParameters", rate)
    if family == "claude":
        run.settings["rate_multiplier"] = Known(True, DERIVED)
    request.take("warmup_steps", "hyperParameters", "learningRateWarmupSteps", whole=True)
    for setting, key in (("epochs", "epochCount"), ("per_device_batch", "batchSize"), ("learning_rate", rate)):
        if key in fields and request.unwritten("hyperParameters", key):
            request.default(setting, fields[key]["default"])
    if reading.text("customizationType") == "CONTINUED_PRE_TRAINING":
        run.settings["method"] = Known("pretrain", DERIVED)
    request.judge(request.body(), body, whole=request.sent, nulls=False)
    if fields:
        request.judge(reading.mapping("hyperParameters"), fields)
    request.limits(spec["records"].get(family))
    return run


def _rest(rows: Known, get: Get) -> Known:
    """Cohere's models hold a percentage of the records back, where no validation data is given."""
    percent = get("held_out_percent").number
    if percent is None:
        return UNKNOWN
    return after(rows, lambda n: n - floor(n * percent / 100), f"{{}} - {percent:g} %")


COHERE = Counting(by_examples, warmup, product, _rest)


def _family(reading: Reading) -> str:
    model = (reading.text("baseModelIdentifier") or "").lower()
    return next((family for part, family in _FAMILIES if part in model), "")
