"""Schedules that accelerate steps for every process."""

from __future__ import annotations

import pytest

from epochlint.documents.python.model import PythonDocument
from epochlint.documents.read import read
from epochlint.project.marks import may_prepare
from epochlint.project.prepared import prepared_schedules
from epochlint.source import Source

LOOP = """\
from accelerate import Accelerator
from transformers import get_scheduler

accelerator = Accelerator({accelerator})
optimizer = AdamW(model.parameters(), lr=args.learning_rate)
scheduler = {built}
{prepare}
"""
BUILT = "get_scheduler('cosine', optimizer, 100, num_training_steps={steps})"
PREPARE = "model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)"


def _lines(accelerator: str = "", built: str = "", steps: str = "1000", prepare: str = PREPARE) -> list[str]:
    text = LOOP.format(accelerator=accelerator, built=built or BUILT.format(steps=steps), prepare=prepare)
    document = read(Source("train.py", text))
    assert isinstance(document, PythonDocument)
    assert may_prepare(text)
    return [found.span.text for found in prepared_schedules(document)]


@pytest.mark.parametrize("steps", ["1000", "args.max_train_steps", "config['num_steps']", "10 * 100"])
def test_a_length_that_is_written_is_stepped_by_each_process(steps: str) -> None:
    assert _lines(steps=steps) == ["num_training_steps"]


@pytest.mark.parametrize(
    "steps",
    [
        "1000 * accelerator.num_processes",
        "args.max_train_steps * world_size",
        "len(loader) * 3",
        "args.num_epochs * steps_per_epoch",
        "compute(loader)",
        "unknown()",
    ],
)
def test_a_length_that_is_scaled_or_counted_is_right(steps: str) -> None:
    assert _lines(steps=steps) == []


@pytest.mark.parametrize(
    "accelerator",
    [
        "split_batches=True",
        "step_scheduler_with_optimizer=False",
        "**kwargs",
        "dataloader_config=config",
        "split_batches=x",
    ],
)
def test_an_accelerator_that_steps_once(accelerator: str) -> None:
    assert _lines(accelerator=accelerator) == []


def test_only_prepared_schedules() -> None:
    assert _lines(prepare="loader = accelerator.prepare(loader)") == []
    assert _lines(prepare="scheduler = accelerator.prepare_scheduler(scheduler)") == ["num_training_steps"]


def test_the_functions_of_one_schedule() -> None:
    for name in ("get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup"):
        text = LOOP.replace("get_scheduler", name)
        built = f"{name}(optimizer, num_warmup_steps=10, num_training_steps=500)"
        document = read(Source("train.py", text.format(accelerator="", built=built, prepare=PREPARE)))
        assert isinstance(document, PythonDocument)
        assert [found.span.text for found in prepared_schedules(document)] == ["num_training_steps"]


@pytest.mark.parametrize(
    ("package", "built", "said"),
    [
        ("transformers", "get_scheduler('cosine', optimizer, warmup, 1000)", ["1000"]),
        ("diffusers", "get_scheduler('cosine', optimizer, None, 100)", []),  # the warmup
        ("diffusers", "get_scheduler('cosine', optimizer, None, warmup, 1000)", ["1000"]),
        ("mine", "get_scheduler('cosine', optimizer, None, 1000, 1000)", []),
    ],
)
def test_the_place_among_the_arguments(package: str, built: str, said: list[str]) -> None:
    text = LOOP.replace("transformers", package).format(accelerator="", built=built, prepare=PREPARE)
    document = read(Source("train.py", text))
    assert isinstance(document, PythonDocument)
    assert [found.span.text for found in prepared_schedules(document)] == said
