"""What comments say about the number of GPUs, beside a launch that says it, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from epochlint.lint import Options, check

SCRIPT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""
LAUNCH = "torchrun --nproc_per_node {gpus} train.py --output_dir out --per_device_train_batch_size 2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def _said(folder: Path, launch: str) -> list[tuple[str, str, int]]:
    (folder / "run.sh").write_text(launch)
    found = check(Options(["."], select=["BAT006"])).findings
    return [(finding.level, finding.message, finding.span.source.place(finding.span.start).line) for finding in found]


@pytest.mark.parametrize(
    "comment",
    [
        "# 8 GPUs",
        "# run on 8xA100",
        "#  for a single node with 8 x H100 80GB",
        "# trained on 8 NVIDIA A100 (80GB) GPUs",
        "### uses 8 cards ###",
        "# 8*RTX 4090",
    ],
)
def test_another_number_above_the_launch(folder: Path, comment: str) -> None:
    message = "the number of GPUs differs: 8 in the comment, 4 in the launch"
    assert _said(folder, f"{comment}\n{LAUNCH.format(gpus=4)}") == [("note", message, 1)]
    assert _said(folder, f"{comment}\n{LAUNCH.format(gpus=8)}") == []


@pytest.mark.parametrize(
    "text",
    [
        "# needs at least 8 GPUs\n",
        "# 8xA100: three hours\n",
        "# 8 x 4 x 2 = 64\n",
        "# 80GB A100\n",
        "# 8 GPUs\n\necho ready\n",
        "# 8 GPUs\n# 2 GPUs\n",
        "# 8 GPUs\ntorchrun --nproc_per_node 8 other.py\n",
    ],
)
def test_what_is_no_word_about_this_launch(folder: Path, text: str) -> None:
    assert _said(folder, text + LAUNCH.format(gpus=4)) == []


def test_the_number_of_one_node_is_no_other_number(folder: Path) -> None:
    launch = LAUNCH.format(gpus=8).replace("torchrun", "torchrun --nnodes 2")
    assert _said(folder, f"# 8 GPUs\n{launch}") == []
    assert _said(folder, f"# 16 GPUs\n{launch}") == []
    assert [level for level, _, _ in _said(folder, f"# 4 GPUs\n{launch}")] == ["note"]


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# global_batch_size = 8 x 4 x 16 = 512", ["BAT001"]),
        ("# generation_batch_size = global_batch_size * steps_per_generation (96 * 4 = 384)", []),
        ("# prompts = generation batch / generations", []),
    ],
)
def test_a_batch_that_is_part_of_another_sum(folder: Path, comment: str, codes: list[str]) -> None:
    (folder / "sft.yaml").write_text(
        f"{comment}\nmodel_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\nper_device_train_batch_size: 4\n"
        "dataset_name: example/instructions\nlearning_rate: 2.0e-5\n"
    )
    (folder / "run.sh").write_text("accelerate launch --num_processes 8 -m trl.scripts.sft --config sft.yaml\n")
    assert [finding.code for finding in check(Options(["."], select=["BAT001"])).findings] == codes


def test_in_the_config_that_a_launch_names(folder: Path) -> None:
    (folder / "sft.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\nper_device_train_batch_size: 4  # x 8 GPUs\n"
        "dataset_name: example/instructions\nlearning_rate: 2.0e-5\n"
    )
    launch = "accelerate launch --num_processes {} -m trl.scripts.sft --config sft.yaml\n"
    assert [(level, line) for level, _, line in _said(folder, launch.format(2))] == [("note", 3)]
    assert _said(folder, launch.format(8)) == []
    assert _said(folder, "accelerate launch -m trl.scripts.sft --config sft.yaml\n") == []  # says nothing
