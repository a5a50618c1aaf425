"""transformers' Trainer against its recorded runs: twelve versions, 4.36.2 to 5.24.0, in one and two processes.

A case whose run ended well must be counted as it ran, and nothing may be refused; one that ended in an error must be
foreseen, or stand in `UNFORESEEN` with the reason why it cannot be.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest

from epochlint.documents import json_document, python
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

FILES = ("hf_oracle.json", "hf.json")  # the second has more cases, the first the oldest version and two processes
DATA = {name: json.loads((pathlib.Path(__file__).parent / "data" / name).read_text()) for name in FILES}
PARTS = [(name, version) for name, data in DATA.items() for version in data["results"]]


def case_of(file: str, name: str) -> dict:
    return DATA[file]["cases"][name]


def runs(file: str, version: str) -> dict[str, dict]:
    return DATA[file]["results"][version]["runs"]


def good(file: str, version: str) -> Iterator[tuple[str, dict]]:
    return ((name, run) for name, run in runs(file, version).items() if "error" not in run)


def bad(file: str, version: str) -> Iterator[tuple[str, dict]]:
    return ((name, run) for name, run in runs(file, version).items() if "error" in run)


# Case (by its beginning) -> why nobody could foresee its error from the arguments.
UNFORESEEN = {
    "stream/n0 b2 a1": "no rows at all",
    "iter/n0-b2-a1-max_steps=4-iterable": "a stream that turns out to be empty",
    "stream/n0 b2 a1 max_steps=4 iterable": "a stream that turns out to be empty",
    "raw/n31-b8-a1-group_by_length": "the recorder's rows have no input_ids to take a length from",
    "value/n31 b8 a1 group_by_length": "the recorder's rows have no input_ids to take a length from",
}

REFUSALS = {
    "rejected",
    "best_model",
    "number_as_text",
    "evaluation_without_data",
    "renamed",
    "boolean_trap",
    "misspelt_key",
    "metric_missing",
}


SCRIPT = python.read(
    Source(
        "train.py",
        "from transformers import HfArgumentParser, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_json_file('args.json')\n",
    )
)
COMMAND = ("call", "transformers.TrainingArguments")


def read(case: dict, version: str) -> Run:
    """The run as epochlint reads it: the case's arguments as a JSON file for HfArgumentParser."""
    arguments = {"save_strategy": "no", "logging_strategy": "no", **case["args"]}
    share = arguments.pop("ratio", arguments.pop("warmup_fraction", None))
    if share is not None:  # a share of the run, as each version writes it
        arguments["warmup_ratio" if version_key(version) < version_key("5.0") else "warmup_steps"] = share
    patience = arguments.pop("early_stopping_patience", None)
    if "eval_strategy" in arguments and version_key(version) < version_key("4.41"):
        arguments["evaluation_strategy"] = arguments.pop("eval_strategy")
    document = json_document.read(Source("args.json", json.dumps(arguments, indent=2)))
    mapping = next(document.mappings())
    versions = Versions({"transformers": exactly(version)})
    reading = Reading(document, [Layer(mapping)], versions, command=COMMAND, python=SCRIPT, via="parse_json_file")
    run = hf_args.read(reading)
    run.settings["gpus"] = Known(case["world"], WRITTEN)
    run.settings["rows"] = Known(case["n"], COUNTED)
    if case["data"] == "iterable":
        run.settings["streaming"] = Known(True, WRITTEN)
    run.settings["validation"] = Known(bool(case["eval_n"]))
    refusals.evaluation_data(run)
    refusals.missing_metric(run)
    if patience is not None:
        run.settings["early_stopping_patience"] = Known(patience, WRITTEN, key_span=run.span)
        refusals.early_stopping(run)
    return run


def budget(run: Run) -> Budget:
    scenarios = Scenarios(run)
    assert len(run.eras) == 1, "a pinned version leaves one era"
    return scenarios.first


def holds(observation: Observation, version: str) -> bool:
    """Whether an observation is meant for this version."""
    since, until = observation.values.get("since") or observation.values.get("gone_in"), observation.values.get("until")
    key = version_key(version)
    if observation.values.get("key") == "nothing":
        return False  # a best model in vain: accepted
    return (since is None or key >= version_key(str(since))) and (until is None or key < version_key(str(until)))


def refused(run: Run, version: str) -> set[str]:
    """What epochlint says about a run that must end in an error."""
    found = {seen.name for seen in run.observations if seen.name in REFUSALS and holds(seen, version)}
    for seen in run.observations:
        if seen.name == "warmup_unit" and seen.values["outcome"] == "rejected" and holds(seen, version):
            found.add("warmup_unit")
        if seen.name == "min_rate" and seen.values.get("raises") and holds(seen, version):
            found.add("min_rate")
    return found


@pytest.mark.parametrize(("file", "version"), PARTS, ids=str)
def test_counts_as_it_ran_and_refuses_nothing(file: str, version: str) -> None:
    wrong = []
    for name, real in good(file, version):
        run = read(case_of(file, name), version)
        differences = [f"refused: {what}" for what in refused(run, version)]
        differences += list(differing(run, real, case_of(file, name)))
        if differences:
            wrong.append((name, differences))
    assert wrong == []


def differing(run: Run, real: dict, case: dict) -> Iterator[str]:
    """What epochlint counts otherwise than the run was."""
    facts = budget(run)
    total = facts.fact("total_steps")
    if case["args"].get("auto_find_batch_size"):  # the batch may shrink: then there are more steps
        if total.low != real["total"] or total.high is None:
            yield f"total {total}"
        return
    if case["args"]["gradient_accumulation_steps"] < 1 or case["args"]["per_device_train_batch_size"] < 1:
        return  # impossible values that nothing refused: they have a rule of their own, and no arithmetic
    if total.number != max(0, real["total"]):
        yield f"total {total}, not {real['total']}"
    if real["total"] > 0 and facts.fact("warmup_steps").number != real["warmup"]:
        yield f"warmup {facts.fact('warmup_steps')}, not {real['warmup']}"
    if "early_stopping_patience" in case["args"]:
        return
    evaluations, checkpoints = facts.fact("evaluations"), facts.fact("checkpoints")
    if case["data"] == "iterable" and case["args"].get("eval_strategy") == "epoch":
        if not evaluations.unknown:  # nobody knows where a stream ends
            yield f"evaluations {evaluations}"
        return
    if evaluations.number != len([step for step in real.get("evaluations", ()) if step > 0]):
        yield f"evaluations {evaluations}, not {real.get('evaluations')}"
    # 4.42 to 4.50 write the last checkpoint of an epoch strategy twice, over itself.
    saved = len(set(real.get("checkpoints", ())))
    if case["args"].get("save_strategy") != "best" and checkpoints.number != saved:
        yield f"checkpoints {checkpoints}, not {real.get('checkpoints')}"


@pytest.mark.parametrize(("file", "version"), PARTS, ids=str)
def test_foresees_the_errors(file: str, version: str) -> None:
    missed = []
    for name, real in bad(file, version):
        run = read(case_of(file, name), version)
        if refused(run, version) or impossible(run) or any(name.startswith(start) for start in UNFORESEEN):
            continue
        if run.setting("streaming").value is True and run.setting("max_steps").value is None:
            continue  # a stream without an end
        if budget(run).fact("total_steps").number != 0:
            missed.append((name, real["text"]))
    assert missed == []


def impossible(run: Run) -> bool:
    """Values that have rules of their own: batches below one, rates and warmups below zero, a rate that rises."""
    batch, accumulation = run.setting("per_device_batch").number, run.setting("accumulation").number
    rate, least = run.setting("learning_rate").number, run.setting("min_rate").number
    warmups = [run.setting(name).number for name in ("warmup_steps", "warmup_ratio")]
    return (
        (batch is not None and batch < 1)
        or (accumulation is not None and accumulation < 1)
        or (rate is not None and rate < 0)
        or any(warmup is not None and warmup < 0 for warmup in warmups)
        or (rate is not None and least is not None and least >= rate)
    )


def test_every_version_is_there() -> None:
    assert len({version for _, version in PARTS}) == 13
    assert sum(1 for part in PARTS for _ in good(*part)) > 4000
    assert sum(1 for part in PARTS for _ in bad(*part)) > 600


def test_neighbouring_versions_that_count_alike_are_one_era() -> None:
    document = json_document.read(Source("args.json", json.dumps({"per_device_train_batch_size": 8})))
    run = hf_args.read(Reading(document, [Layer(next(document.mappings()))], Versions()))
    assert [era.label for era in run.eras] == ["<= 4.41", ">= 4.42"]  # the last checkpoint
