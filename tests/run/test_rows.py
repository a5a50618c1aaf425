"""Numbers of rows on their way; what real runs gave stands in tests/conformance/test_dataset_steps.py."""

from __future__ import annotations

import pytest

from epochlint.run.rows import at_most, each, interleaved, some, taken, together


def test_steps_keep_both_ends() -> None:
    assert each(lambda rows: rows // 2)((3, 9)) == (1, 4)
    assert each(lambda rows: rows // 2)((3, None)) == (1, None)
    assert each(lambda rows: None)((3, 9)) is None
    assert at_most(5)((3, 9)) == (3, 5)
    assert at_most(5)((3, None)) == (3, 5)
    assert some((3, 9)) == (0, 9)


def test_places_that_may_not_be_there_stop_the_run() -> None:
    assert taken(10, 10)((3, 12)) == (10, 10)
    assert taken(10, 10)((3, None)) == (10, 10)
    assert taken(10, 10)((3, 9)) is None


def test_one_unknown_part_makes_the_sum_unknown() -> None:
    assert together([(1, 2), (3, None)]) == (4, None)
    assert together([(1, 2), None]) is None
    assert interleaved([(1, 2), None], "first_exhausted", None) is None


@pytest.mark.parametrize(
    ("strategy", "shares", "rows"),
    [
        ("first_exhausted", None, (20, 40)),
        ("all_exhausted", None, (100, 120)),
        ("all_exhausted_without_replacement", None, (60, 80)),
        ("first_exhausted", (0.5, 0.5), (10, 79)),
        ("first_exhausted", (1.0, 0.0), (10, 20)),
        ("all_exhausted", (0.5, 0.5), (60, None)),
        ("all_exhausted", (1.0, 0.0), None),  # the second never ends
        ("all_exhausted_without_replacement", (0.5, 0.5), (60, 80)),
        ("all_exhausted_without_replacement", (1.0, 0.0), None),
        ("first_exhausted", (1.0,), None),
        ("another", None, None),
    ],
)
def test_interleaving_two_ranges(strategy: str, shares: tuple[float, ...] | None, rows: object) -> None:
    assert interleaved([(10, 20), (50, 60)], strategy, shares) == rows
