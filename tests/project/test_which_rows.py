"""Which rows of which files a run is given: what datasets 5.2.0 loaded for the same calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import check_project


def rows(number: int) -> str:
    return "".join(json.dumps({"instruction": f"i{row}", "output": f"o{row}"}) + "\n" for row in range(number))


FILES: dict[str, str] = {
    "data/train.jsonl": rows(403),
    "data/b.jsonl": rows(57),
    "data/t.csv": "instruction,output\n" + "".join(f'"a\n""b"", c{row}","o\r\n{row}"\n' for row in range(65)),
    "data/lines.txt": "a\n\nb\nc\n" * 25,
    "data/folder/train.jsonl": rows(120),
    "data/folder/test.jsonl": rows(20),
    "data/folder2/train/a.jsonl": rows(30),
    "data/folder2/train/b.jsonl": rows(31),
    "data/folder2/validation/c.jsonl": rows(7),
    "data/folder3/x.jsonl": rows(12),
    "data/folder3/y.jsonl": rows(13),
    "data/configs/en/train.jsonl": rows(17),
    "data/configs/de/train.jsonl": rows(19),
    "data/configs/README.md": (
        "---\nconfigs:\n- config_name: en\n  data_files: en/*.jsonl\n- config_name: de\n  data_files:\n"
        "  - split: train\n    path: de/train.jsonl\n---\n# Two\n"
    ),
    "data/field.json": json.dumps(
        {
            "version": "1.1",
            "data": [{"instruction": f"i{row}", "output": "o"} for row in range(83)],
            "columns": {"instruction": ["a", "b"], "output": ["c", "d"]},
        },
        indent=1,
    ),
    "data/one/a.jsonl": rows(21),
    "data/one/b.jsonl": rows(4),
    "data/one/README.md": (
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: a.jsonl\n"
        "  - split: test\n    path: [b.jsonl]\n---\n"
    ),
}
SCRIPT = """\
from datasets import Dataset, load_dataset, load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

dataset = CALL
model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments("out", per_device_train_batch_size=1, num_train_epochs=1)
Trainer(model=model, args=args, train_dataset=dataset).train()
"""
JSON = 'load_dataset("json", data_files="data/train.jsonl"'


def counted(files: dict[str, str], path: str, **options: Any) -> Any:
    report = check_project({**FILES, **files, ".git/HEAD": ""}, {"gpus": 1}, [path], **options)
    (run,) = report.runs
    return run.scenarios.fact("records").value


@pytest.mark.parametrize(
    ("call", "taken"),
    [
        (JSON + ', split="train[:10%]")', 40),
        (JSON + ', split="train[:100]+train[350:]")', 153),
        (JSON + ', split="train").shard(num_shards=4, index=3)', 100),
        (JSON + ', split="train").shard(4, 0)', 101),
        ('load_dataset("json", data_dir="data/folder", split="train")', 120),
        ('load_dataset("json", data_dir="data/one", data_files="a.jsonl", split="train")', 21),
        ('load_dataset("data/folder", split="train")', 120),
        ('load_dataset("data/folder", split="test")', 20),
        ('load_dataset("data/folder", split="train+test")', 140),
        ('load_dataset("data/folder", data_files="train.jsonl", split="train")', 120),
        ('load_dataset("data/folder", data_files={"train": "test.jsonl"}, split="train")', 20),
        ('load_dataset("data/folder2")["train"]', 61),
        ('load_dataset("data/folder3", split="train[:50%]")', 12),
        ('load_dataset("data/configs", "en", split="train")', 17),
        ('load_dataset("data/configs", name="de", split="train")', 19),
        ('load_dataset("data/one", split="train")', 21),
        ('load_dataset("data/one", split="test")', 4),
        ('load_dataset("csv", data_files="data/t.csv", split="train[:50%]")', 32),
        ('load_dataset("json", data_files="data/field.json", field="data", split="train")', 83),
        ('load_dataset("json", data_files={"train": "data/field.json"}, field="data")["train"]', 83),
        ('load_dataset("json", data_files="data/field.json", field="columns", split="train")', 2),
        ('load_dataset("json", data_files="data/field.json", field="data", split="train[:50]")', 50),
        ('Dataset.from_json("data/field.json", field="data")', 83),
    ],
)
def test_load_dataset(call: str, taken: int) -> None:
    assert counted({"train.py": SCRIPT.replace("CALL", call)}, "train.py") == taken


@pytest.mark.parametrize(
    "call",
    [
        'load_dataset("csv", data_files="data/t.csv", split="train", skiprows=1)',
        'load_dataset("csv", data_files="data/t.csv", split="train", delimiter="\\t")',
        'load_dataset("csv", data_files="data/t.csv", split="train", column_names=["a", "b"])',
        'load_dataset("text", data_files="data/lines.txt", split="train", sample_by="paragraph")',
        'load_dataset("json", data_files="data/train.jsonl", split="train", field="data")',
        'load_dataset("json", data_files="data/field.json", split="train", field="rows")',
        'load_dataset("json", data_files="data/field.json", split="train", field=FIELD)',
        'Dataset.from_csv("data/t.csv", skiprows=1)',
        'load_dataset("data/configs", split="train")',
        'load_dataset("data/folder", data_dir=PLACE, split="train")',
        'load_dataset("someone/data", data_files="data/b.jsonl", split="train")',
    ],
)
def test_a_reading_that_is_not_followed_stays_unknown(call: str) -> None:
    assert counted({"train.py": SCRIPT.replace("CALL", call)}, "train.py") is None


def test_what_stands_twice_under_a_field_is_told() -> None:
    """The rows of one file under two fields are two things, and rules read those of the field."""
    data = {"data": [{"text": "the same text in every record"}] * 30, "other": [{"text": f"t{n}"} for n in range(40)]}
    script = SCRIPT.replace("CALL", 'load_dataset("json", data_files="twice.json", field="FIELD", split="train")')
    files = {"twice.json": json.dumps(data), "a.py": script.replace("FIELD", "data")}
    files["b.py"] = script.replace("FIELD", "other")
    report = check_project({**files, ".git/HEAD": ""}, {"gpus": 1}, ["a.py", "b.py"])
    assert [run.scenarios.fact("records").value for run in report.runs] == [30, 40]
    repeated = [finding.path for finding in report.findings if finding.name == "repeated-records"]
    assert repeated == ["a.py"], [(finding.name, finding.path) for finding in report.findings]


AXOLOTL = """\
base_model: someone/model
datasets:
  - path: data/train.jsonl
    type: alpaca
    split: SPLIT
micro_batch_size: 2
num_epochs: 1
learning_rate: 1e-4
"""
OUMI = """\
model: {model_name: a/b}
data:
  train:
    datasets:
      - {dataset_name: text_sft, dataset_path: data/train.jsonl, split: "SPLIT"}
training: {trainer_type: TRL_SFT, per_device_train_batch_size: 2, num_train_epochs: 1}
"""


@pytest.mark.parametrize(("split", "taken"), [("train", 403), ("train[:25%]", 101), ("train[x]", None)])
def test_slices_in_configs(split: str, taken: int | None) -> None:
    assert counted({"sft.yaml": AXOLOTL.replace("SPLIT", split)}, "sft.yaml") == taken


@pytest.mark.parametrize("split", ["train", "train[:25%]", "test"])
def test_oumis_own_data_set_of_a_file_has_no_splits(split: str) -> None:
    # the real one (oumi 0.9) has all rows with each of these
    assert counted({"sft.yaml": OUMI.replace("SPLIT", split)}, "sft.yaml") == 403


LLAMAFACTORY = """\
model_name_or_path: a/b
stage: sft
finetuning_type: lora
output_dir: saves
cutoff_len: 1024
do_train: true
dataset: sums
template: default
per_device_train_batch_size: 1
num_train_epochs: 1
"""


@pytest.mark.parametrize(
    ("entry", "taken"),
    [
        ({"hf_hub_url": "openai/gsm8k", "subset": "main"}, 7473),
        ({"hf_hub_url": "openai/gsm8k", "subset": "main", "split": "train[:100]"}, 100),
        ({"hf_hub_url": "openai/gsm8k", "subset": "main", "num_samples": 500}, 500),
        ({"hf_hub_url": "openai/gsm8k", "subset": "main", "folder": "socratic"}, None),
        ({"hf_hub_url": "openai/gsm8k", "subset": "socratic"}, None),
    ],
)
def test_public_data_in_dataset_info(entry: dict[str, object], taken: int | None) -> None:
    files = {"sft.yaml": LLAMAFACTORY, "data/dataset_info.json": json.dumps({"sums": entry})}
    assert counted(files, "sft.yaml") == taken


_BINARY = Path(__file__).parents[1] / "records" / "binary"


@pytest.mark.parametrize("name", ["chats.parquet", "chats-file.arrow"])
def test_rows_that_nobody_sees_are_all_taken_as_an_estimate(name: str) -> None:
    """Of Parquet and Arrow only headers are read: the trainer's own check of a row has nothing to look at, and what it
    may drop is no error's ground."""
    info = json.dumps({"chats": {"file_name": name, "formatting": "sharegpt", "columns": {"messages": "messages"}}})
    config = (
        "model_name_or_path: example/model\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\n"
        "dataset: chats\noutput_dir: out\nper_device_train_batch_size: 2\nnum_train_epochs: 2\nlearning_rate: 1.0e-4\n"
        "warmup_steps: 100\n"
    )
    files = {"sft.yaml": config, "data/dataset_info.json": info, f"data/{name}": (_BINARY / name).read_bytes()}
    report = check_project(files, {"gpus": 1, "llamafactory": "0.9.5"})
    scenarios = report.runs[0].scenarios
    assert (scenarios.fact("records").value, scenarios.fact("records").origin) == (20, "estimated")
    assert scenarios.fact("total_steps").value == 20
    found = {finding.code: finding.level for finding in report.findings}
    assert found["WRM001"] == "warning"
    assert "error" not in found.values()
