"""Scenarios that are passed over decide like those that were looked at: every finding is that of asking them all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from epochlint.findings.finding import Finding
from epochlint.rules import engine, message
from epochlint.rules.alike import by_era, fixed, same, unsettled
from epochlint.rules.catalogue import load
from epochlint.rules.engine import Baseline
from epochlint.rules.expression import Context, closure
from epochlint.run.budget import Budget
from epochlint.run.known import DEFAULT, Known
from epochlint.run.run import Era
from epochlint.run.versions import VersionRange
from tests.rules.runs import counting, make_run, scenarios

RULES = load()
ERAS = tuple(
    Era(label, counting(up=up), {"transformers": VersionRange(low, high)}, {"weight_decay": Known(decay, DEFAULT)})
    for label, up, low, high, decay in (
        ("<= 4.45", False, "4.36", "4.45.9", 0.0),
        ("4.46-4.51", False, "4.46", "4.51.3", 0.01),
        (">= 4.52", True, "4.52.1", None, 0.01),
    )
)

VALUES: dict[str, Any] = {
    "per_device_batch": st.sampled_from([1, 2, 4, 8, 32]),
    "accumulation": st.sampled_from([1, 3, 8]),
    "learning_rate": st.sampled_from([1e-5, 2e-5, 2e-4]),
    "gpus": st.sampled_from([1, 4, 8]),
    "rows": st.sampled_from([20, 999, 100_000]),
    "epochs": st.sampled_from([0.5, 1.0, 3.0, 40.0]),
    "max_steps": st.sampled_from([5, 300]),
    "warmup_steps": st.sampled_from([10, 500]),
    "warmup_ratio": st.sampled_from([0.03, 0.4]),
    "eval_strategy": st.sampled_from(["steps", "epoch"]),
    "eval_steps": st.sampled_from([7, 0.3]),
}
RUN = st.fixed_dictionaries({}, optional=VALUES)


def findings(now: dict[str, Any], then: dict[str, Any], pedantic: bool, same_gpus: bool) -> list[tuple[Any, ...]]:
    run, before = scenarios(eras=ERAS, **now), scenarios(eras=ERAS, **then)
    baseline = Baseline(before, "revision", "the earlier revision", same_gpus=same_gpus)
    found: list[Finding] = engine.check(run, RULES, pedantic=pedantic, baseline=baseline)[0]
    return [(one.code, one.level, one.message, one.span.start, [text for text, _ in one.related]) for one in found]


@given(RUN, st.fixed_dictionaries({}, optional=VALUES), st.booleans(), st.booleans())
@hypothesis_settings(max_examples=150, deadline=None)
def test_the_findings_are_those_of_every_scenario(
    now: dict[str, Any], change: dict[str, Any], pedantic: bool, same_gpus: bool
) -> None:
    quick = findings(now, now | change, pedantic, same_gpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine._Case, "_decides_alike", lambda *_: False)
        patch.setattr(engine, "unsettled", lambda when, _: ([closure(when)] if when is not None else [], frozenset()))
        patch.setattr(message, "_shared", lambda *_: None)
        patch.setattr(Budget, "_gets_what", lambda *_: False)
        assert findings(now, now | change, pedantic, same_gpus) == quick


@given(RUN)
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_batch_taken_over_from_another_era_is_the_one_computed(settings: dict[str, Any]) -> None:
    run = make_run(eras=ERAS, **settings)
    for budget in scenarios(eras=ERAS, **settings):
        alone = Budget(run, budget.era, budget.workers)
        for name in ("gpus", "per_device_batch", "accumulation", "effective_batch", "total_steps", "warmup_steps"):
            ours, theirs = budget.fact(name), alone.fact(name)
            assert (ours.value, ours.low, ours.high, ours.exact) == (
                theirs.value,
                theirs.low,
                theirs.high,
                theirs.exact,
            )


def context(**settings: Any) -> Context:
    every = scenarios(eras=ERAS, **settings)
    found = Context(every.first, every)
    found.baseline = scenarios(eras=ERAS, **settings).first
    return found


@pytest.mark.parametrize(
    ("names", "is_fixed", "varying"),
    [
        (["settings.learning_rate", "learning_rate"], True, []),
        (["baseline.kind", "baseline.label", "trainer"], True, []),
        (["baseline.settings.learning_rate", "baseline.learning_rate"], True, []),
        (["settings.weight_decay"], False, ["settings.weight_decay"]),
        (["baseline.settings.weight_decay"], False, ["baseline.settings.weight_decay"]),
        (["baseline.effective_batch", "learning_rate"], False, ["baseline.effective_batch"]),
        (["total_steps", "settings.epochs"], False, ["total_steps"]),
        (["@transformers"], False, None),
    ],
)
def test_what_can_differ(names: list[str], is_fixed: bool, varying: list[str] | None) -> None:
    seen = context(learning_rate=2e-5, rows=100)
    seen.touched[:] = names
    assert fixed(seen) is is_fixed
    assert by_era(seen) == varying


def test_scenarios_are_told_apart_by_the_names_asked_for() -> None:
    every = scenarios(eras=ERAS, rows=100, per_device_batch=3, accumulation=4)
    newest, middle = Context(every.budget(2, 1), every), Context(every.budget(1, 1), every)
    assert same(["effective_batch", "settings.weight_decay"], newest, middle)
    assert not same(["total_steps"], newest, middle)  # the last group of an epoch counts from 4.52 on


def test_parts_that_hold_everywhere_are_asked_once() -> None:
    when = (
        "and",
        ("compare", "==", ("name", "learning_rate"), ("constant", 2e-5)),
        ("compare", ">", ("name", "effective_batch"), ("constant", 1)),
    )
    seen = context(learning_rate=2e-5, per_device_batch=4)
    seen.touched[:] = ["kept"]
    left, names = unsettled(when, seen)
    assert len(left) == 1
    assert names == {"learning_rate"}
    assert seen.touched == ["kept"]
    assert unsettled(None, seen) == ([], frozenset())
