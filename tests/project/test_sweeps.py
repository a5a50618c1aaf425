"""Sweeps: which runs they start, and what is said about several of them at once."""

from __future__ import annotations

import json

import pytest

from epochlint.documents.read import read
from epochlint.project.sweeps import MOST, combined, started
from epochlint.source import Source
from tests.helpers import check_project, lint_project

SCRIPT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments
parser = HfArgumentParser(TrainingArguments)
(args,) = parser.parse_args_into_dataclasses()
Trainer(model=model, args=args, train_dataset=data).train()
"""
SWEEP = """\
program: train.py
method: grid
metric: {name: eval/loss, goal: minimize}
parameters:
  learning_rate:
    values: [2.0e-5, 2.0e-4]
  num_train_epochs:
    values: [1, 4]
  warmup_steps: {value: 100}
  per_device_train_batch_size: {value: 8}
"""
WORLD = {"gpus": 1, "records": 500, "transformers": "4.57.6"}


def found(files: dict[str, str], **assume: object) -> list[tuple[str, str, str, int]]:
    findings = lint_project(files, {**WORLD, **assume})
    return [
        (finding.code, finding.level, finding.message.rpartition(" (at ")[2].rstrip(")"), finding.span.place.line)
        for finding in findings
        if finding.level != "note"
    ]


def corners(text: str, name: str = "sweep.yaml") -> list[dict[str, str]]:
    return [corner.values for _, corner in started(read(Source(name, text)))]


def test_each_corner_is_a_run_with_its_flags() -> None:
    report = check_project({"sweep.yaml": SWEEP, "train.py": SCRIPT}, WORLD)
    steps = {checked.run.label: checked.scenarios.fact("total_steps").value for checked in report.runs}
    assert steps == {
        "learning_rate=2.0e-5, num_train_epochs=1": 63,
        "learning_rate=2.0e-5, num_train_epochs=4": 252,
        "learning_rate=2.0e-4, num_train_epochs=1": 63,
        "learning_rate=2.0e-4, num_train_epochs=4": 252,
    }


def test_a_finding_says_in_which_corners_it_holds() -> None:
    assert found({"sweep.yaml": SWEEP, "train.py": SCRIPT}) == [
        ("WRM001", "error", "num_train_epochs=1", 9),
        ("WRM002", "warning", "num_train_epochs=4", 9),
    ]


def test_what_holds_in_all_corners_is_said_once_and_plainly() -> None:
    text = SWEEP.replace("values: [1, 4]", "value: 1")
    findings = lint_project({"sweep.yaml": text, "train.py": SCRIPT}, WORLD)
    said = [finding.message for finding in findings if finding.code == "WRM001"]
    assert len(said) == 1
    assert "(at" not in said[0]


def test_different_sums_are_told_apart_while_they_are_few() -> None:
    text = SWEEP.replace("value: 100", "values: [40, 100]")
    said = [one for one in found({"sweep.yaml": text, "train.py": SCRIPT}) if one[0] != "WRM002"]
    assert [one[2] for one in said] == ["num_train_epochs=1, warmup_steps=100"]
    said = [one for one in found({"sweep.yaml": text, "train.py": SCRIPT}) if one[0] == "WRM002"]
    assert [one[2] for one in said] == ["num_train_epochs=4, warmup_steps=100", "num_train_epochs=1, warmup_steps=40"]


def test_many_different_sums_are_one_finding() -> None:
    text = SWEEP.replace("values: [1, 4]", "values: [1.0, 1.1, 1.2, 1.3, 1.4, 9]")
    said = [one for one in found({"sweep.yaml": text, "train.py": SCRIPT}) if one[0] == "WRM001"]
    assert [one[2] for one in said] == [
        "learning_rate=2.0e-5, num_train_epochs=1.0, and in 9 more corners of the sweep"
    ]


RANGES = """\
program: train.py
method: bayes
parameters:
  learning_rate: {min: 1.0e-5, max: 2.0}
  num_train_epochs: {distribution: int_uniform, min: 3, max: 8}
  per_device_train_batch_size: {value: 8}
"""


def test_the_ends_of_a_range_are_its_corners() -> None:
    assert corners(RANGES) == [
        {"learning_rate": rate, "num_train_epochs": epochs} for rate in ("1.0e-5", "2.0") for epochs in ("3", "8")
    ]
    files = {"sweep.yaml": RANGES, "train.py": SCRIPT}
    said = [(code, level, where) for code, level, where, _ in found(files, records=20000) if code == "CFG009"]
    assert said == [("CFG009", "error", "learning_rate=2.0")]


@pytest.mark.parametrize(
    "block",
    ["{distribution: log_uniform, min: -11, max: -7}", "{distribution: normal, mu: 0, sigma: 1}", "{min: 1}", "3"],
)
def test_what_has_no_ends_is_unknown(block: str) -> None:
    text = SWEEP.replace("\n    values: [2.0e-5, 2.0e-4]", " " + block)
    report = check_project({"sweep.yaml": text, "train.py": SCRIPT}, WORLD)
    assert len(report.runs) == 2
    assert all(checked.scenarios.fact("learning_rate").unknown for checked in report.runs)


def test_a_large_grid_is_looked_at_by_its_ends() -> None:
    names = [
        "learning_rate",
        "weight_decay",
        "warmup_steps",
        "num_train_epochs",
        "max_grad_norm",
        "lora_r",
        "seed",
        "a",
    ]
    parameters = {name: {"values": [*range(3, 13), 1]} for name in names}
    text = json.dumps({"program": "train.py", "method": "grid", "parameters": parameters})
    grid = corners(text, "sweep.json")
    assert len(grid) == MOST
    assert {one["learning_rate"] for one in grid} == {"1", "12"}
    assert "a" not in grid[0]  # one of those that stay unknown


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("[python, train.py, '${args}']", 4),
        ("['${env}', python, '${program}', '${args_no_boolean_flags}']", 4),
        ("[torchrun, --nproc_per_node=2, '${program}', '${args_no_hyphens}']", 4),
        ("['${env}', python, '${program}']", 0),  # the program asks for its values itself
        ("[python, '${program}', --config, '${args_json_file}']", 0),
    ],
)
def test_the_command_says_how_the_values_arrive(command: str, count: int) -> None:
    assert len(corners(SWEEP + f"command: {command}\n")) == count


def test_the_command_starts_processes() -> None:
    text = SWEEP + "command: [torchrun, --nproc_per_node=2, '${program}', '${args}']\n"
    report = check_project({"sweep.yaml": text, "train.py": SCRIPT}, {"records": 500})
    assert {checked.scenarios.fact("gpus").value for checked in report.runs} == {2}


def test_a_sweep_needs_no_trainers_words() -> None:
    text = "program: train.py\nmethod: grid\nparameters:\n  weight_decay: {values: [0.0, 0.1]}\n"
    report = check_project({"sweep.yaml": text, "train.py": SCRIPT}, WORLD)
    assert [checked.run.label for checked in report.runs] == ["weight_decay=0.0", "weight_decay=0.1"]


@pytest.mark.parametrize(
    "text",
    [SWEEP.replace("method: grid", "method: POST"), SWEEP.replace("program", "prog"), "parameters: method program"],
)
def test_other_files_are_no_sweeps(text: str) -> None:
    assert corners(text) == []


AXOLOTL = """\
base_model: Qwen/Qwen2.5-0.5B
datasets:
  - path: example/instructions
    type: alpaca
micro_batch_size: 8
num_epochs: 3
learning_rate: 2.0e-5
warmup_steps: 5
"""
AXOLOTL_SWEEP = """\
num_epochs: [1, 3]
_:
  - learning_rate: 2.0e-5
    warmup_steps: 5
  - learning_rate: 2.0e-4
    warmup_steps: 200
"""


def test_a_sweep_of_axolotl_combines_lists_with_pairs() -> None:
    files = {
        "config.yml": AXOLOTL,
        "sweeps.yml": AXOLOTL_SWEEP,
        "run.sh": "axolotl train config.yml --sweep sweeps.yml\n",
    }
    report = check_project(files, {"gpus": 1, "records": 500, "axolotl": "0.16.0"})
    facts = {
        checked.run.label: (
            checked.scenarios.fact("total_steps").value,
            checked.scenarios.fact("warmup_steps").value,
            checked.scenarios.fact("learning_rate").value,
        )
        for checked in report.runs
    }
    assert facts == {
        "num_epochs=1, learning_rate=2.0e-5, warmup_steps=5": (63, 5, 2e-5),
        "num_epochs=1, learning_rate=2.0e-4, warmup_steps=200": (63, 200, 2e-4),
        "num_epochs=3, learning_rate=2.0e-5, warmup_steps=5": (188, 5, 2e-5),
        "num_epochs=3, learning_rate=2.0e-4, warmup_steps=200": (188, 200, 2e-4),
    }
    said = [
        (finding.path, finding.message.rpartition(" (")[2]) for finding in report.findings if finding.level == "error"
    ]
    assert said == [
        ("sweeps.yml", "at num_epochs=3, learning_rate=2.0e-4, warmup_steps=200)"),
        ("sweeps.yml", "at num_epochs=1, learning_rate=2.0e-4, warmup_steps=200)"),
    ]


def test_a_sweep_that_is_not_there_leaves_the_config() -> None:
    files = {"config.yml": AXOLOTL, "run.sh": "axolotl train config.yml --sweep nowhere.yml\n"}
    assert [checked.run.label for checked in check_project(files).runs] == [""]


@pytest.mark.parametrize("text", ["[1, 2]", "learning_rate: 2.0e-5", ""])
def test_what_is_no_list_is_no_sweep(text: str) -> None:
    assert combined(read(Source("sweeps.yml", text))) == []
    assert combined(None) == []
