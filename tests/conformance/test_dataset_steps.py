"""Rows that `datasets` and pandas leave of files, recorded, against what is read of the same lines in a script."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conformance.recorded import load, runs
from tests.helpers import check_project

RECORDED = load("dataset_steps")
CASES = [(name, case, happened) for _, name, case, happened in runs("dataset_steps")]

TRAINING = """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
args = TrainingArguments(output_dir="out", per_device_train_batch_size=1, num_train_epochs=1)
Trainer(model=AutoModelForCausalLM.from_pretrained("org/tiny"), args=args, train_dataset=data).train()
"""


def word(case: dict[str, Any], happened: dict[str, Any]) -> str:
    files = {**RECORDED["files"], "train.py": case["script"] + TRAINING}
    report = check_project(files, {"gpus": 1, "transformers": "4.57.6"}, ["train.py"])
    assert len(report.runs) == 1
    rows = report.runs[0].scenarios.fact("records")
    if "error" in happened:
        return "silent" if not rows.exact or not rows.value else "missed"
    real = happened["records"]
    if rows.high is None and (rows.low or 0) <= 1:
        return "open"
    if rows.exact:
        return "equal" if rows.value == real else f"wrong: {rows}, not {real}"
    inside = (rows.low or 0) <= real and (rows.high is None or real <= rows.high)
    return "range" if inside else f"wrong: {rows}, not {real}"


# What stays unknown, and why.
OPEN = {
    "make/every other line": "a slice with steps of a list",
    "make/generator": "what a function yields",
    "make/pandas csv, no header": "an argument that changes which lines are rows",
    "make/pandas csv, skipped": "an argument that changes which lines are rows",
    "make/saved": "files that only the run writes",
    "mix/side by side": "columns are put side by side",
    "step/half of the filtered": "the length of other rows than those that are taken",
    "step/map that grows": "a batched function may make any number of rows",
}


@pytest.fixture(scope="module")
def words() -> dict[str, str]:
    return {name: word(case, happened) for name, case, happened in CASES}


def test_no_number_is_wrong(words: dict[str, str]) -> None:
    assert {name: word for name, word in words.items() if word.startswith(("wrong", "missed"))} == {}


def test_what_stays_open_has_a_reason(words: dict[str, str]) -> None:
    assert {name for name, word in words.items() if word == "open"} == OPEN.keys()


def test_how_many_are_equal(words: dict[str, str]) -> None:
    assert Counter(words.values()) == {"equal": 140, "range": 15, "open": 8, "silent": 2}
