from __future__ import annotations

import pytest

from tests.helpers import check_project

SFT = """\
policy:
  model_name: example/model
  train_global_batch_size: 32
  train_micro_batch_size: 1
  dtensor_cfg:
    enabled: true
    tensor_parallel_size: 2
    context_parallel_size: 1
  megatron_cfg:
    enabled: false
    tensor_model_parallel_size: 8
  optimizer:
    kwargs:
      lr: 5.0e-6
sft:
  max_num_epochs: 10
  max_num_steps: 60
cluster:
  gpus_per_node: 8
  num_nodes: 3
"""


def codes(text: str) -> list[str]:
    return [f.code for f in check_project({"config.yaml": text}).findings if f.level in ("error", "warning")]


def test_the_batch_is_shared_out_among_data_parallel_workers() -> None:
    report = check_project({"config.yaml": SFT})
    assert report.runs[0].scenarios.fact("gpus").value == 12
    assert codes(SFT) == ["BAT002"]  # 32 / 12
    assert codes(SFT.replace("tensor_parallel_size: 2", "tensor_parallel_size: 3")) == []
    megatron = SFT.replace("enabled: false", "enabled: yes").replace("enabled: true", "enabled: false")
    assert check_project({"config.yaml": megatron}).runs[0].scenarios.fact("gpus").value == 3


@pytest.mark.parametrize("algorithm", ["grpo", "distillation"])
def test_a_cluster_that_also_generates_is_not_all_workers(algorithm: str) -> None:
    text = SFT.replace("sft:", f"{algorithm}:")
    report = check_project({"config.yaml": text})
    assert report.runs[0].run.setting("gpus").unknown
    assert codes(text) == []


def test_epochs_and_steps_are_both_asked_for() -> None:
    assert "STP001" not in codes(SFT.replace("tensor_parallel_size: 2", "tensor_parallel_size: 3"))


def test_what_is_inherited_is_told_where_the_other_file_is_named() -> None:
    base = SFT.replace("train_global_batch_size: 32", "train_global_batch_size: 36").replace(
        "  optimizer:",
        "  scheduler:\n"
        "    - {name: torch.optim.lr_scheduler.LinearLR, kwargs: {start_factor: 0.1, total_iters: 50}}\n"
        "    - {name: torch.optim.lr_scheduler.ConstantLR, kwargs: {factor: 1.0, total_iters: 1000}}\n"
        "    - milestones: [50]\n  optimizer:",
    )
    child = "# shorter\ndefaults: base.yaml\nsft: {max_num_steps: 40}\n"
    for paths in (["child.yaml"], None):
        findings = check_project({"base.yaml": base, "child.yaml": child}, paths=paths).findings
        told = [(f.code, f.span.place.line) for f in findings if f.path == "child.yaml" and f.level == "warning"]
        assert told == [("WRM002", 2)]
