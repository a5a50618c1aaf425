"""The words of conditions are those of the run's tables and of the budget."""

from __future__ import annotations

from typing import Any

from epochlint.rules import vocabulary
from epochlint.run.budget import COMPUTED, TAKEN
from tests.rules.runs import scenarios


def test_facts_are_those_of_the_budget() -> None:
    run: dict[str, Any] = {
        "gpus": 1,
        "rows": 800,
        "eval_strategy": "steps",
        "eval_steps": 10,
        "save_steps": 10,
        "logging_steps": 10,
    }
    first = scenarios(**run).first
    assert {name for name in COMPUTED if first.derived(name) is not None} == set(COMPUTED)
    assert {*COMPUTED, *TAKEN} == vocabulary.FACTS


def test_the_tables_are_read() -> None:
    assert {"per_device_batch", "epochs", "max_steps", "load_best", "language_model"} <= vocabulary.settings()
    assert "setting" not in vocabulary.settings()
    assert {"key", "same"} <= vocabulary.observations()["duplicate_key"]
    assert "reason" in vocabulary.observations()["too_few_generations"]  # two names in one row
    assert "values" not in vocabulary.observations()["unreadable"]
