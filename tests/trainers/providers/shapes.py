"""Every hosted service's request in every form that is read: as a file and in Python."""

from __future__ import annotations

# (trainer, file's name, text)
FILES: list[tuple[str, str, str]] = [
    ("openai", "job.json", '{"model": "gpt-4o", "training_file": "file-a"}'),
    ("openai", "job.json", '{"model": "gpt-4o", "training_file": "file-a", "hyperparameters": {"n_epochs": 2}}'),
    (
        "openai",
        "job.yaml",
        "model: gpt-4o\ntraining_file: file-a\nmethod:\n  type: dpo\n  dpo:\n    hyperparameters: {beta: 0.1}\n",
    ),
    ("openai", "v0.json", '{"model": "davinci", "training_file": "file-a", "n_epochs": 2, "prompt_loss_weight": 0.1}'),
    (
        "azure-openai",
        "job.json",
        '{"model": "gpt-4o", "training_file": "file-a", "trainingType": "GlobalStandard", "hyperparameters": {}}',
    ),
    (
        "nebius",
        "job.json",
        '{"model": "m", "training_file": "file-a", "hyperparameters": {"n_epochs": 3, "learning_rate": 1e-5}}',
    ),
    (
        "together",
        "job.json",
        '{"model": "m", "training_file": "file-a", "n_epochs": 3, "training_type": {"type": "Lora"}}',
    ),
    ("together", "job.json", '{"model": "m", "training_file": "file-a", "n_epochs": 3, "n_checkpoints": 1}'),
    ("together", "job.json", '{"model": "m", "training_file": "file-a", "n_epochs": 3, "learning_rate": 1e-5}'),
    (
        "mistral-api",
        "job.json",
        '{"model": "m", "training_files": [{"file_id": "a"}], "hyperparameters": {"training_steps": 10}}',
    ),
    (
        "dashscope",
        "job.json",
        '{"model": "qwen", "training_file_ids": ["a"], "hyper_parameters": {"n_epochs": 1}, "training_type": "sft"}',
    ),
    (
        "cohere",
        "job.json",
        '{"name": "n", "settings": {"base_model": {"base_type": "BASE_TYPE_CHAT"}, "dataset_id": "d"}}',
    ),
    ("baidu", "job.json", '{"trainset": [{"type": 1, "id": 2}], "trainConfig": {"epoch": 1}, "baseTrainType": "t"}'),
    ("baidu", "job.json", '{"jobId": "j", "hyperParameterConfig": {"epoch": 1}, "datasetConfig": {"splitRatio": 20}}'),
    ("fireworks", "job.json", '{"dataset": "d", "baseModel": "m", "epochs": 2, "learningRate": 1e-4, "loraRank": 8}'),
    ("fireworks", "job.json", '{"dataset": "d", "warmStartFrom": "m", "epochs": 2}'),
    (
        "fireworks",
        "dpo.json",
        '{"dataset": "d", "trainingConfig": {"baseModel": "m", "epochs": 1}, "lossConfig": {"method": "DPO"}}',
    ),
    (
        "vertex",
        "job.json",
        '{"baseModel": "gemini-2.5-flash", "supervisedTuningSpec": {"trainingDatasetUri": "gs://b/t.jsonl"}}',
    ),
    (
        "vertex",
        "job.json",
        '{"baseModel": "g", "preferenceOptimizationSpec": {"trainingDatasetUri": "gs://b/t.jsonl"}}',
    ),
    ("vertex", "job.json", '{"baseModel": "g", "distillationSpec": {"trainingDatasetUri": "gs://b/t.jsonl"}}'),
    ("vertex", "job.json", '{"baseModel": "g", "reinforcementTuningSpec": {"trainingDatasetUri": "gs://b/t.jsonl"}}'),
    ("vertex", "job.json", '{"baseModel": "g", "partnerModelTuningSpec": {"trainingDatasetUri": "gs://b/t.jsonl"}}'),
    ("vertex", "job.yaml", "base_model: g\nsupervised_tuning_spec:\n  training_dataset_uri: gs://b/t.jsonl\n"),
    (
        "bedrock",
        "job.json",
        (
            '{"jobName": "j", "baseModelIdentifier": "amazon.nova-lite-v1:0", "trainingDataConfig": {"s3Uri": "s3://b/t"},'
            ' "outputDataConfig": {"s3Uri": "s3://b/o"}, "hyperParameters": {"epochCount": "2"}}'
        ),
    ),
    (
        "sagemaker",
        "job.json",
        '{"TrainingJobName": "j", "AlgorithmSpecification": {}, "HyperParameters": {"epoch": "2"}}',
    ),
    (
        "sagemaker",
        "auto.json",
        '{"AutoMLProblemTypeConfig": {"TextGenerationJobConfig": {"TextGenerationHyperParameters": {}}}}',
    ),
    (
        "sagemaker",
        "serverless.json",
        (
            '{"TrainingJobName": "j", "ServerlessJobConfig": {"BaseModelArn": "a", "JobType": "FineTuning"},'
            ' "HyperParameters": {"max_epochs": "2"}}'
        ),
    ),
    (
        "sagemaker",
        "llmft.yaml",
        (
            "run: {name: a, model_type: llm_finetuning_aws}\ntrainer: {num_nodes: 1}\n"
            "training_config: {training_args: {max_epochs: 2, train_batch_size: 8}}\n"
        ),
    ),
    (
        "sagemaker",
        "nova.yaml",
        (
            "run: {name: a, model_type: amazon.nova-lite-v1, replicas: 4}\n"
            "training_config: {max_steps: 100, global_batch_size: 64}\n"
        ),
    ),
    ("azure-ml", "job.yaml", "type: finetuning\nmodel_provider: custom\ntraining_data: {path: ./t.jsonl}\n"),
    (
        "azure-ml",
        "pipeline.yaml",
        (
            "type: pipeline\njobs:\n  tune:\n    type: pipeline\n"
            "    component: azureml://registries/azureml/components/text_generation_pipeline/labels/latest\n"
            "    inputs: {num_train_epochs: 3, number_of_gpu_to_use_finetuning: 2}\n"
        ),
    ),
    ("databricks", "job.yaml", "model: m\ntrain_data_path: main.a.b\nregister_to: main.c\ntraining_duration: 3ep\n"),
    ("predibase", "job.yaml", "base_model: m\nepochs: 3\neffective_batch_size: 16\nlearning_rate: 0.0002\n"),
    ("snowflake", "job.sql", "SELECT SNOWFLAKE.CORTEX.FINETUNE('CREATE', 'm', 'mistral-7b', 'SELECT 1');"),
    (
        "fms-hf-tuning",
        "job.json",
        (
            '{"model_name_or_path": "m", "training_data_path": "t.jsonl", "num_train_epochs": 1,'
            ' "per_device_train_batch_size": 4}'
        ),
    ),
]

# (trainer, imports, call)
CALLS: list[tuple[str, str, str]] = [
    ("openai", "from openai import OpenAI", 'OpenAI().fine_tuning.jobs.create(model="m", training_file="file-a")'),
    ("openai", "import openai", 'openai.fine_tuning.jobs.create(model="m", training_file="file-a")'),
    (
        "openai",
        "from openai import AsyncOpenAI",
        'AsyncOpenAI().fine_tuning.jobs.create(model="m", training_file="file-a")',
    ),
    (
        "azure-openai",
        "from openai import AzureOpenAI",
        'AzureOpenAI(api_version="v").fine_tuning.jobs.create(model="m", training_file="file-a")',
    ),
    (
        "together",
        "from together import Together",
        'Together().fine_tuning.create(model="m", training_file="file-a", n_epochs=3)',
    ),
    (
        "mistral-api",
        "from mistralai import Mistral",
        (
            'Mistral(api_key="k").fine_tuning.jobs.create(model="m", training_files=[{"file_id": "a"}],'
            ' hyperparameters={"training_steps": 10})'
        ),
    ),
    (
        "mistral-api",
        "from mistralai.client import Mistral",
        (
            'Mistral(api_key="k").fine_tuning.jobs.create(model="m", training_files=[{"file_id": "a"}],'
            ' hyperparameters={"training_steps": 10})'
        ),
    ),
    (
        "fireworks",
        "from fireworks import Fireworks",
        'Fireworks().supervised_fine_tuning_jobs.create(base_model="m", dataset="d", epochs=3)',
    ),
    (
        "fireworks",
        "from fireworks import Fireworks",
        'Fireworks().dpo_jobs.create(dataset="d", training_config={"base_model": "m", "epochs": 3})',
    ),
    (
        "vertex",
        "from vertexai.tuning import sft",
        'sft.train(source_model="gemini-2.5-flash", train_dataset="gs://b/t.jsonl", epochs=3)',
    ),
    (
        "vertex",
        "from vertexai.preview.tuning import sft",
        'sft.train(source_model="gemini-2.5-flash", train_dataset="gs://b/t.jsonl", epochs=3)',
    ),
    (
        "vertex",
        "from google import genai\nfrom google.genai import types",
        (
            'genai.Client().tunings.tune(base_model="m", training_dataset=data,'
            " config=types.CreateTuningJobConfig(epoch_count=3))"
        ),
    ),
    (
        "bedrock",
        "import boto3",
        (
            'boto3.client("bedrock").create_model_customization_job(jobName="j", customModelName="c",'
            ' roleArn="arn:aws:iam::123456789012:role/R", baseModelIdentifier="amazon.nova-lite-v1:0",'
            ' trainingDataConfig={"s3Uri": "s3://b/t"}, outputDataConfig={"s3Uri": "s3://b/o"},'
            ' hyperParameters={"epochCount": "3"})'
        ),
    ),
    (
        "sagemaker",
        "import boto3",
        (
            'boto3.Session().client("sagemaker").create_training_job(TrainingJobName="j",'
            ' RoleArn="arn:aws:iam::123456789012:role/R", OutputDataConfig={"S3OutputPath": "s3://b/o"},'
            ' HyperParameters={"epochs": "3"})'
        ),
    ),
    (
        "sagemaker",
        "from sagemaker.jumpstart.estimator import JumpStartEstimator",
        (
            'JumpStartEstimator(model_id="meta-textgeneration-llama-3-8b", instance_type="ml.g5.12xlarge",'
            ' hyperparameters={"epoch": "3", "instruction_tuned": "True"})'
        ),
    ),
    (
        "sagemaker",
        "from sagemaker.huggingface import HuggingFace",
        (
            'HuggingFace(entry_point="train.py", instance_type="ml.p4d.24xlarge", instance_count=1,'
            ' hyperparameters={"epochs": 3, "per_device_train_batch_size": 4})'
        ),
    ),
    (
        "cohere",
        "import cohere\nfrom cohere.finetuning import FinetunedModel, Settings, BaseModel, Hyperparameters",
        (
            'cohere.Client("k").finetuning.create_finetuned_model(request=FinetunedModel(name="n",'
            ' settings=Settings(base_model=BaseModel(base_type="BASE_TYPE_CHAT"), dataset_id="d",'
            " hyperparameters=Hyperparameters(train_epochs=3))))"
        ),
    ),
    (
        "predibase",
        "from predibase import Predibase, SFTConfig",
        'SFTConfig(base_model="m", epochs=3, learning_rate=0.0002)',
    ),
    (
        "nebius",
        "from openai import OpenAI",
        (
            'OpenAI(base_url="https://api.tokenfactory.nebius.com/v1/").fine_tuning.jobs.create(model="m",'
            ' training_file="file-a", hyperparameters={"n_epochs": 3, "learning_rate": 1e-5})'
        ),
    ),
    (
        "dashscope",
        "import dashscope",
        'dashscope.FineTunes.call(model="qwen", training_file_ids=["a"], hyper_parameters={"n_epochs": 3})',
    ),
    (
        "databricks",
        "from databricks.model_training import foundation_model as fm",
        'fm.create(model="m", train_data_path="main.a.b", register_to="main.c", training_duration="3ep")',
    ),
    (
        "baidu",
        "from qianfan.trainer import LLMFinetune\nfrom qianfan.trainer.configs import TrainConfig",
        'LLMFinetune(train_type="t", dataset=d, train_config=TrainConfig(epoch=3))',
    ),
    (
        "tinker",
        "from tinker_cookbook.supervised import train",
        'train.Config(log_path="l", model_name="m", dataset_builder=b, num_epochs=3)',
    ),
    (
        "replicate",
        "import replicate",
        'replicate.trainings.create(version="a/b:c", input={"num_train_epochs": 3}, destination="a/d")',
    ),
    (
        "azure-ml",
        "from azure.ai.ml.finetuning import create_finetuning_job",
        (
            'create_finetuning_job(task="chat_completion", model="m", training_data="t.jsonl", validation_data="v",'
            ' hyperparameters={"num_train_epochs": "3"}, output_model_name_prefix="p")'
        ),
    ),
    (
        "azure-ml",
        "from azure.ai.ml.entities._job.finetuning.azure_openai_finetuning_job import AzureOpenAIFineTuningJob",
        'AzureOpenAIFineTuningJob(task="chat_completion", model=m, training_data=t, hyperparameters=h)',
    ),
    (
        "instructlab",
        "from training_hub import sft",
        (
            'sft(model_path="m", data_path="t.jsonl", ckpt_output_dir="o", num_epochs=3, effective_batch_size=16,'
            " learning_rate=1e-5, max_seq_len=4096)"
        ),
    ),
    (
        "instructlab",
        "from training_hub import osft",
        (
            'osft(model_path="m", data_path="t.jsonl", ckpt_output_dir="o", num_epochs=3, unfreeze_rank_ratio=0.2,'
            " effective_batch_size=16, learning_rate=1e-5, max_seq_len=4096, max_tokens_per_gpu=8192)"
        ),
    ),
    (
        "instructlab",
        "from training_hub import lora_sft",
        'lora_sft(model_path="m", data_path="t.jsonl", ckpt_output_dir="o", num_epochs=3)',
    ),
]
