"""Which files make up a run: launches, scripts, configs, data."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project, lint_project

SCRIPT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""
AXOLOTL = """\
base_model: some/model
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-4
datasets:
  - path: {path}
    type: alpaca
"""
ROW = json.dumps({"instruction": "a", "input": "", "output": "b"}) + "\n"


def test_a_launch_starts_where_cd_went() -> None:
    files = {
        "run.sh": "cd training && torchrun --nproc_per_node 2 train.py --output_dir out --num_train_epochs 2\n",
        "training/train.py": SCRIPT,
    }
    (run,) = check_project(files).runs
    assert run.scenarios.fact("gpus").value == 2
    assert run.run.setting("epochs").value == 2


def test_a_launch_lends_its_flags_to_the_config() -> None:
    files = {
        "run.sh": "axolotl train config.yaml --num-epochs 5\n",
        "config.yaml": AXOLOTL.format(path="data.jsonl"),
        "data.jsonl": ROW * 64,
    }
    (run,) = check_project(files).runs
    assert run.run.setting("epochs").value == 5


def test_a_config_that_is_not_there_leaves_everything_open() -> None:
    script = """\
from trl import SFTConfig, SFTTrainer, TrlParser

(args,) = TrlParser((SFTConfig,)).parse_args_and_config()
SFTTrainer("some/model", args=args).train()
"""
    files = {"run.sh": "python train.py --config gone.yaml --eval_steps 10\n", "train.py": script}
    for run in check_project(files).runs:
        assert not run.run.setting("learning_rate").exact


def test_a_config_that_two_launches_start_is_two_runs() -> None:
    files = {
        "one.sh": "axolotl train config.yaml\n",
        "two.sh": "axolotl train config.yaml --num-epochs 1\n",
        "config.yaml": AXOLOTL.format(path="data.jsonl"),
    }
    epochs = sorted(run.run.setting("epochs").number or 0 for run in check_project(files).runs)
    assert epochs == [1, 3]


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (("train.jsonl",), 64),
        (("data/train.jsonl", "data/test.jsonl"), 64),
        (("data/part-1.jsonl", "data/part-2.jsonl"), 128),
    ],
)
def test_a_folder_of_data_is_dealt_out_as_datasets_does(names: tuple[str, ...], rows: int) -> None:
    files = dict.fromkeys(names, ROW * 64)
    files["train.py"] = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

data = load_dataset("{path}", split="train")
args = TrainingArguments(output_dir="out", num_train_epochs=3)
Trainer(model=AutoModelForCausalLM.from_pretrained("some/model"), args=args, train_dataset=data).train()
""".replace('"{path}"', '"./data"' if len(names) > 1 else '"json", data_files="train.jsonl"')
    (run,) = check_project(files).runs
    assert run.scenarios.fact("rows").value == rows


def test_data_outside_the_project_is_not_read() -> None:
    files = {"inside/.git/HEAD": "", "inside/config.yaml": AXOLOTL.format(path="../data.jsonl"), "data.jsonl": ROW * 64}
    (run,) = check_project(files, paths=["inside"]).runs
    assert not run.scenarios.fact("rows").exact


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", "accelerate launch --num_processes 4 -m axolotl.cli.train config.yaml\n"),
        ("Makefile", "train:\n\taccelerate launch --num_processes 4 -m axolotl.cli.train config.yaml\n"),
        (
            "docker-compose.yml",
            (
                "services:\n  train:\n    image: some/image\n"
                "    command: accelerate launch --num_processes 4 -m axolotl.cli.train config.yaml\n"
            ),
        ),
    ],
)
def test_a_config_alone_is_read_as_within_its_folder(name: str, text: str) -> None:
    files = {name: text, "config.yaml": AXOLOTL.format(path="data.jsonl"), "data.jsonl": ROW * 640}
    whole, alone = check_project(files), check_project(files, paths=["config.yaml"])
    assert [run.scenarios.fact("gpus").value for run in whole.runs] == [4]
    assert [run.scenarios.fact("gpus").value for run in alone.runs] == [4]
    assert whole.runs[0].scenarios.fact("total_steps").value == alone.runs[0].scenarios.fact("total_steps").value


@pytest.mark.parametrize("paths", [["."], ["run.sh"]])
def test_what_a_launch_without_any_setting_does_is_said_at_the_launch(paths: list[str]) -> None:
    files = {
        "run.sh": "CUDA_VISIBLE_DEVICES=0,1 python train.py args.yaml\n",
        "args.yaml": "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\n",
        "train.py": "import sys\n"
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file(sys.argv[1])\n"
        "Trainer(args=args).train()\n",
    }
    found = lint_project(files, {"records": 8000}, paths)
    assert [(finding.code, finding.path, finding.span.place.line) for finding in found] == [("BAT003", "run.sh", 1)]


@pytest.mark.parametrize(("second", "level"), [("2.0e-5", "note"), ("0.00002", "note"), ("3.0e-5", "error")])
def test_one_number_written_twice_in_two_ways_is_one_value(second: str, level: str) -> None:
    text = f"output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nlearning_rate: {second}\n"
    found = lint_project({"args.yaml": text})
    assert [finding.level for finding in found if finding.code == "CFG002"] == [level]


@pytest.mark.parametrize("folder", ["", "scripts/", "jobs/slurm/"])
def test_a_launch_that_only_names_a_config(folder: str) -> None:
    files = {
        f"{folder}job.sbatch": "#!/bin/bash\n#SBATCH --gres=gpu:4\naccelerate launch src/train.py conf/sft.yaml\n",
        "conf/sft.yaml": "stage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\nlearning_rate: 1.0e-4\n",
    }
    (run,) = check_project(files).runs
    assert run.run.path == "conf/sft.yaml"
    assert run.run.has("gpus"), "the launch is read with its config"


def test_a_script_is_started_in_a_folder_between() -> None:
    files = {
        "training/scripts/run.sh": "torchrun --nproc_per_node 2 src/train.py --output_dir out --num_train_epochs 2\n",
        "training/src/train.py": SCRIPT,
    }
    (run,) = check_project(files).runs
    assert run.run.setting("epochs").value == 2
    assert run.run.command[0] == "call", "read with the script, not as a stranger's flags"
