from __future__ import annotations

import pytest

from epochlint.documents.document import Document
from epochlint.run.run import Run
from epochlint.trainers import hf_args, tables, trl
from epochlint.trainers.hf.keys import consumer_of, told_by_keys
from epochlint.trainers.hf.loading import full_name
from tests.trainers.hf.readings import json, of_call, of_document, of_flags, said, script, yaml

BASE = '"output_dir": "out", "per_device_train_batch_size": 8, "num_train_epochs": 3'


def keywords(text: str):  # type: ignore[no-untyped-def]
    document = script(
        f"from transformers import TrainingArguments\nargs = TrainingArguments(output_dir='out', {text})\n"
    )
    return of_call(document, "TrainingArguments")


def config(text: str) -> Document:
    return json(f"{{{BASE}, {text}}}")


class TestMisspelt:
    def test_a_keyword_that_the_class_does_not_have(self) -> None:
        (seen,) = said(hf_args.read(keywords("gradient_accumulation_step=8")), "misspelt_key")
        assert seen.values["suggestion"] == "gradient_accumulation_steps"
        assert seen.values["rejected"] is True
        assert seen.span.text == "gradient_accumulation_step"
        assert seen.fix is not None
        assert [edit.text for edit in seen.fix.edits] == ["gradient_accumulation_steps"]

    def test_nothing_near_is_only_unknown(self) -> None:
        run = hf_args.read(keywords("favourite_colour='red'"))
        assert said(run, "misspelt_key") == []
        assert len(said(run, "unknown_key")) == 1

    @pytest.mark.parametrize(
        ("text", "head", "owner"),
        [
            ("TrainingArguments(output_dir='out', packing=True)", "", "SFTConfig"),
            ("DPOConfig(output_dir='out', model_name_or_path='gpt2')", "", "ModelConfig"),
            ("SFTConfig(output_dir='out', num_generations=8)", "", "GRPOConfig"),
            ("SFTConfig(output_dir='out', num_generations=8)", "import unsloth\n", None),  # drops it with a word
            ("TrainingArguments(output_dir='out', beta=0.1)", "import unsloth\n", None),
            ("PPOConfig(model_name='gpt2', beta=0.1, num_train_epochs=1)", "", None),  # there were two of that name
        ],
    )
    def test_a_keyword_that_another_class_has_is_refused(self, text: str, head: str, owner: str | None) -> None:
        name = text.partition("(")[0]
        module = hf_args if name == "TrainingArguments" else trl
        package = "transformers" if name == "TrainingArguments" else "trl"
        run = module.read(of_call(script(f"{head}from {package} import {name}\nargs = {text}\n"), name))
        assert isinstance(run, Run)
        reasons = [str(seen.values["reason"]) for seen in said(run, "rejected")]
        assert [f"is a setting of {owner}, " in reason for reason in reasons] == ([True] if owner else [])

    def test_flags_of_a_script_that_cannot_be_seen_are_its_own_unless_nothing_else_has_them(self) -> None:
        text = "--max_seq_length 512 --evaluation_strategy epoch --packing --per_device_train_batch_size 4 --bf16"
        run = trl.read(of_flags(text, ("python", "train_sft.py")))
        assert isinstance(run, Run)
        assert [seen.values["old"] for seen in said(run, "renamed")] == ["evaluation_strategy"]

    def test_a_class_of_the_scripts_own_may_have_fields_of_its_own(self) -> None:
        document = script(
            """
            from dataclasses import dataclass
            from transformers import TrainingArguments

            @dataclass
            class Mine(TrainingArguments):
                gradient_accumulation_step: int = 3

            args = Mine(output_dir="out", gradient_accumulation_step=8)
            """
        )
        call = next(call for call in document.calls if "Mine" in call.callee)
        reading = of_call(document, call.name)
        run = hf_args.read(reading)
        assert said(run, "misspelt_key") == []

    def test_a_file_without_a_visible_consumer_is_not_judged(self) -> None:
        run = hf_args.read(of_document(config('"gradient_accumulation_step": 8')))
        assert said(run, "misspelt_key") == []

    def test_null_is_never_misspelt(self) -> None:
        assert said(hf_args.read(keywords("gradient_accumulation_step=None")), "misspelt_key") == []

    @pytest.mark.parametrize(
        ("flag", "name"), [("logging_step", "logging_steps"), ("num-train-epochs", "num_train_epochs")]
    )
    def test_argparse_takes_unique_beginnings_and_dashes(self, flag: str, name: str) -> None:
        assert full_name(flag, set(tables.load("transformers", "TrainingArguments").names())) == name

    def test_a_beginning_of_several_options_is_none(self) -> None:
        assert full_name("per_device", set(tables.load("transformers", "TrainingArguments").names())) == "per_device"

    def test_flags_are_read_under_their_full_names(self) -> None:
        run = hf_args.read(of_flags("--output_dir out --per_device_train_batch 4 --gradient_accumulation_step 2"))
        assert run.setting("per_device_batch").number == 4
        assert run.setting("accumulation").number == 2


class TestParsers:
    SCRIPT = """
        from dataclasses import dataclass, field
        from transformers import HfArgumentParser, TrainingArguments

        @dataclass
        class Extra:
            lora_droppout: float = field(default=0.1)

        extra, args = HfArgumentParser((Extra, TrainingArguments)).parse_args_into_dataclasses()
        """

    def reading(self, text: str):  # type: ignore[no-untyped-def]
        reading = of_flags(text, command=("call", "transformers.TrainingArguments"))
        reading.python = script(self.SCRIPT)
        return reading

    def test_a_script_knows_the_fields_that_it_defines(self) -> None:
        run = hf_args.read(self.reading("--output_dir out --lora_droppout 0.1"))
        assert said(run, "misspelt_key") == []
        assert said(run, "unknown_key") == []

    def test_and_refuses_what_none_of_its_classes_has(self) -> None:
        (seen,) = said(hf_args.read(self.reading("--output_dir out --loging_steps 1")), "misspelt_key")
        assert seen.values["suggestion"] == "logging_steps"
        assert seen.values["rejected"] is True

    def test_a_class_from_elsewhere_hides_its_fields(self) -> None:
        reading = of_flags("--output_dir out --loging_steps 1", command=("call", "transformers.TrainingArguments"))
        reading.python = script(
            """
            from transformers import HfArgumentParser, TrainingArguments
            from mine import Extra
            extra, args = HfArgumentParser((Extra, TrainingArguments)).parse_args_into_dataclasses()
            """
        )
        assert said(hf_args.read(reading), "misspelt_key") == []


class TestRenamed:
    def test_a_name_that_the_version_dropped(self) -> None:
        document = config('"evaluation_strategy": "epoch"')
        (seen,) = said(hf_args.read(of_document(document, transformers="==4.57.6")), "renamed")
        assert seen.values["old"] == "evaluation_strategy"
        assert seen.values["new"] == "eval_strategy"
        assert seen.values["package"] == "transformers"
        assert seen.fix is not None
        assert seen.fix.edits[0].text == '"eval_strategy"'

    @pytest.mark.parametrize(
        ("text", "version", "notes"),
        [
            ('"evaluation_strategy": "epoch"', "==4.45.2", 1),  # both names
            ('"evaluation_strategy": "epoch"', "==4.40.2", 0),  # the old one alone
            ('"warmup_ratio": 0.1', "==5.14.1", 1),
            ('"warmup_ratio": 0.1', "==4.57.6", 0),  # warmup_steps takes no share there
        ],
    )
    def test_an_old_version_is_told_where_it_knows_the_new_name(self, text: str, version: str, notes: int) -> None:
        run = hf_args.read(of_document(config(text), transformers=version))
        assert len(said(run, "renamed")) == notes

    def test_both_names_written_are_not_renamed_into_each_other(self) -> None:
        document = config('"evaluation_strategy": "epoch", "eval_strategy": "epoch"')
        (seen,) = said(hf_args.read(of_document(document, transformers="==4.57.6")), "renamed")
        assert seen.fix is None

    def test_a_name_that_came_later(self) -> None:
        document = config('"eval_strategy": "epoch"')
        run = hf_args.read(of_document(document, via="parse_json_file", transformers="==4.36.2"))
        assert [seen.values["consumer"] for seen in said(run, "rejected")] == ["TrainingArguments"]


class TestVersions:
    table = tables.load("transformers", "TrainingArguments")

    def test_keys_narrow_the_arithmetic(self) -> None:
        document = config('"evaluation_strategy": "no", "gradient_accumulation_steps": 4')
        range_ = told_by_keys(of_document(document), self.table)
        assert range_.at_least("4.51.0") is False
        run = hf_args.read(of_document(document))
        assert ">= 4.52" not in [era.label for era in run.eras]

    def test_a_fraction_of_steps_means_transformers_5(self) -> None:
        assert told_by_keys(of_document(config('"warmup_steps": 0.05')), self.table).at_least("5.0") is True

    def test_words_that_others_use_too_tell_nothing_in_a_file(self) -> None:
        assert told_by_keys(of_document(config('"project": "mine", "use_cache": true')), self.table).low is None


class TestWords:
    def test_no_without_quotes(self) -> None:
        document = yaml("output_dir: out\nper_device_train_batch_size: 8\nnum_train_epochs: 2\neval_strategy: no\n")
        run = hf_args.read(of_document(document, via="parse_yaml_file"))
        (seen,) = said(run, "boolean_trap")
        assert seen.values["raw"] == "no"
        assert seen.fix is not None
        assert seen.fix.edits[0].text == '"no"'
        assert run.setting("eval_strategy").value == "no"

    @pytest.mark.parametrize("text", ['"no"', "'no'", "steps", "epoch"])
    def test_a_word(self, text: str) -> None:
        document = yaml(f"output_dir: out\nper_device_train_batch_size: 8\nseed: 2\neval_strategy: {text}\n")
        assert said(hf_args.read(of_document(document, via="parse_yaml_file")), "boolean_trap") == []


class TestNumbers:
    YAML = "output_dir: out\nper_device_train_batch_size: 8\nseed: 2\n"

    def test_text_under_a_key_that_the_run_has_no_use_for(self) -> None:
        document = yaml(self.YAML + "adam_epsilon: 1e-8\n")
        (seen,) = said(hf_args.read(of_document(document, via="parse_yaml_file")), "number_as_text")
        assert seen.values["visible"] is True
        assert seen.fix is not None
        assert seen.fix.edits[0].text == "1.0e-8"

    def test_inside_the_schedules_arguments(self) -> None:
        document = yaml(self.YAML + "lr_scheduler_kwargs:\n  min_lr: 1e-6\n")
        assert len(said(hf_args.read(of_document(document, via="parse_yaml_file")), "number_as_text")) == 1

    @pytest.mark.parametrize("via", ["TrlParser", "OmegaConf.load", "argparse", "hydra", "ruamel"])
    def test_loaders_that_convert(self, via: str) -> None:
        document = yaml(self.YAML + "learning_rate: 2e-5\n")
        run = hf_args.read(of_document(document, via=via))
        assert said(run, "number_as_text") == []
        assert run.setting("learning_rate").number == 2e-5

    def test_an_unseen_consumer_is_worth_a_note(self) -> None:
        document = yaml(self.YAML + "learning_rate: 2e-5\n")
        (seen,) = said(hf_args.read(of_document(document)), "number_as_text")
        assert seen.values["visible"] is False

    def test_flags_are_cast_by_their_types(self) -> None:
        run = hf_args.read(of_flags("--output_dir out --learning_rate 2e-5 --adam_epsilon 1e-8"))
        assert said(run, "number_as_text") == []


def test_a_consumer_names_the_class() -> None:
    reading = keywords("learning_rate=1e-5")
    consumer = consumer_of(reading, tables.load("transformers", "TrainingArguments"))
    assert consumer.name == "TrainingArguments"
    assert consumer.complete
    assert consumer.rejects
