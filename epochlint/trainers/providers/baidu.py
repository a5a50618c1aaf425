"""Baidu Qianfan's fine-tuning jobs: `trainConfig` + `trainset`, or since its second version `hyperParameterConfig` +
`datasetConfig`; in Python `LLMFinetune(train_config=TrainConfig(...))` (qianfan 0.4.12, trainer/configs.py).

A share of the data in percent is held out (`trainsetRate`, `splitRatio`).
"""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, after, product
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import by_examples, warmup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "baidu"
CALLS = frozenset(
    f"qianfan.trainer.{module}{name}" for module in ("", "finetune.") for name in ("LLMFinetune", "Finetune")
) | {"qianfan.trainer.DPO", "qianfan.trainer.dpo.DPO"}
_SHAPES = (("trainConfig", "trainset"), ("hyperParameterConfig", "datasetConfig"))
_NAMES = (
    ("epochs", ("epoch",)),
    ("per_device_batch", ("batchSize", "batch_size")),
    ("learning_rate", ("learningRate", "learning_rate")),
    ("warmup_ratio", ("warmupRatio", "warmup_ratio")),
)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if any(
            all(isinstance(mapping.get(key), Mapping) or (key == "trainset" and key in mapping) for key in shape)
            for shape in _SHAPES
        )
        and not any(key in mapping for key in ("result", "status", "trainStatus", "createTime"))
    ]


def _rest(rows: Known, get: Get) -> Known:
    """Rows without the percent that are held out."""
    percent = get("held_out_percent").number
    return after(rows, lambda n: n - floor(n * percent / 100), f"{{}} - {percent:g} %") if percent else rows


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, Counting(by_examples, warmup, product, _rest))
    run = request.run
    run.settings["accumulation"] = Known(1, DERIVED)
    block = next((key for key in ("trainConfig", "hyperParameterConfig", "train_config") if key in reading), "")
    for setting, keys in _NAMES:
        for key in keys:
            request.take(setting, block, key, whole=setting == "per_device_batch")
    for path in (("trainConfig", "trainsetRate"), ("trainsetRate",), ("datasetConfig", "splitRatio")):
        request.take("held_out_percent", *path)
    if any("dpo" in word.lower() for word in reading.command):
        run.settings["method"] = Known("dpo", DERIVED)
    spec = facts("baidu")
    request.judge(reading.mapping(block), spec["hyperparameters"], complete=False)
    for part in (request.body(), reading.mapping("datasetConfig")):
        request.judge(part, spec["split"], complete=False)
    request.limits(spec["records"])
    return run
