"""Unsloth's command: sections, what 0 means, keys that it refuses."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

CONFIG = """\
model: unsloth/Qwen2.5-0.5B
data:
  dataset: example/instructions
training:
  training_type: lora
  num_epochs: 2
  max_steps: {limit}
  batch_size: 2
  learning_rate: 2e-4
  train_on_completions: true
{more}"""


@pytest.mark.parametrize(("limit", "total"), [(0, 250), (60, 60)])
def test_zero_steps_leave_it_to_the_epochs(limit: int, total: int) -> None:
    text = CONFIG.format(limit=limit, more="")
    report = check_project({"c.yaml": text}, {"gpus": 1, "records": 1000}, ["c.yaml"])
    (run,) = report.runs
    assert run.run.trainer == "unsloth"
    assert run.scenarios.fact("total_steps").value == total
    assert run.scenarios.fact("accumulation").value == 4
    assert run.scenarios.fact("tuning").value == "qlora"
    assert run.scenarios.fact("learning_rate").value == 2e-4


@pytest.mark.parametrize("key", ["gradient_acumulation_steps: 8", "lora_r: 8"])
@pytest.mark.parametrize(
    ("versions", "level"),
    [({"unsloth": "2026.10.9"}, "error"), ({"unsloth": "2026.8.22"}, "warning"), ({}, "warning")],
)
def test_unknown_keys_are_refused_since_october(key: str, versions: dict[str, object], level: str) -> None:
    text = CONFIG.format(limit=0, more=f"  {key}\n")
    report = check_project({"c.yaml": text}, {"gpus": 1, "records": 1000, **versions}, ["c.yaml"])
    assert [finding.level for finding in report.findings if finding.code.startswith("CFG")] == [level]


def test_a_copy_of_the_script_may_have_flags_of_its_own() -> None:
    launch = "python unsloth-cli.py --max_stps 60\n"
    alone = check_project({"train.sh": launch}).findings
    assert [finding.code for finding in alone if finding.level == "error"] == ["CFG003"]
    beside = check_project({"train.sh": launch, "unsloth-cli.py": "print('a copy')\n"}).findings
    assert [finding.code for finding in beside if finding.level == "error"] == []


def test_lists_of_defaults_are_let_alone() -> None:
    text = (
        "training:\n  num_epochs: 0\n  max_steps: 30\n  batch_size: 2\n  random_seed: 1\n  train_on_completions: true\n"
        "lora:\n  lora_r: 16\nlogging:\n  log_frequency: 10\n"
    )
    report = check_project({"c.yaml": text}, None, ["c.yaml"])
    assert [finding for finding in report.findings if finding.level != "note"] == []


def test_a_limit_wins_over_the_epochs_and_says_so() -> None:
    report = check_project({"c.yaml": CONFIG.format(limit=60, more="")}, {"gpus": 1, "records": 1000}, ["c.yaml"])
    (finding,) = (finding for finding in report.findings if finding.code == "STP001")
    assert (finding.span.place.line, finding.level) == (7, "warning")


def test_an_option_gives_one_item_of_a_list() -> None:
    files = {
        "run.sh": "unsloth train --config c.yaml --local-dataset a.jsonl\n",
        "c.yaml": CONFIG.format(limit=0, more=""),
    }
    report = check_project(files, {"gpus": 1, "records": 1000, "unsloth": "2026.10.9"})
    assert [finding.message for finding in report.findings if finding.level == "error"] == []
