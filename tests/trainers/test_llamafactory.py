"""LLaMA-Factory: recognition, data by name, forks' keys, the newer format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from epochlint.trainers.llamafactory.dataset_info import Attributes, Keep
from tests.helpers import check_project, lint_project

CONFIG = """\
model_name_or_path: example/model
stage: sft
do_train: true
finetuning_type: lora
dataset: a
template: llama3
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1e-4
num_train_epochs: 3.0
"""
INFO = json.dumps({"a": {"file_name": "a.json"}})
ROWS = json.dumps([{"instruction": "i", "input": "", "output": str(number)} for number in range(100)])


def checked(more: str = "", files: dict[str, str] | None = None, **assume: object) -> Any:
    project = {"sft.yaml": CONFIG + more, "data/dataset_info.json": INFO, "data/a.json": ROWS, **(files or {})}
    return check_project(project, {"gpus": 1, "transformers": "4.57.6", **assume}, ["sft.yaml"])


def test_reads_data_by_name() -> None:
    report = checked()
    (run,) = report.runs
    fact = run.scenarios.fact
    assert run.run.trainer == "llamafactory"
    assert (fact("records").value, fact("total_steps").value, fact("learning_rate").value) == (100, 39, 1e-4)
    assert not [finding for finding in report.findings if finding.level == "error"]


@pytest.mark.parametrize("key", ["infer_backend: vllm\ndo_train: false\n", "do_train: false\n"])
def test_what_does_not_train_is_none(key: str) -> None:
    assert not checked(key).runs


def test_unknown_keys_stop_it_but_not_in_a_fork() -> None:
    typo = "warmup_rato: 0.1\n"
    codes = [(finding.code, finding.level) for finding in checked(typo).findings]
    assert ("CFG003", "error") in codes
    fork = {"src/llamafactory/hparams/data_args.py": "class DataArguments:\n    warmup_rato: float = 0.0\n"}
    assert not [finding for finding in checked(typo, fork).findings if finding.code == "CFG003"]


def test_quoted_numbers_stay_text() -> None:
    codes = [finding.code for finding in checked('weight_decay: "0.1"\n').findings]
    assert "CFG001" in codes


def test_cap_is_named() -> None:
    report = checked("max_samples: 40\n")
    assert report.runs[0].scenarios.fact("records").value == 40
    assert "DAT007" in [finding.code for finding in report.findings]


def test_launch_wins_over_the_file() -> None:
    files = {
        "sft.yaml": CONFIG,
        "run.sh": "CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train sft.yaml num_train_epochs=1 learning_rate=2e-5\n",
    }
    (run,) = check_project(files, {"records": 160, "transformers": "4.57.6"}).runs
    fact = run.scenarios.fact
    assert (fact("gpus").value, fact("total_steps").value, fact("learning_rate").value) == (2, 10, 2e-5)


def test_flags_of_a_script_of_its_own() -> None:
    """The copy of `train.py` in a fork parses no arguments itself."""
    flags = "--model_name_or_path m --stage sft --do_train --finetuning_type lora --dataset a --num_train_epochs 1"
    files = {
        "run.sh": f"torchrun --nproc_per_node 2 src/train.py {flags} --per_device_train_batch_size 5\n",
        "src/train.py": "from llamafactory.train.tuner import run_exp\n\nrun_exp()\n",
        "data/dataset_info.json": INFO,
        "data/a.json": ROWS,
    }
    (run,) = check_project(files, {"transformers": "4.57.6"}).runs
    assert run.run.trainer == "llamafactory"
    assert (run.scenarios.fact("gpus").value, run.scenarios.fact("total_steps").value) == (2, 10)


def attributes(**entry: object) -> Attributes:
    from epochlint.documents import json_document
    from epochlint.source import Source

    document = json_document.read(Source("dataset_info.json", json.dumps({"file_name": "a.json", **entry})))
    return Attributes(next(document.mappings()))


def talk(*roles: str) -> dict[str, object]:
    return {"conversations": [{"from": role, "value": "w"} for role in roles]}


@pytest.mark.parametrize(
    ("roles", "kept"),
    [
        (("human", "gpt"), True),
        (("system", "human", "gpt"), True),
        (("human", "function_call", "observation", "gpt"), True),
        (("gpt", "human"), False),
        (("human", "gpt", "human"), False),
        (("human", "human", "gpt", "gpt"), False),
        ((), False),
    ],
)
def test_conversations_that_are_dropped(roles: tuple[str, ...], kept: bool) -> None:
    assert Keep(attributes(formatting="sharegpt"))(talk(*roles)) is kept


def test_pairs_need_an_odd_number_of_messages() -> None:
    keep = Keep(attributes(formatting="sharegpt", ranking=True))
    pair = {"chosen": {"from": "gpt", "value": "a"}, "rejected": {"from": "gpt", "value": "b"}}
    assert keep({**talk("human"), **pair})
    assert not keep({**talk("human", "gpt"), **pair})
    assert not keep(talk("human"))  # without two answers it is no pair


def test_odd_rows_are_never_a_fault_of_ours() -> None:
    keep = Keep(attributes(formatting="sharegpt"))
    odd: list[object] = [None, 3, "text", [], {}, {"conversations": None}, {"conversations": [1]}]
    for row in [*odd, {"conversations": [{"from": []}]}]:
        keep(row)


V1 = """\
model: example/model
model_class: llm
train_dataset: data.yaml
micro_batch_size: 2
global_batch_size: {whole}
num_train_epochs: 3
"""


@pytest.mark.parametrize(("gpus", "whole", "steps"), [(1, 8, 36), (2, 8, 36), (1, 2, 150)])
def test_newer_format_drops_the_last_batch(gpus: int, whole: int, steps: int) -> None:
    files = {"sft.yaml": V1.format(whole=whole)}
    (run,) = check_project(files, {"gpus": gpus, "records": 100}, ["sft.yaml"]).runs
    assert run.scenarios.fact("total_steps").value == steps
    assert run.scenarios.fact("effective_batch").value == whole


@pytest.mark.parametrize(("more", "codes"), [("use_muon: true\n", set()), ("use_muon: false\n", {"LRN002"})])
def test_muon_takes_rates_of_its_own(more: str, codes: set[str]) -> None:
    config = (
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: d\n"
        "template: qwen\noutput_dir: o\nlearning_rate: 0.02\n"
    )
    assert {finding.code for finding in lint_project({"a.yaml": config + more})} & {"LRN002"} == codes


@pytest.mark.parametrize(("loss", "codes"), [("", {"PRF003"}), ("pref_loss: simpo\n", set())])
def test_beta_is_measured_by_the_loss_that_is_used(loss: str, codes: set[str]) -> None:
    config = (
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: dpo\ndo_train: true\nfinetuning_type: full\ndataset: d\n"
        "template: qwen\noutput_dir: o\nlearning_rate: 1.0e-6\npref_beta: 2.0\n"
    )
    assert {finding.code for finding in lint_project({"a.yaml": config + loss})} & {"PRF003"} == codes


PLAIN_V1 = """\
model: Qwen/Qwen3-0.6B
train_dataset: data/v1_sft_demo.yaml
output_dir: outputs/sft
micro_batch_size: 2
global_batch_size: 16
learning_rate: 1.0e-4
num_train_epochs: 3
"""


@pytest.mark.parametrize(
    ("launch", "method"),
    [
        ("USE_V1=1 llamafactory-cli sft sft.yaml", "sft"),
        ("USE_V1=1 lmf dpo sft.yaml", "dpo"),
        ("USE_V1=1 llamafactory-cli train sft.yaml", None),
        ("export USE_V1=1\nNPROC_PER_NODE=2 FORCE_TORCHRUN=1 llamafactory-cli rm sft.yaml", "reward"),
    ],
)
def test_newer_format_by_its_launch_alone(launch: str, method: str | None) -> None:
    (run,) = check_project({"sft.yaml": PLAIN_V1, "run.sh": launch + "\n"}, {"records": 100}).runs
    assert run.run.trainer == "llamafactory"
    assert run.scenarios.fact("effective_batch").value == 16
    assert run.run.setting("method").value == method
    if "NPROC" in launch:
        assert run.scenarios.fact("gpus").value == 2


def test_newer_format_without_its_launch_is_nobodys() -> None:
    assert "llamafactory" not in [run.run.trainer for run in check_project({"sft.yaml": PLAIN_V1}).runs]
