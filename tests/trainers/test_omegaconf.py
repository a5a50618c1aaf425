"""References and Hydra's composition: what a trainer reads is what OmegaConf would give it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import check_project

TORCHTUNE = """\
data_dir: data
size: 4
both: ${{size}}
model: {{_component_: torchtune.models.llama3_2.llama3_2_1b}}
tokenizer: {{_component_: torchtune.models.llama3.llama3_tokenizer}}
dataset: {{_component_: torchtune.datasets.alpaca_dataset, source: json, data_files: "${{data_dir}}/train.jsonl"}}
optimizer: {{_component_: torch.optim.AdamW, lr: 1.0e-5}}
loss: {{_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}}
batch_size: {batch}
gradient_accumulation_steps: 2
epochs: 2
max_steps_per_epoch: null
"""


def facts(files: dict[str, str], *names: str, paths: list[str] | None = None) -> list[Any]:
    report = check_project(files, {"gpus": 1}, paths)
    (checked,) = report.runs
    return [checked.scenarios.fact(name).value for name in names]


@pytest.mark.parametrize(
    ("batch", "value"),
    [
        ("${size}", 4),
        ("${both}", 4),  # a reference to a reference
        ("${optimizer.batch}", None),
        ("${oc.env:SIZE}", None),  # what a resolver gives is not known
        ("${batch_size}", None),  # itself
        ("${.size}", 4),
    ],
)
def test_a_reference_is_what_it_leads_to(batch: str, value: int | None) -> None:
    text = TORCHTUNE.format(batch=f'"{batch}"')
    assert facts({"config.yaml": text}, "per_device_batch") == [value]


def test_a_reference_inside_a_path() -> None:
    files = {"config.yaml": TORCHTUNE.format(batch=4), "data/train.jsonl": '{"instruction": "a", "output": "b"}\n' * 80}
    assert facts(files, "records", "total_steps") == [80, 20]


def test_a_finding_points_at_the_key_that_is_read() -> None:
    report = check_project({"config.yaml": TORCHTUNE.format(batch="${size}").replace("size: 4\n", "size: 0\n", 1)})
    lines = {finding.span.place.line for finding in report.findings if finding.code == "CFG009"}
    assert lines == {9}


VERL = """\
defaults:
  - data@data: small
  - optim: {optim}
  - _self_
trainer: {{total_epochs: 3, nnodes: 1, n_gpus_per_node: 2}}
data: {{train_files: train.parquet}}
{own}"""
GROUPS = {
    "conf/data/small.yaml": "train_batch_size: 8\n",
    "conf/optim/adam.yaml": "lr: 2.0e-5\nlr_warmup_steps_ratio: 0.1\n",
    "conf/optim/base.yaml": "# @package _global_\noptim:\n  lr: 3.0e-5\n",
    "conf/optim/nested.yaml": "defaults:\n  - adam@_here_\n  - _self_\nlr: 4.0e-5\n",
}


@pytest.mark.parametrize(
    ("optim", "rate", "share"),
    [
        ("adam", 2e-5, 0.1),
        ("base", 3e-5, None),  # its header puts it at the top
        ("[base, adam]", 2e-5, 0.1),  # the last wins
        ("null", None, None),
        ("???", None, None),
        ("missing", None, None),
    ],
)
def test_groups_are_put_together(optim: str, rate: float | None, share: float | None) -> None:
    files = {**GROUPS, "conf/sft.yaml": VERL.format(optim=optim, own="")}
    found = facts(files, "effective_batch", "learning_rate", "warmup_ratio", paths=["conf/sft.yaml"])
    assert found == [8, rate, share]


@pytest.mark.parametrize(("order", "rate"), [("", 9e-5), ("first", 2e-5)])
def test_the_file_itself_stands_where_it_says(order: str, rate: float) -> None:
    text = VERL.format(optim="adam", own="optim: {lr: 9.0e-5}\n")
    if order:
        text = text.replace("  - _self_\n", "").replace("defaults:\n", "defaults:\n  - _self_\n")
    assert facts({**GROUPS, "conf/sft.yaml": text}, "learning_rate", paths=["conf/sft.yaml"]) == [rate]


def test_a_file_that_names_itself_ends() -> None:
    files = {**GROUPS, "conf/sft.yaml": VERL.format(optim="adam", own="").replace("  - _self_", "  - sft\n  - _self_")}
    assert facts(files, "effective_batch", paths=["conf/sft.yaml"]) == [8]


def test_a_config_in_parts_has_no_defaults_of_its_own() -> None:
    """What the other parts set is not here: no default may be claimed."""
    text = (
        "defaults:\n  - trainer: sft\noutput_dir: out\neval_strategy: epoch\nlogging_steps: 10\nlearning_rate: 1.0e-5\n"
    )
    report = check_project({"conf.yaml": text}, {"gpus": 1})
    (checked,) = report.runs
    assert checked.scenarios.fact("per_device_batch").unknown
    assert checked.scenarios.fact("epochs").unknown
    assert checked.scenarios.fact("learning_rate").value == 1e-5
