"""Which calls are recorded, where their names come from, and how their results are linked."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import pytest

from epochlint.documents.python import Parsed, Reference
from tests.documents.python.reading import UNKNOWN, arguments, call, plain, script


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("from trl import SFTConfig\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("from trl import SFTConfig as Args\nArgs(a=1)", "trl.SFTConfig"),
        ("import trl\ntrl.SFTConfig(a=1)", "trl.SFTConfig"),
        ("import trl as t\nt.SFTConfig(a=1)", "trl.SFTConfig"),
        ("import trl.trainer\ntrl.trainer.SFTConfig(a=1)", "trl.trainer.SFTConfig"),
        ("import trl.trainer as t\nt.SFTConfig(a=1)", "trl.trainer.SFTConfig"),
        ("from trl import *\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("from transformers import *\nfrom trl import *\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("from unsloth import SFTConfig\nSFTConfig(a=1)", "unsloth.SFTConfig"),
        ("try:\n    from trl import SFTConfig\nexcept ImportError:\n    SFTConfig = None\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("try:\n    from trl import SFTConfig\nexcept ImportError:\n    from old import SFTConfig\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("if unknown:\n    from trl import SFTConfig\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("def f():\n    from trl import SFTConfig\n    SFTConfig(a=1)", "trl.SFTConfig"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from trl import SFTConfig\nSFTConfig(a=1)", "trl.SFTConfig"),
        ("from .configs import SFTConfig\nSFTConfig(a=1)", ".configs.SFTConfig"),
        ("from . import configs\nconfigs.SFTConfig(a=1)", ".configs.SFTConfig"),
        ("SFTConfig(a=1)", ""),
        ("from functools import partial\nfrom trl import SFTConfig\nmake = partial(SFTConfig, b=2)\nmake(a=1)", "trl.SFTConfig"),
        ("import trl\nC = trl.SFTConfig\nC(a=1)", "trl.SFTConfig"),
        ("import predibase\npredibase.SFTConfig(a=1)", "predibase.SFTConfig"),
    ],
)  # fmt: skip
def test_origins(text: str, origin: str) -> None:
    (made,) = [made for made in script(text).calls if made.arguments.get("a") is not None]
    assert made.origin == origin
    assert made.name == "SFTConfig"


@pytest.mark.parametrize(
    ("text", "name", "origin", "callee"),
    [
        ("from openai import OpenAI\nclient = OpenAI()\nclient.fine_tuning.jobs.create(model='m')", "create", "openai.OpenAI.fine_tuning.jobs.create", "client.fine_tuning.jobs.create"),
        ("import openai\nopenai.fine_tuning.jobs.create(model='m')", "create", "openai.fine_tuning.jobs.create", "openai.fine_tuning.jobs.create"),
        ("from together import Together\nTogether().fine_tuning.create(model='m')", "create", "together.Together.fine_tuning.create", "Together.fine_tuning.create"),
        ("import boto3\nboto3.client('bedrock').create_model_customization_job(jobName='x')", "create_model_customization_job", "boto3.client.create_model_customization_job", "boto3.client.create_model_customization_job"),
        ("def start(client):\n    client.fine_tuning.jobs.create('m')", "create", "", "client.fine_tuning.jobs.create"),
        ("from vertexai.tuning import sft\nsft.train(source_model='m')", "train", "vertexai.tuning.sft.train", "sft.train"),
        ("from training_hub import sft\nsft(model_path='m')", "sft", "training_hub.sft", "sft"),
        ("from kubeflow.training import TrainingClient\nTrainingClient().train(name='x')", "train", "kubeflow.training.TrainingClient.train", "TrainingClient.train"),
        ("from sagemaker.huggingface import HuggingFace\nHuggingFace(hyperparameters={'epochs': 1})", "HuggingFace", "sagemaker.huggingface.HuggingFace", "HuggingFace"),
        ("from trl import SFTTrainer\nSFTTrainer('m').train()", "train", "trl.SFTTrainer.train", "SFTTrainer.train"),
        ("class A:\n    def __init__(self):\n        from openai import OpenAI\n        self.client = OpenAI()\n    def go(self):\n        self.client.fine_tuning.jobs.create(model='m')", "create", "openai.OpenAI.fine_tuning.jobs.create", "self.client.fine_tuning.jobs.create"),
    ],
)  # fmt: skip
def test_calls_of_services(text: str, name: str, origin: str, callee: str) -> None:
    made = call(script(text), name)
    assert (made.origin, made.callee) == (origin, callee)


def test_results_are_linked_to_their_calls() -> None:
    document = script(
        """
        from peft import LoraConfig
        from transformers import EarlyStoppingCallback, Trainer, TrainingArguments
        args = TrainingArguments(output_dir="out")
        trainer = Trainer(
            "model", args, peft_config=LoraConfig(r=8),
            callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
        )
        trainer.train()
        """
    )
    trainer = call(document, "Trainer")
    linked = trainer.argument("args", 1)
    assert isinstance(linked, Reference)
    assert linked.call is call(document, "TrainingArguments")
    assert plain(trainer.arguments) == {
        "0": "model",
        "1": "TrainingArguments()",
        "peft_config": "LoraConfig()",
        "callbacks": ["EarlyStoppingCallback()"],
    }
    assert linked.call.target == "args"
    assert trainer.target == "trainer"
    assert call(document, "train").receiver is trainer


def test_something_read_from_a_result_says_what() -> None:
    document = script(
        """
        from openai import OpenAI
        client = OpenAI()
        upload = client.files.create(file=open("data/train.jsonl", "rb"), purpose="fine-tune")
        client.fine_tuning.jobs.create(training_file=upload.id, model="m")
        """
    )
    job = call(document, "client.fine_tuning.jobs.create")
    linked = job.argument("training_file")
    assert isinstance(linked, Reference)
    assert (linked.call.callee, linked.attribute) == ("client.files.create", "id")
    opened = linked.call.argument("file")
    assert isinstance(opened, Reference)
    assert (opened.call.name, plain(opened.call.argument("file", 0))) == ("open", "data/train.jsonl")


def test_links_hold_where_a_place_is_passed_several_times() -> None:
    document = script(
        """
        def train(rate):
            args = TrainingArguments(learning_rate=rate)
            Trainer(args=args)
        train(1e-4)
        train(2e-4)
        """
    )
    linked = call(document, "Trainer").argument("args")
    assert isinstance(linked, Reference)
    assert linked.call is call(document, "TrainingArguments")


def test_attributes_set_afterwards_count() -> None:
    document = script(
        """
        from transformers import TrainingArguments, Trainer
        args = TrainingArguments(output_dir="out", learning_rate=1e-4, num_train_epochs=3)
        args.learning_rate = 2e-4
        args.max_steps = 50
        trainer = Trainer(args=args)
        trainer.args.num_train_epochs = 1
        if unknown:
            args.warmup_steps = 10
            args.output_dir = "other"
        """
    )
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {
        "learning_rate": 2e-4,
        "max_steps": 50,
        "num_train_epochs": 1,
        "warmup_steps": {"one of": [10]},
        "output_dir": {"one of": ["out", "other"]},
    }
    entry = made.entry("learning_rate")
    assert entry is not None
    assert (entry.key_span.place.line, entry.key_span.text) == (4, "learning_rate")


def test_arguments_that_cannot_be_seen_leave_a_call_open() -> None:
    assert arguments("TrainingArguments(a=1, **unknown)") == {"a": 1, "...": True}
    assert arguments("TrainingArguments(*unknown, a=1)") == {"a": 1, "...": True}
    assert arguments("def f(**kwargs):\n    TrainingArguments(a=1, **kwargs)") == {"a": 1, "...": True}
    assert arguments("def f(**kwargs):\n    TrainingArguments(a=1, **kwargs)\nf(b=2)") == {"a": 1, "b": 2}
    assert arguments("TrainingArguments(*['x', 'y'], **{'a': 1})") == {"0": "x", "1": "y", "a": 1}


def test_what_was_passed_is_not_changed_by_what_happens_later() -> None:
    assert arguments("options = {'a': 1}\nTrainingArguments(options=options)\noptions['a'] = 2") == {
        "options": {"a": 1}
    }


def test_a_choice_of_objects_keeps_both() -> None:
    document = script(
        """
        from peft import LoraConfig
        config = LoraConfig(r=8) if use_lora else None
        SFTTrainer(peft_config=config)
        """
    )
    assert plain(call(document, "SFTTrainer").arguments) == {"peft_config": {"one of": ["LoraConfig()", None]}}


def test_uninteresting_calls_are_left_out() -> None:
    document = script("import torch, os\nprint('x')\ntorch.manual_seed(1)\nos.makedirs('a')\nhelper(1)\nlen([1])")
    assert document.calls == []


def test_calls_come_in_the_order_of_the_file() -> None:
    document = script("def later():\n    A(x=1)\nB(x=2)\nlater()\nC(x=3)")
    assert [made.name for made in document.calls] == ["A", "B", "C"]


def test_imports_and_environment_of_the_program() -> None:
    document = script(
        """
        import os
        import transformers as t
        from trl import SFTConfig as Config
        from datasets import *
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        os.environ.setdefault("WANDB_MODE", "offline")
        """
    )
    assert document.imports == {"os": "os", "t": "transformers", "Config": "trl.SFTConfig"}
    assert document.stars == ["datasets"]
    assert plain(document.environment) == {"CUDA_VISIBLE_DEVICES": "0,1", "WANDB_MODE": "offline"}


@pytest.mark.parametrize(
    ("expression", "environment", "expected"),
    [
        ("os.environ.get('EPOCHS', 3)", None, 3),
        ("int(os.environ.get('EPOCHS', '3'))", {"EPOCHS": "5"}, 5),
        ("os.getenv('EPOCHS', 3)", {"OTHER": "1"}, 3),
        ("os.environ['EPOCHS']", {"EPOCHS": "5"}, "5"),
        ("os.environ['EPOCHS']", None, UNKNOWN),
        ("os.environ.get('EPOCHS')", None, None),
        ("int(os.environ.get('WORLD_SIZE', 1))", None, UNKNOWN),
        ("int(os.environ.get('WORLD_SIZE', 1))", {"WORLD_SIZE": "4"}, 4),
    ],
)
def test_environment_variables(expression: str, environment: dict[str, str] | None, expected: object) -> None:
    found = arguments(f"import os\nTrainingArguments(x={expression})", environment=environment)["x"]
    assert found == expected


def test_what_the_program_sets_itself_wins_over_the_launch() -> None:
    text = "import os\nos.environ['EPOCHS'] = '7'\nTrainingArguments(x=int(os.environ['EPOCHS']))"
    assert arguments(text, environment={"EPOCHS": "2"}) == {"x": 7}


def test_parsed_arguments_are_linked_to_their_parser() -> None:
    document = script(
        """
        from transformers import HfArgumentParser, Trainer, TrainingArguments
        (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
        Trainer(args=args)
        """
    )
    linked = call(document, "Trainer").argument("args")
    assert isinstance(linked, Parsed)
    assert linked.parser is document.parsers[0]
    assert linked.dataclass.origin == "transformers.TrainingArguments"
