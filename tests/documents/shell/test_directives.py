"""The settings that batch systems read."""

from __future__ import annotations

import pytest

from epochlint.documents.shell.directives import gpus
from tests.documents.shell.helpers import raw, read


def settings(text: str) -> dict[str, str | None]:
    document = read(text + "\npython train.py\n")
    return {entry.key: raw(entry.value) for entry in document.directives.entries}


def test_slurms_directives() -> None:
    text = """#!/bin/bash
#SBATCH --job-name="my job"   # the name
#SBATCH -N 2
#SBATCH -n8 --gres=gpu:a100:4
#SBATCH --ntasks-per-node 4 --exclusive
##SBATCH --nodes=9
# SBATCH --nodes=9
#SBATCH -A acc -t 01:00:00"""
    assert settings(text) == {
        "job_name": "my job",
        "nodes": "2",
        "ntasks": "8",
        "gres": "gpu:a100:4",
        "ntasks_per_node": "4",
        "exclusive": "True",
        "account": "acc",
        "time": "01:00:00",
    }


def test_directives_end_at_the_first_command() -> None:
    assert settings("#!/bin/bash\n#SBATCH -N 2\n\nset -e\n#SBATCH -N 4") == {"nodes": "2"}


def test_where_a_directive_stands() -> None:
    document = read("#!/bin/bash\n#SBATCH --gres=gpu:4\npython train.py")
    entry = document.directives.entries[0]
    assert (entry.key_span.text, entry.value.span.text, entry.value.span.place.line) == ("--gres", "gpu:4", 2)
    assert document.scheduler == "slurm"
    assert document.launches[0].directives is document.directives


@pytest.mark.parametrize(
    ("text", "scheduler", "expected"),
    [
        (
            "#PBS -N name\n#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=4\n#PBS -l walltime=01:00:00",
            "pbs",
            {
                "job_name": "name",
                "nodes": "2",
                "cpus_per_node": "8",
                "gpus_per_node": "4",
                "ntasks_per_node": "4",
                "time": "01:00:00",
            },
        ),
        ("#PBS -l nodes=2:ppn=8:gpus=4", "pbs", {"nodes": "2", "ntasks_per_node": "8", "gpus_per_node": "4"}),
        ("#PBS -l select=1:ngpus=4+2:ngpus=8", "pbs", {}),
        ('#BSUB -n 8\n#BSUB -gpu "num=4:mode=shared"', "lsf", {"ntasks": "8", "gpus_per_node": "4"}),
        ("#$ -l gpu=2", "sge", {"gpus_per_node": "2"}),
        ("# nothing", "", {}),
    ],
)
def test_other_systems(text: str, scheduler: str, expected: dict[str, str]) -> None:
    assert settings(text) == expected
    assert read(text + "\npython train.py\n").scheduler == scheduler


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--gres=gpu:4", 4),
        ("--gres=gpu:a100:4", 4),
        ("--gres=gpu", 1),
        ("--gres=gpu:h100_80gb:2,nvme:100", 2),
        ("--gres=nvme:100,gpu:2", 2),
        ("--gres=gpu:4(S:0-1)", 4),
        ("--gres=nvme:100", None),
        ("--gres=gpu:$N", None),
        ("--gpus-per-node=8", 8),
        ("--gpus-per-node=a100:8", 8),
        ("--gpus=8", 8),
        ("-G 8 -N 2", 4),
        ("-G 7 -N 2", None),
        ("--gpus-per-task=1 --ntasks-per-node=4", 4),
        ("--gpus-per-task=1 -N 2 -n 16", 8),
        ("--gpus-per-task=2", 2),
        ("-N 2", None),
    ],
)
def test_gpus_of_a_node(text: str, expected: int | None) -> None:
    found = gpus(read(f"#!/bin/bash\n#SBATCH {text}\npython train.py").directives)
    assert (found.value if found is not None else None) == expected
