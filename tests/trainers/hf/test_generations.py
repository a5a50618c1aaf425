from __future__ import annotations

import pytest

from epochlint.run.counting import Shape
from epochlint.run.known import UNKNOWN, WRITTEN, Known
from epochlint.trainers.hf import generations


def shape(
    rows: int, batch: int, group: int, workers: int = 1, epochs: float = 1, limit: int | None = None, **values: int
) -> Shape:
    known = {name: Known(value, WRITTEN) for name, value in {"rows": rows, **values}.items()}
    return Shape(rows, batch, group, workers, epochs, limit, get=lambda name: known.get(name, UNKNOWN))


@pytest.mark.parametrize(
    ("given", "total"),
    [
        (shape(40, 4, 2, num_generations=4), 20),
        (shape(40, 4, 4, num_generations=8), 20),
        (shape(40, 8, 1, num_generations=8, num_iterations=2), 80),
        (shape(40, 4, 2, num_generations=4, steps_per_generation=4), 20),
        (shape(1000, 8, 4, 4, num_generations=8), 62),
        (shape(5498, 8, 4, 7, num_generations=8), 196),
        (shape(40, 4, 2, num_generations=4, generation_batch_size=16), 20),
    ],
)
def test_rounds_of_generation(given: Shape, total: int) -> None:
    assert generations.steps(generations.ROUNDS, True, True)(given).total == total


def test_fewer_prompts_than_a_round_train_nothing_even_under_a_limit() -> None:
    assert generations.steps(generations.ROUNDS, True, True)(shape(10, 64, 2, num_generations=2, limit=3)).total == 0


def test_a_limit_ends_the_run() -> None:
    assert generations.steps(generations.ROUNDS, True, True)(shape(40, 4, 2, num_generations=4, limit=7)).total == 7


def test_in_015_every_prompt_stands_in_the_loader_as_often_as_it_is_answered() -> None:
    assert generations.steps(generations.REPEATED, False, True)(shape(40, 4, 2, num_generations=4)).total == 20


def test_before_it_the_batch_counted_prompts() -> None:
    assert generations.steps(generations.PROMPTS, False, True)(shape(40, 4, 2, num_generations=4)).total == 5
