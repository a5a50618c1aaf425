"""The key tables: versions, ranges, defaults, spelling, and that the data files are what the loader expects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from epochlint.trainers import tables
from epochlint.trainers.tables import MISSING, Table, allowed, load, nearest, renames, required_version, version_key

DATA = Path(tables.__file__).parent / "data"
PACKAGES = sorted(p.stem for p in DATA.glob("*.json") if "versions_read" in json.loads(p.read_text("utf-8")))
OWNERS = [(package, owner) for package in PACKAGES for owner in tables.owners(package)]

# ------------------------------------------------------------------------------------------------ versions

numbers = st.integers(min_value=0, max_value=30)
releases = st.lists(numbers, min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
versions = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "1!"]),
        releases,
        st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["a", "b", "rc"]), numbers)),
        st.one_of(st.just(""), st.builds(".post{}".format, numbers)),
        st.one_of(st.just(""), st.builds(".dev{}".format, numbers)),
        st.one_of(st.just(""), st.builds("+{}".format, st.sampled_from(["cu118", "1", "abc.2", "2.abc"]))),
    ),
)


@given(versions, versions)
def test_versions_are_ordered_as_python_packages_are(left: str, right: str) -> None:
    a, b = version_key(left), version_key(right)
    assert (a < b, a == b) == (Version(left) < Version(right), Version(left) == Version(right))


@given(st.text(), st.text())
def test_any_text_has_a_place_below_the_versions(left: str, right: str) -> None:
    version_key(left) < version_key(right)  # noqa: B015 - it must be comparable
    if version_key(left)[0] == 0:
        assert version_key(left) < version_key("0")


NO_VERSIONS = ["", "latest", "git+https://example.org/x", "9" * 5000, "4.x", "٤.٥", "1" + ".0" * 300]


@pytest.mark.parametrize("text", NO_VERSIONS)
def test_what_is_no_version(text: str) -> None:
    assert version_key(text)[0] == 0


def test_a_leading_v_and_trailing_zeros_do_not_count() -> None:
    assert version_key("v4.50") == version_key("4.50.0") == version_key(" 4.50.0.0 ")


clauses = st.builds("{}{}".format, st.sampled_from([">=", "<=", "==", "!="]), releases)
prefixes = st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases)
ends = st.builds("{}{}".format, st.sampled_from(["<", ">"]), releases)
compatible = st.builds("~={}.{}".format, numbers, releases)


@given(st.lists(st.one_of(clauses, prefixes, ends, compatible), max_size=3), releases)
def test_specifiers_allow_what_pip_allows(parts: list[str], version: str) -> None:
    specifier = ",".join(parts)
    assert allowed(specifier, version) == SpecifierSet(specifier).contains(version, prereleases=True)


@given(st.text(), st.text())
def test_no_specifier_is_an_accident(specifier: str, version: str) -> None:
    assert allowed(specifier, version) in (True, False)


# ------------------------------------------------------------------------------------------------ lookups


@pytest.fixture
def arguments() -> Table:
    return load("transformers", "TrainingArguments")


def test_a_table_is_read_once() -> None:
    assert load("trl", "SFTConfig") is load("trl", "SFTConfig")


@pytest.mark.parametrize(
    ("package", "owner"), [("transformers", "NoSuchClass"), ("no-such-package", "x"), ("../tables", "x")]
)
def test_what_is_not_there(package: str, owner: str) -> None:
    with pytest.raises(KeyError):
        load(package, owner)


@pytest.mark.parametrize(
    ("name", "last", "gone"),
    [
        ("evaluation_strategy", "4.50.3", "4.51.0"),
        ("dispatch_batches", "4.50.3", "4.51.0"),
        ("per_gpu_train_batch_size", "4.57.6", "5.0.0"),
        ("group_by_length", "5.1.0", "5.2.0"),
        ("warmup_ratio", "5.14.1", "5.15.0"),
        ("logging_dir", "5.14.1", "5.15.0"),
    ],
)
def test_when_keys_went(arguments: Table, name: str, last: str, gone: str) -> None:
    assert (arguments.last(name), arguments.gone_in(name)) == (last, gone)
    assert arguments.exists(name, gone, None) is False
    assert arguments.exists(name, None, None) is None
    assert arguments.exists(name, last, last) is True


def test_when_keys_came(arguments: Table) -> None:
    assert arguments.first("eval_strategy") == "4.41.0"
    assert arguments.first("train_sampling_strategy") == "5.2.0"
    assert arguments.exists("eval_strategy", "4.41.0", None) is True
    assert arguments.exists("eval_strategy", None, "4.40.2") is False
    assert arguments.gone_in("learning_rate") is None


def test_a_version_between_two_that_differ_is_not_decided(arguments: Table) -> None:
    assert arguments.exists("warmup_ratio", "5.14.9", "5.14.9") is None
    assert arguments.default("warmup_ratio", "5.14.9") is MISSING
    assert arguments.exists("learning_rate", "5.14.9", "5.14.9") is True


def test_versions_outside_those_read_count_as_the_nearest(arguments: Table) -> None:
    assert arguments.exists("warmup_ratio", "99", None) is False
    assert arguments.exists("eval_strategy", None, "4.20.0") is False
    assert arguments.default("learning_rate", "99") == 5e-05


def test_a_range_that_ends_before_a_version(arguments: Table) -> None:
    assert arguments.last_before("5.15") == "5.14.1"
    assert arguments.last_before("5.14.9") == "5.14.1"
    assert arguments.last_before("4.36.2") is None


def test_defaults(arguments: Table) -> None:
    assert arguments.default("per_device_train_batch_size", None) == 8
    assert arguments.default("report_to", "5.0.0") == "none"
    assert arguments.default("report_to", "4.57.6") is None
    assert arguments.default("output_dir", "4.48.3") is MISSING
    assert arguments.required("output_dir", "4.48.3") is True
    assert arguments.required("output_dir", None) is False
    assert arguments.default("no_such_key", None) is MISSING
    assert arguments.default("warmup_ratio", "5.15.0") is MISSING
    assert not MISSING


def test_a_default_that_the_machine_decides_is_missing(arguments: Table) -> None:
    assert arguments.default("optim", "4.53.3") == "adamw_torch"
    assert arguments.default("optim", "4.54.0") is MISSING
    assert arguments.defaults("optim", "4.54.0", None) == ["adamw_torch", "adamw_torch_fused"]


def test_defaults_over_a_range(arguments: Table) -> None:
    assert arguments.defaults("warmup_steps", None, None) == [0]  # 0 and 0.0 are one
    assert arguments.defaults("warmup_ratio", None, None) == [0.0, None]
    assert arguments.defaults("average_tokens_across_devices", "4.46.3", None) == [False, True]


def test_types_and_words(arguments: Table) -> None:
    assert arguments.type("learning_rate") == "float"
    assert arguments.type("deepspeed") == "dict|str"
    assert arguments.optional("deepspeed") is True
    assert arguments.words("save_strategy", None, "4.46.3") == ("no", "steps", "epoch")
    assert "best" in arguments.words("save_strategy")
    assert arguments.words("output_dir") == ()
    assert "adamw_hf" in arguments.words("optim", None, "4.49.0")
    assert "adamw_hf" not in arguments.words("optim", "5.0.0", None)


def test_a_free_text_has_no_closed_list_of_words() -> None:
    config = load("axolotl", "config")
    assert "cosine" in config.words("lr_scheduler", None, "0.17.0")
    assert config.words("lr_scheduler", "0.18.0", None) == ()
    assert "cosine" in config.hints("lr_scheduler")


# what TRL inherits from transformers


@pytest.fixture
def sft() -> Table:
    return load("trl", "SFTConfig")


def test_own_and_inherited_keys(sft: Table) -> None:
    assert sft.own("packing")
    assert not sft.own("warmup_ratio")
    assert sft.known("warmup_ratio")
    assert {"packing", "warmup_ratio"} <= sft.names()
    assert sft.default("learning_rate", "0.12.0") == 2e-05
    assert sft.default("learning_rate", "0.11.4") == 5e-05  # TrainingArguments'
    assert sft.default("num_train_epochs", None) == 3.0


def test_an_inherited_key_depends_on_the_other_package(sft: Table) -> None:
    assert sft.exists("warmup_ratio", None, None) is None
    assert sft.exists("warmup_ratio", "1.16.0", "1.16.0", ("5.15.0", None)) is False
    assert sft.exists("warmup_ratio", "1.16.0", "1.16.0", ("4.57.6", "5.14.1")) is True
    # trl 0.12.2 asks for transformers < 4.47, which all had it
    assert sft.exists("evaluation_strategy", "0.12.2", "0.12.2") is True
    # 0.20 asks for >= 4.53.2, none of which has it
    assert sft.exists("evaluation_strategy", "0.20.0", None) is False
    assert sft.home("warmup_ratio").package == "transformers"
    assert sft.gone_in("warmup_ratio") == "5.15.0"


def test_a_key_that_moved_into_trl_is_still_the_base_s(sft: Table) -> None:
    assert sft.home("use_liger_kernel").package == "transformers"
    assert sft.home("packing") is sft


def test_trl_s_own_history(sft: Table) -> None:
    assert (sft.last("max_seq_length"), sft.gone_in("max_seq_length")) == ("0.19.1", "0.20.0")
    assert sft.default("max_length", "0.19.1") == 1024
    assert load("trl", "RewardConfig").defaults("learning_rate", "0.23.1", "0.24.0") == [5e-05, 1e-4]
    assert load("trl", "GRPOConfig").versions[0] == "0.14.0"


def test_requirements() -> None:
    assert required_version("axolotl", "transformers", "0.16.0") == "==5.4.0"
    assert required_version("trl", "transformers", "0.12.2") == "<4.47.0"
    assert required_version("axolotl", "no-such-package", None) is None


def test_axolotl() -> None:
    config, dataset = load("axolotl", "config"), load("axolotl", "dataset")
    assert config.required("learning_rate", None)
    assert config.default("num_epochs", None) == 1.0
    assert config.type("num_epochs") == "float"
    assert config.defaults("num_epochs", "0.6.0", "0.6.0") == [1]
    assert config.gone_in("relora_steps") == "0.12.0"
    assert {"model_type", "type_of_model"} <= config.names()  # both names of one key
    assert {"shards", "ds_type", "type", "path"} <= dataset.names()
    assert "SFTDataset" in config.nested("datasets")
    assert config.nested("trl") == ("TRLConfig",)
    assert not config.known("adam_eps")
    assert not config.known("context_parapllel_size")


@pytest.mark.parametrize(
    ("package", "owner", "name", "default"),
    [
        ("llamafactory", "config", "cutoff_len", 2048),
        ("llamafactory", "config", "per_device_train_batch_size", 8),
        ("llamafactory", "v1", "micro_batch_size", 1),
        ("ms-swift", "sft", "per_device_train_batch_size", 1),
        ("ms-swift", "sft", "split_dataset_ratio", 0.0),
        ("ms-swift", "rlhf", "num_generations", 8),
        ("accelerate", "config", "num_machines", 1),
        ("deepspeed", "config", "gradient_clipping", 1.0),
        ("deepspeed", "WarmupLR", "warmup_num_steps", 1000),
        ("deepspeed", "WarmupLR", "warmup_type", "log"),
        ("deepspeed", "fp16", "initial_scale_power", 16),
        ("deepspeed", "zero_optimization", "reduce_bucket_size", 500_000_000),
        ("fms-hf-tuning", "config", "save_strategy", "epoch"),
        ("fms-hf-tuning", "config", "max_steps", -1),
        ("litgpt", "finetune_lora.train", "global_batch_size", 16),
        ("litgpt", "finetune_lora", "devices", 1),
        ("litgpt", "TrainArgs", "global_batch_size", 64),
        ("mlx-lm", "config", "iters", 1000),
        ("mlx-lm", "config.lora_parameters", "rank", 8),
        ("oumi", "TrainingParams", "num_train_epochs", 3),
        ("peft", "LoraConfig", "lora_alpha", 8),
        ("unsloth", "TrainingConfig", "learning_rate", 2e-4),
        ("autotrain-advanced", "llm", "epochs", 1),
        ("llm-foundry", "config", "eval_interval", 1),
    ],
)
def test_defaults_of_the_newest(package: str, owner: str, name: str, default: object) -> None:
    assert load(package, owner).default(name, None) == default


@pytest.mark.parametrize(
    ("package", "owner", "name"),
    [
        ("instructlab-training", "TrainingArgs", "learning_rate"),
        ("llm-foundry", "config", "max_duration"),
        ("deepspeed", "WarmupDecayLR", "total_num_steps"),
        ("training-hub", "osft", "learning_rate"),
    ],
)
def test_required_keys(package: str, owner: str, name: str) -> None:
    table = load(package, owner)
    assert table.required(name, None)
    assert table.default(name, None) is MISSING


@pytest.mark.parametrize(
    ("package", "owner", "names"),
    [
        ("deepspeed", "config", {"train_batch_size", "train_micro_batch_size_per_gpu", "bf16", "wandb", "scheduler"}),
        ("deepspeed", "zero_optimization", {"stage", "stage3_max_live_parameters", "max_live_parameters"}),
        ("accelerate", "fsdp_config", {"fsdp_sharding_strategy", "sharding_strategy"}),
        ("accelerate", "deepspeed_config", {"zero_stage", "gradient_accumulation_steps", "deepspeed_config_file"}),
        ("fms-hf-tuning", "config", {"r", "peft_method", "use_rslora", "training_data_path", "accelerate_launch_args"}),
        ("autotrain-advanced", "config", {"task", "base_model", "data", "params", "hub"}),
        ("mlx-lm", "config", {"lora_layers", "num_layers", "grad_accumulation_steps"}),
    ],
)
def test_known_keys(package: str, owner: str, names: set[str]) -> None:
    assert names <= load(package, owner).names()


# spelling


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("warmup_step", "warmup_steps"),
        ("warmpu_ratio", "warmup_ratio"),
        ("learning-rate", "learning_rate"),
        ("Learning_Rate", "learning_rate"),
        ("learningrate", "learning_rate"),
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("per_device_trian_batch_size", "per_device_train_batch_size"),
        ("learning_rates", "learning_rate"),
        ("load_in_4bit", None),
        ("per_device_test_batch_size", None),
        ("per_device_batch_size", None),  # training's or evaluation's?
        ("my_learning_rate", None),
        ("gradient_accumulation", "gradient_accumulation_steps"),
        ("gradient_acumulation_step", "gradient_accumulation_steps"),
        ("lr_schedular_type", "lr_scheduler_type"),
        ("warmup_stpes", "warmup_steps"),
        ("eval_strategey", "eval_strategy"),
        ("adam_beta3", None),
        ("lora_rank", None),
        ("lr", None),
        ("fp6", None),
        ("learning_rate", None),
        ("my_own_setting", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_nearest(arguments: Table, written: str, meant: str | None) -> None:
    assert arguments.nearest(written) == meant


def test_nearest_knows_another_number_as_another_key() -> None:
    assert nearest("load_in_4bit", ["load_in_8bit"]) is None
    assert nearest("load_in_8_bit", ["load_in_8bit"]) == "load_in_8bit"


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("use_lora", "use_rslora"),
        ("grpo_beta", "orpo_beta"),
        ("base_model_name_or_path", "model_name_or_path"),
        ("eval_table_max_new_tokens", "eval_max_new_tokens"),
        ("distillation_weight", "uld_distillation_weight"),
    ],
)
def test_nearest_knows_another_word_as_another_key(written: str, known: str) -> None:
    assert nearest(written, [known, "lora_r"]) is None


def test_nearest_of_axolotl_s_published_slips() -> None:
    config = load("axolotl", "config")
    assert config.nearest("context_parapllel_size") == "context_parallel_size"
    assert config.nearest("use_mflow") == "use_mlflow"
    assert config.nearest("adam_eps") is None


@given(st.text(max_size=40))
def test_nearest_of_any_text_is_a_key_or_none(text: str) -> None:
    table = load("transformers", "TrainingArguments")
    found = table.nearest(text)
    assert found is None or found in table.names()


@pytest.mark.parametrize(("package", "owner"), OWNERS)
def test_no_key_is_taken_for_a_slip_of_itself(package: str, owner: str) -> None:
    table = load(package, owner)
    assert [name for name in table.names() if table.nearest(name)] == []


# ------------------------------------------------------------------------------------------------ the data files

KINDS = {"any", "bool", "dict", "float", "int", "list", "number", "str"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_is_small_and_in_order(package: str) -> None:
    path = DATA / f"{package}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 130_000  # one read must stay under three milliseconds
    assert data["package"] == package
    assert len(data["date"]) == 10
    assert data["versions_read"] == sorted(set(data["versions_read"]), key=version_key)
    assert all(version_key(version)[0] for version in data["versions_read"])


@pytest.mark.parametrize(("package", "owner"), OWNERS)
def test_a_table_is_whole(package: str, owner: str) -> None:
    data = json.loads((DATA / f"{package}.json").read_text(encoding="utf-8"))
    place = {version: number for number, version in enumerate(data["versions_read"])}
    table = data["owners"][owner]
    here = {n for first, last in table["versions"] for n in range(place[first], place[last] + 1)}
    assert here
    assert table["source"]
    assert table["fields"]
    for name, rows in table["fields"].items():
        end = -1
        for row in rows:
            first, last, kind = row[:3]
            assert end < place[first] <= place[last], name
            assert {place[first], place[last]} <= here, name
            assert set(kind.removesuffix("?").split("|")) <= KINDS, (name, kind)
            assert len(row) == 4 or row[4] in {"required", "factory", "computed", "either"}, name
            end = place[last]
    for label in ("words", "hints"):
        assert set(table.get(label, {})) <= set(table["fields"])
    for below in table.get("nested", {}).values():
        assert set(below) <= set(data["owners"])
    for _, _, base in table.get("base", ()):
        load(*base.split(".", 1))


def _renamed() -> list[tuple[str, str, str]]:
    entries = json.loads((DATA / "renames.json").read_text(encoding="utf-8"))["renames"]
    owners = [(e, o) for e in entries for o in (e["owner"] if isinstance(e["owner"], list) else [e["owner"]])]
    return [(entry["package"], owner, entry["old"]) for entry, owner in owners]


@pytest.mark.parametrize(("package", "owner", "old"), _renamed())
def test_a_rename_agrees_with_the_tables(package: str, owner: str, old: str) -> None:
    table, rename = load(package, owner), renames(package, owner)[old]
    assert table.known(old)
    assert table.gone_in(old) == rename.gone_in
    assert rename.source
    if rename.new is None:
        assert not rename.same_meaning
    else:
        assert table.known(rename.new)
        if table.home(rename.new) is table:
            since = rename.since or table.versions[0]
            assert version_key(table.first(rename.new)) <= version_key(since)
    if rename.gone_in and rename.same_meaning and table.home(old) is table and rename.new:
        assert table.exists(rename.new, rename.gone_in, rename.gone_in) is True
    for value in rename.value_map or ():
        json.loads(value)


def test_no_rename_is_told_twice() -> None:
    assert len(_renamed()) == len(set(_renamed()))


def test_renames_of_the_base_are_found() -> None:
    found = renames("trl", "SFTConfig")
    assert found["max_seq_length"].new == "max_length"
    assert found["group_by_length"].value_map == {"true": "group_by_length", "false": "random"}
    assert found["warmup_ratio"].below == 1
    assert renames("no-such-package", "x") == {}


def test_the_import_stays_light() -> None:
    code = "import sys, epochlint.trainers.tables; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"typing", "dataclasses", "pathlib", "logging", "inspect", "difflib", "yaml", "importlib.metadata"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("owner", ["TrainingArguments", "Seq2SeqTrainingArguments"])
def test_lasting_keys_are_those_of_every_version(owner: str) -> None:
    table = load("transformers", owner)
    lasting = table.lasting({"learning_rate", "warmup_ratio", "eval_strategy", "no_key_at_all"})
    assert lasting == {"learning_rate"}
    for name in table.names():
        in_all = table.home(name).exists(name, None, None) is True
        assert (name in table.lasting({name})) == (not table.comes_or_goes(name)) == in_all, name
