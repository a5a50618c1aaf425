from __future__ import annotations

import pytest

from tests.helpers import check_project


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ("algorithm.adv_estimator=grpo", "grpo"),
        ("algorithm.adv_estimator=rloo", "rloo"),
        ("algorithm.adv_estimator=gae", "ppo"),
        ("", "ppo"),
    ],
)
def test_the_advantage_says_which_method_it_is(words: str, method: str) -> None:
    given = "data.train_files=a.parquet data.train_batch_size=256 trainer.total_epochs=2"
    command = f"python -m verl.trainer.main_ppo {words} actor_rollout_ref.actor.optim.lr=1e-6 {given}\n"
    [run] = check_project({"run.sh": command}).runs
    assert run.scenarios.run.settings["method"].value == method


@pytest.mark.parametrize("module", ["main_ppo", "sft_trainer"])
def test_passes_of_reinforcement_are_not_told_as_those_of_supervised_tuning(module: str) -> None:
    given = "data.train_files=a.parquet data.train_batch_size=256 trainer.total_epochs=20"
    report = check_project({"run.sh": f"python -m verl.trainer.{module} {given}\n"}, {"records": 2000})
    told = [finding.code for finding in report.findings if finding.code.startswith("EPO")]
    assert told == ([] if module == "main_ppo" else ["EPO002"])
