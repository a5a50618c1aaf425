"""Which versions of which packages are read, and where in them the keys are."""

from __future__ import annotations

from tools.keys.asked import attributes_of, reads_of
from tools.keys.composed import composed
from tools.keys.parts import (
    Recipe,
    classes,
    dictionary,
    every_class,
    first_of,
    fixed,
    flags,
    function,
    init,
    returned,
    subscripts,
    union,
    with_base,
    written,
)

TRL_CONFIGS = """
    SFTConfig DPOConfig ORPOConfig KTOConfig CPOConfig GRPOConfig RLOOConfig RewardConfig OnlineDPOConfig PPOConfig
    BCOConfig XPOConfig NashMDConfig PRMConfig GKDConfig GOLDConfig TPOConfig AlignPropConfig DDPOConfig
    IterativeSFTConfig ModelConfig DatasetMixtureConfig DatasetConfig
"""

TORCHTUNE_RECIPES = """
    full_finetune_single_device full_finetune_distributed lora_finetune_single_device lora_finetune_distributed
    full_dpo_distributed lora_dpo_single_device lora_dpo_distributed ppo_full_finetune_single_device
    knowledge_distillation_single_device knowledge_distillation_distributed qat_single_device qat_distributed
    qat_lora_finetune_distributed grpo_full_finetune_distributed async_grpo_full_finetune_distributed
    early_exit_finetune_distributed lora_finetune_distributed_multi_dataset
"""

TRL_TRAINERS = """
    SFTTrainer DPOTrainer ORPOTrainer KTOTrainer CPOTrainer GRPOTrainer RLOOTrainer RewardTrainer OnlineDPOTrainer
"""
# Up to 0.11 the trainers whose arguments are TrainingArguments were "v2"; the plain names were other programs.
TRL_OLD = {"RLOOConfig": ("RLOOv2Config",), "PPOConfig": ("PPOv2Config",)}

_AXOLOTL_SCHEMA = r"axolotl/utils/(schemas/datasets|config/models/input/v0_4_1/__init__)\.py"

# Blocks of profilers, reward models, and engines that few choose: half of all keys.
_VERL_OPAQUE = (
    "mcore_kwargs", "profiler", "global_profiler", "torchtitan", "veomni", "mindspeed", "distillation", "reward_model",
)  # fmt: skip

# NeMo-RL's blocks: the class that stands for each, and where it stands in a config.
_NEMO_RL = {
    "config": ("MasterConfig", ""),
    "policy": ("PolicyConfig", "policy"),
    "dtensor_cfg": ("DTensorConfig", "policy.dtensor_cfg"),
    "megatron_cfg": ("MegatronConfig", "policy.megatron_cfg"),
    "megatron_scheduler": ("MegatronSchedulerConfig", "policy.megatron_cfg.scheduler"),
    "megatron_optimizer": ("MegatronOptimizerConfig", "policy.megatron_cfg.optimizer"),
    "checkpointing": ("CheckpointingConfig", "checkpointing"),
    "cluster": ("ClusterConfig", "cluster"),
    "data": ("DataConfig", "data"),
    "logger": ("LoggerConfig", "logger"),
    "sft": ("SFTConfig", "sft"),
    "dpo": ("DPOConfig", "dpo"),
    "rm": ("RMConfig", "rm"),
    "grpo": ("GRPOConfig", "grpo"),
    "ppo": ("PPOConfig", "ppo"),
    "distillation": ("DistillationConfig", "distillation"),
}

RECIPES: dict[str, Recipe] = {
    "transformers": Recipe(
        "transformers",
        """
            4.36.2 4.37.2 4.38.0 4.38.2 4.39.0 4.39.3 4.40.0 4.40.2 4.41.0 4.41.2 4.42.0 4.42.4 4.43.0 4.43.4 4.44.2
            4.45.0 4.45.2 4.46.0 4.46.1 4.46.2 4.46.3 4.47.0 4.47.1 4.48.0 4.48.3 4.49.0 4.50.0 4.50.3 4.51.0 4.51.3
            4.52.1 4.52.4 4.53.0 4.53.3 4.54.0 4.54.1 4.55.4 4.56.0 4.56.2 4.57.1 4.57.5 4.57.6 5.0.0 5.1.0 5.2.0
            5.3.0 5.4.0 5.5.4 5.6.0 5.6.2 5.7.0 5.8.1 5.9.0 5.10.1 5.10.4 5.11.0 5.12.1 5.13.1 5.14.1 5.15.0 5.15.1
            5.16.1 5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0 5.24.0
        """,
        {
            "TrainingArguments": classes("TrainingArguments"),
            "Seq2SeqTrainingArguments": classes("Seq2SeqTrainingArguments"),
            "AcceleratorConfig": classes("AcceleratorConfig"),
            "Trainer": init("Trainer"),
            "Seq2SeqTrainer": init("Seq2SeqTrainer"),
        },
        root="transformers/",
        folders=("transformers/training_args", "transformers/trainer", "transformers/debug_utils"),
        nested=False,
        enum_or_text_closed=True,
        needs=("accelerate",),
    ),
    "trl": Recipe(
        "trl",
        """
            0.9.6 0.10.1 0.11.0 0.11.4 0.12.0 0.12.2 0.13.0 0.14.0 0.15.0 0.15.2 0.16.0 0.16.1 0.17.0 0.18.0 0.18.2
            0.19.0 0.19.1 0.20.0 0.21.0 0.22.0 0.22.2 0.23.0 0.23.1 0.24.0 0.25.0 0.25.1 0.26.0 0.26.2 0.27.0 0.27.2
            0.28.0 0.29.0 0.29.1 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 1.5.1 1.6.0 1.7.0 1.7.1 1.8.0 1.9.0 1.9.2 1.10.0 1.11.0
            1.12.0 1.13.0 1.14.0 1.14.2 1.15.0 1.16.0
        """,
        {
            **{name: classes(*TRL_OLD.get(name, ()), name) for name in TRL_CONFIGS.split()},
            **{name: init(name) for name in TRL_TRAINERS.split()},
            "ScriptArguments": first_of(
                classes("ScriptArguments", under="utils"),
                union(*(classes(f"{name}ScriptArguments") for name in ("SFT", "DPO", "Reward"))),
            ),
        },
        root="trl/",
        nested=False,
    ),
    "axolotl": Recipe(
        "axolotl",
        """
            0.5.2 0.6.0 0.7.0 0.8.0 0.8.1 0.9.0 0.9.1 0.9.2 0.10.0 0.11.0 0.12.0 0.12.1 0.12.2 0.13.1 0.13.2 0.14.0
            0.15.0 0.16.0 0.16.1 0.17.0 0.18.0 0.19.0 0.20.0 0.21.0
        """,
        {
            "config": classes("AxolotlInputConfig"),
            "dataset": every_class(_AXOLOTL_SCHEMA, r"(SFT|DPO|KTO|StepwiseSupervised|Pretraining|Synthetic)Dataset"),
            "plugin": returned("axolotl/integrations/", "get_input_args"),
        },
        root="axolotl/",
    ),
    "llamafactory": Recipe(
        "llamafactory",
        "0.7.1 0.8.0 0.8.1 0.8.2 0.8.3 0.9.0 0.9.1 0.9.2 0.9.3 0.9.4 0.9.5",
        {
            "config": with_base(
                "transformers.Seq2SeqTrainingArguments",
                union(
                    classes("TrainingArguments", under="hparams/"),
                    classes("ModelArguments", under="hparams/"),
                    classes("DataArguments", under="hparams/"),
                    classes("FinetuningArguments", under="hparams/"),
                    classes("GeneratingArguments", under="hparams/"),
                ),
            ),
            "v1": union(
                classes("ModelArguments", under="v1/config/"),
                classes("DataArguments", under="v1/config/"),
                classes("TrainingArguments", under="v1/config/"),
                classes("SampleArguments", under="v1/config/"),
            ),
        },
        nested=False,
    ),
    "ms-swift": Recipe(
        "ms-swift",
        """
            2.6.1 3.0.0 3.0.3 3.1.0 3.1.1.post1 3.2.0 3.2.2 3.3.0 3.3.1 3.4.0 3.4.1.post1 3.5.0 3.5.3 3.6.0 3.6.4
            3.7.0 3.7.3 3.8.0 3.8.3 3.9.0 3.9.3 3.10.0 3.10.3 3.11.0 3.11.3 3.12.0 3.12.6 4.0.0 4.0.4 4.1.0 4.1.3
            4.2.0 4.2.3 4.3.0 4.3.2 4.4.0 4.4.2 4.5.0 4.5.3 4.6.0
        """,
        {
            "sft": classes("SftArguments", "TrainArguments", under="argument"),
            "pt": classes("PretrainArguments", "SftArguments", "TrainArguments", under="argument"),
            "rlhf": classes("RLHFArguments", under="argument"),
        },
        root="swift/",
        nested=False,
    ),
    "ms-swift-megatron": Recipe(
        "ms-swift",
        """
            3.2.2 3.4.1.post1 3.6.4 3.8.3 3.10.3 3.12.6 4.0.0 4.1.0 4.2.0 4.3.0 4.4.0 4.5.0 4.5.3 4.6.0
        """,
        {
            "sft": classes("MegatronSftArguments", "MegatronTrainArguments"),
            "pt": classes("MegatronPretrainArguments", "MegatronTrainArguments"),
            "rlhf": classes("MegatronRLHFArguments"),
        },
        root="swift/",
        nested=False,
    ),
    "accelerate": Recipe(
        "accelerate",
        """
            0.20.3 0.21.0 0.22.0 0.23.0 0.24.0 0.24.1 0.25.0 0.26.0 0.26.1 0.27.2 0.28.0 0.29.0 0.29.3 0.30.0 0.30.1
            0.31.0 0.32.1 0.33.0 0.34.0 0.34.2 1.0.0 1.0.1 1.1.1 1.2.1 1.3.0 1.4.0 1.5.2 1.6.0 1.7.0 1.8.0 1.8.1 1.9.0
            1.10.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0
        """,
        {
            "config": union(
                classes("ClusterConfig"),
                fixed("dynamo_backend"),  # BaseConfig.from_yaml_file takes this old key too
            ),
            "sagemaker": classes("SageMakerConfig"),
            "launch": flags("accelerate.commands.launch"),
            "deepspeed_config": union(
                flags("accelerate.commands.launch", r"deepspeed_args"),
                subscripts("accelerate.commands.config.cluster", "deepspeed_config"),
            ),
            "fsdp_config": union(
                flags("accelerate.commands.launch", r"fsdp_args", "fsdp_"),
                subscripts("accelerate.commands.config.cluster", "fsdp_config", "fsdp_"),
            ),
            "parallelism_config": union(
                flags("accelerate.commands.launch", r"parallelism_config_args", "parallelism_config_"),
                subscripts("accelerate.commands.config.cluster", "parallelism_config", "parallelism_config_"),
            ),
            "dynamo_config": union(
                flags("accelerate.commands.launch", r"resource_args", "dynamo_"),
                subscripts("accelerate.commands.config.cluster", "dynamo_config", "dynamo_"),
            ),
        },
        root="accelerate/",
        nested=False,
        needs=(),
    ),
    "deepspeed": Recipe(
        "deepspeed",
        """
            0.12.6 0.13.5 0.14.0 0.14.5 0.15.0 0.15.4 0.16.0 0.16.9 0.17.0 0.17.6 0.18.0 0.18.4 0.18.9 0.19.0
            0.19.1 0.19.2 0.19.3 0.19.4 0.19.5 0.19.6 0.19.7 0.19.8
        """,
        {
            "config": reads_of("deepspeed.runtime.config", "DeepSpeedConfig", "self._param_dict", "param_dict"),
            **{
                name: init(name, drop=("optimizer", "last_batch_iteration"))
                for name in ("LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
            },
        },
        root="deepspeed/",
        prefixed=False,
        needs=(),
    ),
    "fms-hf-tuning": Recipe(
        "fms-hf-tuning",
        """
            1.0.0 1.1.0 1.2.0 1.2.2 2.0.1 2.1.2 2.2.0 2.2.1 2.3.0 2.3.1 2.4.0 2.5.0 2.6.0 2.7.1 2.8.0 2.8.2 3.0.0
            3.1.0 3.2.0 3.2.2
        """,
        {
            "config": union(
                classes("TrainingArguments", under="tuning/config/configs"),
                classes("ModelArguments", under="tuning/config/configs"),
                classes("DataArguments", under="tuning/config/configs"),
                classes("TrainerControllerArguments", under="tuning/config/configs"),
                classes("LoraConfig", under="tuning/config/peft_config"),
                classes("PromptTuningConfig", under="tuning/config/peft_config"),
                classes("Mxfp4Config", under="tuning/config/peft_config"),
                classes("QuantizedLoraConfig", under="acceleration_configs/"),
                classes("FusedOpsAndKernelsConfig", under="acceleration_configs/"),
                classes("AttentionAndDistributedPackingConfig", under="acceleration_configs/"),
                classes("FastMoeConfig", under="acceleration_configs/"),
                classes("TrackerConfigs", under="tuning/config/tracker_configs"),
                flags("tuning.sft_trainer", "parser"),
                fixed("accelerate_launch_args"),  # fms-hf-tuning's build/accelerate_launch.py
            ),
        },
        root="tuning/",
        flatten=("peft",),
        needs=("transformers", "trl", "accelerate", "peft"),
    ),
    "peft": Recipe(
        "peft",
        """
            0.4.0 0.5.0 0.6.2 0.7.1 0.8.2 0.9.0 0.10.0 0.11.1 0.12.0 0.13.2 0.14.0 0.15.2 0.16.0 0.17.1 0.18.0 0.18.1
            0.19.0 0.19.1 0.20.0 0.21.0 0.21.2
        """,
        {
            name: classes(name, under="peft/tuners/")
            for name in ("LoraConfig", "PromptTuningConfig", "PrefixTuningConfig")
        },
        root="peft/",
        nested=False,
        needs=("transformers", "accelerate"),
    ),
    "unsloth": Recipe(
        "unsloth",
        "2026.5.10 2026.8.22 2026.10.9",
        {"config": classes("Config", under="unsloth_cli/config")},
        root="unsloth_cli/",
    ),
    # 0.7.0 is not on PyPI: `git archive` of bd2a0fc, put into the cache folder.
    "torchtune": Recipe(
        "torchtune",
        "0.2.1 0.3.1 0.4.0 0.5.0 0.6.1 0.7.0",
        {
            "package": attributes_of("torchtune/"),
            **{
                name: attributes_of(f"recipes/{name}.py", f"recipes/dev/{name}.py")
                for name in TORCHTUNE_RECIPES.split()
            },
        },
        root="recipes/",
        nested=False,
        needs=(),
    ),
    # Not on PyPI: put `git archive` of the last commit of each day into the cache folder.
    "open-instruct": Recipe(
        "open-instruct",
        "2024.11.22 2025.6.1 2025.11.20 2026.8.20",
        {
            "sft": union(
                classes("FlatArguments", under="open_instruct/finetune"),
                classes("TokenizerConfig", under="open_instruct/dataset_transformation"),
            ),
            "dpo": union(
                classes("DPOExperimentConfig", under="open_instruct/dpo_utils"),
                classes("FlatArguments", under="open_instruct/dpo_tune"),
                classes("TokenizerConfig", under="open_instruct/dataset_transformation"),
            ),
            "grpo": union(
                classes("GRPOExperimentConfig", under="open_instruct/grpo_utils"),
                classes("Args", under="open_instruct/grpo_fast"),
                classes("StreamingDataLoaderConfig", under="open_instruct/data_loader"),
                classes("VLLMConfig", under="open_instruct/data_loader"),
                classes("TokenizerConfig", under="open_instruct/dataset_transformation"),
                classes("ModelConfig", under="open_instruct/model_utils"),
                classes("EnvsConfig", under="open_instruct/environments/tools/utils"),
                classes("ToolConfig", under="open_instruct/"),
            ),
        },
        root="open_instruct/",
        nested=False,
        needs=("transformers",),
    ),
    "litgpt": Recipe(
        "litgpt",
        "0.4.0 0.4.13 0.5.0 0.5.3 0.5.7 0.5.8 0.5.9 0.5.10 0.5.11 0.5.12 0.5.13",
        {
            **{
                f"finetune_{name}": function(f"litgpt.finetune.{name}", "setup")
                for name in ("lora", "full", "adapter", "adapter_v2", "lora_legacy")
            },
            "pretrain": function("litgpt.pretrain", "setup"),
            **{name: classes(name, under="litgpt/args") for name in ("TrainArgs", "EvalArgs", "LogArgs")},
        },
        root="litgpt/",
        nested=False,
    ),
    "mlx-lm": Recipe(
        "mlx-lm",
        """
            0.14.3 0.16.1 0.17.1 0.18.2 0.19.0 0.19.3 0.20.6 0.21.0 0.21.5 0.22.0 0.22.5 0.23.2 0.24.0 0.24.1 0.25.0
            0.25.3 0.26.0 0.26.4 0.27.1 0.28.0 0.28.1 0.28.2 0.28.3 0.28.4 0.29.1 0.30.7 0.31.1 0.31.3 0.32.0 0.32.2
        """,
        {"config": union(dictionary("mlx_lm.lora", "CONFIG_DEFAULTS"), flags("mlx_lm.lora", "parser"))},
        root="mlx_lm/",
        needs=("mlx",),
    ),
    "instructlab-training": Recipe(
        "instructlab-training",
        "0.3.2 0.4.2 0.5.5 0.6.1 0.7.0 0.8.1 0.9.0 0.10.4 0.11.1 0.12.1 0.13.0 0.14.2 0.15.2 0.16.2",
        {
            "TrainingArgs": classes("TrainingArgs", under="instructlab/training/config"),
            "TorchrunArgs": classes("TorchrunArgs", under="instructlab/training/config"),
        },
        root="instructlab/",
    ),
    "instructlab": Recipe(
        "instructlab",
        "0.18.4 0.19.5 0.20.1 0.21.2 0.22.2 0.23.5 0.24.3 0.25 0.26.1",
        {"train": classes("_train", under="instructlab/configuration")},
        root="instructlab/",
        folders=("instructlab/configuration",),
        needs=("instructlab-training",),
    ),
    "training-hub": Recipe(
        "training-hub",
        "0.1.0 0.2.0 0.3.0 0.4.0 0.5.0 0.6.0 0.7.0 0.8.1 0.9.0 0.9.8 0.10.0 0.11.0 0.11.2",
        {
            "sft": function("training_hub.algorithms.sft", "sft"),
            "osft": function("training_hub.algorithms.osft", "osft"),
            "lora_sft": function("training_hub.algorithms.lora", "lora_sft"),
            "lora_grpo": function("training_hub.algorithms.lora_grpo", "lora_grpo"),
            "grpo": function("training_hub.algorithms.lora_grpo", "grpo"),
        },
        root="training_hub/",
        nested=False,
        needs=("instructlab-training", "unsloth", "trl", "transformers"),
    ),
    "oumi": Recipe(
        "oumi",
        "0.1.14 0.2.1 0.3.0 0.4.2 0.5.0 0.6.0 0.7 0.8 0.9",
        {"config": classes("TrainingConfig", under="core/configs/training_config")},
        root="oumi/",
        folders=("oumi/core/",),
        enum_names=True,
    ),
    "autotrain-advanced": Recipe(
        "autotrain-advanced",
        "0.7.129 0.8.0 0.8.12 0.8.24 0.8.36",
        {
            "config": reads_of("autotrain.parser", "AutoTrainConfigParser", "self.config"),
            "llm": classes("LLMTrainingParams", under="clm/params"),
            "seq2seq": classes("Seq2SeqParams", under="seq2seq/params"),
            "sentence_transformers": classes("SentenceTransformersParams", under="sent_transformers/params"),
            "text_classification": classes("TextClassificationParams", under="text_classification/params"),
            "vlm": classes("VLMTrainingParams", under="vlm/params"),
        },
        root="autotrain/",
    ),
    "openrlhf": Recipe(
        "openrlhf",
        """
            0.3.6.post1 0.3.8 0.4.3 0.4.6 0.5.0 0.5.4 0.5.9 0.6.0 0.6.4 0.7.0 0.7.5 0.8.0 0.8.3 0.8.6 0.8.9 0.8.11 0.9.0
            0.9.3 0.9.6 0.9.8 0.9.10 0.10.0 0.10.1 0.10.2 0.10.3 0.10.4 0.11.0 0.11.1 0.11.2
        """,
        {
            name: flags(f"openrlhf.cli.train_{name}", "parser", spelt=True)
            for name in ("sft", "dpo", "rm", "kto", "kd", "prm", "ppo", "ppo_ray")
        },
        root="openrlhf/",
        nested=False,
        needs=("transformers", "deepspeed"),
    ),
    "verl": Recipe(
        "verl",
        "0.2.0.post2 0.3.0.post1 0.4.0 0.4.1 0.5.0 0.6.0 0.6.1 0.7.0 0.7.1 0.8.0 0.9.0 0.9.1",
        {
            owner: composed("verl/trainer/config", *names, opaque=_VERL_OPAQUE)
            for owner, names in (
                ("ppo", ("ppo_trainer", "ppo_megatron_trainer")),
                ("sft", ("sft_trainer",)),
                ("sft_engine", ("sft_trainer_engine",)),
            )
        },
        root="verl/",
        nested=False,
    ),
    "llm-foundry": Recipe(
        "llm-foundry",
        "0.9.0 0.11.0 0.13.0 0.15.0 0.17.0 0.19.0 0.21.0 0.22.0",
        {"config": classes("TrainConfig", under="utils/config_utils")},
        root="llmfoundry/",
        nested=False,
    ),
    # No package holds it: put archives in the cache, `git archive --prefix=nemo-rl/ -o nemo-rl/0.7.0/a.tar.gz v0.7.0`.
    "nemo-rl": Recipe(
        "nemo-rl",
        "0.4.0 0.5.0 0.6.0 0.7.0 0.8.0",  # 0.8.0 is commit 7ea279ab
        {
            owner: union(classes(name, under="nemo_rl/"), written("examples/", block))
            for owner, (name, block) in _NEMO_RL.items()
        },
        root="nemo_rl/",
        nested=False,
    ),
    "nemo-automodel": Recipe(
        "nemo-automodel",
        "0.2.0 0.3.0 0.4.0 0.5.0 0.6.0 0.7.0",
        {
            "step_scheduler": union(
                classes("StepSchedulerConfig"),
                init("StepScheduler"),
                fixed("_target_"),
            ),
            "lr_scheduler": union(
                classes("LRSchedulerConfig"),
                init("OptimizerParamScheduler", drop=("optimizer",)),
                fixed("_target_"),
            ),
        },
        root="nemo_automodel/",
        nested=False,
    ),
    # Many of its classes inherit from megatron-core's: put one archive with the files of both wheels in the cache.
    "megatron-bridge": Recipe(
        "megatron-bridge",
        "0.3.1 0.6.2",
        {
            "config": classes("ConfigContainer", under="megatron/bridge/training/config"),
            "train": classes("TrainingConfig", under="megatron/bridge/training/config"),
            "scheduler": classes("SchedulerConfig", under="megatron/bridge/training/config"),
            "optimizer": classes("OptimizerConfig", under="megatron/bridge/training/config"),
            "checkpoint": classes("CheckpointConfig", under="megatron/bridge/training/config"),
            "logger": classes("LoggerConfig", under="megatron/bridge/training/config"),
        },
        root="megatron/",
        folders=("megatron/bridge/training/config", "megatron/training/config", "megatron/core/optimizer"),
        nested=False,
    ),
}
