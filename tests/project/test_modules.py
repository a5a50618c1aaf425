"""Modules of the project that a script imports: found as Python finds them, and never executed."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

ARGUMENTS = """\
from dataclasses import dataclass, field
from transformers import TrainingArguments

@dataclass
class Arguments(TrainingArguments):
    num_train_epochs: float = field(default=4)
"""
PROGRAM = """\
import transformers
from pack.arguments import Arguments

def train(attention=None):
    parser = transformers.HfArgumentParser(Arguments)
    (args,) = parser.parse_args_into_dataclasses()
    transformers.Trainer(args=args).train()
"""
ENTRY = "from pack.program import train\n\nif __name__ == '__main__':\n    train('flash')\n"
LAUNCH = "deepspeed --num_gpus 4 pack/entry.py --per_device_train_batch_size 2 --learning_rate 2e-5\n"


@pytest.mark.parametrize("launch", [LAUNCH, LAUNCH.replace("pack/entry.py", "--module pack.entry")])
def test_a_script_that_only_calls_another_module(launch: str) -> None:
    files = {"run.sh": launch, "pack/entry.py": ENTRY, "pack/program.py": PROGRAM, "pack/arguments.py": ARGUMENTS}
    (run,) = check_project(files).runs
    assert run.run.path == "run.sh"
    assert run.scenarios.fact("gpus").value == 4
    assert run.run.setting("learning_rate").value == 2e-5
    assert run.run.setting("epochs").value == 4, "the default of the project's own class"


CALL = """\
from transformers import Trainer, TrainingArguments

def run(rate, epochs=3):
    args = TrainingArguments(output_dir="out", learning_rate=rate, num_train_epochs=epochs)
    Trainer(args=args).train()
"""


def test_what_a_script_hands_to_a_module_is_known_there() -> None:
    files = {
        "train.py": "from training import run\nimport settings\n\nrun(settings.LEARNING_RATE)  # TrainingArguments\n",
        "training.py": CALL,
        "settings.py": "LEARNING_RATE = 1e-4\n",
    }
    (run,) = check_project(files).runs
    assert (run.run.path, run.run.setting("learning_rate").value, run.run.setting("epochs").value) == (
        "training.py", 1e-4, 3,
    )  # fmt: skip
    (alone,) = check_project(files, paths=["training.py"]).runs
    assert not alone.run.setting("learning_rate").exact


def test_two_scripts_each_give_the_module_their_own_values() -> None:
    files = {
        "one.py": "from training import run\nlearning_rate = 1e-4\nrun(learning_rate)\n",
        "two.py": "from training import run\nlearning_rate = 2e-4\nrun(learning_rate)\n",
        "training.py": CALL,
    }
    rates = sorted(run.run.setting("learning_rate").value for run in check_project(files).runs)
    assert rates == [1e-4, 2e-4]


SETTINGS = """\
from transformers import Trainer, TrainingArguments
{imports}

args = TrainingArguments(output_dir="out", learning_rate={rate})
Trainer(args=args).train()
"""


@pytest.mark.parametrize(
    ("imports", "rate"),
    [
        ("from conf.settings import LEARNING_RATE as rate", "rate"),
        ("from conf.settings import *", "LEARNING_RATE"),
        ("from conf import settings", "settings.LEARNING_RATE"),
        ("import conf.settings", "conf.settings.LEARNING_RATE"),
        ("import conf.settings as c", "c.LEARNING_RATE"),
        ("from conf.settings import Settings", "Settings().rate"),
        ("from conf.settings import make", "make()['rate']"),
    ],
)
def test_settings_of_a_module(imports: str, rate: str) -> None:
    settings = (
        "LEARNING_RATE = 3e-5\n\nclass Settings:\n    rate = LEARNING_RATE\n\n"
        "def make():\n    return {'rate': LEARNING_RATE}\n\n"
        "if __name__ == '__main__':\n    LEARNING_RATE = 1.0\n"
    )
    files = {"train.py": SETTINGS.format(imports=imports, rate=rate), "conf/settings.py": settings}
    (run,) = check_project(files).runs
    assert run.run.setting("learning_rate").value == 3e-5


@pytest.mark.parametrize(
    ("imports", "files"),
    [
        ("from settings import learning_rate", {}),
        # Two folders that the name could mean, none of them the script's.
        ("from settings import learning_rate", {"settings.py": "learning_rate = 1", "src/settings.py": ""}),
        ("from settings import learning_rate", {"job/settings.py": "learning_rate = 1 if sys.argv else 2"}),
        ("from settings import learning_rate", {"job/settings.py": "learning_rate = ["}),
        ("from settings import learning_rate", {"job/settings.py": "import train\nfrom other import learning_rate"}),
        ("import settings\nsettings.learning_rate = f()\nlearning_rate = settings.learning_rate",
         {"job/settings.py": "learning_rate = 1"}),
        ("from ....settings import learning_rate", {"settings.py": "learning_rate = 1"}),
    ],
)  # fmt: skip
def test_what_cannot_be_told_stays_unknown(imports: str, files: dict[str, str]) -> None:
    script = SETTINGS.format(imports=imports, rate="learning_rate")
    (run,) = check_project({"job/train.py": script, **files}).runs
    assert not run.run.setting("learning_rate").exact


def test_an_adapter_in_a_module_is_seen_by_what_asks_for_full_tuning() -> None:
    script = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from helpers import freeze

model = AutoModelForCausalLM.from_pretrained("some/model")
freeze(model)
Trainer(model=model, args=TrainingArguments(output_dir="out", learning_rate=2e-3)).train()
"""
    helper = "# learning_rate: only the new layers\ndef freeze(model):\n    model.requires_grad_(False)\n"
    (run,) = check_project({"train.py": script, "helpers.py": helper}).runs
    assert run.run.setting("tuning").value != "full"


def test_nothing_is_executed() -> None:
    trap = "learning_rate = 1e-4\nopen('sprung', 'w').write('x')\nraise SystemExit\n"
    script = SETTINGS.format(imports="from trap import learning_rate", rate="learning_rate")
    files = {"train.py": script, "trap.py": trap}
    report = check_project(files)
    assert len(report.runs) == 1
    assert not report.skipped


def test_arguments_that_no_trainer_of_the_program_is_given_say_nothing_about_it() -> None:
    files = {
        "train.py": (
            "import lightning\nfrom settings import args\nlightning.Trainer(max_epochs=args.num_train_epochs).fit()\n"
        ),
        "settings.py": (
            "from transformers import TrainingArguments\nargs = TrainingArguments('out', num_train_epochs=2)\n"
        ),
        "run.sh": "torchrun --nproc_per_node 8 train.py --deepspeed ds.json --learning_rate 1e-4\n",
    }
    for run in check_project(files).runs:
        assert (run.run.path, run.run.has("gpus")) == ("settings.py", False)


def test_a_trainer_of_ones_own_evaluates_as_it_likes() -> None:
    files = {
        "train.py": (
            "from transformers import TrainingArguments\nfrom loop import PPOTrainer\n"
            "PPOTrainer(args=TrainingArguments('out', learning_rate=1e-4), eval_dataset=[1, 2]).train()\n"
        ),
        "loop.py": "class PPOTrainer:\n    def __init__(self, args, eval_dataset):\n        self.learning_rate = 1\n",
    }
    (run,) = check_project(files).runs
    assert not run.run.setting("validation").exact


def test_a_file_that_another_flag_names_is_not_the_parsers() -> None:
    script = """\
import argparse
from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--config_file")
parser.add_argument("--training_args")
ns = parser.parse_args()
(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file(yaml_file=ns.training_args)
Trainer(args=args).train()
"""
    config = "output_dir: out\nlearning_rate: 1.0e-4\nnum_train_epochs: 3\nper_device_train_batch_size: 2\n"
    files = {"train.py": script, "run.sh": "python train.py --config_file conf.yaml", "conf.yaml": config}
    assert all(run.run.command[:1] != ("call",) for run in check_project(files).runs)
    files["run.sh"] = "python train.py --training_args conf.yaml"
    (run,) = check_project(files).runs
    assert run.run.setting("learning_rate").value == 1e-4
