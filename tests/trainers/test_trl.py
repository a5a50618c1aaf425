from __future__ import annotations

import pytest

from epochlint.run.known import DEFAULT
from epochlint.run.run import Run
from epochlint.trainers import trl
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
model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: acme/chat
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 4
num_train_epochs: 1
"""


def read(more: str = "", path: str = "config.yaml", command: tuple[str, ...] = (), **packages: str) -> Run:
    document = yaml(YAML + more, path)
    return trl.read(Reading(document, [Layer(next(document.mappings()))], versions(**packages), command=command))


def call(text: str, name: str = "SFTConfig", head: str = "", **packages: str) -> Run:
    document = script(f"from trl import {name}\n{head}args = {name}(output_dir='out', seed=1, {text})  # Trainer\n")
    return trl.read(of_call(document, name, **packages))


class TestMethod:
    @pytest.mark.parametrize(
        ("name", "method"),
        [
            ("SFTConfig", "sft"),
            ("DPOConfig", "dpo"),
            ("KTOConfig", "kto"),
            ("GRPOConfig", "grpo"),
            ("RewardConfig", "reward"),
        ],
    )
    def test_of_a_class(self, name: str, method: str) -> None:
        assert call("", name).setting("method").value == method

    @pytest.mark.parametrize(
        ("more", "method"),
        [
            ("num_generations: 8\n", "grpo"),
            ("loss_type: sigmoid\nbeta: 0.1\n", "dpo"),
            ("loss_type: ipo\n", "ipo"),
            ("loss_type: simpo\n", "simpo"),
            ("desirable_weight: 1.0\n", "kto"),
            ("packing: true\n", "sft"),
        ],
    )
    def test_of_keys(self, more: str, method: str) -> None:
        assert read(more).setting("method").value == method

    @pytest.mark.parametrize(
        ("path", "method"),
        [
            ("recipes/zephyr/sft/config_full.yaml", "sft"),
            ("dpo.yaml", "dpo"),
            ("kto_config.yaml", "kto"),
            ("config.yaml", None),
        ],
    )
    def test_of_the_path(self, path: str, method: str | None) -> None:
        assert read(path=path).setting("method").value == method

    @pytest.mark.parametrize("command", [("trl", "dpo"), ("python", "-m", "trl.scripts.dpo")])
    def test_of_the_command(self, command: tuple[str, ...]) -> None:
        assert read(command=command).setting("method").value == "dpo"

    def test_simpo_is_a_loss_of_cpo(self) -> None:
        assert call("loss_type='simpo'", "CPOConfig").setting("method").value == "simpo"


class TestClasses:
    @pytest.mark.parametrize(
        "origin",
        [
            "trl.SFTConfig",
            "trl.trainer.sft_config.SFTConfig",
            "trl.experimental.orpo.ORPOConfig",
            "trl.trainer.utils.DPOConfig",
        ],
    )
    def test_every_way_to_import_one(self, origin: str) -> None:
        assert origin in trl.CALLS

    @pytest.mark.parametrize(
        "origin", ["predibase.SFTConfig", "mine.SFTConfig", "trl.ModelConfig", "trl.SFTTrainer", "trlx.SFTConfig", ""]
    )
    def test_the_same_name_from_elsewhere(self, origin: str) -> None:
        assert origin not in trl.CALLS

    @pytest.mark.parametrize(
        ("program", "text", "claimed"),
        [
            (("trl", "sft"), "--model_name_or_path x", True),
            (("python", "-m", "trl.scripts.grpo"), "", True),
            (
                ("python", "sft.py"),
                "--dataset_name x --use_peft --output_dir o --per_device_train_batch_size 4 --seed 1",
                True,
            ),
            (("python", "train.py"), "--output_dir out --per_device_train_batch_size 4 --num_train_epochs 3", False),
            # What transformers' own examples take as well tells of TRL only where the script is called so.
            (
                ("python", "run_glue.py"),
                "--max_seq_length 128 --per_device_train_batch_size 4 --seed 1 --do_train",
                False,
            ),
            (("python", "train_sft.py"), "--max_seq_length 128 --per_device_train_batch_size 4 --seed 1 --bf16", True),
            (
                ("python", "train.py"),
                "--max_seq_length 128 --packing --per_device_train_batch_size 4 --seed 1 --fp16",
                True,
            ),
            (("trl", "vllm-serve"), "--model x", False),
            (("trl", "env"), "", False),
        ],
    )
    def test_claims(self, program: tuple[str, ...], text: str, claimed: bool) -> None:
        assert trl.claims(program, flags(text)) is claimed


class TestDefaults:
    @pytest.mark.parametrize(
        ("name", "version", "rate"),
        [
            ("SFTConfig", "0.11.4", 5e-5),
            ("SFTConfig", "0.24.0", 2e-5),
            ("DPOConfig", "0.11.4", 5e-5),
            ("DPOConfig", "1.16.0", 1e-6),
            ("RewardConfig", "0.15.2", 5e-5),
            ("RewardConfig", "0.24.0", 1e-4),
            ("GRPOConfig", "0.24.0", 1e-6),
        ],
    )
    def test_the_rate_by_version(self, name: str, version: str, rate: float) -> None:
        known = fact(call("", name, trl=f"=={version}"), "learning_rate")
        assert known.number == rate
        assert known.origin == DEFAULT

    def test_the_rate_of_an_unknown_version_is_one_of_two(self) -> None:
        run = call("", "DPOConfig")
        rates = {era.label.split(",")[0]: run.setting("learning_rate", era).number for era in run.eras}
        assert set(rates.values()) == {5e-5, 1e-6}

    def test_transformers_tells_trls_version(self) -> None:
        # trl 0.12 asks for transformers >= 4.46.
        assert fact(call("", "DPOConfig", transformers="==4.44.2"), "learning_rate").number == 5e-5

    def test_a_written_rate_needs_no_eras(self) -> None:
        assert all("trl" not in era.label for era in call("learning_rate=1e-5").eras)

    @pytest.mark.parametrize(
        ("batch", "accumulation", "more", "low", "high"),
        [
            (1, 1, "", 6, 6),
            (2, 2, "", 6, 6),
            (12, 1, "", 12, 12),
            (2, 3, "", 2, 6),  # whole groups over the accumulation: newer versions leave it
            (1, 1, ", steps_per_generation=2", 1, 1),
        ],
    )
    def test_unsloth_makes_the_batch_one_group_of_completions(
        self, batch: int, accumulation: int, more: str, low: int, high: int
    ) -> None:
        text = (
            f"per_device_train_batch_size={batch}, gradient_accumulation_steps={accumulation}, num_generations=6{more}"
        )
        known = call(text, "GRPOConfig", head="from unsloth import FastModel\n").setting("per_device_batch")
        assert (known.low, known.high) == (low, high)
        assert call(text, "GRPOConfig").setting("per_device_batch").number == batch

    def test_unsloth_drops_what_the_class_does_not_know(self) -> None:
        text = "loss_type='nll', max_steps=60"
        assert len(said(call(text, trl="==0.22.2"), "rejected")) == 1
        assert said(call(text, head="from unsloth import FastModel\n", trl="==0.22.2"), "rejected") == []

    def test_unsloth_has_defaults_of_its_own(self) -> None:
        run = call(
            "per_device_train_batch_size=2, warmup_steps=5, max_steps=60", head="from unsloth import FastModel\n"
        )
        assert run.setting("accumulation").unknown
        assert run.setting("learning_rate").unknown
        assert counted(run).fact("warmup_steps").number == 5
        assert fact(run, "total_steps").number == 60


class TestPacking:
    def test_joined_rows_bound_the_steps(self) -> None:
        run = call(
            "packing=True, per_device_train_batch_size=8, num_train_epochs=3", trl="==0.24.0", transformers="==4.57.6"
        )
        total = fact(run, "total_steps", rows=40)
        assert (total.low, total.high) == (3, 15)

    @pytest.mark.parametrize("version", ["0.12.2", "0.15.2"])
    def test_cut_rows_do_not(self, version: str) -> None:
        run = call("packing=True, per_device_train_batch_size=8", trl=f"=={version}")
        assert fact(run, "total_steps", rows=40).unknown

    def test_nor_does_a_strategy_that_cuts(self) -> None:
        run = call("packing=True, packing_strategy='wrapped'", trl="==0.24.0")
        assert fact(run, "total_steps", rows=40).unknown

    def test_a_limit_holds_anyway(self) -> None:
        assert fact(call("packing=True, max_steps=1661", trl="==0.24.0"), "total_steps", rows=8861).number == 1661

    @pytest.mark.parametrize(
        ("strategy", "version", "refused"),
        [("ffd", "0.24.0", True), ("bfd", "0.24.0", False), ("bfd", "0.19.1", True), ("bfd_split", "1.16.0", False)],
    )
    def test_strategies_by_version(self, strategy: str, version: str, refused: bool) -> None:
        run = call(f"packing=True, packing_strategy='{strategy}'", trl=f"=={version}")
        from epochlint.run.versions import version_key

        key = version_key(version)
        held = [
            seen
            for seen in said(run, "rejected")
            if key >= version_key(str(seen.values.get("since", "0")))
            and key < version_key(str(seen.values.get("until", "99")))
        ]
        assert bool(held) is refused


class TestGenerations:
    ARGS = "num_generations=8, per_device_train_batch_size=8, gradient_accumulation_steps=4, num_train_epochs=1"

    def test_completions_are_counted(self) -> None:
        run = call(self.ARGS, "GRPOConfig", trl="==0.29.1", transformers="==5.0.0")
        facts = counted(run, rows=1000, gpus=4)
        assert facts.fact("total_steps").number == 62
        assert facts.fact("effective_batch").number == 128

    def test_in_015_the_loader_repeats_prompts(self) -> None:
        run = call(self.ARGS, "GRPOConfig", trl="==0.15.2", transformers="==4.49.0")
        assert counted(run, rows=1000).fact("total_steps").number == 250

    def test_the_default_of_eight(self) -> None:
        run = call("per_device_train_batch_size=4", "GRPOConfig", trl="==0.24.0")
        assert run.setting("num_generations").number == 8
        assert run.setting("steps_per_generation").number == 1

    def test_a_round_lasts_an_accumulation(self) -> None:
        assert call(self.ARGS, "GRPOConfig", trl="==0.24.0").setting("steps_per_generation").number == 4
        assert call(self.ARGS, "GRPOConfig", trl="==0.15.2").setting("steps_per_generation").number == 1

    def test_one_generation_is_refused(self) -> None:
        run = call("num_generations=1", "GRPOConfig", trl="==0.24.0")
        assert [seen.span.text for seen in said(run, "too_few_generations")] == ["num_generations"]

    def test_two_sizes_of_one_round(self) -> None:
        run = call("steps_per_generation=2, generation_batch_size=16", "GRPOConfig", trl="==0.24.0")
        assert len(said(run, "rejected")) == 1


class TestDpo:
    def test_a_loss_that_does_not_exist(self) -> None:
        assert len(said(call("loss_type='sigmod'", "DPOConfig"), "rejected")) == 1

    @pytest.mark.parametrize("loss", ["sigmoid", "ipo", "kto_pair", "sigmoid_norm"])
    def test_losses_of_any_version(self, loss: str) -> None:
        assert said(call(f"loss_type='{loss}'", "DPOConfig"), "rejected") == []

    def test_a_class_that_the_version_does_not_have(self) -> None:
        assert len(said(call("", "GRPOConfig", trl="==0.12.2"), "rejected")) == 1


class TestKto:
    def test_one_row_has_no_divergence(self) -> None:
        assert len(said(call("per_device_train_batch_size=1", "KTOConfig"), "too_few_generations")) == 1

    def test_a_loss_without_it(self) -> None:
        run = call("per_device_train_batch_size=1, loss_type='apo_zero_unpaired'", "KTOConfig")
        assert said(run, "too_few_generations") == []

    def test_two_rows(self) -> None:
        assert said(call("per_device_train_batch_size=2", "KTOConfig"), "too_few_generations") == []


class TestTuning:
    @pytest.mark.parametrize(
        ("more", "tuning"),
        [
            ("use_peft: true\nlora_r: 16\n", "lora"),
            ("use_peft: true\nload_in_4bit: true\n", "qlora"),
            ("use_peft: false\n", "full"),
            ("", "full"),
        ],
    )
    def test_as_the_scripts_model_config_says(self, more: str, tuning: str) -> None:
        assert read(more).setting("tuning").value == tuning

    def test_a_rank_alone_in_trls_own_script_switches_nothing_on(self) -> None:
        assert read("lora_r: 16\n", command=("trl", "sft")).setting("tuning").value == "full"

    def test_an_adapter_in_a_script(self) -> None:
        document = script(
            """
            from peft import LoraConfig
            from trl import SFTConfig, SFTTrainer
            args = SFTConfig(output_dir="out")
            SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=data, peft_config=LoraConfig(r=32))
            """
        )
        run = trl.read(of_call(document, "SFTConfig"))
        assert run.setting("tuning").value == "lora"
        assert run.setting("lora_rank").number == 32

    def test_without_one_it_is_full(self) -> None:
        document = script(
            """
            from trl import SFTConfig, SFTTrainer
            args = SFTConfig(output_dir="out")
            SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=data)
            """
        )
        assert trl.read(of_call(document, "SFTConfig")).setting("tuning").value == "full"


class TestProcesses:
    def test_in_the_config_of_the_command(self) -> None:
        assert read("num_processes: 4\n", command=("cli", "trl", "sft")).setting("gpus").number == 4

    @pytest.mark.parametrize(("name", "count"), [("zero2", 8), ("single_gpu", 1)])
    def test_a_predefined_file(self, name: str, count: int) -> None:
        assert read(f"accelerate_config: {name}\n", command=("trl", "sft")).setting("gpus").number == count

    def test_another_launcher_does_not_read_it(self) -> None:
        assert read("num_processes: 4\n", command=("python", "sft.py")).setting("gpus").unknown


class TestLoading:
    def test_trl_parser_casts(self) -> None:
        run = read("learning_rate: 2e-5\n")
        assert said(run, "number_as_text") == []
        assert run.setting("learning_rate").number == 2e-5

    def test_parse_yaml_file_does_not(self) -> None:
        document = yaml(YAML + "learning_rate: 2e-5\n")
        assert len(said(trl.read(of_document(document, via="parse_yaml_file")), "number_as_text")) == 1

    def test_flags(self) -> None:
        run = trl.read(of_flags("--model_name_or_path x --learning_rate 2e-4 --use_peft --lora_r 16", ("trl", "sft")))
        assert run.setting("method").value == "sft"
        assert run.setting("tuning").value == "lora"

    def test_keys_of_scripts_and_launchers_are_known(self) -> None:
        run = read("num_processes: 4\ndataset_test_split: test\nattn_implementation: sdpa\n", command=("trl", "sft"))
        assert said(run, "unknown_key") == []
        assert said(run, "misspelt_key") == []

    def test_a_keyword_of_another_class(self) -> None:
        (seen,) = said(call("max_lenght=128"), "misspelt_key")
        assert seen.values["suggestion"] == "max_length"
        assert seen.values["consumer"] == "SFTConfig"

    def test_max_seq_length_is_gone_since_020(self) -> None:
        (seen,) = said(call("max_seq_length=2048", trl="==0.24.0"), "renamed")
        assert (seen.values["package"], seen.values["new"]) == ("trl", "max_length")

    def test_unless_unsloth_puts_it_back(self) -> None:
        run = call("max_seq_length=2048", head="import unsloth\n", trl="==0.24.0")
        assert said(run, "renamed") == []


class TestData:
    def test_a_public_name_has_no_rows(self) -> None:
        run = read()
        assert [source.hub for source in run.training] == ["acme/chat"]
        assert run.training[0].paths == ()

    def test_a_file(self) -> None:
        text = YAML.replace("acme/chat", "data/train.jsonl")
        document = yaml(text)
        run = trl.read(of_document(document))
        assert run.training[0].paths == ("data/train.jsonl",)

    @pytest.mark.parametrize(
        "more",
        [
            "dataset_mixer:\n  acme/chat: 0.5\n",
            "dataset_train_split: train[:10%]\n",
        ],
    )
    def test_mixers_and_slices_are_unknown(self, more: str) -> None:
        assert read(more).training == []

    def test_the_sets_of_a_mixture(self) -> None:
        (source,) = read("datasets:\n  - path: acme/chat\n").training
        assert source.hub == "acme/chat"

    def test_streaming(self) -> None:
        assert read("dataset_streaming: true\n").setting("streaming").value is True


def test_a_file_of_an_unknown_method_has_no_default_rate() -> None:
    assert read().setting("learning_rate").unknown


def test_hydras_target() -> None:
    document = yaml(
        "_target_: trl.SFTConfig\noutput_dir: out\nper_device_train_batch_size: 2\nnum_train_epochs: ${epochs}\n"
    )
    (mapping,) = trl.recognise(document)
    run = trl.read(of_document(document, mapping))
    assert run.setting("method").value == "sft"
    assert run.setting("epochs").unknown


def test_json_for_a_parser() -> None:
    text = '{"output_dir": "out", "per_device_train_batch_size": 1, "beta": 0.1, "num_train_epochs": 1}'
    reading = of_document(json(text), via="parse_json_file")
    reading.command = ("call", "trl.KTOConfig")
    assert trl.read(reading).setting("method").value == "kto"


@pytest.mark.parametrize(
    ("arguments", "packages", "first"),
    [
        ("learning_rate=1e-5, batch_size=32, mini_batch_size=4, ppo_epochs=2", {}, True),
        ("learning_rate=1e-5, batch_size=32, mini_batch_size=4", {"trl": "==0.9.6"}, True),
        ("learning_rate=1e-5, batch_size=32, mini_batch_size=4", {"trl": "==0.24.0"}, False),
        ("learning_rate=1e-5, output_dir='out'", {}, False),
    ],
)
def test_the_first_ppo_is_a_loop_of_ones_own(arguments: str, packages: dict[str, str], first: bool) -> None:
    document = script(f"from trl import PPOConfig\nargs = PPOConfig({arguments})  # Trainer\n")
    run = trl.read(of_call(document, "PPOConfig", **packages))
    assert run.setting("method").value == "ppo"
    assert run.setting("learning_rate").value == 1e-5
    assert (run.setting("weight_decay").number is None) == first


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ("", 10),
        ("browsergym_url: https://example.org\n", None),
        ("env_url: https://example.org\n", None),
    ],
)
def test_a_limit_beside_an_environment_may_be_an_episodes(more: str, known: int | None) -> None:
    run = read("num_generations: 4\nreward_funcs: [mine]\nmax_completion_length: 32\nmax_steps: 10\n" + more)
    assert run.setting("method").value == "grpo"
    assert run.setting("max_steps").number == known


@pytest.mark.parametrize(
    ("more", "sides"),
    [
        ("", []),
        ("eval_strategy: 'no'\n", []),
        ("eval_strategy: epoch\n", ["test"]),
        ("eval_strategy: epoch\ndataset_test_split: held\n", ["held"]),
    ],
)
def test_the_other_split_is_taken_where_something_evaluates(more: str, sides: list[str]) -> None:
    """trl 0.12.2 to 1.16.0, `scripts/sft.py`: `dataset[dataset_test_split]` unless the strategy is no."""
    run = read(more, command=("cli", "trl", "sft"))
    assert [source.split for source in run.validation] == sides


def test_its_own_command_adds_no_arguments_of_a_schedule() -> None:
    """TRL's scripts hand `lr_scheduler_kwargs` on as they are; any other program may fill them."""
    line = "lr_scheduler_type: cosine_with_min_lr\n"
    assert [seen.name for seen in read(line, command=("cli", "trl", "sft")).observations] == ["min_rate"]
    assert [seen.name for seen in read(line).observations] == []
