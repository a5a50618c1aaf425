"""Unsloth's command and its older script, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import explained, load, runs, trained, value
from tests.helpers import check_project

RUNS = list(runs("unsloth"))
NEWEST = list(load("unsloth")["results"])[-1]

_FAR = "an unknown key with nothing close to it: CFG004, off by default"
_PART = "a config without it is a part of one: flags may bring it"
_WORD = "a word instead of a number is a placeholder"
UNFORESEEN = {
    "config/key/far": _FAR,
    "config/key/section unknown": _FAR,
    "config/data/none": _PART,
    "config/model/none": _PART,
    "config/epochs/word": _WORD,
    "config/rate/word": _WORD,
    "flags/rate word": _WORD,
    "script/rate word": _WORD,
    "config/file/json named toml": "a file in another syntax is no config",
    "config/file/yaml named json": "a file in another syntax is no config",
    "config/file/list": "a list is no config",
    "config/checkpointing/": "newer versions take it",
    "config/type/upper": "newer versions take it",
    "flags/no value": "a flag without a value is read as a switch",
    "flags/switch with a value": "a word behind a switch may be a position",
    "script/4bit with a value": "a word behind a switch may be a position",
    "script/report unknown": "trackers are many, and newer versions of the script have more",
    "script/schedule unknown": "schedulers of plugins are free words",
}


def project(case: dict[str, Any], version: str = NEWEST) -> tuple[dict[str, str], dict[str, object], list[str]]:
    """The launch with its config, what is assumed beside it, and where to look."""
    assume = {"unsloth": version, "gpus": 1, "records": case["n"], "transformers": "5.17.0"}
    if case["kind"] == "script":
        return {"train.sh": f"python unsloth-cli.py {case['flags']}\n"}, assume, ["train.sh"]
    files = {case["file"]: case["text"]} if "file" in case else {}
    config = f"-c {case['file']} " if files else ""
    files["train.sh"] = f"unsloth train {config}{case['flags']}\n"
    return files, assume, list(files)


@pytest.mark.parametrize(
    ("version", "case", "happened"),
    trained(RUNS),
)
def test_trains_as_recorded(version: str, case: dict[str, Any], happened: dict[str, Any]) -> None:
    checked, report = explained(*project(case, version))
    top = "\nbatch_size" in case.get("text", "")  # a key that older versions ignore, and that is said to be
    if happened["scheduled"] in (0, happened["updates"]) and not top:
        assert value(checked, "total_steps") == happened["scheduled"]
        assert value(checked, "per_device_batch") == happened["batch"]
    assert value(checked, "accumulation") == happened["accumulation"]
    assert value(checked, "warmup_steps") == happened["warmup"]
    assert value(checked, "learning_rate") == happened["rate"]
    assert value(checked, "weight_decay") == happened["decay"]
    if "lr_scheduler_type" not in case.get("text", ""):  # which older versions ignore
        assert value(checked, "scheduler") == happened["scheduler"]
    errors = {finding.code for finding in report.findings if finding.level == "error"}
    # A key that is written twice, or over the limit: no trainer's error, and one all the same.
    assert errors <= {"WRM001", "CFG009", "STP008", "CFG002"}


@pytest.mark.parametrize(
    ("version", "name", "case"),
    [
        pytest.param(version, name, case, id=f"{version} {name}")
        for version, name, case, happened in RUNS
        if "error" in happened and not any(name.startswith(start) for start in UNFORESEEN)
    ],
)
def test_says_beforehand_what_is_refused(version: str, name: str, case: dict[str, Any]) -> None:
    findings = check_project(*project(case, version)).findings
    assert [finding.code for finding in findings if finding.level == "error"] != []
