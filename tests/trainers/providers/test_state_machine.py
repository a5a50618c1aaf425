"""AWS's jobs as tasks of a Step Functions state machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import check_project

ROLE = "arn:aws:iam::123456789012:role/Example"
TRAINING = {
    "TrainingJobName.$": "$.name",
    "RoleArn": ROLE,
    "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
    "OutputDataConfig": {"S3OutputPath": "s3://example/out"},
    "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.g5.2xlarge", "VolumeSizeInGB": 50},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
}
CUSTOMIZATION = {
    "JobName.$": "$$.Execution.Name",
    "CustomModelName": "tuned",
    "RoleArn": ROLE,
    "BaseModelIdentifier": "amazon.nova-lite-v1:0:300k",
    "TrainingDataConfig": {"S3Uri.$": "$.data"},
    "OutputDataConfig": {"S3Uri": "s3://example/out"},
}


def machine(resource: str, request: dict[str, Any], key: str = "Parameters") -> str:
    task = {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", key: request, "End": True}
    return json.dumps({"StartAt": "Train", "States": {"Train": task}}, indent=1)


@pytest.mark.parametrize(
    ("text", "facts", "codes"),
    [
        (
            machine(
                "sagemaker:createTrainingJob.sync",
                {**TRAINING, "HyperParameters": {"epochs": "3", "learning_rate.$": "$.rate"}},
            ),
            {"epochs": 3, "learning_rate": None},
            [],
        ),
        (
            machine("aws-sdk:sagemaker:createTrainingJob", {**TRAINING, "HyperParameters": {"epochs": 3}}),
            {"epochs": 3},
            ["PRV003"],
        ),
        (
            machine(
                "sagemaker:createTrainingJob",
                {"TrainingJobName": "{% $name %}", "HyperParameters": {"epochs": 3, "lr": "{% $rate %}"}},
                "Arguments",
            ),
            {"epochs": 3},
            ["PRV003"],
        ),
        (
            machine(
                "bedrock:createModelCustomizationJob.sync",
                {**CUSTOMIZATION, "HyperParameters": {"epochCount": "2", "learningRate": "0.00001"}},
            ),
            {"epochs": 2, "learning_rate": 1e-5},
            [],
        ),
        (
            machine(
                "bedrock:createModelCustomizationJob.sync", {**CUSTOMIZATION, "HyperParameters": {"epochCount": "6"}}
            ),
            {"epochs": 6},
            ["PRV005"],
        ),
        (
            machine(
                "bedrock:createModelCustomizationJob.sync", {**CUSTOMIZATION, "HyperParameters": {"epochCount": 2}}
            ),
            {"epochs": 2},
            ["PRV003"],
        ),
    ],
)
def test_a_task_is_the_request_that_it_sends(text: str, facts: dict[str, object], codes: list[str]) -> None:
    report = check_project({"machine.asl.json": text})
    assert [finding.code for finding in report.findings if finding.level != "note"] == codes
    assert {name: report.runs[0].scenarios.fact(name).value for name in facts} == facts


def test_other_tasks_are_no_jobs() -> None:
    payload = {"FunctionName": "start", "Payload": {"TrainingJobName": "createTrainingJob", "HyperParameters": {}}}
    assert check_project({"machine.json": machine("lambda:invoke", payload)}).runs == []
