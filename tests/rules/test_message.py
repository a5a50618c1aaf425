"""What messages say of values that differ between scenarios."""

from __future__ import annotations

from typing import Any

import pytest

from epochlint.rules.message import plural, words
from epochlint.run.known import between
from tests.rules.runs import ERAS
from tests.rules.test_engine import findings, rule


def said(message: str, when: str = "true == true", **run: Any) -> str:
    return findings(rule(when=when, message=message), **run)[0].message


ODD = {"rows": 100, "per_device_batch": 2, "accumulation": 4}


@pytest.mark.parametrize(
    ("message", "run", "expected"),
    [
        ("{total_steps}", {"rows": 100, "gpus": 1}, "39"),
        ("{total_steps:step}", {"rows": 100, "gpus": 1}, "39 steps"),
        ("{total_steps:step}{total_steps:sum}", {"rows": 100, "gpus": 1}, "39 steps (3 x 13)"),
        ("{steps_per_epoch:sum}", {"rows": 100, "gpus": 1}, " (100 records / 8, rounded up)"),
        ("{total_steps:step}", {"rows": 8, "epochs": 1, "gpus": 1}, "1 step"),
        ("{total_steps:step}{total_steps:sum}", {"rows": 100}, "at most 39 steps (on one GPU)"),
        ("{effective_batch:record}", {"rows": 100}, "at least 8 records (on one GPU)"),
        ("{total_steps:step}", {"rows": 100, "parallel": 2}, "at most 39 steps (on 2 GPUs)"),
        ("{total_steps} and {effective_batch}", {"rows": 100}, "at most 39 (on one GPU) and at least 8"),
        ("{total_steps:step}", {**ODD, "gpus": 1, "eras": ERAS}, "36 steps (<= 4.51) or 39 steps (>= 4.52)"),
        ("{total_steps:step}", {**ODD, "eras": ERAS}, "at most 39 steps (on one GPU)"),
        ("{total_steps:step}", {}, "at least 3 steps"),
        ("{records:record}", {"rows": 52002}, "52,002 records"),
        ("{learning_rate}", {"learning_rate": 2e-5}, "2e-05"),
        ("{warmup_fraction:percent}", {"rows": 100, "gpus": 1, "warmup_steps": 15}, "38 %"),
        ("{warmup_fraction:percent}", {"rows": 8000, "gpus": 1, "warmup_steps": 100}, "3.3 %"),
        ("{max_steps}", {}, "off"),
        ("{settings.model}", {}, "unknown"),
        ("{settings.eval_steps:step}", {"unknown": ("eval_steps",)}, "an unknown number of steps"),
    ],
)
def test_values_in_a_message(message: str, run: dict[str, Any], expected: str) -> None:
    assert said(message, **run) == expected.strip() or said(message, **run) == expected


def test_the_first_message_that_fits_speaks() -> None:
    several = [{"when": "epochs > 50", "say": "many"}, {"when": "epochs > 10", "say": "some"}, {"say": "few"}]
    for epochs, expected in ((60, "many"), (20, "some"), (2, "few")):
        assert findings(rule(when="true == true", message=several), epochs=epochs)[0].message == expected


def test_a_tier_may_speak_for_itself() -> None:
    tiers = [{"level": "error", "when": "epochs > 50", "message": "far too many"}, {"level": "note"}]
    assert findings(rule(when="epochs > 5", tiers=tiers), epochs=60)[0].message == "far too many"
    assert findings(rule(when="epochs > 5", tiers=tiers), epochs=6)[0].message == "here"


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("step", "steps"), ("pass", "passes"), ("batch", "batches"), ("epoch", "epochs"), ("GPU", "GPUs")],
)
def test_plurals(noun: str, expected: str) -> None:
    assert plural(noun) == expected


def test_ranges_in_words() -> None:
    assert words(between(3, 7), "step") == "3 to 7 steps"
    assert words(between(0.1, 0.25), "percent") == "10 % to 25 %"
    assert words(between(None, 7), "step") == "at most 7 steps"
