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


def test_a_script_of_ones_own_is_given_a_config_of_a_trainer() -> None:
    files = {
        "run.sh": "CUDA_VISIBLE_DEVICES=0,1 accelerate launch --use_deepspeed train.py config.yaml --micro_batch_size 4"
        " --num_epochs 2 --learning_rate 0.0001 --eval_steps 0.2 --output_dir out --max_length 2048 --packing True\n",
        "config.yaml": AXOLOTL.format(path="data.jsonl"),
        "train.py": "import fire\nfrom axolotl.cli.train import do_cli\n\n"
        "def train(config, **kwargs):\n    do_cli(config=config, **kwargs)\n\nfire.Fire(train)\n",
        "data.jsonl": ROW * 64,
    }
    (run,) = check_project(files).runs
    assert run.run.trainer == "axolotl"
    assert run.run.setting("per_device_batch").value == 4
    assert run.scenarios.fact("gpus").value == 2


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


@pytest.mark.parametrize(
    ("second", "level"), [("2.0e-5", "note"), ("0.00002", "note"), ("2e-5", "note"), ("3.0e-5", "error")]
)
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


class TestWhatCannotBeSeen:
    def test_a_config_that_lies_elsewhere_says_nothing(self) -> None:
        files = {"run.sh": "accelerate launch -m axolotl.cli.train examples/openllama-3b/lora.yml\n"}
        assert [found for found in lint_project(files) if found.level != "note"] == []

    def test_a_script_s_config_that_lies_elsewhere_says_nothing(self) -> None:
        script = (
            "from transformers import TrainingArguments\nfrom trl import SFTTrainer, TrlParser\n"
            "parser = TrlParser(TrainingArguments)\n(args,) = parser.parse_args_and_config()\n"
            "SFTTrainer(model='m', args=args, train_dataset=rows, eval_dataset=held).train()\n"
        )
        files = {"train.py": script, "run.sh": "torchrun --nproc_per_node 8 train.py --config /opt/config.yaml\n"}
        report = check_project(files)
        assert [finding.code for finding in report.findings if finding.level != "note"] == []
        fact = report.runs[0].scenarios.fact
        assert (fact("gpus").value, fact("epochs").value, fact("learning_rate").value) == (8, None, None)

    def test_flags_behind_an_unknown_command_are_no_program(self) -> None:
        script = (
            '#SBATCH --gres=gpu:2\nCMD="accelerate launch src/train.py --per_device_train_batch_size 2"\n'
            'if [ "$L" != none ]; then CMD="$CMD --seed 3"; fi\n'
            'CMD="$CMD --num_train_epochs 6 --lr_scheduler_type cosine --output_dir out --warmup_steps 5"\neval $CMD\n'
        )
        report = check_project({"a.sh": script})
        assert [checked.scenarios.fact("per_device_batch").value for checked in report.runs] in ([], [2])
        assert "BAT003" not in {found.code for found in report.findings}

    def test_a_model_that_may_be_spread_is_not_copied_to_each_gpu(self) -> None:
        train = (
            "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
            "model = AutoModelForCausalLM.from_pretrained('m'{})\n"
            "args = TrainingArguments(output_dir='out', per_device_train_batch_size=4, max_steps=500)\n"
            "Trainer(model, args).train()\n"
        )
        launch = "CUDA_VISIBLE_DEVICES=0,1 python train.py\n"
        copied = lint_project({"train.py": train.format(""), "run.sh": launch})
        assert "BAT003" in {found.code for found in copied}
        spread = check_project({"train.py": train.format(", device_map='auto'"), "run.sh": launch})
        assert "BAT003" not in {found.code for found in spread.findings}
        assert [checked.scenarios.fact("gpus").value for checked in spread.runs] == [None]

    def test_a_config_that_a_script_without_a_run_loads_stands_alone(self) -> None:
        files = {"sft.yaml": AXOLOTL.format(path="example/rows")}
        files["look.py"] = (
            "import yaml\nfrom transformers import TrainingArguments\n\n"
            "config = yaml.safe_load(open('sft.yaml'))\nprint(config['datasets'])\n"
        )
        assert [checked.run.trainer for checked in check_project(files).runs] == ["axolotl"]

    def test_a_script_that_cannot_be_seen_may_spread_its_model(self) -> None:
        launch = "CUDA_VISIBLE_DEVICES=0,1 python {} --output_dir out --per_device_train_batch_size 4 --max_steps 500\n"
        there = {"train.py": SCRIPT, "run.sh": launch.format("train.py")}
        for files, gpus in ((there, 2), ({"run.sh": launch.format("training/train.py")}, None)):
            report = check_project(files)
            assert [checked.scenarios.fact("gpus").value for checked in report.runs] == [gpus]
            assert ("BAT003" in {found.code for found in report.findings}) == (gpus == 2)

    def test_a_script_that_shows_itself_several_gpus_may_spread_its_model(self) -> None:
        train = (
            "import os\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
            "os.environ['CUDA_VISIBLE_DEVICES'] = '{}'\n"
            "model = AutoModelForCausalLM.from_pretrained('m'{})\n"
            "args = TrainingArguments(output_dir='out', per_device_train_batch_size=4, max_steps=500)\n"
            "Trainer(model, args).train()\n"
        )
        spread = ", device_map='auto'"
        for devices, more, gpus in (("0,1,2", "", 3), ("0,1,2", spread, None), ("2", spread, 1)):
            report = check_project({"train.py": train.format(devices, more)})
            assert [checked.scenarios.fact("gpus").value for checked in report.runs] == [gpus]

    def test_a_first_call_that_only_sets_up_the_devices_is_no_run(self) -> None:
        train = (
            "from transformers import Trainer, TrainingArguments\n_ = TrainingArguments('.')\n"
            "args = TrainingArguments(output_dir='out', per_device_train_batch_size=4, max_steps=500)\n"
        )
        assert [checked.run.span.place.line for checked in check_project({"train.py": train}).runs] == [3]
        alone = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out')\n"
        assert len(check_project({"train.py": alone}).runs) == 1

    @pytest.mark.parametrize(("head", "said"), [("if v5():", False), ("if True:", True)])
    def test_a_key_of_one_branch_may_have_asked_for_the_version(self, head: str, said: bool) -> None:
        train = (
            "from transformers import Trainer, TrainingArguments\nfrom elsewhere import v5\nmore = {}\n"
            f"{head}\n    more['include_tokens_per_second'] = True\n"
            "args = TrainingArguments(output_dir='out', max_steps=500, **more)\n"
        )
        found = lint_project({"train.py": train, "requirements.txt": "transformers>=5.0\n"})
        assert ("VER001" in {one.code for one in found}) == said

    def test_a_script_for_a_newer_python_is_passed_over(self) -> None:
        train = (
            "from transformers import Trainer, TrainingArguments\n"
            "args = TrainingArguments(output_dir=f'{names['run']}', \n    per_device_train_batch_size=4)\n"
            "Trainer(args=args, train_dataset=load_dataset('a')).train()\n"
        )
        assert "CFG010" not in {found.code for found in lint_project({"train.py": train})}
        broken = train.replace("f'{names['run']}'", "'out' 'x' 3")
        assert "CFG010" in {found.code for found in lint_project({"train.py": broken})}


_MANIFEST = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "spec": {
        "trainer": {
            "numNodes": 2,
            "numProcPerNode": 4,
            "command": ["torchrun", "train.py"],
            "args": [
                "--per_device_train_batch_size=4",
                "--num_train_epochs=3",
                "--learning_rate=2e-5",
                "--output_dir=o",
            ],
        }
    },
}


@pytest.mark.parametrize("name", ["job.json", "job.yaml"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_manifest_with_quoted_keys(name: str, indent: int | None) -> None:
    [run] = check_project({name: json.dumps(_MANIFEST, indent=indent)}, {"records": 640}).runs
    assert (run.scenarios.fact("gpus").value, run.scenarios.fact("total_steps").value) == (8, 60)
