"""DeepSpeed's own checks of its file, and transformers' comparison with it, recorded, against epochlint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.recorded import runs
from tests.helpers import check_project

RUNS = list(runs("deepspeed"))

# Case (by its beginning) -> why its error is not foreseen.
UNFORESEEN = {
    'batch/t"auto"': "auto is for transformers, which fills it in",
    'batch/tnull m"auto"': "auto is for transformers, which fills it in",
    'batch/tnull m8 a"2"': "text that is a number: DSP003 says it where it stands",
    "batch/tnull mnull": "accelerate brings the batch where the file has none",
    "batch/t32 m4 a2 w": "the file alone does not say on how many processes it runs; beside a launch DSP001 says it",
    "batch/t32 m4 anull w3": "the file alone does not say on how many processes it runs",
    "batch/t6 mnull": "the file alone does not say on how many processes it runs",
    "batch/t8 m4 anull w16": "the file alone does not say on how many processes it runs",
    "key/amp": "older versions take it, and nothing pins the version here",
    "key/compression": "older versions take it, and nothing pins the version here",
    "key/nebula": "older versions take it, and nothing pins the version here",
    "key/sparse_attention": "older versions take it, and nothing pins the version here",
    "key/bucket as text": "sizes of buckets are not read",
    "key/no zero section": "a null section: older versions take it for none",
    "key/stage null": "null may be what a template leaves",
    "key/twice": "recorded on a file that nothing tells as DeepSpeed's; in a whole one CFG002 says it",
    "key/unknown": "the fields of a section differ by version",
    "schedule/WarmupLR warmup_num_steps=0": "older versions take it for 2",
    "schedule/WarmupDecayLR total_num_steps=12 warmup_num_steps=": "older versions take it",
    "schedule/WarmupCosineLR total_num_steps=12 warmup_num_steps=": "older versions take it",
    "schedule/WarmupLR warmup_num_steps=2.5": "older versions take it",
    "schedule/WarmupLR warmup_num_steps=auto": "auto is for transformers, which fills it in",
    "schedule/WarmupLR warmup_num_steps=4 warmup_typ": "a scheduler's arguments differ by version",
    "trainer/optimizer.betas": "the betas are not read",
    "trainer/optimizer.lr='1e-4'": "a number as text, which DeepSpeed itself would take",
}


def project(case: dict[str, Any]) -> dict[str, str]:
    """The file alone, as DeepSpeed's launcher takes it; beside a script's arguments where a Trainer compares it."""
    if "text" in case:
        return {"ds_config.json": case["text"]}
    if "scheduler" in case:
        config = {
            "train_micro_batch_size_per_gpu": 1,
            "zero_optimization": {"stage": 2},
            "scheduler": case["scheduler"],
        }
        return {"ds_config.json": json.dumps(config)}
    given = {**case["args"], "max_steps": case["steps"], "deepspeed": "ds_config.json", "output_dir": "out"}
    words = ", ".join(f"{key}={value!r}" for key, value in given.items())
    script = f"from transformers import TrainingArguments\nargs = TrainingArguments({words})\n"
    launch = f"torchrun --nproc_per_node {case['world']} train.py\n"
    return {"ds_config.json": json.dumps(case["config"]), "train.py": script, "train.sh": launch}


def reason(name: str) -> str:
    return next((why for start, why in UNFORESEEN.items() if name.startswith(start)), "")


def errors(case: dict[str, Any]) -> set[str]:
    return {finding.code for finding in check_project(project(case), {}).findings if finding.level == "error"}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for _, name, case, happened in RUNS if "error" in happened and not reason(name)],
)
def test_refusals_are_said_before(case: dict[str, Any]) -> None:
    assert errors(case)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name)
        for _, name, case, happened in RUNS
        # Recorded is what reads the file: text passes there, and is compared with a number in the first step.
        if "error" not in happened and name != "key/clipping as text"
    ],
)
def test_what_is_taken_is_not_called_refused(case: dict[str, Any]) -> None:
    assert not errors(case) & {"CFG011", "DSP001", "DSP002", "DSP003"}


def test_each_reason_is_needed() -> None:
    failing = [name for _, name, _, happened in RUNS if "error" in happened]
    for start in UNFORESEEN:
        assert any(name.startswith(start) for name in failing), start
