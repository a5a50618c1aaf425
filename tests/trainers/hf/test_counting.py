from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.run.counting import Shape
from epochlint.run.known import UNKNOWN, WRITTEN, Known
from epochlint.trainers.hf import counting as hf


def getter(**values: object):  # type: ignore[no-untyped-def]
    known = {name: value if isinstance(value, Known) else Known(value, WRITTEN) for name, value in values.items()}
    return lambda name: known.get(name, UNKNOWN)


class TestSteps:
    def test_split_batches_takes_the_batch_for_all_workers(self) -> None:
        shape = Shape(31, 8, 1, 2, 2, get=getter(split_batches=True))
        assert hf.steps(True, True)(shape).total == 8

    def test_the_last_group_is_dropped_up_to_451(self) -> None:
        assert hf.steps(False, True)(Shape(100, 8, 4, 1, 3)).total == 9
        assert hf.steps(True, True)(Shape(100, 8, 4, 1, 3)).total == 12

    @given(
        rows=st.integers(1, 10_000),
        batch=st.integers(1, 64),
        group=st.integers(1, 32),
        workers=st.integers(1, 16),
        epochs=st.integers(1, 5),
    )
    def test_since_452_an_epoch_is_rows_over_the_effective_batch(
        self, rows: int, batch: int, group: int, workers: int, epochs: int
    ) -> None:
        found = hf.steps(True, True)(Shape(rows, batch, group, workers, epochs))
        assert found.per_epoch == ceil(rows / (batch * group * workers))
        assert found.total == epochs * found.per_epoch

    @given(rows=st.integers(1, 5_000), batch=st.integers(1, 16), group=st.integers(1, 16), workers=st.integers(1, 8))
    def test_before_it_never_has_more_steps(self, rows: int, batch: int, group: int, workers: int) -> None:
        old = hf.steps(False, True)(Shape(rows, batch, group, workers, 1))
        new = hf.steps(True, True)(Shape(rows, batch, group, workers, 1))
        assert old.total in (new.total, new.total - 1)


class TestBatch:
    def test_the_accumulation_of_accelerate_counts_where_the_trainers_is_one(self) -> None:
        get = getter(per_device_batch=8, accumulation=1, accelerator_accumulation=4)
        assert hf.batch(get, 2).effective.number == 64
        assert hf.batch_without_plugin(get, 2).effective.number == 16

    def test_split_batches_is_not_multiplied(self) -> None:
        assert hf.batch(getter(per_device_batch=8, accumulation=2, split_batches=True), 4).effective.number == 16


class TestWarmup:
    @pytest.mark.parametrize(
        ("order", "steps", "ratio", "expected"),
        [
            (hf.STEPS_FIRST, 10, 0.1, 10),
            (hf.STEPS_FIRST, 0, 0.1, 100),
            (hf.STEPS_FIRST, 0, None, 0),
            (hf.RATIO_FIRST, 10, 0.1, 100),
            (hf.RATIO_FIRST, 10, 0.0, 0),
            (hf.RATIO_FIRST, 10, None, 10),
            (hf.RATIO_FIRST, 0.05, None, 50),
            (hf.RATIO_FIRST, 0, 1.0, 1),
            (hf.STEPS_ONLY, 10, 0.1, 10),
            (hf.STEPS_ONLY, 0.05, None, 50),
            (hf.STEPS_ONLY, 2.5, None, 2),
        ],
    )
    def test_orders(self, order: str, steps: float, ratio: float | None, expected: int) -> None:
        found = hf.warmup(order)(getter(warmup_steps=steps, warmup_ratio=ratio))
        assert found is not None
        assert found.steps(1000, 1000) == expected

    def test_a_share_is_summed_in_binary_floats(self) -> None:
        found = hf.warmup(hf.STEPS_FIRST)(getter(warmup_steps=0, warmup_ratio=0.07))
        assert found is not None
        assert found.steps(100, 100) == 8

    def test_steps_that_are_known_need_no_known_ratio_in_4x(self) -> None:
        get = getter(warmup_steps=5)
        assert hf.warmup(hf.STEPS_FIRST)(get) is not None
        assert hf.warmup(hf.RATIO_FIRST)(get) is None


class TestCadence:
    def test_the_last_step_is_evaluated_since_54(self) -> None:
        get = getter(eval_strategy="steps", eval_steps=10)
        assert hf.happens("eval_strategy", "eval_steps", False, hf.AT_END)(get, 39, 13) == 3
        assert hf.happens("eval_strategy", "eval_steps", True, hf.AT_END)(get, 39, 13) == 4
        assert hf.happens("eval_strategy", "eval_steps", True, hf.AT_END)(get, 40, 13) == 4

    def test_nothing_before_the_delay(self) -> None:
        count = hf.happens("eval_strategy", "eval_steps", False, hf.AT_END, delay_key="eval_delay", whole=True)
        assert count(getter(eval_strategy="steps", eval_steps=10, eval_delay=15), 39, 13) == 2
        every = getter(eval_strategy="epoch", eval_delay=2, accumulation=1, epochs=3, max_steps=None)
        assert count(every, 39, 13) == 2

    def test_epochs_are_known_without_any_rows(self) -> None:
        count = hf.happens("eval_strategy", "eval_steps", False, hf.AT_END, whole=True)
        get = getter(eval_strategy="epoch", epochs=3.0, max_steps=None, accumulation=8)
        assert count(get, 1, 0) == 3

    def test_an_unknown_strategy_is_unknown(self) -> None:
        assert hf.happens("eval_strategy", "eval_steps", False, hf.AT_END)(getter(), 39, 13) is None

    def test_a_loop_that_never_steps_is_unknown(self) -> None:
        # 13 batches, groups of 16, and 100 % 16 = 4 batches are taken: no step ever comes (4.46 to 4.51).
        get = getter(accumulation=16, records=100, effective_batch=128)
        assert hf.epoch_ends(get, 3, 1, hf.AT_END, False) is None


class TestSplit:
    def test_shares_are_rounded_up(self) -> None:
        rows = hf.after_split(Known(1001), getter(validation_split=0.1))
        assert rows.number == 1001 - 101
        assert rows.text() is not None

    def test_more_than_there_is_leaves_nothing(self) -> None:
        assert hf.after_split(Known(2), getter(validation_split=2000)).number == 0
