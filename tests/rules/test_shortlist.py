"""The shortlist leaves out what cannot be a finding, and nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from epochlint.rules import catalogue
from epochlint.rules.engine import Engine
from epochlint.rules.expression import Context
from epochlint.rules.grammar import Scope, condition, requirements
from epochlint.rules.rule import Rule
from epochlint.rules.shortlist import Shortlist
from epochlint.run.scenarios import Scenarios
from tests.rules.runs import ERAS, make_run

RULES = catalogue.load()
ENGINE = Engine(RULES)  # one for all runs: what it remembers of one must hold for the next

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "rows": st.sampled_from([1, 7, 40, 100, 5_000, 52_002, 2_000_000]),
    "gpus": st.sampled_from([1, 2, 8]),
    "per_device_batch": st.sampled_from([1, 2, 8, 64, 512]),
    "accumulation": st.sampled_from([1, 4, 64]),
    "epochs": st.sampled_from([0.1, 1, 3, 20.0, 100]),
    "max_steps": st.sampled_from([1, 50, 500, 100_000]),
    "learning_rate": st.sampled_from([0.0, 1e-7, 2e-5, 2e-4, 0.1, 5]),
    "weight_decay": st.sampled_from([0.0, 0.01, 0.9]),
    "scheduler": st.sampled_from(["linear", "cosine", "constant", "inverse_sqrt"]),
    "optimizer": st.sampled_from(["adamw_torch", "muon", "sgd", "lion_8bit", "adafactor"]),
    "warmup_steps": st.sampled_from([0, 20, 5_000]),
    "warmup_ratio": st.sampled_from([0.0, 0.03, 0.5, 1.5]),
    "eval_strategy": st.sampled_from(["no", "steps", "epoch"]),
    "eval_steps": st.sampled_from([1, 0.2, 500, 10_000]),
    "save_strategy": st.sampled_from(["no", "steps", "epoch"]),
    "save_steps": st.sampled_from([1, 500, 10_000]),
    "save_total_limit": st.sampled_from([1, 2]),
    "logging_steps": st.sampled_from([1, 500, 10_000]),
    "load_best": st.booleans(),
    "drop_last": st.booleans(),
    "packing": st.booleans(),
    "streaming": st.booleans(),
    "method": st.sampled_from(["sft", "dpo", "grpo", "pretrain"]),
    "tuning": st.sampled_from(["full", "lora", "qlora"]),
    "beta": st.sampled_from([0.0, 0.1, 5.0]),
    "num_generations": st.sampled_from([1, 2, 8]),
    "lora_rank": st.sampled_from([1, 16, 1024]),
    "validation": st.booleans(),
    "validation_split": st.sampled_from([0.0, 0.1, 500]),
    "model": st.sampled_from(["example/model-7B", "example/model-70B", "example/model-500m"]),
}

written = st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), max_size=14).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names})
)


class _Everything:
    """A shortlist that leaves nothing out."""

    def impossible(self, context: Context) -> int:
        return 0


class _Whole(Engine):
    """An engine that judges every rule in every scenario."""

    def __init__(self, rules: list[Rule]) -> None:
        super().__init__(rules)
        self._shortlist = _Everything()  # type: ignore[assignment] # it has the one method that is asked

    def _may_hold(self, place: int, first: Context) -> bool:
        return True


names = st.sampled_from(["learning_rate", "epochs", "warmup_steps", "per_device_batch"])


@settings(max_examples=300, deadline=None)
@given(written, st.sets(names), st.booleans())
def test_nothing_is_lost(values: dict[str, object], unknown: set[str], both: bool) -> None:
    run = make_run(eras=ERAS if both else None, unknown=tuple(unknown - values.keys()), **values)  # type: ignore[arg-type]
    ours = [(found.code, found.level, found.message) for found in ENGINE.check(Scenarios(run))]
    assert ours == [(found.code, found.level, found.message) for found in _Whole(RULES).check(Scenarios(run))]


def test_most_rules_are_left_out_of_a_usual_run() -> None:
    run = make_run(rows=50_000, gpus=8, per_device_batch=8, learning_rate=2e-5, warmup_ratio=0.03, scheduler="cosine")
    scenarios = Scenarios(run)
    checks = [(rule, check) for rule in RULES for check in rule.checks]
    impossible = Shortlist(checks).impossible(Context(scenarios.first, scenarios))
    gated = sum(check.observation is None for _, check in checks)
    assert impossible.bit_count() > 0.8 * gated


def test_parts_that_ask_one_name_alone() -> None:
    node = condition("settings.beta > 0 and (rows < 5 and rows > epochs) and written(max_steps)", Scope())
    assert requirements(node) == (("settings.beta", (1,)), ("rows", (2, 1)), ("settings.max_steps", (3,)))


def test_parts_that_hang_on_more_are_none() -> None:
    for text in ("baseline.epochs > 3", "differs_by_version(total_steps)", "is_default(epochs)", "pinned('trl')"):
        assert requirements(condition(text, Scope())) == (), text
    assert requirements(condition("epochs > 3 or rows < 5", Scope())) == ()
