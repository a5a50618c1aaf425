"""open-instruct: whose files are its, and whose keys."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

CONFIG = """\
model_name_or_path: example/model
dataset_mixer_list:
  - {data}
  - {share}
use_slow_tokenizer: false
with_tracking: true
max_seq_length: 4096
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 5.0e-06
warmup_ratio: 0.03
num_train_epochs: 2
{more}"""


def _config(more: str = "", data: str = "example/data", share: str = "1.0") -> str:
    return CONFIG.format(more=more, data=data, share=share)


def test_its_keys_are_not_those_of_other_libraries() -> None:
    report = check_project({"c.yaml": _config()}, {"gpus": 8, "records": 6400}, ["c.yaml"])
    (run,) = report.runs
    assert run.run.trainer == "trl"
    assert run.scenarios.fact("total_steps").value == 200
    assert [finding.code for finding in report.findings if finding.code.startswith("VER")] == []


def test_a_slip_is_refused_and_a_fork_has_keys_of_its_own() -> None:
    files = {"c.yaml": _config("warmup_rato: 0.1\n")}
    told = [finding.code for finding in check_project(files, {"gpus": 1}).findings if finding.level == "error"]
    assert told == ["CFG003"]
    files["open_instruct/finetune.py"] = "warmup_rato: float = 0.0\n"
    assert [one.code for one in check_project(files, {"gpus": 1}, ["c.yaml"]).findings if one.level == "error"] == []


@pytest.mark.parametrize(("share", "most"), [("0.5", 50), ("'30'", 30), ("'250'", 250), ("2.0", 200)])
def test_rows_are_taken_as_the_mixture_asks(share: str, most: int) -> None:
    rows = '{"messages": [{"role": "user", "content": "a"}]}\n' * 100
    files = {"c.yaml": _config(data="data.jsonl", share=share), "data.jsonl": rows}
    (run,) = check_project(files, {"gpus": 1}, ["c.yaml"]).runs
    assert run.scenarios.fact("records").value == most


def test_configs_of_the_handbook_are_not_its() -> None:
    text = "model_name_or_path: m\ndataset_mixer:\n  a: 1.0\ndataset_splits:\n- train\nmax_seq_length: 2048\n"
    (run,) = check_project(
        {"c.yaml": text + "num_train_epochs: 1\nlearning_rate: 2.0e-05\nper_device_train_batch_size: 2\n"},
        {},
        ["c.yaml"],
    ).runs
    assert run.run.trainer == "trl"


def test_numbers_of_a_file_are_not_cast() -> None:
    text = _config().replace("5.0e-06", "5e-06")
    report = check_project({"c.yaml": text}, {"gpus": 8, "records": 6400}, ["c.yaml"])
    assert [finding.code for finding in report.findings if finding.code.startswith("CFG")] == ["CFG001"]


def test_a_mixture_is_enough() -> None:
    text = """\
model_name_or_path: example/model
dataset_mixer_list:
  - example/chat
  - 1.0
per_device_train_batch_size: 1
gradient_accumulation_steps: 16
learning_rate: 5.0e-06
warmup_ratio: 0.03
num_train_epochs: 2
"""
    (run,) = check_project({"c.yaml": text}, {"gpus": 1, "records": 100}, ["c.yaml"]).runs
    assert run.scenarios.fact("total_steps").value == 14
    assert run.scenarios.fact("warmup_steps").value == 0  # floor(14 x 0.03)
    assert run.scenarios.fact("method").value == "sft"
