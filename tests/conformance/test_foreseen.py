"""docs/foreseen.md is what the recordings give, and no refusal is passed over without a reason."""

from __future__ import annotations

import pytest

from tests.conformance.foreseen import Recorded, trainers
from tools.foreseen import PATH, text


@pytest.mark.parametrize("trainer", trainers(), ids=lambda trainer: str(trainer.title))
def test_each_refusal_is_said_or_has_a_reason(trainer: Recorded) -> None:
    silent = [refusal.case for refusal in trainer.refusals() if not refusal.said and not refusal.reason]
    assert silent == []


def test_most_refusals_are_said_beforehand() -> None:
    refusals = [refusal for trainer in trainers() for refusal in trainer.refusals()]
    assert sum(1 for refusal in refusals if refusal.said) >= 0.75 * len(refusals)


def test_the_page_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "run python -m tools.foreseen"
