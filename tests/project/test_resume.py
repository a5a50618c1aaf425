"""A run beside the checkpoint that it resumes from."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project

STATE = {"global_step": 100, "epoch": 1.0, "train_batch_size": 4}
RESUMED = 'trainer.train("made/checkpoint-100")'


def said(assume: dict[str, object], train: str = RESUMED, batch: int = 8, **state: object) -> list[str]:
    script = (
        "from transformers import Trainer, TrainingArguments\n"
        f'args = TrainingArguments("out", max_steps=900, per_device_train_batch_size={batch}, save_steps=50,\n'
        '    save_strategy="steps", resume_from_checkpoint="made/checkpoint-100")\n'
        f"trainer = Trainer(model, args, train_dataset=data)\n{train}\n"
    )
    files = {"train.py": script, "made/checkpoint-100/trainer_state.json": json.dumps({**STATE, **state})}
    return [found.code for found in check_project(files, assume).findings if found.code.startswith("RES")]


@pytest.mark.parametrize(
    ("assume", "state", "codes"),
    [
        ({"gpus": 1, "records": 400}, {}, ["RES001"]),  # 100 steps an epoch there, 50 here
        ({"gpus": 1, "records": 800}, {}, []),  # the same global batch: harmless since 5.2
        ({"gpus": 1, "records": 800, "transformers": "5.1.0"}, {}, ["RES001"]),
        ({"gpus": 1}, {}, []),  # the checkpoint's accumulation may have made up for it
        ({"gpus": 1}, {"train_batch_size": 3}, ["RES001"]),  # no whole accumulation does
        ({"gpus": 1, "transformers": "4.57.6"}, {}, ["RES001"]),  # another batch than written
        ({"records": 400}, {"train_batch_size": 16}, []),  # two GPUs under DataParallel
        ({"gpus": 1, "records": 400, "transformers": "5.24.0"}, {"train_batch_size": 8, "epoch": 2.0}, []),
        ({"gpus": 1, "records": 400}, {"train_batch_size": 8, "epoch": 1.0}, ["RES001"]),
        ({"gpus": 1, "records": 400}, {"train_batch_size": 8, "epoch": 0.93}, []),  # no whole number of steps
        ({"gpus": 1}, {"train_batch_size": 8, "save_steps": 100}, ["RES003"]),
        ({"gpus": 1}, {"train_batch_size": 8, "save_steps": 50}, []),
        ({"gpus": 1}, {"train_batch_size": 8, "global_step": 900}, ["RES002"]),
    ],
)
def test_what_differs(assume: dict[str, object], state: dict[str, object], codes: list[str]) -> None:
    assert said(assume, **state) == codes


@pytest.mark.parametrize("state", [{"train_batch_size": "x"}, {"epoch": 0}, {"epoch": -1e400}, {"global_step": None}])
def test_a_state_that_cannot_be_read_says_nothing(state: dict[str, object]) -> None:
    assert said({"gpus": 1}, batch=4, **state) == []


@pytest.mark.parametrize(
    ("train", "codes"),
    [
        ("trainer.train()", []),  # the argument alone resumes nothing
        ("trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)", ["RES001"]),
        ("if again:\n    trainer.train(args.resume_from_checkpoint)\nelse:\n    trainer.train()", ["RES001"]),
        ("trainer.train(**how)", ["RES001"]),
    ],
)
def test_whether_the_script_resumes(train: str, codes: list[str]) -> None:
    assert said({"gpus": 1, "records": 400}, train) == codes
