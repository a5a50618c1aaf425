"""OpenRLHF's commands, recorded, against epochlint."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.conformance.recorded import explained, load, refused, rows, runs, trained, value
from tests.helpers import check_project

RUNS = list(runs("openrlhf"))
NEWEST = list(load("openrlhf")["results"])[-1]

_FAR = "an unknown flag with nothing close to it: CFG004, off by default"
_WORD = "a word instead of a number is a placeholder"
UNFORESEEN = {
    f"{kind}/{case}": why
    for kind in ("sft", "dpo", "rm")
    for case, why in {
        "epochs/word": _WORD,
        "rate/word": _WORD,
        "key/far": _FAR,
        "key/of transformers": _FAR,
        "value/missing": "a flag without its value: a value that cannot be seen may stand there",
    }.items()
} | {"ppo_ray/key/of sft": _FAR}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object]]:
    """The launch, and what is assumed beside it."""
    kind, dotted = case["kind"], version != "0.9.10"
    flags = case["flags" if dotted else "before"]
    data = {"sft": "dataset", "dpo": "dataset", "rm": "dataset", "ppo_ray": "prompt_dataset"}[kind]
    name = f"--data.{data}" if dotted else f"--{data.replace('_dataset', '_data')}"
    start = f"deepspeed --num_gpus {case['world']} --module" if kind != "ppo_ray" else "python3 -m"
    launch = " ".join([start, f"openrlhf.cli.train_{kind} {name} data.jsonl", *map(shlex.quote, shlex.split(flags))])
    return {"train.sh": launch + "\n", "data.jsonl": rows(case["n"])}, {"openrlhf": version}


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    trained(RUNS),
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version))
    online = case["kind"] == "ppo_ray"
    total = value(checked, "total_steps")
    assert total == (happened["schedule"] if online else happened["updates"])
    if not online:
        assert value(checked, "gpus") == case["world"] // (2 if "ring_attn_size 2" in case["flags"] else 1)
        assert value(checked, "warmup_steps") == happened["warmup"]
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    assert errors <= ({"STP008", "CFG009"} if total == 0 else {"WRM001"} if happened.get("warmup", 0) > 1 else set())


@pytest.mark.parametrize(
    ("version", "name", "case"),
    refused(RUNS, lambda version, name: name in UNFORESEEN),
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []


@pytest.mark.parametrize("name", [name for name, why in UNFORESEEN.items() if why == _FAR])
def test_flags_with_nothing_close_are_told_where_asked(name: str) -> None:
    case = load("openrlhf")["cases"][name]
    findings = check_project(*project(case), select=["CFG004"]).findings
    assert {finding.code for finding in findings} == {"CFG004"}
