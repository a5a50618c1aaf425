"""Services count in their own ways: what they hold back, what they choose, what they accept, what they charge."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import check_project
from tests.trainers.providers.test_other_services import errors, facts

BEDROCK = {
    "jobName": "j", "customModelName": "c", "roleArn": "arn:aws:iam::123456789012:role/E",
    "trainingDataConfig": {"s3Uri": "s3://b/t"}, "outputDataConfig": {"s3Uri": "s3://b/o"},
}  # fmt: skip
COMMAND = {**BEDROCK, "baseModelIdentifier": "cohere.command-text-v14"}
FIREWORKS = {"dataset": "d", "baseModel": "m", "epochs": 2}
LLMFT = """\
run: {name: a, model_type: llm_finetuning_aws}
trainer: {num_nodes: 1}
training_config:
  training_args: {max_epochs: 2, train_batch_size: 8}
  datasets: {train_data: {file_path: gone.jsonl}%s}
"""
COHERE = {
    "settings": {
        "base_model": {"base_type": "BASE_TYPE_CHAT"}, "dataset_id": "d", "hyperparameters": {"train_epochs": 1},
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "body", "records"),
    [
        ("cohere.json", COHERE, 800),
        ("bedrock.json", {**COMMAND, "hyperParameters": {"epochCount": "1"}}, 800),
        ("bedrock.json", {**COMMAND, "hyperParameters": {"evalPercentage": "50"}}, 500),
        ("bedrock.json", {**COMMAND, "validationDataConfig": {"validators": [{"s3Uri": "s3://b/v"}]}}, 1000),
        ("bedrock.json", {**BEDROCK, "baseModelIdentifier": "meta.llama3-1-8b"}, 1000),
        (
            "dashscope.json",
            {"model": "qwen", "training_file_ids": ["a"], "hyper_parameters": {"split": 0.9, "n_epochs": 1}},
            900,
        ),
        ("llmft.yaml", LLMFT % "", 900),
        ("llmft.yaml", LLMFT % ", val_data: {file_path: v.jsonl}", 1000),
        ("llmft.yaml", LLMFT % ", train_val_split_ratio: 0.5", 500),
        ("vertex.json", {"baseModel": "g", "reinforcementTuningSpec": {"trainingDatasetUri": "gs://b/t"}}, 750),
        ("vertex.json", {"baseModel": "g", "supervisedTuningSpec": {"trainingDatasetUri": "gs://b/t"}}, 1000),
        ("openai.json", {"model": "gpt-4o", "training_file": "file-a"}, 1000),
        ("fireworks.json", {**FIREWORKS, "evalAutoCarveout": True}, 900),
        ("fireworks.json", {**FIREWORKS, "evalAutoCarveout": False}, 1000),
        ("fireworks.json", {**FIREWORKS, "evalAutoCarveout": True, "evaluationDataset": "e"}, 1000),
    ],
)
def test_what_is_held_back_is_not_trained_on(name: str, body: Any, records: int) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    assert facts({name: text}, "records", assume={"records": 1000})[1] == {"records": records}


@pytest.mark.parametrize(("rows", "records"), [(5, 5), (105, 95), (2000, 1900)])
def test_fireworks_holds_back_a_tenth_and_at_most_a_hundred(rows: int, records: int) -> None:
    files = {"job.json": json.dumps({**FIREWORKS, "evalAutoCarveout": True})}
    assert facts(files, "records", assume={"records": rows})[1] == {"records": records}


def test_bedrock_warms_up_whatever_its_schedule_is() -> None:
    hyper = {"epochCount": "1", "batchSize": "64", "learningRate": "0.00001", "learningRateWarmupSteps": "250"}
    body = {**BEDROCK, "baseModelIdentifier": "amazon.titan-text-express-v1", "hyperParameters": hyper}
    report = check_project({"job.json": json.dumps(body)}, {"records": 6400})
    assert [finding.code for finding in report.findings if finding.level == "error"] == ["WRM001"]


def test_what_is_not_known_to_be_held_back_is_unknown() -> None:
    call = 'boto3.client("bedrock").create_model_customization_job(**job, baseModelIdentifier="cohere.command-x")'
    files = {"tune.py": f"import boto3\n\n{call}\n"}
    assert facts(files, "records", assume={"records": 1000})[1] == {"records": None}


@pytest.mark.parametrize(
    ("rows", "epochs", "batch"), [(12, 8, 1), (25, 4, 1), (2000, 3, 4), (3000, 3, 6), (10_000, 2, 20)]
)
def test_auto_is_an_estimate(rows: int, epochs: int, batch: int) -> None:
    report = check_project({"job.json": '{"model": "m", "training_file": "f"}'}, {"records": rows})
    fact = report.runs[0].scenarios.fact
    assert (fact("epochs").value, fact("epochs").origin) == (epochs, "estimated")
    assert (fact("per_device_batch").value, fact("per_device_batch").origin) == (batch, "estimated")
    assert not [finding for finding in report.findings if finding.level == "error"]


@pytest.mark.parametrize(
    ("body", "rows", "refused"),
    [
        ({"model": "m", "training_file": "f"}, 9, True),
        ({"model": "m", "training_file": "f"}, 10, False),
        ({"dataset": "d", "baseModel": "m", "epochs": 1}, 2, True),
        ({"dataset": "d", "baseModel": "m", "epochs": 1}, 3, False),
        ({**BEDROCK, "baseModelIdentifier": "anthropic.claude-3-haiku"}, 31, True),
        ({**BEDROCK, "baseModelIdentifier": "anthropic.claude-3-haiku"}, 32, False),
        ({**BEDROCK, "baseModelIdentifier": "anthropic.claude-3-haiku"}, 10_001, True),
        ({**BEDROCK, "baseModelIdentifier": "amazon.nova-lite-v1:0"}, 20_001, True),
        ({**BEDROCK, "baseModelIdentifier": "amazon.titan-text-express-v1"}, 20_001, False),
        ({"trainset": [], "trainConfig": {"epoch": 1}}, 31, True),
    ],
)
def test_least_and_most_lines(body: dict[str, Any], rows: int, refused: bool) -> None:
    found = check_project({"job.json": json.dumps(body)}, {"records": rows}).findings
    assert any(finding.code == "PRV001" and finding.level == "error" for finding in found) == refused


@pytest.mark.parametrize(
    ("body", "bill"),
    [
        ({"model": "m", "training_file": "f", "hyperparameters": {"n_epochs": 3}}, 30_000),
        ({**COMMAND, "hyperParameters": {"epochCount": "2"}}, 20_000),
        ({"dataset": "d", "baseModel": "m", "epochs": 4}, 40_000),
        ({"model": "m", "training_file": "f", "n_epochs": 3, "training_type": {"type": "Lora"}}, 30_000),
    ],
)
def test_tokens_are_charged_each_pass(body: dict[str, Any], bill: int) -> None:
    assume: dict[str, object] = {"records": 1000, "tokens": 10_000}
    assert facts({"job.json": json.dumps(body)}, "tokens_trained", assume=assume)[1] == {"tokens_trained": bill}


def test_tokens_of_counted_data_are_a_range() -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "a?"}, {"role": "assistant", "content": "b" * 60}]})
    files = {
        "train.jsonl": "".join(f'{line[:-1]}, "id": {index}}}\n' for index in range(100)),
        "tune.py": "from openai import OpenAI\n\nclient = OpenAI()\n"
        'data = client.files.create(file=open("train.jsonl", "rb"), purpose="fine-tune")\n'
        'client.fine_tuning.jobs.create(model="m", training_file=data.id,'
        ' method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 2}}})\n',
    }
    fact = check_project(files).runs[0].scenarios.fact
    assert fact("tokens").low is not None
    assert fact("tokens").low >= 1000
    assert fact("tokens_trained").low == 2 * (fact("tokens").low or 0)
    assert fact("tokens_trained").high == 2 * (fact("tokens").high or 0)


def test_a_batch_of_tokens_is_none_of_examples() -> None:
    body = {"dataset": "d", "baseModel": "m", "epochs": 2, "batchSize": 65536}
    found = facts({"job.json": json.dumps(body)}, "effective_batch", "total_steps", assume={"records": 1000})
    assert found[1] == {"effective_batch": None, "total_steps": None}
    assert errors({"job.json": json.dumps({**body, "epochs": 0})}) == []
