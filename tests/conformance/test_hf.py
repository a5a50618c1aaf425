"""transformers' Trainer against its recorded runs: nine versions, from 4.36.2 to 5.24.0, one and two processes.

A case whose run ended well must be counted as it ran, and nothing may be refused; one that ended in an error must be
foreseen, or stand in `UNFORESEEN` with the reason why it cannot be.
"""

from __future__ import annotations

import json
import pathlib

import pytest

from epochlint.documents import json_document
from epochlint.run.budget import Budget
from epochlint.run.known import COUNTED, WRITTEN, Known
from epochlint.run.observation import Observation
from epochlint.run.run import Run
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions, exactly, version_key
from epochlint.source import Source
from epochlint.trainers import hf_args
from epochlint.trainers.hf import refusals
from epochlint.trainers.trainer import Layer, Reading

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "hf_oracle.json").read_text())
CASES: dict[str, dict] = DATA["cases"]
RUNS = [(version, case) for version, result in DATA["results"].items() for case in result["runs"]]
GOOD = [(version, case) for version, case in RUNS if "error" not in DATA["results"][version]["runs"][case]]
BAD = [(version, case) for version, case in RUNS if "error" in DATA["results"][version]["runs"][case]]

# Case (by its beginning) -> why nobody could foresee its error from the arguments.
UNFORESEEN = {
    "iter/n0-b2-a1-max_steps=4-iterable": "a stream that turns out to be empty",
    "raw/n31-b8-a1-group_by_length": "the recorder's rows have no input_ids to take a length from",
}

REFUSALS = {"rejected", "best_model", "number_as_text", "evaluation_without_data", "renamed", "boolean_trap"}


def read(case: dict, version: str) -> Run:
    """The run as epochlint reads it: the case's arguments as a JSON file for HfArgumentParser."""
    arguments = {"save_strategy": "no", "logging_strategy": "no", **case["args"]}
    share = arguments.pop("ratio", arguments.pop("warmup_fraction", None))
    if share is not None:  # a share of the run, as each version writes it
        arguments["warmup_ratio" if version_key(version) < version_key("5.0") else "warmup_steps"] = share
    if "eval_strategy" in arguments and version_key(version) < version_key("4.41"):
        arguments["evaluation_strategy"] = arguments.pop("eval_strategy")
    document = json_document.read(Source("args.json", json.dumps(arguments, indent=2)))
    mapping = next(document.mappings())
    versions = Versions({"transformers": exactly(version)})
    run = hf_args.read(Reading(document, [Layer(mapping)], versions, via="parse_json_file"))
    run.settings["gpus"] = Known(case["world"], WRITTEN)
    run.settings["rows"] = Known(case["n"], COUNTED)
    if case["data"] == "iterable":
        run.settings["streaming"] = Known(True, WRITTEN)
    run.settings["validation"] = Known(bool(case["eval_n"]))
    refusals.evaluation_data(run)
    return run


def budget(run: Run) -> Budget:
    scenarios = Scenarios(run)
    assert len(run.eras) == 1, "a pinned version leaves one era"
    return scenarios.first


def recorded(version: str, case: str) -> dict:
    return DATA["results"][version]["runs"][case]


def holds(observation: Observation, version: str) -> bool:
    """Whether an observation is meant for this version."""
    since, until = observation.values.get("since"), observation.values.get("until")
    key = version_key(version)
    return (since is None or key >= version_key(str(since))) and (until is None or key < version_key(str(until)))


def refused(run: Run, version: str) -> set[str]:
    """What epochlint says about a run that must end in an error."""
    found = {seen.name for seen in run.observations if seen.name in REFUSALS and holds(seen, version)}
    for seen in run.observations:
        if seen.name == "warmup_unit" and seen.values["outcome"] == "rejected" and holds(seen, version):
            found.add("warmup_unit")
    return found


@pytest.mark.parametrize(("version", "name"), GOOD, ids=str)
def test_counts_as_it_ran(version: str, name: str) -> None:
    real = recorded(version, name)
    facts = budget(read(CASES[name], version))
    total = facts.fact("total_steps")
    if CASES[name]["args"].get("auto_find_batch_size"):  # the batch may shrink: then there are more steps
        assert total.low == real["total"]
        assert total.high is not None
        return
    assert total.number == max(0, real["total"])
    if real["total"] > 0:
        assert facts.fact("warmup_steps").number == real["warmup"]
    assert facts.fact("evaluations").number == len(real.get("evaluations", ()))
    # 4.42 to 4.50 write the last checkpoint of an epoch strategy twice, over itself.
    assert facts.fact("checkpoints").number == len(set(real.get("checkpoints", ())))


@pytest.mark.parametrize(("version", "name"), GOOD, ids=str)
def test_refuses_nothing_that_ran(version: str, name: str) -> None:
    assert refused(read(CASES[name], version), version) == set()


@pytest.mark.parametrize(("version", "name"), BAD, ids=str)
def test_foresees_the_error(version: str, name: str) -> None:
    run = read(CASES[name], version)
    if any(name.startswith(start) for start in UNFORESEEN) and not refused(run, version):
        pytest.skip(next(why for start, why in UNFORESEEN.items() if name.startswith(start)))
    if refused(run, version):
        return
    batch, accumulation = run.setting("per_device_batch").number, run.setting("accumulation").number
    if batch is not None and accumulation is not None and (batch < 1 or accumulation < 1):
        return  # an impossible value
    if run.setting("streaming").value is True:
        assert run.setting("max_steps").value is None  # a stream without an end
        return
    assert budget(run).fact("total_steps").number == 0  # no steps


def test_every_version_is_there() -> None:
    assert len(DATA["results"]) == 9
    assert len(GOOD) > 1500
    assert len(BAD) > 200


def test_neighbouring_versions_that_count_alike_are_one_era() -> None:
    case = {"args": {"per_device_train_batch_size": 8}, "n": 100, "world": 1, "data": "map", "eval_n": 0}
    document = json_document.read(Source("args.json", json.dumps(case["args"])))
    run = hf_args.read(Reading(document, [Layer(next(document.mappings()))], Versions()))
    assert [era.label for era in run.eras] == ["<= 4.41", ">= 4.42"]  # the last checkpoint
