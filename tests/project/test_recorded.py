"""Stored outputs of a notebook: how many records the trainer was given, on how many workers."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project

CALL = """\
from transformers import Trainer, TrainingArguments
args = TrainingArguments("out", per_device_train_batch_size=2, gradient_accumulation_steps=4, num_train_epochs=3)
"""
TRAIN = "trainer = Trainer(model, args=args, train_dataset=data)\ntrainer.train()\n"
REPORT = """\
***** Running training *****
  Num examples = {records:,}
  Num Epochs = 3
  Instantaneous batch size per device = {batch}
  Total train batch size (w. parallel, distributed & accumulation) = {total}
  Gradient Accumulation steps = {accumulation}
  Total optimization steps = 300
"""


def notebook(*cells: tuple[str, str]) -> str:
    made = [
        {"cell_type": "code", "source": text, "outputs": [{"output_type": "stream", "text": shown}] if shown else []}
        for text, shown in cells
    ]
    return json.dumps({"cells": made, "nbformat": 4, "metadata": {}}, indent=1)


def report(records: int = 800, batch: int = 2, total: int = 16, accumulation: int = 4) -> str:
    return REPORT.format(records=records, batch=batch, total=total, accumulation=accumulation)


def test_records_and_workers_of_the_run_that_was_made() -> None:
    (run,) = check_project({"a.ipynb": notebook((CALL, ""), (TRAIN, report()))}, {"transformers": "4.57.6"}).runs
    facts = run.scenarios.fact
    assert (facts("records").value, facts("gpus").value, facts("total_steps").value) == (800, 2, 150)
    assert facts("records").origin == "recorded"


@pytest.mark.parametrize(
    "cells",
    [
        [(CALL, ""), (TRAIN, report(batch=8))],  # left from another batch
        [(CALL, ""), (TRAIN, report(accumulation=1))],
        [(TRAIN, report()), (CALL, "")],  # stands before the arguments
        [(CALL, ""), (TRAIN, report()), (TRAIN, report(records=900))],  # two runs
        [(CALL, ""), (TRAIN, "")],
    ],
)
def test_a_report_of_another_run_says_nothing(cells: list[tuple[str, str]]) -> None:
    (run,) = check_project({"a.ipynb": notebook(*cells)}).runs
    assert not run.scenarios.fact("records").exact
    assert not run.run.has("gpus")


def test_each_run_has_its_own() -> None:
    cells = [(CALL + TRAIN, report(records=80)), (CALL + TRAIN, report(records=160))]
    runs = check_project({"a.ipynb": notebook(*cells)}).runs
    assert [run.scenarios.fact("records").value for run in runs] == [80, 160]


def test_the_command_line_wins() -> None:
    files = {"a.ipynb": notebook((CALL, ""), (TRAIN, report()))}
    (run,) = check_project(files, {"records": 64, "gpus": 1}).runs
    assert (run.scenarios.fact("records").value, run.scenarios.fact("gpus").value) == (64, 1)


def test_unsloths_own_report() -> None:
    shown = (
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
        "   \\\\   /|    Num examples = 800 | Num Epochs = 3 | Total steps = 300\n"
        "O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 4\n"
        "\\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8\n"
    )
    (run,) = check_project({"a.ipynb": notebook((CALL, ""), (TRAIN, shown))}, {"transformers": "4.57.6"}).runs
    assert (run.scenarios.fact("gpus").value, run.scenarios.fact("total_steps").value) == (1, 300)
