"""The budget: exact numbers, bounds, and that bounds hold whatever the unknowns turn out to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from epochlint.run.budget import Budget
from epochlint.run.counting import Counting, all_rows, by_loader, cadence, fixed, product, share_up
from epochlint.run.known import COUNTED, ON_RECORDS, WRITTEN, Known, unknown
from epochlint.run.run import Era, Run
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions
from epochlint.source import Source


def run_with(up: bool = True, share: float | None = None, warmup: int | None = None, **settings: object) -> Run:
    source = Source("train.yaml", "a: 1\n")
    counting = Counting(
        by_loader(up, zero_limits=True),
        lambda get: share_up(share) if share is not None else fixed(warmup or 0),
        product,
        all_rows,
        cadence("eval_strategy", "eval_steps", at_end=False),
        cadence("save_strategy", "save_steps", at_end=True),
        unwarmed=frozenset({"constant"}),
    )
    run = Run("hf-args", source, source.span(0, 1), [Era("", counting)], Versions())
    run.settings["max_steps"] = Known(None)
    for name, value in settings.items():
        run.settings[name] = value if isinstance(value, Known) else Known(value, COUNTED if name == "rows" else WRITTEN)
    return run


def fact(run: Run, name: str, workers: int = 1) -> Known:
    return Budget(run, run.eras[0], workers).fact(name)


def test_a_hundred_records_make_thirty_nine_steps() -> None:
    run = run_with(share=0.1, rows=100, per_device_batch=8, accumulation=1, epochs=3, gpus=1)
    assert fact(run, "effective_batch").value == 8
    assert fact(run, "steps_per_epoch").value == 13
    assert fact(run, "total_steps").value == 39
    assert fact(run, "total_steps").text() == "3 x 13"
    assert fact(run, "warmup_steps").value == 4
    assert fact(run, "total_steps").basis & ON_RECORDS


def test_the_float_trap_of_a_share() -> None:
    run = run_with(share=0.07, rows=100, per_device_batch=1, accumulation=1, epochs=1, gpus=1)
    assert fact(run, "warmup_steps").value == 8


def test_a_step_limit_needs_no_records_and_gives_the_epochs() -> None:
    run = run_with(warmup=5, max_steps=60, per_device_batch=2, accumulation=4, epochs=3, gpus=1)
    assert fact(run, "total_steps").value == 60
    assert fact(run, "warmup_fraction").value == 5 / 60
    assert not fact(run, "epochs").exact
    run.settings["rows"] = Known(480, COUNTED)
    assert fact(run, "epochs").value == 1.0


def test_unknown_records_leave_the_total_open_but_not_below_the_epochs() -> None:
    run = run_with(share=0.5, per_device_batch=8, accumulation=1, epochs=3, gpus=1)
    total = fact(run, "total_steps")
    assert not total.exact
    assert (total.low, total.high) == (3, None)
    share = fact(run, "warmup_fraction")
    assert share.low == 0.5  # a rounded-up share never lies below what was asked for


def test_an_unreadable_limit_makes_the_total_unknown() -> None:
    run = run_with(rows=100, per_device_batch=8, accumulation=1, epochs=3, gpus=1)
    run.settings["max_steps"] = unknown()
    assert fact(run, "total_steps").unknown


def test_packing_makes_rows_say_nothing() -> None:
    run = run_with(rows=500, per_device_batch=8, accumulation=1, epochs=3, gpus=1, packing=True)
    assert fact(run, "total_steps").unknown
    assert fact(run, "records").value == 500


def test_a_batch_below_one_has_no_arithmetic() -> None:
    run = run_with(rows=500, per_device_batch=0, accumulation=1, epochs=3, gpus=1)
    assert fact(run, "total_steps").unknown


def test_cadences() -> None:
    settings = {"eval_strategy": "steps", "eval_steps": 10, "save_strategy": "steps", "save_steps": 500}
    run = run_with(rows=100, per_device_batch=8, accumulation=1, epochs=3, gpus=1, **settings)
    assert fact(run, "evaluations").value == 3
    assert fact(run, "checkpoints").value == 1
    run.settings["eval_steps"] = Known(0.1, WRITTEN)
    assert fact(run, "evaluations").value == 9  # every ceil(3.9) = 4 steps


def test_parallel_sizes_are_divided_out() -> None:
    run = run_with(rows=100, per_device_batch=1, accumulation=1, epochs=1, gpus=8, parallel=4)
    scenarios = Scenarios(run)
    assert scenarios.fact("gpus").value == 2
    assert scenarios.fact("effective_batch").value == 2


def test_unknown_gpus_give_bounds() -> None:
    run = run_with(rows=1000, per_device_batch=4, accumulation=4, epochs=1)
    total = Scenarios(run).fact("total_steps")
    assert (total.low, total.high) == (1, 63)


@given(
    n=st.integers(1, 5000),
    b=st.integers(1, 64),
    g=st.integers(1, 64),
    w=st.integers(1, 64),
    e=st.floats(0.01, 20, allow_nan=False),
    up=st.booleans(),
)
def test_bounds_hold_for_every_value_of_the_unknown(n: int, b: int, g: int, w: int, e: float, up: bool) -> None:
    exact = run_with(up, rows=n, per_device_batch=b, accumulation=g, epochs=e, gpus=w)
    total = fact(exact, "total_steps", w).number
    assert total is not None
    for hidden in ("rows", "per_device_batch", "accumulation"):
        run = run_with(up, rows=n, per_device_batch=b, accumulation=g, epochs=e, gpus=w)
        run.settings[hidden] = unknown()
        bound = fact(run, "total_steps", w)
        assert bound.low is None or bound.low <= total, hidden
        assert bound.high is None or total <= bound.high, hidden


@given(n=st.integers(1, 5000), b=st.integers(1, 32), g=st.integers(1, 32), w=st.integers(1, 16), e=st.integers(1, 9))
def test_rounding_up_is_the_textbook_formula(n: int, b: int, g: int, w: int, e: int) -> None:
    run = run_with(True, rows=n, per_device_batch=b, accumulation=g, epochs=e, gpus=w)
    assert fact(run, "total_steps", w).value == e * -(-n // (b * g * w))
    floor = run_with(False, rows=n, per_device_batch=b, accumulation=g, epochs=e, gpus=w)
    assert fact(floor, "total_steps", w).value <= fact(run, "total_steps", w).value  # type: ignore[operator]
