"""TRL's trainers against their recorded runs: rows and steps by version, defaults, and what they refuse."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from epochlint.documents import python
from epochlint.run.budget import Budget
from epochlint.run.known import COUNTED, WRITTEN, Known
from epochlint.run.observation import Observation
from epochlint.run.run import Run
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions, exactly, version_key
from epochlint.source import Source
from epochlint.trainers import trl
from epochlint.trainers.trainer import Layer, Reading

FILE = pathlib.Path(__file__).parent / "data" / "trl.json"
DATA: dict[str, Any] = json.loads(FILE.read_text())
CASES: dict[str, dict[str, Any]] = DATA["cases"]
RUNS = [(version, case) for version, result in DATA["results"].items() for case in result["runs"]]

# Case (by its beginning) -> why its error is not foreseen.
UNFORESEEN = {
    "dpo/pairs at length": "rows that are all too long: DAT006 counts them where the data is there",
    "kto/rows at length": "rows that are all too long: DAT006 counts them where the data is there",
    "reward/pairs at length": "rows that are all too long: DAT006 counts them where the data is there",
}

REFUSALS = {"rejected", "misspelt_key", "unknown_key", "renamed", "number_as_text", "too_few_generations"}


def read(name: str, version: str) -> Run:
    """The case as a script: `SFTConfig(...)` with the case's arguments."""
    case, transformers = CASES[name], DATA["results"][version]["transformers"]
    arguments = dict(case["args"])
    share = arguments.pop("ratio", arguments.pop("warmup_fraction", None))
    if share is not None:
        arguments["warmup_ratio" if version_key(transformers) < version_key("5.0") else "warmup_steps"] = share
    if "length" in arguments:
        new = version_key(version) >= version_key("0.16") or case["kind"] != "sft"
        arguments["max_length" if new else "max_seq_length"] = arguments.pop("length")
    kind = {"reward": "Reward"}.get(case["kind"], case["kind"].upper())
    keywords = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    text = f"from trl import {kind}Config, {kind}Trainer\nargs = {kind}Config(output_dir='out', {keywords})\n"
    document = python.read(Source("train.py", text))
    call = next(call for call in document.calls if call.name == f"{kind}Config")
    versions = Versions({"trl": exactly(version), "transformers": exactly(transformers)})
    run = trl.read(
        Reading(
            document,
            [Layer(call.arguments)],
            versions,
            span=call.span,
            command=("call", call.origin),
            python=document,
            call=call,
            via="call",
        )
    )
    run.settings["rows"] = Known(sum(count for _, count in case["lengths"]), COUNTED)
    run.settings["gpus"] = Known(1, WRITTEN)
    return run


def budget(run: Run) -> Budget:
    assert len(run.eras) == 1, "pinned versions leave one era"
    return Scenarios(run).first


def holds(observation: Observation, version: str) -> bool:
    values = observation.values
    pinned = version if values.get("package") == "trl" else DATA["results"][version]["transformers"]
    key = version_key(pinned)
    since, until = values.get("since") or values.get("gone_in"), values.get("until")
    return (since is None or key >= version_key(str(since))) and (until is None or key < version_key(str(until)))


def refused(run: Run, version: str) -> set[str]:
    return {seen.name for seen in run.observations if seen.name in REFUSALS and holds(seen, version)}


def all_fit(case: dict[str, Any]) -> bool:
    """Whether every row is short enough for its length, so that no trainer drops one."""
    length = case["args"].get("length", case["args"].get("max_length", case["args"].get("max_seq_length", 1024)))
    return all(size + 12 <= length for size, _ in case["lengths"])


@pytest.mark.parametrize(("version", "name"), RUNS, ids=str)
def test_run(version: str, name: str) -> None:
    real, case = DATA["results"][version]["runs"][name], CASES[name]
    run = read(name, version)
    if "error" in real:
        check_error(real, run, version, name)
        return
    assert refused(run, version) == set()
    total = budget(run).fact("total_steps")
    if case["args"].get("packing"):
        if run.setting("packing_joins").value is True:
            assert total.low is not None
            assert total.low <= real["total"]
            assert total.high is not None
            assert real["total"] <= total.high
        else:
            assert total.unknown
    elif case["kind"] in ("grpo", "rloo"):
        assert total.number == real["steps"]  # the schedule can be longer, where rounds are dropped
    elif all_fit(case):
        assert total.number == real["total"]
        assert budget(run).fact("warmup_steps").number == real["warmup"]
    for key, setting in (("learning_rate", "learning_rate"), ("num_generations", "num_generations")):
        if key in real.get("defaults", {}):
            assert budget(run).fact(setting).number == real["defaults"][key]


def check_error(real: dict[str, str], run: Run, version: str, name: str) -> None:
    """An error is foreseen by an observation, by a batch that does not divide, or by a run of no steps."""
    text = f"{real['error']}: {real['text']}"
    if refused(run, version):
        return
    facts = budget(run)
    generations, rounds = run.setting("num_generations").number, facts.fact("steps_per_generation").number
    batch = facts.fact("per_device_batch").number
    if generations and rounds and batch:
        whole = run.setting("generation_batch_size").number or batch * rounds
        if whole % generations or whole % batch:
            return
    if facts.fact("total_steps").number == 0 or not all_fit(CASES[name]):
        return
    raise AssertionError(f"not foreseen: {text}")


def test_every_version_is_there() -> None:
    assert {version for version, _ in RUNS} >= {"0.16.0", "0.24.0", "1.16.0"}
    assert len(RUNS) > 250
