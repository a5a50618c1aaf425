from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import check_project

if TYPE_CHECKING:
    from epochlint.lint import Report

CONFIG = """
from datasets import load_dataset
from mmengine.dataset import DefaultSampler
from mmengine.optim import AmpOptimWrapper, CosineAnnealingLR, LinearLR
from peft import LoraConfig
from torch.optim import AdamW
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from xtuner.dataset import process_hf_dataset
from xtuner.dataset.map_fns import alpaca_map_fn
from xtuner.engine.runner import TrainLoop
from xtuner.model import SupervisedFinetune

data_path = "data.json"
pack_to_max_length = False
sequence_parallel_size = 1
batch_size = 2
accumulative_counts = 8
accumulative_counts *= sequence_parallel_size
max_epochs = 3
optim_type = AdamW
lr = 2e-4
warmup_ratio = 0.1
use_varlen_attn = False

model = dict(
    type=SupervisedFinetune,
    llm=dict(
        type=AutoModelForCausalLM.from_pretrained,
        pretrained_model_name_or_path="Qwen/Qwen2.5-7B",
        quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True)),
    lora=dict(type=LoraConfig, r=64))
train_data = dict(
    type=process_hf_dataset,
    dataset=dict(type=load_dataset, path="json", data_files=dict(train=data_path)),
    max_length=2048,
    dataset_map_fn=alpaca_map_fn,
    pack_to_max_length=pack_to_max_length)
train_dataloader = dict(
    batch_size=batch_size,
    dataset=train_data,
    sampler=dict(type=DefaultSampler, shuffle=True))
optim_wrapper = dict(
    type=AmpOptimWrapper,
    optimizer=dict(type=optim_type, lr=lr, weight_decay=0),
    accumulative_counts=accumulative_counts)
param_scheduler = [
    dict(type=LinearLR, start_factor=1e-5, by_epoch=True, begin=0, end=warmup_ratio * max_epochs,
         convert_to_iter_based=True),
    dict(type=CosineAnnealingLR, eta_min=0.0, by_epoch=True, begin=warmup_ratio * max_epochs, end=max_epochs,
         convert_to_iter_based=True),
]
train_cfg = dict(type=TrainLoop, max_epochs=max_epochs)
"""
LINES = CONFIG.splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if line.startswith(text))


def checked(config: str = CONFIG, **files: str) -> Report:
    return check_project({"config.py": config, **{name.replace("__", "."): text for name, text in files.items()}})


def rows(count: int, output: str = "b", prompt: str = "a") -> str:
    return json.dumps([{"instruction": prompt, "input": "", "output": output}] * count)


def fact(report: Report, name: str) -> Any:
    assert len(report.runs) == 1
    return report.runs[0].scenarios.fact(name)


def test_reads_a_module_by_what_its_names_hold() -> None:
    report = checked(run__sh="xtuner train config.py\n")
    expected = {
        "trainer": "xtuner", "per_device_batch": 2, "accumulation": 8, "gpus": 1, "effective_batch": 16, "epochs": 3,
        "learning_rate": 2e-4, "scheduler": "cosine", "method": "sft", "tuning": "qlora", "weight_decay": 0,
    }  # fmt: skip
    assert {name: fact(report, name).value for name in expected} == expected


def test_points_at_the_line_that_a_person_would_edit() -> None:
    half = CONFIG.replace("warmup_ratio = 0.1", "warmup_ratio = 0.6")
    report = checked(half, data__json=rows(2000), run__sh="xtuner train config.py\n")
    (finding,) = (one for one in report.findings if one.code == "WRM002")
    assert finding.span.place.line == line_of("    dict(type=LinearLR")
    high = checked(CONFIG.replace("lr = 2e-4", "lr = 2e-1"))
    (finding,) = (one for one in high.findings if one.code == "LRN002")
    assert finding.span.place.line == line_of("lr =")


@pytest.mark.parametrize(
    ("command", "gpus"),
    [
        ("xtuner train config.py", 1),
        ("NPROC_PER_NODE=4 xtuner train config.py --deepspeed deepspeed_zero2", 4),
        ("NPROC_PER_NODE=8 NNODES=2 xtuner train ./config.py", 16),
        ("torchrun --nproc_per_node=2 tools/train.py config.py --launcher pytorch", 2),
    ],
)
def test_is_launched_on_so_many_gpus(command: str, gpus: int) -> None:
    assert fact(checked(run__sh=command + "\n"), "gpus").value == gpus


def test_options_of_the_launch_win() -> None:
    report = checked(
        run__sh="xtuner train config.py --cfg-options train_cfg.max_epochs=1 optim_wrapper.optimizer.lr=1e-5\n"
    )
    assert fact(report, "epochs").value == 1
    assert fact(report, "learning_rate").value == 1e-5


def test_counts_the_rows_that_surely_keep_a_label() -> None:
    report = checked(data__json=rows(100), run__sh="xtuner train config.py\n")
    assert fact(report, "records").value == 100
    assert fact(report, "total_steps").value == 19  # 3 x 50 micro-batches in groups of 8, and the rest
    assert fact(report, "warmup_steps").value == 1
    # A prompt that may fill the whole length leaves the answer without a label: such a row is dropped.
    told = [fact(checked(data__json=text), "records") for text in (rows(10, prompt="a" * 2000), rows(10, "<nooutput>"))]
    assert [(known.low, known.high) for known in told] == [(0, 10), (0, 0)]
    other = CONFIG.replace("dataset_map_fn=alpaca_map_fn", "dataset_map_fn=mine")
    assert fact(checked(other, data__json=rows(10)), "records").low == 0


def test_is_silent_where_packed_lengths_decide() -> None:
    packed = CONFIG.replace("pack_to_max_length = False", "pack_to_max_length = True")
    report = checked(packed, data__json=rows(100))
    assert fact(report, "total_steps").unknown
    # As process_hf_dataset's own default.
    bare = CONFIG.replace(",\n    pack_to_max_length=pack_to_max_length)", ")")
    assert fact(checked(bare), "total_steps").unknown


def test_a_base_module_of_the_project_is_read_with_it() -> None:
    child = """
from mmengine.config import read_base

with read_base():
    from .config import *

train_cfg = dict(type="TrainLoop", max_epochs=1)
"""
    report = check_project({"config.py": CONFIG, "mine.py": child}, paths=["mine.py"])
    assert fact(report, "epochs").value == 1
    assert fact(report, "accumulation").value == 8


def test_iterations_are_micro_batches() -> None:
    limited = CONFIG.replace("max_epochs=max_epochs)", "max_iters=100)").replace("max_epochs = 3", "max_epochs = 1")
    assert fact(checked(limited, run__sh="xtuner train config.py\n"), "total_steps").value == 13
    assert (
        fact(checked(limited, run__sh="xtuner train config.py --deepspeed deepspeed_zero2\n"), "total_steps").value
        == 12
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("max_epochs=max_epochs)", "max_epochs=max_epochs, max_iters=10)", "train_cfg", "only one of"),
        ("use_varlen_attn = False", "use_varlen_attn = True", "batch_size =", "the batch size must be 1"),
    ],
)
def test_says_what_it_refuses(old: str, new: str, line: str, reason: str) -> None:
    report = checked(CONFIG.replace(old, new))
    (finding,) = (one for one in report.findings if one.code == "CFG011")
    assert reason in finding.message
    assert finding.span.place.line == line_of(line)


def test_another_mmengine_config_is_nobodys() -> None:
    assert not checked(CONFIG.replace("xtuner", "mmdet")).runs


NEWER = """
from xtuner.v1.config import AdamWConfig, LRConfig
from xtuner.v1.train import TrainerConfig

trainer = TrainerConfig(
    optim_cfg=AdamWConfig(lr=6e-5),
    lr_cfg=LRConfig(lr_type="cosine", lr_min=1e-6, warmup_ratio=0.1),
    global_batch_size=64,
    total_step=500,
)
"""


def test_reads_the_newer_trainer() -> None:
    report = check_project(
        {"sft.py": NEWER, "run.sh": "torchrun --nproc-per-node 8 xtuner/v1/train/cli/sft.py --config sft.py\n"}
    )
    expected = {
        "trainer": "xtuner", "total_steps": 500, "warmup_steps": 50, "effective_batch": 64, "gpus": 8,
        "learning_rate": 6e-5, "scheduler": "cosine",
    }  # fmt: skip
    assert {name: fact(report, name).value for name in expected} == expected


def test_the_newer_trainer_takes_one_length() -> None:
    report = check_project({"sft.py": NEWER.replace("total_step=500", "total_step=500, total_epoch=1")})
    assert [one.code for one in report.findings if one.level == "error"] == ["CFG011"]


@pytest.mark.parametrize(
    ("ratio", "count", "code", "told"),
    [
        ("0.0", 1000, "CFG011", "the warmup ends where it begins"),
        ("1.0", 1000, "CFG011", "what should follow ends after 3"),
        ("0.03", 20, "CFG011", "0.09 x 10 micro-batches comes to none"),
        ("0.03", 40, "WRM001", "leaves the learning rate at the warmup's first value for good"),
    ],
)
def test_a_warmup_that_mmengine_cannot_make(ratio: str, count: int, code: str, told: str) -> None:
    config = CONFIG.replace("warmup_ratio = 0.1", f"warmup_ratio = {ratio}")
    report = checked(config, data__json=rows(count), run__sh="xtuner train config.py\n")
    (finding,) = (one for one in report.findings if one.level == "error")
    assert finding.code == code
    assert told in finding.message
    # Packed, or on an unknown number of GPUs, nobody can tell how many micro-batches there are.
    packed = config.replace("pack_to_max_length = False", "pack_to_max_length = True")
    for silent in (checked(packed, data__json=rows(count), run__sh="xtuner train config.py\n"), checked(config)):
        assert bool([one for one in silent.findings if one.level == "error"]) is (ratio != "0.03")
