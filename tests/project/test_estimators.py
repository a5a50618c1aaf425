"""Scripts of the project that Amazon SageMaker's Python SDK starts: hyperparameters are flags."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

SCRIPT = """\
import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--lr", type=float, default=5e-5)
args = parser.parse_args()
arguments = TrainingArguments(
    output_dir="/opt/ml/model",
    num_train_epochs=args.epochs,
    per_device_train_batch_size=args.batch,
    learning_rate=args.lr,
    gradient_accumulation_steps=4,
)
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=arguments, train_dataset=rows).train()
"""
ESTIMATOR = """\
from sagemaker.huggingface import HuggingFace

estimator = HuggingFace(
    entry_point="train.py",
    source_dir="./scripts",
    instance_type="{instance}",
    instance_count={count},
    transformers_version="4.49.0",
    {distribution}
    hyperparameters={{"epochs": 3, "batch": 8, "lr": 2e-5}},
)
"""
TORCH = 'distribution={"torch_distributed": {"enabled": True}},'


def estimator(instance: str = "ml.g5.2xlarge", count: str = "1", distribution: str = "") -> str:
    return ESTIMATOR.format(instance=instance, count=count, distribution=distribution)


def facts(launch: str, **given: object) -> dict[str, object]:
    files = {"launch.py": launch, "scripts/train.py": SCRIPT}
    report = check_project(files, assume={"records": 12_800, **given})
    assert [(checked.run.trainer, checked.run.path) for checked in report.runs] == [("hf-args", "scripts/train.py")]
    names = ("epochs", "per_device_batch", "learning_rate", "gpus", "effective_batch", "total_steps")
    return {name: report.runs[0].scenarios.fact(name).value for name in names}


ONE = {"epochs": 3, "per_device_batch": 8, "learning_rate": 2e-5, "gpus": 1, "effective_batch": 32, "total_steps": 1200}


def test_hyperparameters_are_the_flags_of_the_script() -> None:
    assert facts(estimator()) == ONE


@pytest.mark.parametrize(
    ("instance", "count", "gpus"),
    [("ml.p4d.24xlarge", "2", 16), ("ml.g5.12xlarge", "1", 4), ("ml.g4dn.xlarge", "3", 3)],
)
def test_a_distribution_starts_a_process_for_each_gpu(instance: str, count: str, gpus: int) -> None:
    found = facts(estimator(instance, count, TORCH))
    assert (found["gpus"], found["effective_batch"]) == (gpus, 32 * gpus)


@pytest.mark.parametrize(
    "launch",
    [
        estimator("ml.g5.12xlarge"),  # one process on four GPUs: what it does with them is the script's affair
        estimator("ml.g5.2xlarge", "2"),
        estimator("ml.new.2xlarge", "2", TORCH),
        estimator("ml.p4d.24xlarge", "2", 'distribution={"mpi": {"enabled": True}},'),
        estimator("{kind}", "1", TORCH).replace('"{kind}"', "kind"),
    ],
)
def test_what_is_not_said_stays_open(launch: str) -> None:
    assert facts(launch)["gpus"] is None


def test_the_version_of_the_image_holds_unless_the_script_has_requirements() -> None:
    files = {"launch.py": estimator(), "scripts/train.py": SCRIPT}
    uneven = {"records": 100}
    assert check_project(files, assume=uneven).runs[0].scenarios.fact("total_steps").value == 9  # floor, up to 4.51
    files["scripts/requirements.txt"] = "transformers==4.57.6\n"
    assert check_project(files, assume=uneven).runs[0].scenarios.fact("total_steps").value == 12


def test_set_hyperparameters_comes_later() -> None:
    found = facts(estimator() + "estimator.set_hyperparameters(epochs=2)\n")
    assert (found["epochs"], found["total_steps"]) == (2, 800)


def test_the_third_version_of_the_sdk() -> None:
    launch = """\
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode
from sagemaker.train.distributed import Torchrun

trainer = ModelTrainer(
    training_image="image",
    source_code=SourceCode(source_dir="scripts", entry_script="train.py"),
    compute=Compute(instance_type="ml.g5.12xlarge", instance_count=2),
    distributed=Torchrun(),
    hyperparameters={"epochs": 3, "batch": 8, "lr": 2e-5},
)
trainer.train()
"""
    found = facts(launch)
    assert (found["gpus"], found["effective_batch"], found["total_steps"]) == (8, 256, 150)


def test_a_script_that_is_elsewhere_leaves_the_estimator_s_own_word() -> None:
    report = check_project({"launch.py": estimator()})
    assert [checked.run.trainer for checked in report.runs] == ["sagemaker"]
    assert report.runs[0].scenarios.fact("epochs").value == 3


@pytest.mark.parametrize(
    ("call", "method", "tuning"),
    [
        ("SFTTrainer(model='m', training_type=TrainingType.LORA, training_dataset='s3://b/t.jsonl')", "sft", "lora"),
        ("DPOTrainer(model='m', training_type='FULL', training_dataset='s3://b/t.jsonl')", "dpo", "full"),
        ("SFTTrainer(model='m', training_type=kind, training_dataset='s3://b/t.jsonl')", "sft", None),
    ],
)
def test_trainers_of_the_third_version(call: str, method: str, tuning: str | None) -> None:
    head = "from sagemaker.train import DPOTrainer, SFTTrainer\nfrom sagemaker.train.common import TrainingType\n"
    report = check_project({"tune.py": f"{head}trainer = {call}\ntrainer.train()\n"})
    assert [checked.run.trainer for checked in report.runs] == ["sagemaker"]
    fact = report.runs[0].scenarios.fact
    assert (fact("method").value, fact("tuning").value, fact("epochs").value) == (method, tuning, None)


def test_overrides_of_a_recipe() -> None:
    text = """\
from sagemaker.train import SFTTrainer

SFTTrainer(model="m", overrides={"training_config": {"training_args": {"max_epochs": 2, "learning_rate": 1e-5}}})
"""
    fact = check_project({"tune.py": text}).runs[0].scenarios.fact
    assert (fact("epochs").value, fact("learning_rate").value) == (2, 1e-5)
