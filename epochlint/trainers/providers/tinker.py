"""Tinker's cookbook: supervised training by `train.Config`, whose data is built beside it.

tinker-cookbook 0.6.1, `supervised/train.py` and `supervised/data.py`: steps = (rows // batch) x epochs, a last batch
that is not full is dropped, `max_steps` only shortens. Loops of one's own over the client are not read.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Steps, product
from epochlint.run.known import DERIVED, Known
from epochlint.trainers.providers.request import Request
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Shape
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "tinker"
_CONFIG = "tinker_cookbook.supervised.train.Config"
CALLS = frozenset({_CONFIG, "chz.Blueprint.apply"})


def recognise(document: Document) -> list[Mapping]:
    return []


def _steps(shape: Shape) -> Steps:
    per_epoch = shape.records // shape.effective
    natural = int(shape.epochs) * per_epoch
    return Steps(per_epoch, natural, natural if shape.limit is None else min(natural, shape.limit))


COUNTING = Counting(_steps, None, product)


def read(reading: Reading) -> Run | list[Run]:
    if reading.command[-1:] != (_CONFIG,):  # `chz.Blueprint(train.Config).apply({...})`
        made = getattr(reading.call, "receiver", None)
        values = reading.layers[0].mapping.get("0")
        if getattr(made and made.argument("", 0), "origin", "") != _CONFIG or not isinstance(values, Mapping):
            return []
        reading.layers = [Layer(values)]
    request = Request(reading, LABEL, COUNTING)
    run = request.run
    run.settings["accumulation"] = Known(1, DERIVED)
    run.settings["tuning"] = Known("lora", DERIVED)
    request.take("epochs", "num_epochs")
    request.take("learning_rate", "learning_rate")
    request.take("max_steps", "max_steps", whole=True)
    for path in (("dataset_builder", "common_config", "batch_size"), ("dataset_builder", "batch_size")):
        request.take("per_device_batch", *path, whole=True)
    schedule = text_of(reading.node("lr_schedule"))
    if request.unwritten("num_epochs"):
        request.default("epochs", 1)
    if request.unwritten("learning_rate"):
        request.default("learning_rate", 1e-4)
    if schedule or request.unwritten("lr_schedule"):
        run.settings["scheduler"] = Known(schedule or "linear", DERIVED)
    return run
