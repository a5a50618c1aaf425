"""verl's SFT and PPO trainers, recorded, against epochlint."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, refused, runs, trained, value
from tests.helpers import check_project

RUNS = list(runs("verl"))
NEWEST = list(load("verl")["results"])[-1]

_FAR = "an unknown key with nothing close to it: CFG004, off by default"
UNFORESEEN = {
    "sft/key/far": _FAR,
    "sft/key/section": _FAR,
    "sft/key/of ppo": _FAR,
    "ppo/key/far": _FAR,
    "ppo/key/level": _FAR,
    "ppo/value/epochs word": "a word instead of a number is a placeholder",
}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object]]:
    """The launch, and what is assumed beside it."""
    words = " ".join(map(shlex.quote, case["overrides"].split()))
    if case["kind"] == "sft":
        launch = f"torchrun --nproc_per_node={case['world']} -m verl.trainer.sft_trainer {words}\n"
    else:
        launch = f"python3 -m verl.trainer.main_ppo {words}\n"
    return {"train.sh": launch}, {"verl": version, "records": case["n"]}


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    trained(RUNS),
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version))
    total = value(checked, "total_steps")
    written = all(key in case["overrides"] for key in ("train_batch_size", "total_epochs"))
    if "total_training_steps" in case["overrides"] or written:
        assert total == happened.get("updates", min(happened["schedule"], 15 * 30))
    warm = value(checked, "warmup_steps")
    assert warm is None or warm == happened["warmup"]
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors <= ({"STP008", "CFG009"} if total == 0 else {"WRM001"} if happened["warmup"] else set())


@pytest.mark.parametrize(
    ("version", "name", "case"),
    refused(RUNS, lambda version, name: name in UNFORESEEN),
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


@pytest.mark.parametrize("name", [name for name, why in UNFORESEEN.items() if why == _FAR])
def test_keys_with_nothing_close_are_told_where_asked(name: str) -> None:
    case = load("verl")["cases"][name]
    findings = check_project(*project(case), select=["CFG004"]).findings
    assert {finding.code for finding in findings} == {"CFG004"}
