"""Alibaba's DashScope: `training_file_ids` and `hyper_parameters`, some of them text that holds a number."""

from __future__ import annotations

from math import floor

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, after, product
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request, facts
from epochlint.trainers.providers.simple import by_examples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "dashscope"
CALLS = frozenset({"dashscope.FineTunes.call", "dashscope.FineTune.call", "dashscope.finetunes.create"})
_VISUAL = ("wan", "video", "image", "flux")  # hundreds of epochs are usual there


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "training_file_ids" in mapping and "hyper_parameters" in mapping and "status" not in mapping
    ]


def _train_part(rows: Known, get: Get) -> Known:
    share = get("training_share").number
    return after(rows, lambda n: floor(share * n + 1e-9), f"floor({share:g} x {{}})") if share else rows


def read(reading: Reading) -> Run:
    request = Request(reading, LABEL, Counting(by_examples, None, product, _train_part))
    run = request.run
    run.settings["accumulation"] = Known(1, DERIVED)
    run.settings["billed_by_token"] = Known(True, DERIVED)
    request.take("epochs", "hyper_parameters", "n_epochs")
    request.take("per_device_batch", "hyper_parameters", "batch_size", whole=True)
    request.take("learning_rate", "hyper_parameters", "learning_rate")
    request.take("training_share", "hyper_parameters", "split")
    kind = reading.text("training_type") or ""
    run.settings["method"] = Known("dpo" if "dpo" in kind else "pretrain" if kind == "cpt" else "sft", DERIVED)
    model = (reading.text("model") or "").lower()
    if any(part in model for part in _VISUAL):
        run.settings["language_model"] = Known(False, DERIVED)
    request.judge(reading.mapping("hyper_parameters"), facts("dashscope")["hyperparameters"], complete=False)
    return run
