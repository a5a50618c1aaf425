"""What stands beside a launch: a hostfile, and the files that its own script writes before it starts."""

from __future__ import annotations

import time

import pytest

from tests.helpers import check_project

FLAGS = "train.py --output_dir o --per_device_train_batch_size 4 --num_train_epochs 1 --learning_rate 2e-5"
HOSTS = "# nodes\nworker-0 slots=8\nworker-1 slots=4  # the smaller one\n\n"


def gpus(script: str, files: dict[str, str] | None = None, name: str = "run.sh") -> object:
    report = check_project({name: script.replace("@", FLAGS), **(files or {})})
    assert [finding for finding in report.findings if finding.level == "error"] == []
    (checked,) = report.runs
    return checked.scenarios.fact("gpus").value


@pytest.mark.parametrize(
    ("launcher", "count"),
    [
        ("--hostfile=hostfile", 12),
        ("-H hostfile", 12),
        ("--hostfile hostfile --num_nodes 1", 8),
        ("--hostfile hostfile --num_nodes 2 --num_gpus 2", 4),
        ("--hostfile hostfile --include worker-1", 4),
        ("--hostfile hostfile --include worker-0:0,2,4", 3),
        ("--hostfile hostfile --exclude worker-1:0", 11),
        ("--hostfile hostfile --exclude worker-0", 4),
        ("--hostfile elsewhere/hostfile", None),
        ("--hostfile hostfile --include worker-7", None),
        ("--hostfile hostfile --include $NODES", None),
        ("--hostfile hostfile $MORE", None),
    ],
)
def test_deepspeed_counts_the_slots_of_its_hosts(launcher: str, count: int | None) -> None:
    assert gpus(f"deepspeed {launcher} @\n", {"hostfile": HOSTS}) == count


def test_slots_without_number_take_no_time() -> None:
    hosts = "a slots=999999999999\nb slots=8\n" + "".join(f"c{at} slots=8\n" for at in range(20_000))
    start = time.perf_counter()
    assert gpus("deepspeed --hostfile hostfile --exclude a @\n", {"hostfile": hosts}) == 160_008
    assert time.perf_counter() - start < 10


def test_a_here_document_in_a_loop_takes_no_time() -> None:
    body = '{"training_file": "f", "model": "m", "x": "' + "$i" * 30_000 + '"}'
    lines = f"curl https://x.com/v1/fine_tuning/$i -d @- <<EOF\n{body}\nEOF\ncat > $i.yaml <<EOF\n{body}\nEOF\n"
    start = time.perf_counter()
    check_project({"run.sh": f"for i in {{1..5000}}; do\n{lines}done\n"})
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("text", ["worker-0 slots=8\nworker-0 slots=8\n", "worker-0\n", "a slots=many\n", ""])
def test_a_hostfile_that_cannot_be_read_says_nothing(text: str) -> None:
    assert gpus("deepspeed --hostfile hostfile @\n", {"hostfile": text}) is None


ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\n"


@pytest.mark.parametrize(
    "script",
    [
        f"cat > acc.yaml <<EOF\n{ACCELERATE}EOF\naccelerate launch --config_file acc.yaml @\n",
        f"cat <<'EOF' > acc.yaml\n{ACCELERATE}EOF\naccelerate launch --config_file=acc.yaml @\n",
        f"tee acc.yaml <<EOF\n{ACCELERATE}EOF\naccelerate launch --config_file acc.yaml @\n",
        f"N=4\ncat > acc.yaml <<EOF\n{ACCELERATE.replace('4', '$N')}EOF\naccelerate launch --config_file acc.yaml @\n",
        f"F=acc.yaml\ncat > $F <<EOF\n{ACCELERATE}EOF\naccelerate launch --config_file $F @\n",
    ],
)
def test_a_file_that_the_script_writes_is_read(script: str) -> None:
    assert gpus(script) == 4


def test_a_file_with_gaps_leaves_them_open() -> None:
    script = f"cat > acc.yaml <<EOF\n{ACCELERATE.replace('4', '$N')}EOF\naccelerate launch --config_file acc.yaml @\n"
    assert gpus(script) is None


def test_a_file_on_disk_is_the_one_that_is_meant() -> None:
    script = f"cat > acc.yaml <<EOF\n{ACCELERATE}EOF\naccelerate launch --config_file acc.yaml @\n"
    assert gpus(script, {"acc.yaml": ACCELERATE.replace("4", "2")}) == 2


def test_a_request_that_the_script_writes() -> None:
    spec = '{"trainingDatasetUri": "gs://b/t", "hyperParameters": {"epochcount": 1}}'
    body = f'{{"baseModel": "g", "supervisedTuningSpec": {spec}}}'
    script = (
        f'cat > request.json << EOF\n{body}\nEOF\ncurl -X POST -d @request.json "https://example.com/v1/tuningJobs"\n'
    )
    report = check_project({"run.sh": script})
    assert [(finding.code, finding.span.place.line) for finding in report.findings] == [("PRV004", 2)]


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("num_nodes: 2\nresources: {accelerators: A100:8}\n", 16),
        ('resources: {accelerators: "H100:8"}\n', 8),
        ("setup: pip install x\nresources:\n  accelerators: {L4: 4}\n", 4),
    ],
)
def test_a_skypilot_task_is_a_launch(head: str, count: int) -> None:
    run = "torchrun --nnodes=${SKYPILOT_NUM_NODES:-1} --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE @"
    assert gpus(f"{head}run: |\n  {run}\n", name="sky.yaml") == count


def test_quotation_marks_of_a_here_document_are_the_inner_shell_s() -> None:
    script = 'sbatch <<EOT\n#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node=4 @ --run_name "a b"\nEOT\n'
    assert gpus(script) == 4
