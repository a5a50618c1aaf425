"""Fine-tuning jobs that are started from a shell: the services' own programs, and curl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import check_project

if TYPE_CHECKING:
    from epochlint.lint import Report

ROLE = "--role-arn arn:aws:iam::123456789012:role/Example"
BEDROCK = (
    f"aws bedrock create-model-customization-job --job-name tune --custom-model-name tuned {ROLE} "
    "--base-model-identifier amazon.nova-lite-v1:0:300k --region us-east-1 "
    "--training-data-config s3Uri=s3://example/train.jsonl --output-data-config s3Uri=s3://example/out/ "
)
SAGEMAKER = (
    f"aws sagemaker create-training-job --training-job-name tune {ROLE} "
    "--algorithm-specification TrainingImage=image,TrainingInputMode=File "
    "--output-data-config S3OutputPath=s3://example/out "
)
AZURE = """\
type: finetuning
task: chat_completion
model: {type: mlflow_model, path: "azureml://registries/azureml/models/Phi/versions/1"}
training_data: {type: uri_file, path: ./train.jsonl}
model_provider: azure_open_ai
hyperparameters: {n_epochs: 3, batch_size: 8}
"""
JOB = '{"training_file": "file-abc", "model": "gpt-4o-mini", "method": {"type": "supervised", "supervised": %s}}'
EPOCHS = JOB % '{"hyperparameters": {"n_epochs": 2, "batch_size": 4}}'


def checked(command: str, files: dict[str, str] | None = None) -> Report:
    return check_project({"run.sh": f"#!/bin/bash\n{command}\n", **(files or {})}, paths=["run.sh"])


LINES: list[tuple[str, dict[str, str], str, dict[str, Any]]] = [
    (
        """openai api fine_tuning.jobs.create -m gpt-4o-mini -F file-abc -H '{"n_epochs": 3, "batch_size": 8}'""",
        {},
        "openai",
        {"epochs": 3, "effective_batch": 8},
    ),
    (
        "together fine-tuning create -t file-abc -M model --ne 3 --lr 1e-5 -b 8 --no-packing -y",
        {},
        "together",
        {"epochs": 3, "learning_rate": 1e-5},
    ),
    ("together fine-tuning create -t f -M m --training-method dpo", {}, "together", {"method": "dpo"}),
    ("firectl sftj create --base-model m --dataset d --epochs 2", {}, "fireworks", {"epochs": 2, "method": "sft"}),
    ("firectl create dpo-job --base-model m --dataset d --epochs 2", {}, "fireworks", {"epochs": 2, "method": "dpo"}),
    (BEDROCK + "--hyper-parameters epochCount=2,learningRate=0.00002", {}, "bedrock", {"epochs": 2}),
    (BEDROCK + """--hyper-parameters '{"epochCount": "2"}'""", {}, "bedrock", {"epochs": 2}),
    (BEDROCK + "--hyper-parameters file://hp.json", {"hp.json": '{"epochCount": "4"}'}, "bedrock", {"epochs": 4}),
    (SAGEMAKER + "--hyper-parameters epochs=3", {}, "sagemaker", {"epochs": 3}),
    (
        SAGEMAKER + "--resource-config InstanceType=ml.g5.2xlarge,InstanceCount=1,VolumeSizeInGB=50 "
        "--stopping-condition MaxRuntimeInSeconds=3600 --hyper-parameters epochs=3",
        {},
        "sagemaker",
        {"epochs": 3},
    ),
    ("az ml job create --file job.yml -g group", {"job.yml": AZURE}, "azure-ml", {"epochs": 3}),
    (
        "az ml job create -f job.yml --set hyperparameters.n_epochs=5",
        {"job.yml": AZURE},
        "azure-ml",
        {"epochs": 5, "effective_batch": 8},
    ),
    (
        (
            "gcloud beta ai tuning-jobs create --source-model=gemini-2.5-flash --training-dataset-uri=gs://b/t.jsonl"
            " --epoch-count=3 --learning-rate-multiplier=2.0"
        ),
        {},
        "vertex",
        {"epochs": 3, "learning_rate": 2.0},
    ),
    (f"curl https://api.openai.com/v1/fine_tuning/jobs -H 'A: b' -H 'C: d' -d '{EPOCHS}'", {}, "openai", {"epochs": 2}),
    (
        "curl -s -X POST https://api.openai.com/v1/fine_tuning/jobs -d @job.json",
        {"job.json": EPOCHS},
        "openai",
        {"epochs": 2},
    ),
    (
        (
            "curl https://api.together.xyz/v1/fine-tunes --json "
            """'{"training_file": "f", "model": "m", "n_epochs": 2, "training_type": {"type": "Lora"}}'"""
        ),
        {},
        "together",
        {"epochs": 2},
    ),
]


@pytest.mark.parametrize(("command", "files", "trainer", "facts"), LINES)
def test_a_line_is_a_run(command: str, files: dict[str, str], trainer: str, facts: dict[str, Any]) -> None:
    report = checked(command, files)
    assert [checked.run.trainer for checked in report.runs] == [trainer]
    assert {name: report.runs[0].scenarios.fact(name).value for name in facts} == facts
    assert [finding for finding in report.findings if finding.level != "note"] == []


@pytest.mark.parametrize(
    ("command", "code", "column"),
    [
        ("""openai api fine_tuning.jobs.create -m m -F f -H '{"n_epochs": 60}'""", "PRV005", 51),
        ("together fine-tuning create -t f -M m --warmup-ratio 1.5", "PRV005", 39),
        ("together fine-tuning create -t f", "PRV008", 1),
        ("firectl create sftj --base-model m --dataset d --epochs two", "PRV003", 48),
        (BEDROCK + "--hyper-parameters epochCount=9", "PRV005", len(BEDROCK) + 20),
        (BEDROCK + """--hyper-parameters '{"epochCount": 2}'""", "PRV003", len(BEDROCK) + 22),
        (BEDROCK.replace("--job-name tune", ""), "PRV008", 1),
        (SAGEMAKER.replace("name tune", "name my_job"), "PRV005", 35),
        (
            f"curl https://api.openai.com/v1/fine_tuning/jobs -d '{EPOCHS.replace('n_epochs', 'n_epoch')}'",
            "PRV004",
            175,
        ),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(command: str, code: str, column: int) -> None:
    findings = [finding for finding in checked(command).findings if finding.code == code]
    assert [finding.span.place.column for finding in findings] == [column]
    assert {finding.span.place.line for finding in findings} == {2}


@pytest.mark.parametrize(
    "command",
    [
        "curl 'https://api.openai.com/v1/fine_tuning/jobs?limit=2' -H 'A: b'",
        "openai api fine_tuning.jobs.retrieve -i ftjob-abc",
        "openai api fine_tuning.jobs.list",
        "together fine-tuning list",
        "together fine-tuning retrieve ft-abc",
        "firectl sftj list",
        "aws bedrock list-model-customization-jobs",
        "aws bedrock get-model-customization-job --job-identifier tune",
        "aws sagemaker describe-training-job --training-job-name tune",
        "az ml job show --name tune",
        "gcloud ai tuning-jobs list --region=us-central1",
        """curl https://api.openai.com/v1/chat/completions -d '{"model": "gpt-4o", "messages": []}'""",
        """curl https://api.openai.com/v1/fine_tuning/jobs -d "{\\"model\\": \\"$MODEL\\"}" """,
    ],
)
def test_other_commands_are_none(command: str) -> None:
    report = checked(command)
    assert report.runs == []
    assert report.findings == []


def test_a_file_that_is_not_there_leaves_everything_open() -> None:
    report = checked(BEDROCK + "--hyper-parameters file://gone.json")
    assert [finding for finding in report.findings if finding.level != "note"] == []
    assert report.runs[0].scenarios.fact("epochs").value is None


BODY = '{\n  "training_file": "file-abc",\n  "model": "m",\n  "hyperparameters": {"n_epochs": 60}\n}\n'
TWO = '60, "batch_size": $BATCH'
JOBS = "curl https://api.openai.com/v1/fine_tuning/jobs"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (f"{JOBS} -H 'A: b' -d @- <<EOF\n{BODY}EOF", 6),
        (f"{JOBS} --data-binary @- -H 'A: b' <<'EOF'\n{BODY}EOF", 6),
        (f"{JOBS} -d @- <<-EOF\n{BODY}EOF", 6),
        (f"cat <<EOF | {JOBS} -d @-\n{BODY}EOF", 6),
        (f"{JOBS} -d @- <<< '{BODY}'", 5),
        (f"echo '{BODY}' | {JOBS} -d @-", 5),
        (f'{JOBS} -d "$(cat <<EOF\n{BODY}EOF\n)"', 6),
        (f'BODY=$(cat <<EOF\n{BODY}EOF\n)\n{JOBS} -d "$BODY"', 6),
        (f"EPOCHS=60\n{JOBS} -d @- <<EOF\n{BODY.replace('60', '$EPOCHS')}EOF", 7),
        (f"{JOBS} -d @- <<EOF\n{BODY.replace('file-abc', '$FILE_ID')}EOF", 6),
        (f"{JOBS} -d @- <<EOF\n{BODY.replace('60', TWO)}EOF", 6),
        ("curl $HOST/openai/v1/fine_tuning/jobs -d @- <<EOF\n" + BODY + "EOF", 6),
    ],
)
def test_what_curl_reads_from_its_standard_input_is_the_request(command: str, line: int) -> None:
    report = checked(command)
    found = [finding for finding in report.findings if finding.code == "PRV005"]
    assert [finding.span.place.line for finding in found] == [line]
    assert len(report.runs) == 1


@pytest.mark.parametrize(
    "command",
    [
        f"{JOBS} -d @- <<EOF\n{BODY.replace('60', '$EPOCHS')}EOF",  # nobody says how many
        f"make_request | {JOBS} -d @-",
        f"{JOBS} -d @- < request.json",
    ],
)
def test_a_request_that_cannot_be_seen_is_not_judged(command: str) -> None:
    assert [finding for finding in checked(command).findings if finding.level != "note"] == []
