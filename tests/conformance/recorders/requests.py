"""Requests of fine-tuning jobs, given to what the services' own SDKs check before anything is sent.

    bedrock, sagemaker, autopilot   botocore: `ParamValidator` over the operation's input shape
    openai                          openai: pydantic, strict, over the SDK's request types; keys that they lack refused
    azure-ml                        azure-ai-ml: `load_job` of the YAML
    together                        together: the client's own function that builds a request, with wide model limits
    vertex                          google-genai: `CreateTuningJobConfig`
    mistral                         mistralai: the arguments of `jobs.create` as its request model takes them

Each case is a body, or a body with one change. What is importable is recorded; the others stay as they are. Nothing is
sent, no credentials are read.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import random
import re
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import arguments, attempt, packages, report, save

Body = dict[str, Any]
LIMIT = 220  # cases a service, the bodies themselves included
ROLE = "arn:aws:iam::123456789012:role/Example"
CHAT = {"type": "mlflow_model", "path": "azureml://registries/azureml/models/Phi-3-mini/versions/1"}
FILES = {
    "training_data": {"type": "uri_file", "path": "./train.jsonl"},
    "validation_data": {"type": "uri_file", "path": "./validation.jsonl"},
}


def bedrock(model: str, hyperparameters: Body, **more: Any) -> Body:
    return {
        "jobName": "tune-1",
        "customModelName": "tuned",
        "roleArn": ROLE,
        "baseModelIdentifier": model,
        "customizationType": "FINE_TUNING",
        "trainingDataConfig": {"s3Uri": "s3://example/train.jsonl"},
        "outputDataConfig": {"s3Uri": "s3://example/out/"},
        "hyperParameters": hyperparameters,
        **more,
    }


BODIES: dict[str, Body] = {
    "bedrock/claude": bedrock(
        "anthropic.claude-3-haiku-20240307-v1:0:200k",
        {"epochCount": "2", "batchSize": "32", "learningRateMultiplier": "1.0"},
        validationDataConfig={"validators": [{"s3Uri": "s3://example/validation.jsonl"}]},
    ),
    "bedrock/nova": bedrock(
        "amazon.nova-lite-v1:0:300k",
        {"epochCount": "2", "learningRate": "0.00001", "learningRateWarmupSteps": "10"},
        vpcConfig={"subnetIds": ["subnet-1"], "securityGroupIds": ["sg-1"]},
        jobTags=[{"key": "team", "value": "nlp"}],
    ),
    "bedrock/rft": {
        **{key: value for key, value in bedrock("amazon.nova-2-lite-v1:0", {}).items() if key != "hyperParameters"},
        "customizationType": "REINFORCEMENT_FINE_TUNING",
        "customizationConfig": {
            "rftConfig": {
                "graderConfig": {"lambdaGrader": {"lambdaArn": "arn:aws:lambda:us-east-1:123456789012:function:grade"}},
                "hyperParameters": {"epochCount": 2, "batchSize": 64, "learningRate": 0.00001, "evalInterval": 10},
            }
        },
    },
    "sagemaker/job": {
        "TrainingJobName": "tune-1",
        "RoleArn": ROLE,
        "AlgorithmSpecification": {"TrainingImage": "image:latest", "TrainingInputMode": "File"},
        "HyperParameters": {"epoch": "3", "per_device_train_batch_size": "4", "learning_rate": "0.0001"},
        "InputDataConfig": [
            {
                "ChannelName": "training",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://example/train/"}},
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://example/out/"},
        "ResourceConfig": {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 1, "VolumeSizeInGB": 100},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    },
    "sagemaker/serverless": {
        "TrainingJobName": "tune-2",
        "RoleArn": ROLE,
        "HyperParameters": {"max_epochs": "2", "global_batch_size": "16"},
        "OutputDataConfig": {"S3OutputPath": "s3://example/out/"},
        "ServerlessJobConfig": {
            "BaseModelArn": "arn:aws:sagemaker:us-east-1:aws:hub-content/SageMakerPublicHub/Model/llama/1.0.0",
            "AcceptEula": True,
            "JobType": "FineTuning",
            "CustomizationTechnique": "SFT",
        },
    },
    "autopilot/text": {
        "AutoMLJobName": "tune-3",
        "RoleArn": ROLE,
        "AutoMLJobInputDataConfig": [
            {
                "ChannelType": "training",
                "ContentType": "text/csv;header=present",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://example/train.csv"}},
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://example/out/"},
        "AutoMLProblemTypeConfig": {
            "TextGenerationJobConfig": {
                "BaseModelName": "Falcon7BInstruct",
                "TextGenerationHyperParameters": {"epochCount": "5", "batchSize": "1", "learningRate": "0.00001"},
            }
        },
    },
    "openai/supervised": {
        "model": "gpt-4o-mini-2024-07-18",
        "training_file": "file-abc",
        "validation_file": "file-def",
        "suffix": "mine",
        "seed": 42,
        "method": {
            "type": "supervised",
            "supervised": {"hyperparameters": {"n_epochs": 3, "batch_size": 8, "learning_rate_multiplier": 1.5}},
        },
        "integrations": [{"type": "wandb", "wandb": {"project": "tunes", "tags": ["first"]}}],
    },
    "openai/dpo": {
        "model": "gpt-4o-2024-08-06",
        "training_file": "file-abc",
        "method": {
            "type": "dpo",
            "dpo": {"hyperparameters": {"beta": 0.1, "n_epochs": "auto", "batch_size": "auto"}},
        },
    },
    "openai/reinforcement": {
        "model": "o4-mini-2025-04-16",
        "training_file": "file-abc",
        "validation_file": "file-def",
        "method": {
            "type": "reinforcement",
            "reinforcement": {
                "grader": {
                    "type": "string_check",
                    "name": "same",
                    "operation": "eq",
                    "input": "{{sample.output_text}}",
                    "reference": "{{item.answer}}",
                },
                "hyperparameters": {
                    "n_epochs": 1,
                    "compute_multiplier": 1.5,
                    "eval_interval": 5,
                    "eval_samples": 2,
                    "reasoning_effort": "medium",
                },
            },
        },
    },
    "openai/old": {
        "model": "gpt-3.5-turbo",
        "training_file": "file-abc",
        "hyperparameters": {"n_epochs": 3, "batch_size": 4, "learning_rate_multiplier": 2.0},
        "metadata": {"team": "nlp"},
    },
    "azure-ml/openai": {
        "type": "finetuning",
        "name": "tune-1",
        "task": "chat_completion",
        "model": CHAT,
        **FILES,
        "model_provider": "azure_open_ai",
        "hyperparameters": {"n_epochs": 3, "batch_size": 8, "learning_rate_multiplier": 0.5},
        "tags": {"team": "nlp"},
        "outputs": {"registered_model": {"type": "mlflow_model", "name": "tuned"}},
    },
    "azure-ml/custom": {
        "$schema": "https://azuremlschemas.azureedge.net/latest/finetuningJob.schema.json",
        "type": "finetuning",
        "display_name": "A tune",
        "experiment_name": "tunes",
        "task": "text_completion",
        "model": CHAT,
        **FILES,
        "model_provider": "custom",
        "hyperparameters": {
            "num_train_epochs": "1",
            "per_device_train_batch_size": "1",
            "learning_rate": "0.00002",
        },
        "resources": {"instance_types": ["Standard_NC96ads_A100_v4"]},
        "queue_settings": {"job_tier": "standard"},
        "outputs": {"registered_model": {"type": "mlflow_model", "name": "tuned"}},
    },
    "together/sft": {
        "training_file": "file-abc",
        "validation_file": "file-def",
        "model": "meta-llama/Meta-Llama-3.1-8B-Instruct-Reference",
        "n_epochs": 3,
        "batch_size": 8,
        "learning_rate": 0.00001,
        "warmup_ratio": 0.1,
        "weight_decay": 0.01,
        "max_grad_norm": 1.0,
        "n_evals": 4,
        "early_stopping_enabled": True,
        "train_on_inputs": "auto",
    },
    "together/dpo": {
        "training_file": "file-abc",
        "model": "meta-llama/Meta-Llama-3.1-8B-Instruct-Reference",
        "training_method": "dpo",
        "dpo_beta": 0.1,
        "lora": True,
        "lora_dropout": 0.1,
        "min_lr_ratio": 0.1,
        "scheduler_num_cycles": 0.5,
        "batch_size": "max",
    },
    "vertex/sft": {
        "epoch_count": 3,
        "learning_rate_multiplier": 1.0,
        "adapter_size": "ADAPTER_SIZE_FOUR",
        "tuned_model_display_name": "tuned",
        "method": "SUPERVISED_FINE_TUNING",
        "labels": {"team": "nlp"},
        "validation_dataset": {"gcs_uri": "gs://example/validation.jsonl"},
    },
    "vertex/preference": {"epoch_count": 1, "beta": 0.1, "method": "PREFERENCE_TUNING", "batch_size": 8},
    "mistral/epochs": {
        "model": "open-mistral-7b",
        "training_files": [{"file_id": "3f2b6f0e-4a3b-4a27-9c55-0c8b1f0a5f6b", "weight": 1}],
        "validation_files": ["0c8b1f0a-4a3b-4a27-9c55-3f2b6f0e5f6b"],
        "hyperparameters": {"epochs": 3, "learning_rate": 0.0001, "warmup_fraction": 0.05, "weight_decay": 0.1},
        "suffix": "mine",
        "auto_start": False,
    },
    "mistral/steps": {
        "model": "open-mistral-7b",
        "training_files": [{"file_id": "3f2b6f0e-4a3b-4a27-9c55-0c8b1f0a5f6b", "weight": 1}],
        "hyperparameters": {"training_steps": 100, "learning_rate": 0.0001, "fim_ratio": 0.5, "seq_len": 4096},
        "job_type": "completion",
    },
}


# Cases ------------------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value of a body with its path, the outer ones first."""
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changes(body: Body) -> Iterator[Body]:
    """A body's changes, one each: a key less, a key more, a misspelt key, another type, a value out of bounds."""
    yield {"set": ["extra_key"], "value": "x"}
    for path, value in places(body):
        key = path[-1]
        if isinstance(key, str):
            yield {"drop": list(path)}
            if len(key) > 3:
                yield {"rename": list(path), "to": key[:-2] + key[-1] + key[-2]}
        if isinstance(value, dict):
            yield {"set": [*path, "extra_key"], "value": "x"}
            others: tuple[Any, ...] = ("text", [], None, 5)
        elif isinstance(value, list):
            others = ("text", {}, None, [])
        elif isinstance(value, bool):
            others = ("yes", 2, None)
        elif isinstance(value, (int, float)):
            others = (str(value), -1, 0, 0.5, 7, 100000, True, None, "auto", "many", [value])
        else:
            others = (
                12,
                0.5,
                True,
                None,
                [value],
                {"a": value},
                "",
                "a b!",
                "under_score",
                {"letters": 300},
                "-5",
                "99999",
            )
        for other in others:
            if other != value or type(other) is not type(value):
                yield {"set": list(path), "value": other}


def cases() -> dict[str, Body]:
    found: dict[str, Body] = {}
    services = sorted({name.partition("/")[0] for name in BODIES})
    for service in services:
        bodies = {name: body for name, body in BODIES.items() if name.startswith(service + "/")}
        made = []
        for name, body in bodies.items():
            found[name] = {"body": body}
            for change in changes(body):
                path = change.get("drop") or change.get("rename") or change["set"]
                kind = next(iter(change))
                told = f" {change['value']!r}" if kind == "set" else ""
                made.append((f"{name} {kind} {'.'.join(map(str, path))}{told}", {"of": name, **change}))
        random.Random(service).shuffle(made)
        found.update(made[: LIMIT - len(bodies)])
    return found


def request_of(case: Body) -> Body:
    """The body that a case stands for."""
    if "body" in case:
        return copy.deepcopy(case["body"])  # type: ignore[no-any-return]
    body = copy.deepcopy(BODIES[case["of"]])
    path = case.get("drop") or case.get("rename") or case["set"]
    owner: Any = body
    for part in path[:-1]:
        owner = owner[part]
    if "drop" in case:
        del owner[path[-1]]
    elif "rename" in case:
        owner[case["to"]] = owner.pop(path[-1])
    else:
        value = case["value"]
        owner[path[-1]] = "a" * value["letters"] if isinstance(value, dict) and "letters" in value else value
    return body


# What the SDKs say ------------------------------------------------------------------------------------------------


class RefusedError(Exception):
    """A validator that returns its complaints instead of raising."""


def botocore_checks() -> dict[str, Callable[[Body], object]]:
    import botocore.session
    from botocore.validate import ParamValidator

    session = botocore.session.get_session()

    def checker(service: str, operation: str) -> Callable[[Body], object]:
        shape = session.get_service_model(service).operation_model(operation).input_shape

        def check(body: Body) -> None:
            found = ParamValidator().validate(body, shape)
            if found.has_errors():
                raise RefusedError(found.generate_report().replace("\n", "; "))

        return check

    return {
        "bedrock": checker("bedrock", "CreateModelCustomizationJob"),
        "sagemaker": checker("sagemaker", "CreateTrainingJob"),
        "autopilot": checker("sagemaker", "CreateAutoMLJobV2"),
    }


def openai_checks() -> dict[str, Callable[[Body], object]]:
    from openai.types.fine_tuning import job_create_params
    from pydantic import TypeAdapter

    closed: set[Any] = set()

    def close(kind: Any) -> None:
        """Keys that a type lacks are refused, as a type checker refuses them."""
        if (typing.is_typeddict(kind) or hasattr(kind, "__total__")) and kind not in closed:
            closed.add(kind)
            kind.__pydantic_config__ = {"extra": "forbid"}
            for hint in typing.get_type_hints(kind).values():
                close(hint)
        for inner in typing.get_args(kind):
            close(inner)

    close(job_create_params.JobCreateParams)
    adapter = TypeAdapter(job_create_params.JobCreateParams)

    def check(body: Body) -> None:
        found: Any = adapter.validate_python(body, strict=True)
        for lazy in (found.get("integrations"), found.get("integrations") and found["integrations"]):
            if lazy is not None and not isinstance(lazy, list):
                list(lazy)

    return {"openai": check}


def azure_checks() -> dict[str, Callable[[Body], object]]:
    import logging

    import yaml
    from azure.ai.ml import load_job

    logging.disable(logging.CRITICAL)

    def check(body: Body) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("train.jsonl", "validation.jsonl"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                    stream.write("{}\n")
            path = os.path.join(folder, "job.yaml")
            with open(path, "w", encoding="utf-8") as stream:
                yaml.safe_dump(body, stream, sort_keys=False)
            try:
                load_job(path)
            except Exception as error:
                told = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
                raise RefusedError(told.partition("failed: ")[2] or told) from None

    return {"azure-ml": check}


def together_checks() -> dict[str, Callable[[Body], object]]:
    import inspect

    from together.lib.resources.fine_tuning import create_finetune_request
    from together.resources.fine_tuning import FineTuningResource
    from together.types.finetune_model_limits import FinetuneModelLimits

    spread = {"min": 1, "max": 1000}
    limits = FinetuneModelLimits.construct(
        max_num_epochs=20, max_num_evals=100, max_num_checkpoints=100, min_learning_rate=0.0, max_learning_rate=1.0,
        supports_vision=False, supports_tools=True, supports_reasoning=False, merge_output_lora=True,
        min_max_seq_length=1, max_seq_length_sft=100000, max_seq_length_dpo=100000, model_name="model",
        full_training=None, spread=spread,
        lora_training=type("Lora", (), {
            "max_rank": 64, "min_batch_size": 1, "max_batch_size": 1000, "max_batch_size_dpo": 1000, "default_rank": 8,
            "target_modules": ["all-linear"], "default_gradient_accumulation_steps": 1,
        })(),
    )  # fmt: skip
    names = set(inspect.signature(create_finetune_request).parameters)
    public = set(inspect.signature(FineTuningResource.create).parameters) - {"self"}

    def check(body: Body) -> None:
        unknown = set(body) - public
        if unknown:
            raise TypeError(f"create() got an unexpected keyword argument {min(unknown)!r}")
        if "training_file" not in body:
            raise TypeError("create() missing 1 required keyword-only argument: 'training_file'")
        create_finetune_request(model_limits=limits, **{key: value for key, value in body.items() if key in names})

    return {"together": check}


def genai_checks() -> dict[str, Callable[[Body], object]]:
    from google.genai.types import CreateTuningJobConfig

    return {"vertex": lambda body: CreateTuningJobConfig(**body)}


def mistral_checks() -> dict[str, Callable[[Body], object]]:
    from mistralai import models, utils

    def check(body: Body) -> None:
        known = set(models.JobIn.model_fields)
        unknown = set(body) - known
        if unknown:
            raise TypeError(f"create() got an unexpected keyword argument {min(unknown)!r}")
        for key in ("model", "hyperparameters"):
            if key not in body:
                raise TypeError(f"create() missing 1 required keyword-only argument: {key!r}")
        told = {**body, "hyperparameters": utils.get_pydantic_model(body["hyperparameters"], models.Hyperparameters)}
        files = utils.get_pydantic_model(body.get("training_files"), list[models.TrainingFile] | None)
        models.JobIn(**{**told, **({"training_files": files} if "training_files" in body else {})})

    return {"mistral": check}


SDKS: dict[str, tuple[str, Callable[[], dict[str, Callable[[Body], object]]]]] = {
    "botocore": ("botocore", botocore_checks),
    "openai": ("openai", openai_checks),
    "azure-ai-ml": ("azure.ai.ml", azure_checks),
    "together": ("together", together_checks),
    "google-genai": ("google.genai", genai_checks),
    "mistralai": ("mistralai", mistral_checks),
}


def importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def accepted(check: Callable[[Body], object], body: Body) -> Body:
    check(body)
    return {"accepted": True}


def main() -> None:
    options = arguments(__doc__.splitlines()[0] if __doc__ else "", "requests.json")
    asked = {name: case for name, case in cases().items() if name.startswith(options.only)}
    for package, (module, checks) in SDKS.items():
        if not importable(module):
            continue
        runs: dict[str, Body] = {}
        for service, check in checks().items():
            for name, case in asked.items():
                if name.startswith(service + "/"):
                    runs[name] = attempt(partial(accepted, check, request_of(case)))
                    if "text" in runs[name]:
                        runs[name]["text"] = runs[name]["text"][:90]
        installed = packages(package, "pydantic", "marshmallow")
        version = f"{package} {installed.get(package, '')}"
        if options.show:
            for name, happened in runs.items():
                print(name, happened)
        else:
            used = {name: asked[name] for name in runs}
            save(options.out, "recorders/requests.py", used, version, runs, installed)
        report(version, runs)


if __name__ == "__main__":
    main()
