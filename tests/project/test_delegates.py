"""A launch is one run, and its script may hand over to another module."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

SCRIPT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""


def test_a_launch_is_one_run_though_its_script_is_given_too() -> None:
    script = """\
from trl import SFTConfig, SFTTrainer, TrlParser
from own import parse

args = parse()
SFTTrainer("some/model", args=args).train()
"""
    files = {
        "configs/sft.yaml": "per_device_train_batch_size: 8\nlearning_rate: 2.0e-5\nnum_train_epochs: 3\n",
        "run.sh": "accelerate launch --num_processes 4 train.py configs/sft.yaml --num_train_epochs=6\n",
        "train.py": script,
    }
    (run,) = check_project(files).runs
    assert (run.run.path, run.run.launch) == ("configs/sft.yaml", "run.sh")


@pytest.mark.parametrize("line", ["from own.train.train import train", "from own.train.train import train as start"])
def test_a_script_that_hands_over_to_a_module(line: str) -> None:
    called = line.rpartition(" ")[2]
    files = {
        "scripts/task.sh": "deepspeed own/train/train_mem.py --output_dir o --per_device_train_batch_size 4\n",
        "own/train/train_mem.py": f"{line}\n\nif __name__ == '__main__':\n    {called}(attention='flash')\n",
        "own/train/train.py": SCRIPT.replace("(args,) =", "def train(attention=None):\n    (args,) =").replace(
            "\nTrainer", "\n    Trainer"
        ),
    }
    found = [run.run for run in check_project(files).runs if run.run.launch]
    assert [(run.path, run.setting("per_device_batch").value) for run in found] == [("scripts/task.sh", 4)]
    files["own/train/train_mem.py"] = f"{line}\n\nprint({called})\n"
    assert [run.run.launch for run in check_project(files).runs if run.run.launch] == [], "nothing is called"
