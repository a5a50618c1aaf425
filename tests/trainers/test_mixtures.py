"""Several data sets that a config puts together."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project

FILES = {f"data/{name}.jsonl": "".join(json.dumps({"text": f"{name} {at}"}) + "\n" for at in range(rows))
         for name, rows in (("a", 100), ("b", 30))}  # fmt: skip


def records(files: dict[str, str], path: str, **assume: object) -> tuple[object, object]:
    """The fewest and the most records."""
    report = check_project({**FILES, **files}, {"gpus": 1, **assume}, [path])
    assert len(report.runs) == 1
    found = report.runs[0].scenarios.fact("records")
    return found.low, found.high


TRL = """\
model_name_or_path: a/b
datasets:
  - path: json
    data_files: data/a.jsonl
    {0}
  - path: json
    data_files: data/b.jsonl
    {1}
per_device_train_batch_size: 2
num_train_epochs: 1
{2}
"""


@pytest.mark.parametrize(
    ("first", "second", "more", "rows"),
    [
        ("", "", "", (130, 130)),
        ("split: train[:10%]", "", "", (40, 40)),
        ("", "", "test_split_size: 0.1", (117, 117)),
        # what the code of TRL 1.16.0 gives for 100 and 30 rows
        ("fraction: 0.5", "fraction: 0.5", "", (60, 60)),
        ("fraction: 3", "fraction: 1", "", (120, 120)),
        ("fraction: 0.9", "fraction: 0.1", "", (111, 111)),
        ("fraction: 0.5", "", "", (None, None)),  # refused
        ("data_dir: x", "", "", (None, None)),
    ],
)
def test_trls_mixtures(first: str, second: str, more: str, rows: object) -> None:
    files = {"sft.yaml": TRL.format(first, second, more), "run.sh": "trl sft --config sft.yaml\n"}
    low, high = records(files, "run.sh")
    assert (low, high) == rows or (rows == (None, None) and high is None)


LLAMAFACTORY = """\
model_name_or_path: a/b
stage: pt
do_train: true
dataset: a,b
packing: false
template: default
finetuning_type: lora
output_dir: out
per_device_train_batch_size: 1
num_train_epochs: 1
{0}
"""
INFO = json.dumps({name: {"file_name": f"{name}.jsonl", "columns": {"prompt": "text"}} for name in ("a", "b")})


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ("", (130, 130)),
        ("mix_strategy: interleave_under", (60, 60)),
        ("mix_strategy: interleave_over", (200, 200)),
        ("mix_strategy: interleave_once", (130, 130)),
        ("mix_strategy: interleave_under\nmax_samples: 20", (40, 40)),
        ("mix_strategy: interleave_under\ninterleave_probs: 0.7,0.3", (30, 129)),
        ("mix_strategy: interleave_over\ninterleave_probs: 0.7,0.3", (130, None)),
        ("mix_strategy: interleave_once\ninterleave_probs: 0.7,0.3", (130, 130)),
    ],
)
def test_llamafactorys_mixing(more: str, rows: object) -> None:
    files = {"pt.yaml": LLAMAFACTORY.format(more), "data/dataset_info.json": INFO}
    assert records(files, "pt.yaml", llamafactory="0.9.5") == rows


@pytest.mark.parametrize(
    ("more", "high"),
    [
        ("", 130),
        (" --interleave_prob 0.5 0.5", 129),
        (" --interleave_prob 0.5 0.5 --stopping_strategy all_exhausted", None),
    ],
)
def test_swifts_interleaving(more: str, high: object) -> None:
    command = "swift pt --model a/b --dataset data/a.jsonl data/b.jsonl --split_dataset_ratio 0 --max_length 4096"
    assert records({"run.sh": command + more + "\n"}, "run.sh")[1] == high
