"""ms-swift: its accumulation, sampling and split, what it refuses, and how a worker's share is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import check_project

ROWS = "\n".join(json.dumps({"messages": [{"role": "user", "content": str(n)}]}) for n in range(103)) + "\n"


def run_of(
    flags: str, environment: str = "NPROC_PER_NODE=1", assume: dict[str, object] | None = None, **files: str
) -> Any:
    script = f"{environment} swift sft --model m --dataset data.jsonl {flags}\n"
    report = check_project({"sft.sh": script, "data.jsonl": ROWS, **files}, assume or {"ms-swift": "4.6.0"}, ["sft.sh"])
    (run,) = report.runs
    return run, report.findings


def value(run: Any, name: str) -> object:
    return run.scenarios.fact(name).value


@pytest.mark.parametrize(
    ("processes", "batch", "accumulation"), [(1, 1, 16), (4, 1, 4), (3, 1, 6), (1, 3, 6), (8, 4, 1), (16, 2, 1)]
)
def test_default_accumulation_makes_about_sixteen(processes: int, batch: int, accumulation: int) -> None:
    run, _ = run_of(f"--per_device_train_batch_size {batch}", f"NPROC_PER_NODE={processes}")
    assert value(run, "accumulation") == accumulation
    assert value(run, "effective_batch") == processes * batch * accumulation


def test_each_worker_takes_the_floor() -> None:
    flags = "--per_device_train_batch_size 1 --gradient_accumulation_steps 1 --num_train_epochs 1"
    run, _ = run_of(flags, "NPROC_PER_NODE=4")
    assert value(run, "steps_per_epoch") == 103 // 4


@pytest.mark.parametrize(("share", "records"), [("0", 103), ("0.1", 93), ("0.001", 102)])
def test_split_takes_at_least_one_row(share: str, records: int) -> None:
    run, _ = run_of(f"--split_dataset_ratio {share}")
    assert value(run, "records") == records


def test_split_is_nothing_where_nothing_is_evaluated() -> None:
    run, _ = run_of("--split_dataset_ratio 0.1 --eval_strategy no")
    assert value(run, "records") == 103


@pytest.mark.parametrize(("mark", "records"), [("#50", 50), ("#250", 250), ("", 103)])
def test_samples_repeat_rows(mark: str, records: int) -> None:
    script = f"swift sft --model m --dataset 'data.jsonl{mark}'\n"
    report = check_project({"sft.sh": script, "data.jsonl": ROWS}, {"ms-swift": "4.6.0"}, ["sft.sh"])
    assert report.runs[0].scenarios.fact("records").value == records


def test_rate_by_tuning() -> None:
    assert value(run_of("--tuner_type full")[0], "learning_rate") == 1e-5
    assert value(run_of("--tuner_type lora")[0], "learning_rate") == 1e-4


def test_both_warmups_are_refused_from_46_on() -> None:
    both = "--warmup_steps 2 --warmup_ratio 0.1"
    _, findings = run_of(both)
    assert [finding.level for finding in findings if finding.code == "WRM009"] == ["error"]
    _, findings = run_of(both, assume={"ms-swift": "3.5.3"})
    assert "error" not in [finding.level for finding in findings if finding.code == "WRM009"]


def test_unknown_flags_are_refused() -> None:
    _, findings = run_of("--lerning_rate 1e-4")
    assert [(finding.code, finding.level) for finding in findings if finding.code == "CFG003"] == [("CFG003", "error")]


def test_a_teacher_needs_no_group() -> None:
    start = "swift rlhf --rlhf_type grpo --model m --dataset data.jsonl --num_generations 1"
    for more, wrong in (("", True), (" --teacher_model t", False)):
        report = check_project({"run.sh": f"{start}{more}\n", "data.jsonl": ROWS}, None, ["run.sh"])
        assert any(finding.code == "PRF004" for finding in report.findings) is wrong


def test_file_and_its_environment() -> None:
    config = (
        "ENV:\n  A: '1'\nmodel: m\ntuner_type: lora\nsplit_dataset_ratio: 0\ndataset: data.jsonl\nlearning_rate: 1e-4\n"
    )
    report = check_project({"sft.yaml": config, "data.jsonl": ROWS}, {"gpus": 1}, ["sft.yaml"])
    (run,) = report.runs
    assert run.run.trainer == "ms-swift"
    assert not [finding for finding in report.findings if finding.level == "error"]
    assert value(run, "learning_rate") == 1e-4


@pytest.mark.parametrize(
    ("environment", "workers"),
    [
        ("", 6),
        ("NPROC_PER_NODE=4 NNODES=1 ", 4),
        ("NPROC_PER_NODE=4 ", 8),  # each variable by itself: NNODES is the file's
        ("NNODES=4 ", 12),
        ("OMP_NUM_THREADS=4 ", 6),
        ("NPROC_PER_NODE=$WORKERS ", None),
        ("NNODES=$NODES ", None),
    ],
)
def test_an_environment_in_the_file_sets_what_is_not_set(environment: str, workers: int | None) -> None:
    config = """\
model: m
dataset: data.jsonl
tuner_type: lora
split_dataset_ratio: 0
num_train_epochs: 1
ENV:
  NPROC_PER_NODE: 3
  NNODES: 2
"""
    files = {"sft.sh": f"{environment}swift sft config.yaml\n", "config.yaml": config, "data.jsonl": ROWS}
    (run,) = check_project(files, {"ms-swift": "4.6.0"}, ["sft.sh"]).runs
    assert value(run, "gpus") == workers
    assert value(run, "accumulation") == (-(-16 // workers) if workers is not None else None)


def test_devices_of_the_file_against_processes_of_the_launch() -> None:
    config = (
        "model: m\ndataset: data.jsonl\ntuner_type: lora\nsplit_dataset_ratio: 0\nENV:\n  CUDA_VISIBLE_DEVICES: 0,1\n"
    )
    for processes, wrong in ((4, True), (2, False)):
        launch = f"NPROC_PER_NODE={processes} swift sft config.yaml\n"
        files = {"sft.sh": launch, "config.yaml": config, "data.jsonl": ROWS}
        report = check_project(files, None, ["sft.sh", "config.yaml"])
        (run,) = report.runs
        assert value(run, "gpus") == processes
        assert any(finding.code == "BAT006" for finding in report.findings) is wrong
