"""Runs of other people, by the figures that they committed: what trainer_state.json, a stored output or a comment says.

Fourteen public runs. Each case writes the run's own settings into a small config of ours; rows, devices and versions
are what the record shows or implies. Only figures are kept here.

Where a record names no number of rows, they follow from it: the state's `epoch` is a fraction whose denominator is the
batches of an epoch (5,520 / 5,537), samples a second times the seconds are the samples of all epochs.
"""

from __future__ import annotations

import pytest

from tests.helpers import check_project

OLD, NEW = "4.46.3", "4.57.6"  # transformers that round an incomplete group down, and up
HF = """\
from transformers import Trainer, TrainingArguments

Trainer(args=TrainingArguments("out", {settings})).train()
"""
TRL = """\
from trl import {name}Config, {name}Trainer

{name}Trainer(model="some/model", args={name}Config("out", {settings})).train()
"""
LLAMAFACTORY = """\
stage: sft
do_train: true
finetuning_type: full
model_name_or_path: some/model
dataset: rows
template: llama3
output_dir: out
"""

# (what recorded it, per-device batch, accumulation, epochs, max_steps, rows, GPUs, transformers, total steps)
RUNS = [
    ("notebook output, SFT", 2, 8, 2, None, 555, 1, NEW, 70),
    ("trainer_state and notebook output", 4, 4, 1, None, 256_916, 1, NEW, 16_058),
    ("notebook output, Unsloth", 2, 4, 3, None, 798_029, 1, NEW, 299_262),
    ("notebook output, max_steps", 2, 4, None, 60, 171_647, 1, NEW, 60),
    ("trainer_state, select(range(2000))", 4, 1, 1, None, 2_000, 1, NEW, 500),
    ("trainer_state, 0.511 samples/s in 64,358 s", 6, 1, 10, None, 3_289, 1, NEW, 5_490),
    ("trainer_state, 5,537 batches: rounded down", 4, 16, 2, None, 22_148, 1, OLD, 692),
    ("trainer_state, 11,225 batches: rounded up", 2, 8, 2, None, 22_450, 1, NEW, 2_808),
    ("trainer_state, 29 steps an epoch", 16, 1, 3, None, 464, 1, NEW, 87),
    ("trainer_state, 680 steps an epoch", 16, 1, 5, None, 10_880, 1, NEW, 3_400),
    ("trainer_state, 131 steps an epoch", 64, 1, None, 5_000, 64 * 131, 1, NEW, 5_000),
    ("trainer_state, a stream", 128, 1, None, 100_000, 10**9, 1, NEW, 100_000),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run[0])
def test_the_steps_that_were_recorded(run: tuple) -> None:
    _, batch, accumulation, epochs, most, rows, gpus, version, total = run
    settings = f"per_device_train_batch_size={batch}, gradient_accumulation_steps={accumulation}"
    settings += f", num_train_epochs={epochs}" if epochs else f", max_steps={most}"
    assume = {"records": rows, "gpus": gpus, "transformers": version}
    (checked,) = check_project({"train.py": HF.format(settings=settings)}, assume).runs
    assert checked.scenarios.fact("total_steps").value == total


def test_the_other_rounding_gives_another_number() -> None:
    """The two records that only one of the two ways of rounding explains."""
    for batch, accumulation, rows, version, other in ((4, 16, 22_148, NEW, 694), (2, 8, 22_450, OLD, 2_806)):
        settings = (
            f"per_device_train_batch_size={batch}, gradient_accumulation_steps={accumulation}, num_train_epochs=2"
        )
        assume = {"records": rows, "gpus": 1, "transformers": version}
        (checked,) = check_project({"train.py": HF.format(settings=settings)}, assume).runs
        assert checked.scenarios.fact("total_steps").value == other


def test_grpo_counts_completions() -> None:
    """926 prompts with the eight generations that TRL makes by default: 231 steps an epoch, not 29."""
    settings = "per_device_train_batch_size=2, gradient_accumulation_steps=16, num_train_epochs=2"
    assume = {"records": 926, "gpus": 1, "transformers": NEW, "trl": "0.22.0"}
    (checked,) = check_project({"train.py": TRL.format(name="GRPO", settings=settings)}, assume).runs
    assert checked.scenarios.fact("total_steps").value == 462


def test_an_author_who_saves_at_the_last_step() -> None:
    """`save_steps: 6126` is the whole run: 0.8 of 10,211 rows (the fork's own `train_size`) on two GPUs."""
    settings = "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nnum_train_epochs: 3.0\n"
    assume = {"records": int(10_211 * 0.8), "gpus": 2}
    (checked,) = check_project({"sft.yaml": LLAMAFACTORY + settings}, assume).runs
    assert checked.scenarios.fact("total_steps").value == 6_126
