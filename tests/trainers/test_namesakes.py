"""Configs of other programs, whose sections are called as a trainer's are: nobody refuses them."""

from __future__ import annotations

import pytest

from tests.helpers import check_project

CONFIGS = {
    "megatron_bridge": """\
        train: {train_iters: 50000, batch_size: 4, save_iters: 1000}
        optimizers: {lr: 1.0e-4, min_lr: -1}
        scheduler: {lr_gamma: 0.5}
        datasets: {path: images}
    """,
    "nemo_automodel": """\
        model: resnet
        dataset: cifar
        step_scheduler: {step_size: 30, gamma: 0.1, max_step: 5}
    """,
    "autotrain": """\
        task: llm_finetune
        base_model: some/model
        params: {epochs: 3, lr: 1.0e-4}
        data: {path: rows}
    """,
    "nemo_rl": """\
        policy: {class_name: ActorCritic, init_noise_std: 1.0, scheduler: null}
        ppo: {clip_range: 0.2, epochs: 5}
        cluster: {num_nodes: 0}
        loggers: {wandb: true}
    """,
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_namesake_is_let_alone(name: str) -> None:
    report = check_project({"config.yaml": "\n".join(line.strip() for line in CONFIGS[name].splitlines())})
    assert [finding.message for finding in report.findings if finding.level != "note"] == []
    assert [checked.run.trainer for checked in report.runs if checked.run.trainer != "custom"] == []
