"""Configs that a notebook or a script writes before it starts a trainer with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import check_project

ARGS = """\
import json, subprocess, yaml
args = dict(
    stage="sft",
    model_name_or_path="meta-llama/Meta-Llama-3-8B",
    dataset="identity",
    finetuning_type="lora",
    output_dir="out",
    learning_rate=5e-5,
    max_steps=100,
    warmup_steps=300,
)
"""
AXOLOTL = """\
base_model: m
micro_batch_size: 2
gradient_accumulation_steps: 1
datasets:
  - path: a/b
    type: alpaca
learning_rate: 0.0002
max_steps: 100
warmup_steps: 300
"""
LOADED = f'import yaml\nconfig = yaml.safe_load("""\n{AXOLOTL}""")\n'
DUMP = ARGS + 'json.dump(args, open("train_llama3.json", "w", encoding="utf-8"), indent=2)\n'
TRAIN = "!llamafactory-cli train train_llama3.json"


def notebook(*cells: str) -> str:
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    found = [{**code, "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def checked(files: dict[str, str], **options: Any) -> tuple[list[tuple[str, str]], list[object]]:
    """What is found of the warmup, with the text there, and each run's steps."""
    report = check_project({**files, ".git/HEAD": ""}, **options)
    assert [skipped for skipped in report.skipped if skipped.kind == "internal"] == []
    found = [(one.path, one.span.text) for one in report.findings if one.name == "warmup-exceeds-run"]
    return found, [run.scenarios.fact("total_steps").value for run in report.runs]


@pytest.mark.parametrize(
    "cells",
    [
        (DUMP, TRAIN),
        (DUMP, "%cd LLaMA-Factory/\n!CUDA_VISIBLE_DEVICES=0 " + TRAIN[1:]),
        (DUMP, "!cd LLaMA-Factory && " + TRAIN[1:]),
        (ARGS + 'with open("a.yaml", "w") as f:\n    yaml.dump(args, f)', "!llamafactory-cli train a.yaml"),
        (ARGS + 'name = "/content/a.json"\njson.dump(args, open(name, "w"))', "!llamafactory-cli train {name}"),
        (DUMP + 'subprocess.run(["llamafactory-cli", "train", "train_llama3.json"])',),
        (DUMP, 'import os\nos.system("llamafactory-cli train train_llama3.json")'),
    ],
)
def test_a_notebook_dumps_its_config(cells: tuple[str, ...]) -> None:
    assert checked({"a.ipynb": notebook(*cells)}) == ([("a.ipynb", "warmup_steps")], [100])


@pytest.mark.parametrize(
    "cells",
    [
        (f'text = """\n{AXOLOTL}"""\nlearning_rate = 1\nopen("a.yaml", "w").write(text)', "!axolotl train a.yaml"),
        (f"%%writefile a.yaml\n{AXOLOTL}", "!accelerate launch -m axolotl.cli.train a.yaml"),
        (LOADED + 'open("/content/a.yaml", "w").write(yaml.dump(config))', "!axolotl train /content/a.yaml"),
    ],
)
def test_a_notebook_writes_a_text(cells: tuple[str, ...]) -> None:
    assert checked({"a.ipynb": notebook(*cells)}) == ([("a.ipynb", "warmup_steps")], [100])


@pytest.mark.parametrize(
    "start",
    [
        'subprocess.run(["llamafactory-cli", "train", "train_llama3.json"], check=True)\n',
        'import os\nos.system("llamafactory-cli train train_llama3.json")\n',
        'def main():\n    subprocess.check_call(["llamafactory-cli", "train", "train_llama3.json"])\nmain()\n',
    ],
)
def test_a_script_dumps_its_config(start: str) -> None:
    assert checked({"run.py": DUMP + start}) == ([("run.py", "warmup_steps")], [100])


@pytest.mark.parametrize(
    "cells",
    [
        (DUMP, 'args["warmup_steps"] = 5\njson.dump(args, open("train_llama3.json", "w"))', TRAIN),
        (TRAIN, DUMP),
        (ARGS + 'if gpu():\n    args["warmup_steps"] = 5\njson.dump(args, open("train_llama3.json", "w"))', TRAIN),
        (DUMP.replace("300", "steps()"), TRAIN),
        (DUMP.replace("warmup_steps=300", "**more()"), TRAIN),
        (f"%%writefile a.yaml\n{AXOLOTL}", "%%writefile -a a.yaml\nsave_steps: 1\n", "!axolotl train a.yaml"),
        (f"%%writefile a.yaml\n{AXOLOTL}", f"%%writefile a.yaml\n{AXOLOTL}\nseed: 1", "!axolotl train a.yaml"),
    ],
)
def test_what_cannot_be_known_stays_unknown(cells: tuple[str, ...]) -> None:
    found, runs = checked({"a.ipynb": notebook(*cells)})
    assert found == []
    assert len(runs) == 1


@pytest.mark.parametrize("params", ["json.loads(form.value)", "{**settings()}", "choose() or {}"])
def test_a_section_that_is_not_known_leaves_nothing_to_defaults(params: str) -> None:
    """AutoTrain's settings stand in `params`: what stands there may set the batch, too."""
    config = f"""{{"task": "llm-sft", "base_model": "m", "data": {{"path": "d"}}, "params": {params}}}"""
    dump = f'import json, yaml\nconfig = {config}\nyaml.dump(config, open("config.yml", "w"))'
    report = check_project({"a.ipynb": notebook(dump, "!autotrain --config config.yml"), ".git/HEAD": ""})
    (run,) = report.runs
    assert [run.scenarios.fact(name).value for name in ("per_device_batch", "accumulation", "epochs")] == [None] * 3
    assert report.findings == []


def test_a_file_on_disk_is_the_one_that_is_meant() -> None:
    disk = json.dumps({"stage": "sft", "model_name_or_path": "m", "max_steps": 7, "output_dir": "o"})
    files = {"a.ipynb": notebook(DUMP, TRAIN), "train_llama3.json": disk}
    assert checked(files) == ([], [7])


def test_comments_and_installed_versions_of_the_notebook_count_for_its_configs() -> None:
    quiet = DUMP.replace("warmup_steps=300,", "warmup_steps=300,  # epochlint: ignore[WRM001] a test")
    assert checked({"a.ipynb": notebook(quiet, TRAIN)}) == ([], [100])
    told = "!pip install llamafactory==0.9.3", DUMP + "# epochlint: assume gpus=4", TRAIN
    report = check_project({"a.ipynb": notebook(*told), ".git/HEAD": ""})
    (run,) = report.runs
    assert run.scenarios.fact("gpus").value == 4
    assert run.run.version == "0.9.3"


def test_a_companion_that_is_dumped() -> None:
    """DeepSpeed's config, beside the flags of the launch."""
    dump = 'import json\nds = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4}\n'
    dump += 'json.dump(ds, open("ds.json", "w"))\n'
    start = (
        "!deepspeed --num_gpus 2 train.py --deepspeed ds.json --output_dir o --per_device_train_batch_size 4 "
        "--gradient_accumulation_steps 4 --learning_rate 2e-5"
    )
    report = check_project({"a.ipynb": notebook(dump, start), ".git/HEAD": ""})
    paths = {(one.code, one.path) for one in report.findings if one.code.startswith("DSP")}
    assert paths, [(one.code, one.path) for one in report.findings]


def test_two_notebooks_in_one_folder() -> None:
    other = DUMP.replace("300", "30")
    found, runs = checked({"a.ipynb": notebook(DUMP, TRAIN), "b.ipynb": notebook(other, TRAIN)})
    assert (found, runs) == ([("a.ipynb", "warmup_steps")], [100, 100])
