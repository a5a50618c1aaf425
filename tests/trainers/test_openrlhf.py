"""OpenRLHF's flags, old and dotted, and its three ways to count."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import check_project, lint_project

OLD = "deepspeed --num_gpus {gpus} --module openrlhf.cli.train_{kind} --pretrain m/x {flags}\n"
SIZES = "--train_batch_size 64 --micro_train_batch_size 2 --max_epochs {epochs}"
NEW = "--train.batch_size 64 --train.micro_batch_size 2 --train.max_epochs {epochs}"


def facts(launch: str, *names: str, records: int = 1000, **assume: object) -> list[Any]:
    report = check_project({"train.sh": launch}, {"records": records, **assume})
    (checked,) = report.runs
    return [checked.scenarios.fact(name).value for name in names]


@pytest.mark.parametrize(
    ("kind", "flags", "records", "total"),
    [
        # floor(floor(N / w) / micro) x E // accumulation: 8 workers, 62 batches, 4 micro-batches a step
        ("sft", NEW.format(epochs=1), 1000, 15),
        ("sft", NEW.format(epochs=2), 1000, 31),  # what is left of a pass counts for the next
        ("sft", SIZES.format(epochs=2), 1000, 31),
        ("dpo", NEW.format(epochs=2), 1000, 31),
        ("dpo", SIZES.format(epochs=1), 1000, 15),
        ("rm", SIZES.format(epochs=1), 1000, 15),
        ("kto", SIZES.format(epochs=3), 1000, 46),
        ("sft", NEW.format(epochs=1) + " --data.max_samples 640", 1000, 10),
        # four workers, 125 batches of 8
        ("sft", NEW.format(epochs=1) + " --ds.ring_attn_size 2 --ds.packing_samples", 1000, 15),
    ],
)
def test_steps(kind: str, flags: str, records: int, total: int) -> None:
    assert facts(OLD.format(gpus=8, kind=kind, flags=flags), "total_steps", records=records) == [total]


def test_ring_attention_leaves_fewer_workers() -> None:
    flags = NEW.format(epochs=1) + " --ds.ring_attn_size 2 --ds.tensor_parallel_size 2"
    launch = OLD.format(gpus=8, kind="sft", flags=flags)
    assert facts(launch, "gpus", "accumulation", "effective_batch") == [2, 16, 64]


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [("sft", [2, 5e-6, 128, 8, "sft"]), ("dpo", [1, 1e-5, 128, 8, "dpo"]), ("rm", [1, 9e-6, 128, 1, "reward"])],
)
def test_defaults_of_each_command(kind: str, defaults: list[Any]) -> None:
    names = ("epochs", "learning_rate", "effective_batch", "per_device_batch", "method")
    assert facts(f"deepspeed --module openrlhf.cli.train_{kind} --pretrain m/x\n", *names, gpus=1) == defaults


RAY = """\
ray job submit --address="http://127.0.0.1:8265" -- python3 -m openrlhf.cli.train_ppo_ray \\
   --actor_num_nodes 2 --actor_num_gpus_per_node 4 --micro_train_batch_size 4 --train_batch_size 128 \\
   --rollout_batch_size 1024 --n_samples_per_prompt 8 --num_episodes 2 --actor_learning_rate 5e-7 {more}
"""


def test_reinforcement_counts_the_answers() -> None:
    names = ("gpus", "accumulation", "total_steps", "warmup_steps", "learning_rate", "method")
    found = facts(RAY.format(more="--advantage_estimator group_norm --lr_warmup_ratio 0.1"), *names)
    assert found == [8, 4, 124, 13, 5e-7, "grpo"]  # 1000 x 8 // 128 x 2


def test_a_batch_that_changes_leaves_the_steps_unknown() -> None:
    assert facts(RAY.format(more="--use_dynamic_batch"), "total_steps") == [None]


@pytest.mark.parametrize(
    ("flags", "evaluations", "checkpoints"),
    [
        ("", None, 1),
        ("--eval.dataset e.jsonl", 2, 1),  # once a pass
        ("--eval.dataset e.jsonl --eval.steps 10 --ckpt.save_steps 10", 3, 4),
    ],
)
def test_cadences(flags: str, evaluations: int | None, checkpoints: int) -> None:
    launch = OLD.format(gpus=8, kind="sft", flags=f"{NEW.format(epochs=2)} {flags}")
    assert facts(launch, "evaluations", "checkpoints") == [evaluations, checkpoints]


def test_data_beside_the_launch_is_counted() -> None:
    launch = OLD.format(gpus=1, kind="sft", flags=f"{NEW.format(epochs=1)} --data.dataset ./data/train.jsonl")
    report = check_project({"train.sh": launch, "data/train.jsonl": '{"input": "a", "output": "b"}\n' * 130})
    assert report.runs[0].scenarios.fact("records").value == 130
    assert report.runs[0].scenarios.fact("total_steps").value == 2


def test_a_batch_that_the_workers_cannot_share_is_an_error() -> None:
    launch = OLD.format(gpus=6, kind="sft", flags=SIZES.format(epochs=1))
    findings = lint_project({"train.sh": launch}, {"records": 10_000})
    assert [(one.code, one.level) for one in findings if one.level == "error"] == [("BAT002", "error")]


def test_other_modules_are_not_claimed() -> None:
    assert check_project({"a.sh": "python -m openrlhf.cli.serve_rm --port 5000 --max_len 8192\n"}).runs == []


@pytest.mark.parametrize(
    "text",
    [
        "read -r -d '' commands <<EOF\nopenrlhf.cli.train_sft \\\n{}\nEOF\ndeepspeed --num_gpus 8 --module $commands\n",
        "read -rd '' commands <<-'EOF'\n\topenrlhf.cli.train_sft {}\nEOF\ndeepspeed --num_gpus 8 --module $commands\n",
        'commands="openrlhf.cli.train_sft {}"\ndeepspeed --num_gpus 8 --module $commands\n',
    ],
)
def test_the_command_may_stand_in_a_variable(text: str) -> None:
    launch = text.format(SIZES.format(epochs=1))
    assert facts(launch, "effective_batch", "total_steps") == [64, 15]


def test_what_is_read_line_by_line_is_not_known() -> None:
    launch = "read -r commands <<EOF\nopenrlhf.cli.train_sft --max_epochs 1\nEOF\ndeepspeed --module $commands\n"
    assert check_project({"train.sh": launch}).runs == []
