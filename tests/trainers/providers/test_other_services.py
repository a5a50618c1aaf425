"""Snowflake, Baidu, Tinker and Replicate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import check_project

QUERY = """SELECT SNOWFLAKE.CORTEX.FINETUNE(
  'CREATE', 'my_db.my_schema.tuned', 'mistral-7b',
  'SELECT a AS prompt, b AS completion FROM train WHERE kind = ''x''',
  'SELECT a AS prompt, b AS completion FROM validation',
  '{"max_epochs": %s}'
);
"""


def facts(files: dict[str, str], *names: str, assume: dict[str, object] | None = None) -> tuple[str, dict[str, Any]]:
    report = check_project(files, assume)
    assert [finding for finding in report.findings if finding.level == "error"] == []
    (checked,) = report.runs
    return checked.run.trainer, {name: checked.scenarios.fact(name).value for name in names}


def errors(files: dict[str, str]) -> list[tuple[str, int]]:
    return [
        (finding.code, finding.span.place.line) for finding in check_project(files).findings if finding.level == "error"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tune.sql", QUERY % 3),
        ("tune.py", f'session.sql("""{QUERY % 3}""").collect()  # fine-tuning\n'),
        ("tune.sql", (QUERY % 3).lower().replace("'create'", "'create'")),
    ],
)
def test_a_query_is_a_run(name: str, text: str) -> None:
    assert facts({name: text}, "epochs", "total_steps") == ("snowflake", {"epochs": 3, "total_steps": None})


def test_epochs_out_of_range_in_a_query() -> None:
    assert errors({"tune.sql": QUERY % 30}) == [("PRV005", 5)]
    assert errors({"tune.py": f'session.sql("""{QUERY % 30}""")  # fine-tuning\n'}) == [("PRV005", 5)]
    assert errors({"tune.sql": QUERY.replace("max_epochs", "max_epoch") % 3}) == [("PRV004", 5)]


@pytest.mark.parametrize("word", ["SHOW", "DESCRIBE", "CANCEL"])
def test_other_queries_are_none(word: str) -> None:
    assert check_project({"tune.sql": f"SELECT SNOWFLAKE.CORTEX.FINETUNE('{word}', 'id');"}).runs == []


FIRST = {"taskId": "task", "baseTrainType": "ERNIE-Bot-turbo", "trainset": [{"type": 1, "id": 12}],
         "trainConfig": {"epoch": 2, "learningRate": 0.00003, "batchSize": 32, "trainsetRate": 20}}  # fmt: skip
SECOND = {"jobId": "job", "hyperParameterConfig": {"epoch": 2, "learningRate": 0.00003, "batchSize": 32},
          "datasetConfig": {"datasets": [{"versionId": "ds-1"}], "splitRatio": 20}}  # fmt: skip


@pytest.mark.parametrize("body", [FIRST, SECOND])
def test_qianfan_holds_a_part_of_the_data_back(body: dict[str, Any]) -> None:
    found = facts({"job.json": json.dumps(body)}, "records", "total_steps", assume={"records": 1000})
    assert found == ("baidu", {"records": 800, "total_steps": 50})


def test_qianfan_in_python() -> None:
    text = """\
from qianfan.trainer import LLMFinetune
from qianfan.trainer.configs import TrainConfig

LLMFinetune(train_type="ERNIE-Speed", dataset=data, train_config=TrainConfig(epoch=2, batch_size=32))
"""
    assert facts({"tune.py": text}, "epochs", "effective_batch") == ("baidu", {"epochs": 2, "effective_batch": 32})
    assert errors({"tune.py": text.replace("epoch=2", "epoch=60")}) == [("PRV005", 4)]


CONFIG = """\
import chz
from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig
from my_data import Builder

common = ChatDatasetBuilderCommonConfig(
    model_name_for_tokenizer="m", renderer_name="r", max_length=1024, batch_size=128
)
"""


@pytest.mark.parametrize(
    "call",
    [
        'train.Config(log_path="l", model_name="m", dataset_builder=Builder(common_config=common), num_epochs=2)',
        (
            'chz.Blueprint(train.Config).apply({"log_path": "l", "model_name": "m", "num_epochs": 2,'
            ' "dataset_builder": Builder(common_config=common)})'
        ),
    ],
)
def test_tinker_drops_the_last_batch(call: str) -> None:
    found = facts(
        {"train.py": f"{CONFIG}config = {call}\n"}, "steps_per_epoch", "total_steps", assume={"records": 1000}
    )
    assert found == ("tinker", {"steps_per_epoch": 7, "total_steps": 14})


def test_tinker_stops_where_the_data_ends() -> None:
    call = 'train.Config(log_path="l", model_name="m", dataset_builder=Builder(common_config=common), max_steps=%s)'
    files = {"train.py": f"{CONFIG}config = {call % 200}\n"}
    assert facts(files, "total_steps", assume={"records": 12_800})[1] == {"total_steps": 100}
    files = {"train.py": f"{CONFIG}config = {call % 80}\n"}
    assert facts(files, "total_steps", assume={"records": 12_800})[1] == {"total_steps": 80}


def test_another_blueprint_is_no_run() -> None:
    assert check_project({"train.py": f"{CONFIG}chz.Blueprint(Other).apply({{'num_epochs': 2}})\n"}).runs == []


def test_replicate_needs_a_destination() -> None:
    text = """\
import replicate

replicate.trainings.create(
    version="meta/llama-2-7b:73001d654114dad81ec65da3b834e2f691af1e1526453189b7bf36fb3f32d0f9",
    input={"train_data": "https://example.com/train.jsonl", "num_train_epochs": 3},
    destination="me/tuned",
)
"""
    assert facts({"tune.py": text}, "epochs") == ("replicate", {"epochs": 3})
    assert errors({"tune.py": text.replace("    destination", "    # destination")}) == [("PRV008", 3)]


def said(name: str, body: object) -> list[str]:
    text = body if isinstance(body, str) else json.dumps(body)
    return [finding.code for finding in check_project({name: text}).findings if finding.level != "note"]


BEDROCK = {
    "jobName": "j", "customModelName": "c", "roleArn": "arn:aws:iam::123456789012:role/E",
    "trainingDataConfig": {"s3Uri": "s3://b/t"}, "outputDataConfig": {"s3Uri": "s3://b/o"},
}  # fmt: skip
PREDIBASE = "from predibase import SFTConfig\n\nconfig = SFTConfig(base_model='m', effective_batch_size=8, %s)\n"


@pytest.mark.parametrize(
    ("model", "hyper", "codes"),
    [
        ("amazon.titan-embed-image-v1", {"epochCount": "100", "batchSize": "576"}, []),
        ("amazon.titan-embed-image-v1", {"epochCount": "Auto", "batchSize": "9216"}, []),
        ("amazon.titan-embed-image-v1", {"epochCount": "101", "batchSize": "576"}, ["PRV005"]),
        ("amazon.titan-embed-image-v1", {"epochCount": "5", "batchSize": "128"}, ["PRV005"]),
        ("amazon.titan-image-generator-v2:0", {"stepCount": "1000", "batchSize": "8"}, []),
        ("amazon.nova-canvas-v1:0", {"stepCount": "1000", "batchSize": "8"}, []),
    ],
)
def test_models_of_images_have_ranges_of_their_own(model: str, hyper: dict[str, str], codes: list[str]) -> None:
    assert said("job.json", {**BEDROCK, "baseModelIdentifier": model, "hyperParameters": hyper}) == codes


@pytest.mark.parametrize(
    ("name", "body", "codes"),
    [
        (
            "dpo.json",
            {"dataset": "d", "trainingConfig": {"baseModel": "m"}, "lossConfig": {"dpo": {"beta": 0.5}}},
            ["PRV005"],
        ),
        (
            "dpo.json",
            {"dataset": "d", "trainingConfig": {"baseModel": "m"}, "lossConfig": {"dpo": {"beta": 0.4}}},
            [],
        ),
        ("tune.py", PREDIBASE % "warmup_ratio=0.0", ["PRV005"]),
        ("tune.py", PREDIBASE % "warmup_ratio=0.03, lora_dropout=0.1", []),
        ("job.json", {**SECOND, "datasetConfig": {"datasets": [], "splitRatio": 51}}, ["PRV005"]),
        ("job.json", {**FIRST, "trainsetRate": 51}, ["PRV005"]),
    ],
)
def test_ranges(name: str, body: object, codes: list[str]) -> None:
    assert said(name, body) == codes


def vertex(**hyper: object) -> dict[str, Any]:
    return {"baseModel": "g", "supervisedTuningSpec": {"trainingDatasetUri": "gs://b/t", "hyperParameters": hyper}}


@pytest.mark.parametrize(
    ("hyper", "codes"),
    [
        ({"adapterSize": "ADAPTER_SIZE_FOUR"}, []),
        ({"adapterSize": 4}, []),  # the number of an enum's value
        ({"adapterSize": "ADAPTER_SIZE_THREE"}, ["PRV005"]),
        ({"epochcount": 3}, ["PRV004"]),
        ({"epochCount": 3, "samplesPerPrompt": 8}, []),
        ({"learningRate": 1e-4, "learningRateMultiplier": 1.0}, ["CFG011"]),
    ],
)
def test_vertex(hyper: dict[str, Any], codes: list[str]) -> None:
    assert said("job.json", vertex(**hyper)) == codes


def test_a_slip_is_told_where_not_every_name_is_known() -> None:
    job = {"model": "open-mistral-7b", "training_files": [{"file_id": "f"}]}
    assert said("job.json", {**job, "hyperparameters": {"n_epochs": 3}}) == ["PRV004"]
    assert said("job.json", {**job, "hyperparameters": {"epochs": 3, "checkpoint_every": 3}}) == []


def test_what_nobody_set_is_shown_as_minus_one() -> None:
    hyper = {"n_epochs": -1, "batch_size": -1, "learning_rate_multiplier": 2.0}
    assert (
        said(
            "job.json",
            {
                "model": "gpt-4.1",
                "training_file": "f",
                "method": {"type": "supervised", "supervised": {"hyperparameters": hyper}},
            },
        )
        == []
    )


def test_a_provider_of_models_that_is_not_known_is_told_alone() -> None:
    text = "type: finetuning\ntask: chat_completion\nmodel: {path: m}\ntraining_data: t.jsonl\n"
    assert said("job.yml", f"{text}model_provider: azure_openai\nhyperparameters: {{n_epochs: 3}}\n") == ["PRV005"]


ESTIMATOR = """\
from sagemaker.pytorch import PyTorch

PyTorch(entry_point="train.py", instance_type="ml.p4d.24xlarge", hyperparameters={%s}).fit()
"""


@pytest.mark.parametrize(
    ("hyperparameters", "method"),
    [('"epochs": 100, "hidden_channels": 4', None), ('"epochs": 3, "model_id": "gpt2"', "sft")],
)
def test_a_container_may_train_anything_on_any_number_of_devices(hyperparameters: str, method: str | None) -> None:
    known = facts({"start.py": ESTIMATOR % hyperparameters}, "method", "gpus")
    assert known == ("sagemaker", {"method": method, "gpus": None})


PIPELINE = """\
type: pipeline
jobs:
  one:
    type: pipeline
    component: azureml://registries/azureml/components/%s/labels/latest
    inputs: {num_train_epochs: 3}
"""


@pytest.mark.parametrize(
    ("component", "method"),
    [
        ("text_generation_pipeline", "sft"),
        ("image_classification_pipeline", None),
        ("token_classification_pipeline", None),
    ],
)
def test_pipelines_of_the_registry(component: str, method: str | None) -> None:
    assert facts({"job.yaml": PIPELINE % component}, "epochs", "method") == (
        "azure-ml",
        {"epochs": 3, "method": method},
    )


@pytest.mark.parametrize("component", ["model_evaluation_pipeline", "batch_inference_pipeline"])
def test_a_pipeline_that_trains_nothing(component: str) -> None:
    assert check_project({"job.yaml": PIPELINE % component}).runs == []
