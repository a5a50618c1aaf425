"""Resumed runs of transformers' Trainer, as recorded, against what epochlint says of the same script and checkpoint."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import recorded
from tests.helpers import check_project

if TYPE_CHECKING:
    from epochlint.lint import Report

RUNS = list(recorded.runs("resume"))
IDS = [f"{version} {case}" for version, case, _, _ in RUNS]
CHECKPOINT_BATCH = 4 * 2  # rows of an update of the run that made the checkpoints


def files(case: dict[str, Any], state: dict[str, Any], version: str | None = None) -> dict[str, str]:
    """The case as a script beside its checkpoint."""
    checkpoint = f"made/checkpoint-{case['from']}"
    told = repr(checkpoint) if case.get("told", True) else ""
    args = {**case["args"], "resume_from_checkpoint": checkpoint}
    lines = [
        "from transformers import Trainer, TrainingArguments",
        f'args = TrainingArguments("out", {", ".join(f"{key}={value!r}" for key, value in args.items())})',
        "trainer = Trainer(model, args, train_dataset=data, eval_dataset=held)",
        f"trainer.train({told})",
    ]
    out = {"train.py": "\n".join(lines) + "\n", f"{checkpoint}/trainer_state.json": json.dumps(state)}
    return {**out, "requirements.txt": f"transformers=={version}\n"} if version else out


def said(report: Report) -> set[str]:
    return {finding.code for finding in report.findings if finding.code.startswith("RES")}


def searched(case: dict[str, Any]) -> bool:
    return bool(case["args"].get("auto_find_batch_size"))


def other_batch(case: dict[str, Any], run: dict[str, Any]) -> bool:
    """Whether an update of the resumed run took more or fewer rows than its arguments say, or than the checkpoint's."""
    args = case["args"]
    asked = args["per_device_train_batch_size"] * args["gradient_accumulation_steps"]
    taken = run["records"] / run["updates"]
    return taken != CHECKPOINT_BATCH or (taken != asked and not searched(case))


CADENCE = {"save_steps": "checkpoints", "eval_steps": "evaluations", "logging_steps": "logs"}


def other_interval(case: dict[str, Any], run: dict[str, Any], key: str) -> bool:
    """Whether the resumed run saved, evaluated or logged at other steps than its arguments say (the end left out)."""
    every = case["args"][key]
    if case["args"][key.replace("steps", "strategy")] != "steps":
        return False
    every = every if every >= 1 else math.ceil(every * run["total"])
    due = [step for step in range(case["from"] + 1, run["total"]) if step % every == 0]
    return due != [step for step in run[CADENCE[key]] if step < run["total"]]


@pytest.mark.parametrize(("version", "name", "case", "run"), RUNS, ids=IDS)
def test_says_what_the_resumed_run_did(version: str, name: str, case: dict[str, Any], run: dict[str, Any]) -> None:
    report = check_project(files(case, run["state"], version), {"records": case["n"], "gpus": 1})
    codes = said(report)
    resumes = case.get("told", True)
    over = resumes and run["total"] <= case["from"]
    assert ("RES002" in codes) == over
    assert run["updates"] <= 1 or not over, "one more step at most"
    if run["updates"]:  # what an update took
        assert ("RES001" in codes) == (resumes and other_batch(case, run))
    wanted = {what for what in CADENCE if resumes and other_interval(case, run, what)}
    found = [finding.message for finding in report.findings if finding.code == "RES003"]
    assert {what for what in CADENCE if any(what in message for message in found)} == wanted
    total = report.runs[0].scenarios.fact("total_steps")
    if searched(case):
        assert (total.low or 0) <= run["total"]
    else:
        assert total.value == run["total"]


@pytest.mark.parametrize("name", sorted({name for _, name, _, _ in RUNS}))
def test_an_open_version_counts_as_the_newest_and_says_what_holds_in_all(name: str) -> None:
    happened = [(case, run) for _, which, case, run in RUNS if which == name]
    case, newest = happened[-1]
    report = check_project(files(case, newest["state"]), {"records": case["n"], "gpus": 1})
    told = case.get("told", True)
    if all(run["updates"] for _, run in happened):
        assert ("RES001" in said(report)) == (told and all(other_batch(case, run) for _, run in happened))
    assert ("RES002" in said(report)) == (told and newest["total"] <= case["from"])
    total = report.runs[0].scenarios.fact("total_steps")
    assert searched(case) or total.value == newest["total"]


@pytest.mark.parametrize("version", sorted({version for version, _, _, _ in RUNS}))
def test_the_rate_is_the_checkpoints_so_nothing_is_said_of_another(version: str) -> None:
    """No state tells the configured rate: what the resumed run does with another one is recorded, and stays unsaid."""
    runs = {name: (case, run) for which, name, case, run in RUNS if which == version}
    for name in ("rate/half", "rate/half and decay"):
        case, run = runs[name]
        assert (run["rates"], run["decay"]) == (runs["same"][1]["rates"], [0.0])
        assert said(check_project(files(case, run["state"], version), {"records": case["n"], "gpus": 1})) == set()
    for name in ("epochs/more", "warmup/longer", "kind/cosine"):  # the old schedule's rate once, then the new one's
        rates = runs[name][1]["rates"]
        assert rates[0] == runs["same"][1]["rates"][0]
        assert rates[1] != runs["same"][1]["rates"][1]
