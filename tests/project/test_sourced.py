"""Shell scripts that read others: `source env.sh`."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

LAUNCH = "torchrun --nproc_per_node $GPUS train.py --learning_rate $LR --num_train_epochs 2 --output_dir out\n"
TRAIN = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""


@pytest.mark.parametrize(
    "line", ["source env.sh", ". ./env.sh", "set -a; source env.sh; set +a", "cd conf\nsource ../env.sh\ncd .."]
)
def test_what_another_script_sets(line: str) -> None:
    files = {"run.sh": f"{line}\n{LAUNCH}", "env.sh": "GPUS=4\nexport LR=3e-5\n", "train.py": TRAIN}
    files["conf/x"] = ""
    (run,) = check_project(files).runs
    assert run.run.setting("learning_rate").value == 3e-5
    assert run.scenarios.fact("gpus").value == 4


def test_it_replaces_what_was_set_before() -> None:
    files = {"run.sh": f"LR=1e-3\nGPUS=2\nsource env.sh\n{LAUNCH}", "env.sh": "LR=3e-5\n", "train.py": TRAIN}
    (run,) = check_project(files).runs
    assert run.run.setting("learning_rate").value == 3e-5


@pytest.mark.parametrize(
    "files",
    [
        {"env.sh": "source run.sh\n"},
        {"env.sh": "source env.sh\n"},
        {"env.sh": "if grep -q big hosts; then LR=1e-4; else LR=2e-4; fi\n"},
        {"env.sh": "LR=$(python choose.py)\n"},
        {"other.sh": "LR=1e-4\n"},
        {"../env.sh": "LR=1e-4\n"},
    ],
)  # fmt: skip
def test_what_is_not_certain_stays_unknown(files: dict[str, str]) -> None:
    project = {f"inner/{name}": text for name, text in files.items()}
    project |= {"inner/run.sh": f"source env.sh\n{LAUNCH}", "inner/train.py": TRAIN, "inner/.git/HEAD": ""}
    (run,) = check_project(project, paths=["inner/run.sh"]).runs
    assert not run.run.setting("learning_rate").exact
