from __future__ import annotations

import pytest

from epochlint.run.known import DEFAULT, LAUNCH, WRITTEN
from epochlint.trainers import hf_args
from epochlint.trainers.trainer import Layer, Reading
from tests.trainers.hf.readings import (
    counted,
    fact,
    flags,
    json,
    of_call,
    of_document,
    of_flags,
    said,
    script,
    versions,
    yaml,
)

YAML = """\
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
num_train_epochs: 3
learning_rate: 2.0e-5
"""


class TestDefaults:
    def test_of_a_call_that_writes_nothing(self) -> None:
        document = script("from transformers import TrainingArguments\nargs = TrainingArguments('out')\n")
        run = hf_args.read(of_call(document, "TrainingArguments"))
        assert {
            name: run.setting(name).value for name in ("per_device_batch", "accumulation", "epochs", "learning_rate")
        } == {
            "per_device_batch": 8,
            "accumulation": 1,
            "epochs": 3.0,
            "learning_rate": 5e-5,
        }
        assert run.setting("accumulation").origin == DEFAULT

    def test_keywords_that_cannot_be_seen_leave_the_rest_unknown(self) -> None:
        document = script(
            "from transformers import TrainingArguments\nargs = TrainingArguments('out', learning_rate=1e-5, **more)\n"
        )
        run = hf_args.read(of_call(document, "TrainingArguments"))
        assert run.setting("learning_rate").number == 1e-5
        assert run.setting("accumulation").unknown

    def test_a_section_with_keys_of_its_authors_own_leaves_the_rest_unknown(self) -> None:
        text = (
            "training:\n  output_dir: out\n  per_device_train_batch_size: 2\n  num_train_epochs: 1\n  smoke_steps: 3\n"
        )
        document = yaml(text)
        (mapping,) = hf_args.recognise(document)
        run = hf_args.read(of_document(document, mapping))
        assert run.setting("accumulation").unknown
        assert run.setting("per_device_batch").number == 2

    def test_a_section_of_arguments_alone_takes_the_defaults(self) -> None:
        text = "training_args:\n  output_dir: out\n  per_device_train_batch_size: 2\n  num_train_epochs: 1\n"
        document = yaml(text)
        (mapping,) = hf_args.recognise(document)
        assert hf_args.read(of_document(document, mapping)).setting("accumulation").number == 1


class TestLength:
    def test_the_range_of_versions(self) -> None:
        run = hf_args.read(of_document(yaml(YAML)))
        total = fact(run, "total_steps", rows=100)
        assert (total.low, total.high) == (36, 39)
        assert [era.label for era in run.eras if "4.5" in era.label] != []

    def test_pinned(self) -> None:
        assert (
            fact(hf_args.read(of_document(yaml(YAML), transformers="==4.51.3")), "total_steps", rows=100).number == 36
        )
        assert (
            fact(hf_args.read(of_document(yaml(YAML), transformers="==5.24.0")), "total_steps", rows=100).number == 39
        )

    @pytest.mark.parametrize("off", ["-1", "-100", "null"])
    def test_max_steps_that_is_off(self, off: str) -> None:
        run = hf_args.read(of_document(yaml(YAML + f"max_steps: {off}\n"), transformers=">=4.52"))
        assert fact(run, "total_steps", rows=100).number == 39

    def test_a_limit_needs_no_rows(self) -> None:
        assert fact(hf_args.read(of_document(yaml(YAML + "max_steps: 60\n"))), "total_steps").number == 60

    def test_max_steps_0_is_off_up_to_448(self) -> None:
        old = hf_args.read(of_document(yaml(YAML + "max_steps: 0\n"), transformers="==4.45.2"))
        new = hf_args.read(of_document(yaml(YAML + "max_steps: 0\n"), transformers="==4.57.6"))
        assert fact(old, "total_steps", rows=100).number == 36
        assert fact(new, "total_steps", rows=100).number == 0

    def test_per_gpu_wins(self) -> None:
        run = hf_args.read(of_document(yaml(YAML + "per_gpu_train_batch_size: 16\n")))
        assert run.setting("per_device_batch").number == 16

    def test_a_batch_that_is_searched_for_is_only_bounded(self) -> None:
        run = hf_args.read(of_document(yaml(YAML + "auto_find_batch_size: true\n"), transformers=">=4.52"))
        total = fact(run, "total_steps", rows=100)
        assert (total.low, total.high) == (39, 75)

    def test_parallel_sizes_leave_fewer_workers(self) -> None:
        text = (
            '{"output_dir": "out", "per_device_train_batch_size": 2, "seed": 1, "parallelism_config": {"tp_size": 4}}'
        )
        run = hf_args.read(of_document(json(text)))
        assert run.setting("parallel").number == 4
        assert counted(run, rows=100, gpus=8).fact("effective_batch").number == 4


class TestEvaluation:
    def test_eval_steps_that_are_missing_are_logging_steps(self) -> None:
        run = hf_args.read(
            of_document(yaml(YAML + "eval_strategy: steps\nlogging_steps: 10\n"), transformers="==4.57.6")
        )
        assert counted(run, rows=312).fact("evaluations").number == 11

    def test_the_last_step_is_evaluated_since_54(self) -> None:
        text = YAML + "eval_strategy: steps\neval_steps: 10\n"
        assert (
            counted(hf_args.read(of_document(yaml(text), transformers="==5.3.0")), rows=312).fact("evaluations").number
            == 11
        )
        assert (
            counted(hf_args.read(of_document(yaml(text), transformers="==5.4.0")), rows=312).fact("evaluations").number
            == 12
        )

    def test_epochs_of_evaluation_without_any_rows(self) -> None:
        run = hf_args.read(of_document(yaml(YAML + "eval_strategy: epoch\n"), transformers=">=4.52"))
        assert fact(run, "evaluations").number == 3


class TestLaunch:
    def test_flags_beat_the_file(self) -> None:
        document = yaml(YAML)
        layers = [
            Layer(flags("--num_train_epochs 6 --learning_rate 1e-5"), LAUNCH),
            Layer(next(document.mappings()), WRITTEN),
        ]
        run = hf_args.read(Reading(document, layers, versions(), command=("python", "train.py")))
        assert (run.setting("epochs").number, run.setting("epochs").origin) == (6, LAUNCH)
        assert run.setting("accumulation").origin == WRITTEN
        assert said(run, "number_as_text") == []

    @pytest.mark.parametrize(
        ("text", "claimed"),
        [
            ("--output_dir out --per_device_train_batch_size 4 --num_train_epochs 3", True),
            ("--output-dir out --per-device-train-batch-size 4 --num-train-epochs 3", True),
            ("--output_dir out --per_device_train_batch 4 --num_train_epoch 3", True),
            ("--model x --port 8000 --max_tokens 10", False),
            ("--learning_rate 1e-4 --epochs 3 --batch_size 4", False),
            # Scripts that are older than TrainingArguments.
            ("--do_train --train_batch_size 4 --learning_rate 5e-5 --num_train_epochs 3 --output_dir out", False),
        ],
    )
    def test_claims_scripts_with_these_arguments(self, text: str, claimed: bool) -> None:
        assert hf_args.claims(("python", "train.py"), flags(text)) is claimed

    def test_a_wrong_number(self) -> None:
        run = hf_args.read(of_flags("--output_dir out --per_device_train_batch_size 4 --save_total_limit None"))
        assert run.setting("save_total_limit").unknown


class TestClasses:
    @pytest.mark.parametrize(
        "text",
        [
            "from transformers import TrainingArguments as T\nargs = T('out')\n",
            "import transformers\nargs = transformers.TrainingArguments('out')\n",
            "from transformers import Seq2SeqTrainingArguments\nargs = Seq2SeqTrainingArguments('out')\n",
            "from transformers.training_args import TrainingArguments\nargs = TrainingArguments('out')\n",
        ],
    )
    def test_imports_decide(self, text: str) -> None:
        assert [call.origin in hf_args.CALLS for call in script(text).calls] == [True]

    @pytest.mark.parametrize(
        "text",
        [
            "from setfit import TrainingArguments\nargs = TrainingArguments('out')\n",
            "class TrainingArguments: pass\nargs = TrainingArguments()\n",
        ],
    )
    def test_the_same_name_from_elsewhere_is_another_class(self, text: str) -> None:
        assert not any(call.origin in hf_args.CALLS for call in script(text).calls)

    def test_a_trainer_of_trl_with_plain_arguments(self) -> None:
        document = script(
            """
            from transformers import TrainingArguments
            from trl import SFTTrainer
            SFTTrainer(model="x", args=TrainingArguments("out"), train_dataset=data, packing=True, max_seq_length=512)
            """
        )
        run = hf_args.read(of_call(document, "TrainingArguments"))
        assert run.setting("method").value == "sft"
        assert run.setting("packing").value is True
        assert run.setting("sequence_length").number == 512

    def test_seq2seq_fields_are_known(self) -> None:
        document = script(
            "from transformers import Seq2SeqTrainingArguments as T\nargs = T('out', predict_with_generate=True)\n"
        )
        run = hf_args.read(of_call(document, "Seq2SeqTrainingArguments"))
        assert said(run, "unknown_key") == []


def test_odd_values_give_no_traceback() -> None:
    text = """\
    output_dir: [1, 2]
    per_device_train_batch_size: {a: 1}
    num_train_epochs: "many"
    gradient_accumulation_steps: ~
    learning_rate: .nan
    max_steps: 1e400
    eval_strategy: [steps]
    save_steps: -5
    warmup_ratio: yes
    lr_scheduler_type: 7
    lr_scheduler_kwargs: text
    accelerator_config: text
    parallelism_config: 3
    """
    document = yaml(text)
    run = hf_args.read(Reading(document, [Layer(next(document.mappings()))], versions()))
    for name in ("total_steps", "evaluations", "checkpoints", "warmup_steps"):
        fact(run, name, rows=10)


def test_the_cap_of_the_example_scripts() -> None:
    run = hf_args.read(of_flags("--output_dir out --per_device_train_batch_size 4 --max_train_samples 100"))
    assert fact(run, "records", rows=1000).number == 100
    assert fact(run, "records", rows=60).number == 60


class TestOwnClass:
    TEXT = """
        from dataclasses import dataclass, field
        import transformers
        from transformers import HfArgumentParser, Trainer

        @dataclass
        class TrainingArguments(transformers.TrainingArguments):
            num_train_epochs: float = field(default=1)
            model_max_length: int = field(default=512)

        """

    PARSER = "\n        (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    COMMAND = ("call", "transformers.TrainingArguments")

    def test_its_defaults_stand_for_the_librarys(self) -> None:
        reading = of_flags(
            "--output_dir out --per_device_train_batch_size 4", ("call", "transformers.TrainingArguments")
        )
        reading.python = script(self.TEXT + self.PARSER)
        run = hf_args.read(reading)
        assert (run.setting("epochs").number, run.setting("epochs").origin) == (1, DEFAULT)
        assert run.setting("accumulation").number == 1

    def test_a_flag_beats_them(self) -> None:
        reading = of_flags("--output_dir out --num_train_epochs 4", self.COMMAND)
        reading.python = script(self.TEXT + self.PARSER)
        assert hf_args.read(reading).setting("epochs").number == 4

    def test_its_fields_are_known_in_a_call(self) -> None:
        document = script(self.TEXT + "\n        args = TrainingArguments(output_dir='out', model_max_length=256)\n")
        run = hf_args.read(of_call(document, "TrainingArguments"))
        assert said(run, "unknown_key") == []
        assert said(run, "misspelt_key") == []
        assert run.setting("epochs").number == 1

    def test_attributes_that_are_set_later_are_no_keywords(self) -> None:
        document = script(
            "from transformers import TrainingArguments\nargs = TrainingArguments('out')\nargs.logging_step = 3\n"
        )
        run = hf_args.read(of_call(document, "TrainingArguments"))
        assert said(run, "misspelt_key") == []
