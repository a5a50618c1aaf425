"""Each service is told from the others by its request, as a file and in Python; an answer is no request."""

from __future__ import annotations

import json

import pytest

from tests.helpers import check_project
from tests.trainers.providers.shapes import CALLS, FILES


@pytest.mark.parametrize(("trainer", "name", "text"), FILES)
def test_a_file_is_a_run_of_its_service(trainer: str, name: str, text: str) -> None:
    report = check_project({name: text})
    assert [checked.run.trainer for checked in report.runs] == [trainer]


@pytest.mark.parametrize(("trainer", "imports", "call"), CALLS)
def test_a_call_is_a_run_of_its_service(trainer: str, imports: str, call: str) -> None:
    report = check_project({"tune.py": f"{imports}\n\njob = {call}  # fine-tuning\n"})
    assert [checked.run.trainer for checked in report.runs] == [trainer]
    assert [finding for finding in report.findings if finding.level == "error"] == []
    if "poch" in call or "3ep" in call:
        assert report.runs[0].scenarios.fact("epochs").value == 3


ANSWERS = [
    {"object": "fine_tuning.job", "id": "ftjob-a", "model": "m", "training_file": "f", "status": "queued"},
    {"object": "list", "data": [{"object": "fine_tuning.job", "model": "m", "training_file": "f"}]},
    {"id": "ft-a", "status": "pending", "model": "m", "training_file": "f", "training_type": {"type": "Lora"}},
    {"id": "a", "status": "QUEUED", "model": "m", "training_files": ["a"], "hyperparameters": {"epochs": 1}},
    {"name": "projects/p", "baseModel": "m", "supervisedTuningSpec": {}, "state": "JOB_STATE_PENDING"},
    {"jobArn": "a", "baseModelIdentifier": "m", "trainingDataConfig": {}, "status": "InProgress"},
    {"TrainingJobName": "j", "HyperParameters": {"epoch": "1"}, "TrainingJobStatus": "InProgress"},
    {"name": "a", "dataset": "d", "baseModel": "m", "epochs": 1, "state": "JOB_STATE_RUNNING"},
    {"job_id": "a", "status": "PENDING", "training_file_ids": ["f"], "hyper_parameters": {"n_epochs": 1}},
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_no_request(answer: dict[str, object]) -> None:
    report = check_project({"answer.json": json.dumps(answer)})
    assert report.runs == []
    assert report.findings == []


def test_every_service_is_here() -> None:
    services = {
        "azure-ml", "azure-openai", "baidu", "bedrock", "cohere", "dashscope", "databricks", "fireworks",
        "mistral-api", "nebius", "openai", "predibase", "replicate", "sagemaker", "snowflake", "tinker", "together",
        "vertex",
    }  # fmt: skip
    assert services <= {trainer for trainer, *_ in [*FILES, *CALLS]}


def test_an_object_that_is_no_block_is_not_judged() -> None:
    call = "OpenAI().fine_tuning.jobs.create(model=Model('m'), training_file=Path('a.jsonl'), seed=Seed(3))"
    text = f"from pathlib import Path\n\nfrom openai import OpenAI\n\n{call}  # fine-tuning\n"
    assert [finding.code for finding in check_project({"tune.py": text}).findings if finding.level != "note"] == []


def test_another_service_behind_openais_client_is_left_alone() -> None:
    call = 'OpenAI(base_url="https://example.com/v1").fine_tuning.jobs.create(model="m", training_file="f", n_epoch=3)'
    assert check_project({"tune.py": f"from openai import OpenAI\n\n{call}\n"}).runs == []
