"""LLM Foundry's rows: files of a builder, what is dropped, what is not here."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project

CONFIG = """\
max_duration: 3ep
global_train_batch_size: 8
device_train_microbatch_size: 2
model: {{name: hf_causal_lm, pretrained_model_name_or_path: m}}
train_loader:
  name: finetuning
  dataset:
    hf_name: {name}
    hf_kwargs: {files}
    split: train
    max_seq_len: 256
    {more}
  drop_last: {drop}
scheduler: {{name: cosine_with_warmup, t_warmup: 0.1dur}}
optimizer: {{name: decoupled_adamw, lr: 1.0e-5}}
"""


def rows(count: int, **row: object) -> str:
    return "".join(json.dumps({"prompt": f"q{at}", "response": "a", **row}) + "\n" for at in range(count))


def facts(laid: dict[str, str], **written: str) -> tuple[object, object, object]:
    settings = {"name": "json", "files": "{data_files: rows.jsonl}", "more": "", "drop": "true", **written}
    fact = check_project({"tune.yaml": CONFIG.format(**settings), **laid}).runs[0].scenarios.fact
    return fact("records").value, fact("total_steps").value, fact("warmup_steps").value


@pytest.mark.parametrize(("drop", "steps", "warmup"), [("true", 87, 8), ("false", 90, 9)])
def test_rows_of_a_file(drop: str, steps: int, warmup: int) -> None:
    assert facts({"rows.jsonl": rows(237)}, drop=drop) == (237, steps, warmup)


@pytest.mark.parametrize("files", ["{data_files: [a.jsonl, b.jsonl]}", "{data_files: {train: [a.jsonl, b.jsonl]}}"])
def test_several_files(files: str) -> None:
    assert facts({"a.jsonl": rows(30), "b.jsonl": rows(20)}, files=files)[0] == 50


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (rows(20, response="a" * 300), {}),  # cut, and what is left may hold no target
        (rows(20, response=""), {}),
        (rows(20), {"more": "preprocessing_fn: mine"}),
        (rows(20), {"name": "someone/private", "files": "{}"}),
        (rows(20), {"files": "{data_files: gone.jsonl}"}),
    ],
)
def test_what_cannot_be_told_is_unknown(data: str, written: dict[str, str]) -> None:
    assert facts({"rows.jsonl": data}, **written)[0] is None


@pytest.mark.parametrize("length", ["1e999ep", f"{'9' * 400}ba", "1e999dur"])
def test_a_duration_without_end_is_unknown(length: str) -> None:
    text = CONFIG.format(name="json", files="{data_files: rows.jsonl}", more="", drop="true")
    text = text.replace("3ep", length).replace("0.1dur", length)
    report = check_project({"tune.yaml": text, "rows.jsonl": rows(20)})
    assert [entry.reason for entry in report.skipped] == []
    assert report.runs[0].scenarios.fact("total_steps").value is None
