"""Fireworks' fine-tuning jobs. `batchSize` counts tokens, 0 means "not set"."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.run.counting import Counting, after
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.commands import as_request
from epochlint.trainers.providers.request import Request, camel_case, facts, respelt
from epochlint.trainers.providers.simple import HIDDEN, no_batch, warmup
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "fireworks"
CALLS = frozenset(
    {
        "fireworks.Fireworks.supervised_fine_tuning_jobs.create",
        "fireworks.AsyncFireworks.supervised_fine_tuning_jobs.create",
        "fireworks.Fireworks.dpo_jobs.create",
    }
)
_HYPER = ("epochs", "learningRate", "loraRank", "batchSize", "batchSizeSamples", "maxContextLength")


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        if "dataset" not in mapping or any(key in mapping for key in ("state", "status", "createTime")):
            continue
        nested = mapping.mapping("trainingConfig")
        if (nested is not None and "baseModel" in nested) or (
            ("baseModel" in mapping or "warmStartFrom" in mapping) and any(key in mapping for key in _HYPER)
        ):
            found.append(mapping)
    return found


_JOBS = frozenset({"sftj", "supervised-fine-tuning-job", "dpoj", "dpo-job", "rftj", "reinforcement-fine-tuning-job"})


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    return program[:2] == ("cli", "firectl") and "create" in program and any(word in _JOBS for word in program)


def _carves_out(reading: Reading) -> bool:
    """Whether a part of the dataset is held out for evaluation: `evalAutoCarveout` without an evaluation dataset."""
    spellings = ("evalAutoCarveout", "eval_auto_carveout"), ("evaluationDataset", "evaluation_dataset")
    flag, data = (next((node for key in keys if (node := reading.node(key)) is not None), None) for keys in spellings)
    return isinstance(flag, Scalar) and flag.value is True and (data is None or text_of(data) == "")


def _rest(rows: Known, get: Get) -> Known:
    """A tenth of the rows is held out, at most 100 (fw-ai/cookbook 76821fa, the loop that the service runs)."""
    return after(rows, lambda n: n - min(n // 10, 100), "{} - a tenth, at most 100")


_CARVED = Counting(None, warmup, no_batch, _rest)


def read(reading: Reading) -> Run:
    spec = facts("fireworks")
    as_request(reading, spec["hyperparameters"])
    request = Request(reading, LABEL, _CARVED if _carves_out(reading) else HIDDEN)
    if reading.call is not None:  # the SDK spells the names Python's way
        reading.layers = [Layer(respelt(layer.mapping, camel_case), layer.origin) for layer in reading.layers]
    run = request.run
    run.settings["billed_by_token"] = Known(True, DERIVED)
    prefix = ("trainingConfig",) if reading.mapping("trainingConfig") is not None else ()
    for setting, key in (("epochs", "epochs"), ("learning_rate", "learningRate")):
        if request.take(setting, *prefix, key).number == 0:  # not set
            run.settings.pop(setting, None)
    if "lossConfig" in reading or any("dpo" in word for word in reading.command):
        run.settings["method"] = Known("dpo", DERIVED)
    request.limits(spec["records"])
    block = reading.mapping(*prefix) if prefix else request.body()
    request.judge(block, spec["hyperparameters"], complete=False)
    request.take("beta", "lossConfig", "dpo", "beta")
    request.judge(reading.mapping("lossConfig"), spec["loss"], complete=False)
    return run
