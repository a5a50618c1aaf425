"""Three-valued evaluation: exact values, ranges, what is off, what is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epochlint.rules.expression import Context, closure
from epochlint.rules.grammar import Scope, compile_, condition
from epochlint.run.known import UNKNOWN, Known, between
from epochlint.run.observation import Observation
from epochlint.run.versions import VersionRange, Versions
from tests.rules.runs import ERAS, scenarios


def context(known: dict[str, Known] | None = None, observation: Observation | None = None, **written: Any) -> Context:
    """A context with these written settings; `known` settings are put in as they are."""
    world = scenarios(gpus=1, rows=100, **written)
    world.run.settings.update(known or {})
    return Context(world.first, world, observation, {"few": 20.0})


def truth(text: str, *, observed: str | None = None, **arguments: Any) -> Any:
    return closure(condition(text, Scope(["few"], observed)))(context(**arguments))


def value(text: str, **arguments: Any) -> Any:
    return closure(compile_(text, Scope(["few"]))[0])(context(**arguments))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("total_steps < 20", False),
        ("total_steps == 39", True),
        ("1 < total_steps < 40", True),
        ("total_steps > 38 and warmup_used", True),
        ("not total_steps > 38", False),
        ("total_steps < threshold.few or decays", True),
        ('scheduler in ("linear", "cosine")', True),
        ('scheduler not in ("linear", "cosine")', False),
        ("max_steps < 5", False),  # switched off compares False,
        ("max_steps > 5", False),  # either way
        ("max_steps == 5", False),
        ("max_steps != 5", True),
        ("max_steps + 1 > 0", False),  # and makes a sum off
        ("off(max_steps)", True),
        ("given(max_steps)", False),
        ("known(max_steps)", True),
        ("written(per_device_batch)", False),
        ("by_default(per_device_batch)", True),
        ("total_steps / 0 > 1", None),
        ("scheduler < 3", None),
        ("settings.model == 'x'", None),
        ("default(settings.model, 'x') == 'x'", True),
        ("maybe(settings.model == 'x')", True),
        ("surely(settings.model == 'x')", False),
        ("settings.model == 'x' and total_steps < 20", False),
        ("settings.model == 'x' or total_steps > 20", True),
        ("settings.model == 'x' and total_steps > 20", None),
        ("1 if settings.model == 'x' else 1", True),
        ("(3 if settings.model == 'x' else 30) > 2", True),
        ("(3 if settings.model == 'x' else 30) > 20", None),
        ("contains(scheduler, 'LIN')", True),
        ("starts(scheduler, 'con')", False),
        ("uses('transformers')", True),
        ("uses('axolotl')", False),
        ("at_least('transformers', '4.40')", True),
        ("at_least('transformers', '5.0')", None),
        ("pinned('transformers')", False),
    ],
)
def test_truth(text: str, expected: bool | None) -> None:
    assert truth(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("total_steps + 1", 40),
        ("-total_steps", -39),
        ("total_steps // 2 + total_steps % 2", 20),
        ("max(total_steps, 50, 3)", 50),
        ("min(total_steps, 50)", 39),
        ("ceil(total_steps / 2)", 20),
        ("floor(total_steps / 2)", 19),
        ("round(1.6)", 2),
        ("abs(-total_steps)", 39),
        ("root(16)", 4),
        ("max_steps * 2", None),
        ("billions('Qwen/Qwen2.5-7B-Instruct')", 7.0),
        ("billions('mixtral-8x7B')", 56.0),
        ("billions('smollm-135m')", 0.135),
    ],
)
def test_value(text: str, expected: object) -> None:
    assert value(text) == expected


def test_a_model_without_its_size_in_the_name_is_unknown() -> None:
    assert value("billions('gpt2-xl')").unknown
    assert value("billions('bart-base-v2b-c')").unknown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("per_device_batch > 1", True),
        ("per_device_batch >= 8", None),
        ("per_device_batch < 2", False),
        ("per_device_batch <= 16", True),
        ("per_device_batch == 3", None),
        ("per_device_batch == 30", False),
        ("per_device_batch != 30", True),
        ("per_device_batch in (1, 30)", False),
        ("per_device_batch in (1, 5)", None),
        ("per_device_batch * -1 < 0", True),
        ("per_device_batch - per_device_batch < 20", True),
        ("10 / per_device_batch >= 0.6", True),
        ("per_device_batch % 4 < 4", None),
        ("per_device_batch == 'auto'", False),
        ("settings.eval_steps > 0", True),  # no upper bound
        ("settings.eval_steps > 100", None),
        ("settings.eval_steps * 2 >= 20", True),
        ("1 / settings.eval_steps <= 0.1", True),
        ("abs(settings.eval_steps) >= 10", True),
        ("per_device_batch", True),  # a yes or no: above zero
    ],
)
def test_ranges(text: str, expected: bool | None) -> None:
    ranges = {"per_device_batch": between(2, 16), "eval_steps": between(10, None)}
    assert truth(text, known=ranges) is expected


def test_words_are_of_the_observation_only() -> None:
    seen = Observation("duplicate_key", scenarios(gpus=1).run.span, {"key": "a", "same": False})
    assert truth("observation.key == 'a' and not observation.same", observed="duplicate_key", observation=seen) is True
    assert (
        truth(
            "off_key == 1 or observation.since == 'x'".replace("off_key == 1 or ", ""),
            observed="duplicate_key",
            observation=seen,
        )
        is False
    )


def test_a_default_that_is_written_out_is_the_default() -> None:
    assert truth("is_default(epochs)", epochs=3.0) is True
    assert truth("is_default(epochs)", epochs=4) is False
    assert truth("is_default(epochs)", known={"epochs": UNKNOWN}) is None


def test_versions_stated_by_the_project_are_not_the_eras() -> None:
    world = scenarios(eras=ERAS[:1], gpus=1, versions=Versions({"transformers": VersionRange("4.40", None)}))
    here = Context(world.first, world)

    def ask(text: str) -> Any:
        return closure(condition(text, Scope()))(here)

    assert ask("at_least('transformers', '4.52')") is False  # the era that is left
    assert ask("stated_at_least('transformers', '4.52')") is None  # what the project says
    assert ask("stated_at_least('transformers', '4.36')") is True


def test_without_a_run_everything_but_the_observation_is_unknown() -> None:
    here = Context(None)
    for text in (
        "total_steps < 20",
        "settings.model == 'x'",
        "is_default(epochs)",
        "at_least('a', '1')",
        "off(max_steps)",
    ):
        assert closure(condition(text, Scope()))(here) is None, text
    assert closure(condition("uses('transformers')", Scope()))(here) is False


def test_what_decided_is_noted() -> None:
    here = context()
    closure(condition("settings.model == 'x' or total_steps > 20", Scope()))(here)
    assert here.touched == ["total_steps"]
    here = context()
    closure(condition("total_steps > 20 and settings.model == 'x' and decays", Scope()))(here)
    assert here.touched == ["settings.model"]


_NUMBER = st.integers(-40, 40)
_RANGE = st.tuples(_NUMBER, _NUMBER).map(sorted)


@settings(max_examples=300, deadline=None)
@given(first=_RANGE, second=_RANGE, data=st.data(), operator=st.sampled_from(["+", "-", "*", "/", "//", "%"]))
def test_a_range_holds_every_result(first: list[int], second: list[int], data: st.DataObject, operator: str) -> None:
    """What a sum of ranges promises is true for each pair of numbers inside them."""
    node = compile_(f"per_device_batch {operator} accumulation", Scope())[0]
    function = closure(node)
    world = context({"per_device_batch": between(first[0], first[1]), "accumulation": between(second[0], second[1])})
    promised = function(world)
    x, y = data.draw(st.integers(*first)), data.draw(st.integers(*second))
    if operator in "+-*":
        exact: float = {"+": x + y, "-": x - y, "*": x * y}[operator]
    elif y == 0:
        return
    else:
        exact = {"/": x / y, "//": x // y, "%": x % y}[operator]
    if type(promised) is Known:
        assert promised.low is None or promised.low <= exact + 1e-9
        assert promised.high is None or exact - 1e-9 <= promised.high
    elif promised is not None:
        assert promised == pytest.approx(exact)


@settings(max_examples=300, deadline=None)
@given(first=_RANGE, second=_RANGE, data=st.data(), operator=st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_a_decided_comparison_holds_for_every_pair(
    first: list[int], second: list[int], data: st.DataObject, operator: str
) -> None:
    function = closure(condition(f"per_device_batch {operator} accumulation", Scope()))
    decided = function(
        context({"per_device_batch": between(first[0], first[1]), "accumulation": between(second[0], second[1])})
    )
    x, y = data.draw(st.integers(*first)), data.draw(st.integers(*second))
    if decided is not None:
        exact = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[operator]
        assert exact is decided
